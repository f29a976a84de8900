//! Compiles a workload file's lines into what a thread executes: expressions become numbers, names become indexes.

use std::collections::HashMap;

use basecase_model::{ParameterType, StatementClass};

use crate::definition::{
    Count, DistributionUse, Event, Expected, Expression, Line, Mistake, Operator, Piece, Placeholder, Repeat,
    Statement, Value,
};
use crate::distribution::Sampler;
use crate::event_script::{
    Answer, CompiledLine, CompiledStatement, Form, Formula, Part, Source, TableChoice,
};
use crate::file_parameters::{FileParameters, Scope};
use crate::file_steps::RowsLeft;
use crate::statement_kind::change_of;
use crate::{Change, Dialect, SetUp, StatementKind};

/// Samplers by position in the file and bounds: threads share values that are drawn only once among all, and tables of constants.
pub(crate) type Samplers = HashMap<(usize, i64, i64), Sampler>;

/// The maximum size of a filled statement, in bytes.
const MOST_STATEMENT_BYTES: usize = 1 << 26;

/// What a name of a statement stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Number(usize),
    Text(usize),
}

/// Compiles for one thread.
pub(crate) struct Compiler<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) dialect: Dialect,
    pub(crate) is_prepared: bool,
    /// The distribution of draws that do not name one.
    pub(crate) distribution: Option<&'a DistributionUse>,
    /// Which of the loaded rows still exist.
    pub(crate) rows: RowsLeft,
    /// Names of the tables to choose from.
    pub(crate) tables: &'a [String],
    pub(crate) samplers: &'a mut Samplers,
    /// Names given so far, in this line.
    pub(crate) slots: Vec<(String, Slot)>,
    pub(crate) numbers: usize,
    pub(crate) texts: usize,
    pub(crate) set_up: Vec<SetUp>,
    prepared: usize,
    known: HashMap<String, usize>,
}

/// An event ready to be executed by one thread.
pub(crate) struct CompiledEvent {
    pub(crate) is_transaction: bool,
    pub(crate) lines: Vec<CompiledLine>,
    pub(crate) set_up: Vec<SetUp>,
    pub(crate) numbers: usize,
    pub(crate) texts: usize,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        scope: Scope<'a>,
        dialect: Dialect,
        parameters: &FileParameters,
        distribution: Option<&'a DistributionUse>,
        tables: &'a [String],
        samplers: &'a mut Samplers,
    ) -> Self {
        Compiler {
            scope,
            dialect,
            is_prepared: parameters.is_prepared,
            distribution,
            rows: RowsLeft::All,
            tables,
            samplers,
            slots: Vec::new(),
            numbers: 0,
            texts: 0,
            set_up: Vec::new(),
            prepared: 0,
            known: HashMap::new(),
        }
    }

    pub(crate) fn event(mut self, event: &Event, kinds: &[StatementKind]) -> Result<CompiledEvent, Mistake> {
        let is_transaction = event.transaction.as_ref().is_some_and(|condition| self.scope.holds(condition));
        let mut lines = Vec::new();
        let commit = is_transaction.then(|| {
            let is_writing = kinds.iter().any(|kind| kind.class == StatementClass::Write);
            lines.push(self.bracket(self.dialect.begin(is_writing), 0, self.dialect.prepares_begin()));
            self.bracket("COMMIT", 1, true)
        });
        let brackets = lines.len();
        for line in &event.lines {
            lines.extend(self.line(line, event, kinds)?);
        }
        if lines.len() == brackets {
            let problem = format!("event `{}` does nothing with these options", event.name);
            return Err(
                Mistake::new(event.at, problem).with_hint("give a count above 0 to one of its statements")
            );
        }
        lines.extend(commit);
        let (set_up, numbers, texts) = (self.set_up, self.numbers, self.texts);
        Ok(CompiledEvent { is_transaction, lines, set_up, numbers, texts })
    }

    /// BEGIN or COMMIT; sent as text where the dbms refuses to prepare it.
    fn bracket(&mut self, sql: &str, kind: u16, can_be_prepared: bool) -> CompiledLine {
        let form = if self.is_prepared && can_be_prepared {
            self.prepare(sql.to_owned(), Vec::new());
            Form::Prepared { first: self.prepared - 1, stride: 0 }
        } else {
            Form::Text(vec![Part::Literal(sql.to_owned())])
        };
        let statement = CompiledStatement { kind, form, values: Vec::new(), answer: Answer::Anything };
        CompiledLine { choice: TableChoice::Fixed(0), times: 1, statements: vec![statement] }
    }

    fn prepare(&mut self, sql: String, types: Vec<ParameterType>) {
        self.set_up.push(SetUp::Prepare { sql, types });
        self.prepared += 1;
    }

    fn line(
        &mut self,
        line: &Line,
        event: &Event,
        kinds: &[StatementKind],
    ) -> Result<Option<CompiledLine>, Mistake> {
        let times = self.scope.evaluate(&line.times)?;
        let Ok(times) = u32::try_from(times) else {
            return Err(Mistake::new(line.at, format!("a line cannot be repeated {times} times")));
        };
        if times == 0 || !self.scope.holds(&line.when) {
            return Ok(None);
        }
        self.slots.clear();
        let choice = match line.choice {
            crate::definition::Choice::Uniform => TableChoice::Uniform(self.tables.len().max(1) as u64),
            crate::definition::Choice::Thread => {
                let thread = self.scope.thread.unwrap_or_default() as usize;
                TableChoice::Fixed(thread % self.tables.len().max(1))
            }
        };
        let mut statements = Vec::new();
        for statement in line.statements.iter().filter_map(|(name, _)| self.scope.workload.statement(name)) {
            let kind = kinds.iter().position(|kind| kind.name == statement.name).unwrap_or_default();
            statements.push(self.statement(statement, kind as u16, event.rows_may_be_missing)?);
        }
        Ok(Some(CompiledLine { choice, times, statements }))
    }

    fn statement(
        &mut self,
        statement: &Statement,
        kind: u16,
        rows_may_be_missing: bool,
    ) -> Result<CompiledStatement, Mistake> {
        let mut values = Vec::new();
        let pieces = statement.sql.of(self.dialect);
        let form = match pieces.split_last() {
            Some((Piece::Repeat(repeat @ Repeat { count: Count::Bytes(limit), .. }), head)) => {
                let bytes = self.scope.evaluate(limit)?;
                let limit = usize::try_from(bytes).ok().filter(|limit| *limit <= MOST_STATEMENT_BYTES);
                let limit = limit.ok_or_else(|| {
                    Mistake::new(repeat.at, format!("a statement cannot have {bytes} bytes"))
                        .with_hint(format!("0 to {MOST_STATEMENT_BYTES} bytes are possible"))
                })?;
                Form::Filled {
                    head: self.parts(head, None, &mut values)?,
                    row: self.parts(&repeat.pieces, None, &mut values)?,
                    separator: repeat.separator.clone(),
                    limit,
                    carry: String::new(),
                }
            }
            _ => {
                let parts = self.parts(pieces, None, &mut values)?;
                if self.is_prepared && statement.is_prepared {
                    self.prepared_form(statement, parts, &values)?
                } else {
                    Form::Text(parts)
                }
            }
        };
        let answer = match &statement.expected {
            None => Answer::Anything,
            Some(Expected { .. }) if self.rows == RowsLeft::Others && !is_insert(pieces) => Answer::Anything,
            Some(Expected { quantity, is_bound, rows }) => Answer::Rows {
                quantity: *quantity,
                is_bound: *is_bound
                    || rows_may_be_missing
                    || (self.rows == RowsLeft::Some && !is_insert(pieces)),
                rows: self.formula(rows, None)?,
            },
        };
        Ok(CompiledStatement { kind, form, values, answer })
    }

    /// Prepares the statement for every table that it may use.
    fn prepared_form(
        &mut self,
        statement: &Statement,
        parts: Vec<Part>,
        values: &[Source],
    ) -> Result<Form, Mistake> {
        let most = self.dialect.most_parameters();
        if values.len() > most {
            let problem = format!(
                "statement `{}` would have {} parameters, and a prepared statement can have at most {most}",
                statement.name,
                values.len()
            );
            return Err(Mistake::new(statement.at, problem).with_hint("write `prepared = false`"));
        }
        let types: Vec<ParameterType> = values.iter().map(Source::parameter_type).collect();
        let is_about_table = parts.iter().any(|part| matches!(part, Part::Table | Part::Number));
        let count = if is_about_table { self.tables.len() } else { 1 };
        let stride = usize::from(is_about_table);
        // A statement that stands in several lines is prepared once: its text does not depend on the line.
        if let Some(first) = self.known.get(&statement.name) {
            return Ok(Form::Prepared { first: *first, stride });
        }
        let first = self.prepared;
        for table in 0..count {
            let sql = self.sql(&parts, table);
            self.prepare(sql, types.clone());
        }
        self.known.insert(statement.name.clone(), first);
        Ok(Form::Prepared { first, stride })
    }

    /// A prepared statement's text.
    fn sql(&self, parts: &[Part], table: usize) -> String {
        let mut sql = String::new();
        for part in parts {
            match part {
                Part::Literal(text) => sql.push_str(text),
                Part::Table => sql.push_str(self.tables.get(table).map_or("", String::as_str)),
                Part::Number => sql.push_str(&(table + 1).to_string()),
                Part::Value(index) => sql.push_str(&self.dialect.parameter(index + 1)),
            }
        }
        sql
    }

    fn parts(
        &mut self,
        pieces: &[Piece],
        index: Option<i64>,
        values: &mut Vec<Source>,
    ) -> Result<Vec<Part>, Mistake> {
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => parts.push(Part::Literal(text.clone())),
                Piece::Table => parts.push(Part::Table),
                Piece::Number => parts.push(Part::Number),
                Piece::Value(placeholder) => {
                    parts.push(Part::Value(values.len()));
                    values.push(self.source(placeholder, index)?);
                }
                Piece::Repeat(repeat) => {
                    let (Count::Times(count) | Count::Bytes(count)) = &repeat.count;
                    let times = self.scope.evaluate(count)?;
                    if !(1..=1_000_000).contains(&times) {
                        let problem = format!("a part cannot be repeated {times} times");
                        return Err(
                            Mistake::new(repeat.at, problem).with_hint("give a count from 1 to 1000000")
                        );
                    }
                    for index in 1..=times {
                        if index > 1 {
                            parts.push(Part::Literal(repeat.separator.clone()));
                        }
                        parts.extend(self.parts(&repeat.pieces, Some(index), values)?);
                    }
                }
            }
        }
        Ok(parts)
    }

    pub(crate) fn source(
        &mut self,
        placeholder: &Placeholder,
        index: Option<i64>,
    ) -> Result<Source, Mistake> {
        let name = placeholder.name.clone();
        let template = match &placeholder.value {
            Value::Text(template) => Some(template.as_str()),
            Value::Expression(Expression::Name { name, .. }) => {
                let templates = &self.scope.workload.templates;
                templates.iter().find(|(known, _, _)| known == name).map(|(_, _, template)| template.as_str())
            }
            _ => None,
        };
        if let Some(template) = template {
            let template = template.into();
            let slot = name.map(|name| self.text_slot(name));
            return Ok(Source::Text { template, slot });
        }
        match &placeholder.value {
            Value::Draw { low, high, distribution } => {
                let (low, high) = (self.constant(low, index)?, self.constant(high, index)?);
                let used = distribution.as_ref().or(self.distribution);
                let distribution = self.scope.distribution(used)?;
                let sampler = match self.samplers.get(&(placeholder.at, low, high)) {
                    Some(sampler) => sampler.clone(),
                    None => {
                        let sampler = distribution
                            .between(low, high, self.tables.len())
                            .map_err(|problem| Mistake::new(placeholder.at, problem))?;
                        self.samplers.insert((placeholder.at, low, high), sampler.clone());
                        sampler
                    }
                };
                Ok(Source::Draw { sampler, slot: name.map(|name| self.number_slot(name)) })
            }
            Value::Expression(Expression::Name { name: earlier, .. })
                if let Some((_, Slot::Text(slot))) =
                    self.slots.iter().rev().find(|(known, _)| known == earlier) =>
            {
                Ok(Source::TextAgain { slot: *slot })
            }
            Value::Expression(expression) => {
                let formula = self.formula(expression, index)?;
                Ok(Source::Formula { formula, slot: name.map(|name| self.number_slot(name)) })
            }
            Value::Text(_) => Err(Mistake::new(placeholder.at, "this text cannot be generated")),
        }
    }

    fn number_slot(&mut self, name: String) -> usize {
        self.slots.push((name, Slot::Number(self.numbers)));
        self.numbers += 1;
        self.numbers - 1
    }

    fn text_slot(&mut self, name: String) -> usize {
        self.slots.push((name, Slot::Text(self.texts)));
        self.texts += 1;
        self.texts - 1
    }

    fn constant(&self, expression: &Expression, index: Option<i64>) -> Result<i64, Mistake> {
        expression.evaluate(&|name| if name == "index" { index } else { self.scope.integer(name) })
    }

    /// The expression with every known name replaced by its value.
    fn formula(&self, expression: &Expression, index: Option<i64>) -> Result<Formula, Mistake> {
        match expression {
            Expression::Constant(constant) => Ok(Formula::Constant(*constant)),
            Expression::Name { name, at } => match self.slots.iter().rev().find(|(known, _)| known == name) {
                Some((_, Slot::Number(slot))) => Ok(Formula::Slot(*slot)),
                Some((_, Slot::Text(_))) => Err(Mistake::new(*at, format!("`{name}` is a text"))),
                None => self.constant(expression, index).map(Formula::Constant),
            },
            Expression::Binary { operator, at, left, right } => {
                match (self.formula(left, index)?, self.formula(right, index)?) {
                    (Formula::Constant(left), Formula::Constant(right)) => {
                        folded(*operator, *at, left, right).map(Formula::Constant)
                    }
                    (left, right) => Ok(Formula::Binary(*operator, Box::new((left, right)))),
                }
            }
        }
    }
}

fn folded(operator: Operator, at: usize, left: i64, right: i64) -> Result<i64, Mistake> {
    operator
        .apply(left, right)
        .ok_or_else(|| Mistake::new(at, "the result exceeds 64 bits, or divides by zero"))
}

fn is_insert(pieces: &[Piece]) -> bool {
    change_of(pieces) == Some(Change::Insert)
}
