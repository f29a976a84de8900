//! The script of a thread that executes events: it fills one operation after the other. Part of the hot path.

use std::sync::Arc;

use basecase_model::{Expectation, Operation, Parameter, ParameterType, Reply};

use crate::definition::{Operator, Quantity};
use crate::distribution::Sampler;
use crate::generator::Generator;
use crate::{Next, Restart, Script};

/// Statements on one table, repeated.
#[derive(Debug, Clone)]
pub(crate) struct CompiledLine {
    pub(crate) choice: TableChoice,
    pub(crate) times: u32,
    pub(crate) statements: Vec<CompiledStatement>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TableChoice {
    /// One of several.
    Uniform(u64),
    Fixed(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct CompiledStatement {
    pub(crate) kind: u16,
    pub(crate) form: Form,
    pub(crate) values: Vec<Source>,
    pub(crate) answer: Answer,
}

/// How a statement is sent.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// Prepared, by its number: `first + table * stride`.
    Prepared { first: usize, stride: usize },
    /// As text with its values included.
    Text(Vec<Part>),
    /// As text with as many rows as fit; the first row that does not fit is kept for the next statement.
    Filled { head: Vec<Part>, row: Vec<Part>, separator: String, limit: usize, carry: String },
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Literal(String),
    Table,
    Number,
    /// The value with this index.
    Value(usize),
}

/// Where a value comes from, and where it is stored for later statements.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Draw { sampler: Sampler, slot: Option<usize> },
    Formula { formula: Formula, slot: Option<usize> },
    Text { template: Arc<str>, slot: Option<usize> },
    TextAgain { slot: usize },
}

impl Source {
    pub(crate) fn parameter_type(&self) -> ParameterType {
        match self {
            Source::Draw { .. } | Source::Formula { .. } => ParameterType::Integer,
            Source::Text { .. } | Source::TextAgain { .. } => ParameterType::Text,
        }
    }

    /// How many random numbers it takes, if that is always the same.
    pub(crate) fn draws(&self) -> Option<u64> {
        match self {
            Source::Draw { sampler, .. } => sampler.draws(),
            Source::Text { template, .. } => Some(template.matches(['#', '@']).count() as u64),
            Source::Formula { .. } | Source::TextAgain { .. } => Some(0),
        }
    }
}

/// A number computed from numbers that are known when the statement is made.
#[derive(Debug, Clone)]
pub(crate) enum Formula {
    Constant(i64),
    Slot(usize),
    Binary(Operator, Box<(Formula, Formula)>),
}

impl Formula {
    #[inline]
    pub(crate) fn value(&self, numbers: &[i64]) -> i64 {
        match self {
            Formula::Constant(constant) => *constant,
            Formula::Slot(slot) => numbers.get(*slot).copied().unwrap_or_default(),
            // Constants were checked; with drawn numbers, results beyond 64 bits become 0.
            Formula::Binary(operator, operands) => {
                operator.apply(operands.0.value(numbers), operands.1.value(numbers)).unwrap_or_default()
            }
        }
    }
}

/// The expected reply.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Anything,
    Rows { quantity: Quantity, is_bound: bool, rows: Formula },
}

impl Answer {
    #[inline]
    fn expectation(&self, numbers: &[i64], factor: u64) -> Expectation {
        let Answer::Rows { quantity, is_bound, rows } = self else { return Expectation::Anything };
        let rows = u64::try_from(rows.value(numbers)).unwrap_or_default().saturating_mul(factor);
        match (quantity, is_bound) {
            (Quantity::Fetched, false) => Expectation::Fetched(rows),
            (Quantity::Fetched, true) => Expectation::FetchedAtMost(rows),
            (Quantity::Affected, false) => Expectation::Affected(rows),
            (Quantity::Affected, true) => Expectation::AffectedAtMost(rows),
        }
    }
}

/// The values that a thread has drawn.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) generator: Generator,
    pub(crate) numbers: Vec<i64>,
    pub(crate) texts: Vec<String>,
    /// The index of the chosen table.
    pub(crate) table: usize,
}

impl State {
    /// Draws an integer; `None` when the numbers are used up.
    #[inline]
    pub(crate) fn integer(&mut self, source: &mut Source) -> Option<i64> {
        let (integer, slot) = match source {
            Source::Draw { sampler, slot } => (sampler.draw(&mut self.generator, self.table)?, slot),
            Source::Formula { formula, slot } => (formula.value(&self.numbers), slot),
            Source::Text { .. } | Source::TextAgain { .. } => return None,
        };
        if let Some(place) = slot.and_then(|slot| self.numbers.get_mut(slot)) {
            *place = integer;
        }
        Some(integer)
    }

    /// Appends a text; returns whether the source is one of texts.
    #[inline]
    pub(crate) fn push_text(&mut self, source: &Source, text: &mut String) -> bool {
        match source {
            Source::Text { template, slot } => {
                let start = text.len();
                self.generator.push_text(text, template);
                if let Some(kept) = slot.and_then(|slot| self.texts.get_mut(slot)) {
                    kept.clear();
                    kept.push_str(&text[start..]);
                }
                true
            }
            Source::TextAgain { slot } => {
                text.push_str(self.texts.get(*slot).map_or("", String::as_str));
                true
            }
            Source::Draw { .. } | Source::Formula { .. } => false,
        }
    }

    /// Appends a parameter of a prepared statement.
    #[inline]
    fn push_parameter(&mut self, source: &mut Source, operation: &mut Operation) -> Option<()> {
        let start = operation.text.len() as u32;
        operation.parameters.push(if self.push_text(source, &mut operation.text) {
            Parameter::Text { start, end: operation.text.len() as u32 }
        } else {
            Parameter::Integer(self.integer(source)?)
        });
        Some(())
    }

    /// Appends a part of a text, values as literals.
    #[inline]
    fn push_part(
        &mut self,
        part: &Part,
        values: &mut [Source],
        tables: &[String],
        text: &mut String,
    ) -> Option<()> {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Table => text.push_str(tables.get(self.table).map_or("", String::as_str)),
            Part::Number => text.push_str(itoa::Buffer::new().format(self.table + 1)),
            Part::Value(index) => {
                let source = values.get_mut(*index)?;
                match source.parameter_type() {
                    ParameterType::Integer => {
                        text.push_str(itoa::Buffer::new().format(self.integer(source)?));
                    }
                    ParameterType::Text => {
                        text.push('\'');
                        self.push_text(source, text);
                        text.push('\'');
                    }
                }
            }
        }
        Some(())
    }
}

impl CompiledStatement {
    /// Fills the operation; `None` when the numbers are used up. Returns the number of rows of a filled statement, otherwise 1.
    #[inline]
    fn fill(&mut self, state: &mut State, tables: &[String], operation: &mut Operation) -> Option<u32> {
        operation.kind = self.kind;
        let mut rows = 1;
        match &mut self.form {
            Form::Prepared { first, stride } => {
                operation.prepared = Some(*first + state.table * *stride);
                for source in &mut self.values {
                    state.push_parameter(source, operation)?;
                }
            }
            Form::Text(parts) => {
                for part in parts {
                    state.push_part(part, &mut self.values, tables, &mut operation.text)?;
                }
            }
            Form::Filled { head, row, separator, limit, carry } => {
                let text = &mut operation.text;
                for part in head {
                    state.push_part(part, &mut self.values, tables, text)?;
                }
                text.push_str(carry);
                rows = u32::from(!carry.is_empty());
                carry.clear();
                loop {
                    let kept = text.len();
                    if rows > 0 {
                        text.push_str(separator);
                    }
                    let start = text.len();
                    let mut parts = row.iter();
                    let is_whole =
                        parts.all(|part| state.push_part(part, &mut self.values, tables, text).is_some());
                    // An empty row would never fill the statement.
                    let is_made = is_whole && text.len() > kept;
                    if is_made && (rows == 0 || text.len() <= *limit) {
                        rows += 1;
                        continue;
                    }
                    if is_made {
                        carry.push_str(&text[start..]);
                    }
                    text.truncate(kept);
                    break;
                }
                if rows == 0 {
                    return None;
                }
            }
        }
        operation.expectation = self.answer.expectation(&state.numbers, u64::from(rows));
        Some(rows)
    }
}

/// One thread of a step.
pub(crate) struct EventScript {
    pub(crate) state: State,
    pub(crate) tables: Arc<[String]>,
    /// At least one event, each with at least one statement and repeated at least once.
    pub(crate) lines: Vec<CompiledLine>,
    is_transaction: bool,
    line: usize,
    repetition: u32,
    statement: usize,
}

impl EventScript {
    pub(crate) fn new(
        state: State,
        tables: Arc<[String]>,
        lines: Vec<CompiledLine>,
        is_transaction: bool,
    ) -> Self {
        EventScript { state, tables, lines, is_transaction, line: 0, repetition: 0, statement: 0 }
    }
}

impl Script for EventScript {
    #[inline]
    fn next(&mut self, operation: &mut Operation) -> Next {
        let lines = self.lines.len();
        let Some(line) = self.lines.get_mut(self.line) else { return Next::Finish };
        if self.statement == 0 && self.repetition == 0 {
            self.state.table = match line.choice {
                TableChoice::Uniform(1) => 0,
                TableChoice::Uniform(tables) => self.state.generator.below(tables) as usize,
                TableChoice::Fixed(table) => table,
            };
        }
        let statements = line.statements.len();
        let Some(statement) = line.statements.get_mut(self.statement) else { return Next::Finish };
        let Some(rows) = statement.fill(&mut self.state, &self.tables, operation) else {
            return Next::Finish;
        };
        operation.items = rows;
        operation.ends_event = false;
        self.statement += 1;
        if self.statement == statements {
            self.statement = 0;
            self.repetition += 1;
            if self.repetition == line.times {
                self.repetition = 0;
                self.line += 1;
                if self.line == lines {
                    self.line = 0;
                    operation.ends_event = true;
                }
            }
        }
        Next::Execute
    }

    fn answer(&mut self, _reply: &Reply) {}

    fn restart(&mut self) -> Restart {
        // BEGIN itself may have failed; a rollback then undoes nothing.
        let rolls_back = self.is_transaction;
        (self.line, self.repetition, self.statement) = (0, 0, 0);
        Restart::Event { rolls_back }
    }
}
