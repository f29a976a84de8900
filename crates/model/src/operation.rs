//! One operation on a session: what a workload asks for, what a client sends, and the reply.

/// A value of a prepared statement's parameter or of a result's column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL null.
    Null,
    /// Any integer type.
    Integer(i64),
    /// Anything else, as text.
    Text(String),
}

/// The reply that an operation needs to count as correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expectation {
    /// Nothing is checked for a single statement.
    #[default]
    Anything,
    /// Exactly this many rows inserted, updated or deleted.
    Affected(u64),
    /// At most this many rows inserted, updated or deleted.
    AffectedAtMost(u64),
    /// Exactly this many rows fetched.
    Fetched(u64),
    /// At most this many rows fetched.
    FetchedAtMost(u64),
}

impl Expectation {
    /// Whether `reply` is as expected.
    #[inline]
    pub fn is_met_by(self, reply: &Reply) -> bool {
        match self {
            Expectation::Anything => true,
            Expectation::Affected(rows) => reply.affected == rows,
            Expectation::AffectedAtMost(rows) => reply.affected <= rows,
            Expectation::Fetched(rows) => reply.fetched == rows,
            Expectation::FetchedAtMost(rows) => reply.fetched <= rows,
        }
    }
}

/// A prepared statement's parameter. Its type is declared when the statement is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A 64-bit integer.
    Integer(i64),
    /// The bytes `start..end` of the operation's text.
    Text {
        /// The first byte.
        start: u32,
        /// The byte after the last.
        end: u32,
    },
}

impl From<i64> for Parameter {
    fn from(integer: i64) -> Self {
        Parameter::Integer(integer)
    }
}

/// The type of a prepared statement's parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    /// A 64-bit integer.
    Integer,
    /// Text of any length.
    Text,
}

/// One statement, ready to be sent. Its buffers are reused, so nothing is allocated per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The prepared statement to execute, by its number in the role's set-up; `None` sends `text` as it is.
    pub prepared: Option<usize>,
    /// The statement's text if it is not prepared, otherwise the texts among its parameters.
    pub text: String,
    /// The prepared statement's parameters.
    pub parameters: Vec<Parameter>,
    /// Which of the step's kinds of statements it is.
    pub kind: u16,
    /// Whether its event is complete once it is answered; false only within a transaction of several statements.
    pub ends_event: bool,
    /// How many units of the role's rate this statement stands for: the rows of an insert or delete, 1 for a query.
    pub items: u32,
    /// The expected reply.
    pub expectation: Expectation,
}

impl Default for Operation {
    fn default() -> Self {
        Operation {
            prepared: None,
            text: String::new(),
            parameters: Vec::new(),
            kind: 0,
            ends_event: true,
            items: 0,
            expectation: Expectation::Anything,
        }
    }
}

impl Operation {
    /// Clears the operation but keeps its buffers.
    pub fn clear(&mut self) {
        self.prepared = None;
        self.text.clear();
        self.parameters.clear();
        self.kind = 0;
        self.ends_event = true;
        self.items = 0;
        self.expectation = Expectation::Anything;
    }

    /// The text of a parameter; empty if it is an integer.
    #[inline]
    pub fn text_of(&self, parameter: Parameter) -> &str {
        match parameter {
            Parameter::Integer(_) => "",
            Parameter::Text { start, end } => self.text.get(start as usize..end as usize).unwrap_or(""),
        }
    }
}

/// The reply to one operation, after every row was fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows fetched.
    pub fetched: u64,
    /// Rows inserted, updated or deleted, as the server counts them.
    pub affected: u64,
    /// First column of the first row, if it is an integer.
    pub first: Option<i64>,
}
