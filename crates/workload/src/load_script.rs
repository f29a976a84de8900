//! Fills tables with multi-row inserts, then creates indexes.

use basecase_model::{Expectation, Operation, Parameter, Reply};

use crate::event_script::{Source, State};
use crate::generator::Generator;
use crate::{Next, Script};

/// The maximum size of an insert statement: sysbench's buffer of 512 KiB, whose last byte stays empty.
pub(crate) const STATEMENT_BYTES: usize = 524_287;

/// The most rows that an outline draws to reach a table.
const OUTLINE_SKIPS: u64 = 20_000;

/// The load of one table.
#[derive(Debug, Clone)]
pub(crate) struct TableLoad {
    /// The table's index among all of its kind.
    pub(crate) table: usize,
    /// `INSERT INTO sbtest1(k, c, pad) VALUES`.
    pub(crate) head: String,
    /// The statements that follow the rows.
    pub(crate) indexes: Vec<String>,
}

/// How many rows of each table are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All of them.
    All,
    /// Only this many: the statements are shown, not executed.
    First(u64),
}

/// A column that the load fills.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) source: Source,
    /// Its position in the order in which a row's contents are drawn.
    pub(crate) draw: usize,
}

/// Where a table's random numbers come from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// One sequence runs through the tables in their order, as in sysbench with one thread.
    Sysbench,
    /// Each table has its own.
    Seed(u64),
}

/// Loads the tables of one thread, one after the other.
pub(crate) struct LoadScript {
    tables: std::vec::IntoIter<TableLoad>,
    current: Option<TableLoad>,
    indexes: std::vec::IntoIter<String>,
    origin: Origin,
    /// The number of tables that the generator has passed.
    passed: usize,
    rows: u64,
    /// The maximum number of rows generated for each table.
    most: u64,
    /// Rows generated for the current table.
    made: u64,
    /// In column order.
    cells: Vec<Cell>,
    /// Column indexes in the order in which they are drawn.
    order: Vec<usize>,
    /// Drawn values of a row, in column order; texts are in `drawn`.
    values: Vec<Parameter>,
    drawn: String,
    state: State,
    /// The row that did not fit into the previous statement.
    carry: String,
}

impl LoadScript {
    /// Loads tables of `rows` rows. The first number in `state` is the row's number.
    pub(crate) fn new(
        tables: Vec<TableLoad>,
        (rows, made): (u64, Rows),
        cells: Vec<Cell>,
        origin: Origin,
        state: State,
    ) -> Self {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|cell| cells.get(*cell).map(|cell| cell.draw));
        LoadScript {
            tables: tables.into_iter(),
            current: None,
            indexes: Vec::new().into_iter(),
            origin,
            passed: 0,
            rows,
            most: match made {
                Rows::All => rows,
                Rows::First(most) => rows.min(most),
            },
            made: 0,
            values: vec![Parameter::Integer(0); cells.len()],
            cells,
            order,
            drawn: String::new(),
            state,
            carry: String::new(),
        }
    }

    /// Advances the generator to the start of a table.
    fn seek(&mut self, table: usize) {
        match self.origin {
            Origin::Seed(seed) => self.state.generator = Generator::of(seed, "load", table as u32),
            Origin::Sysbench => {
                // In an outline, the previous table has not been generated to its end.
                let unmade = if self.passed > 0 { self.rows - self.most } else { 0 };
                let rows = unmade + self.rows * table.saturating_sub(self.passed) as u64;
                match self.cells.iter().map(|cell| cell.source.draws()).sum::<Option<u64>>() {
                    Some(draws) => self.state.generator.skip(rows.wrapping_mul(draws)),
                    // Where that takes long, the values of an outline are examples.
                    None if self.most < self.rows && rows > OUTLINE_SKIPS => {}
                    None => (0..rows).for_each(|_| self.draw_row(0)),
                }
                self.passed = table + 1;
            }
        }
    }

    /// Draws the values of a row.
    fn draw_row(&mut self, number: u64) {
        self.drawn.clear();
        if let Some(row) = self.state.numbers.first_mut() {
            *row = number as i64;
        }
        for index in &self.order {
            let (Some(cell), Some(value)) = (self.cells.get_mut(*index), self.values.get_mut(*index)) else {
                continue;
            };
            let start = self.drawn.len() as u32;
            *value = if self.state.push_text(&cell.source, &mut self.drawn) {
                Parameter::Text { start, end: self.drawn.len() as u32 }
            } else {
                Parameter::Integer(self.state.integer(&mut cell.source).unwrap_or_default())
            };
        }
    }

    /// Appends the row that was drawn.
    fn push_row(&self, text: &mut String) {
        let mut digits = itoa::Buffer::new();
        for (index, value) in self.values.iter().enumerate() {
            text.push_str(if index == 0 { "(" } else { ", " });
            match value {
                Parameter::Integer(integer) => text.push_str(digits.format(*integer)),
                Parameter::Text { start, end } => {
                    text.push('\'');
                    text.push_str(self.drawn.get(*start as usize..*end as usize).unwrap_or_default());
                    text.push('\'');
                }
            }
        }
        text.push(')');
    }

    /// Fills a statement with as many rows as fit.
    fn fill(&mut self, head: &str, operation: &mut Operation) {
        let text = &mut operation.text;
        text.push_str(head);
        text.push_str(&self.carry);
        let mut rows = u32::from(!self.carry.is_empty());
        self.carry.clear();
        while self.made < self.most {
            self.made += 1;
            self.draw_row(self.made);
            let kept = text.len();
            if rows > 0 {
                text.push(',');
            }
            let start = text.len();
            self.push_row(text);
            if rows > 0 && text.len() > STATEMENT_BYTES {
                self.carry.push_str(&text[start..]);
                text.truncate(kept);
                break;
            }
            rows += 1;
        }
        operation.items = rows;
        operation.expectation = Expectation::Affected(u64::from(rows));
    }
}

impl Script for LoadScript {
    fn next(&mut self, operation: &mut Operation) -> Next {
        loop {
            if let Some(table) = self.current.take() {
                if self.made < self.most || !self.carry.is_empty() {
                    self.fill(&table.head, operation);
                    self.current = Some(table);
                    return Next::Execute;
                }
                self.indexes = table.indexes.into_iter();
            }
            if let Some(index) = self.indexes.next() {
                operation.text.push_str(&index);
                return Next::Aside("create_index");
            }
            let Some(table) = self.tables.next() else { return Next::Finish };
            self.made = 0;
            self.state.table = table.table;
            self.seek(table.table);
            self.current = Some(table);
        }
    }

    fn answer(&mut self, _reply: &Reply) {}
}
