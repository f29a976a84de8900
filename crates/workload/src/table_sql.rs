//! The SQL that creates tables.

use basecase_model::TABLE_MARK;

use crate::definition::{Column, Index, MOST_TABLES, Mistake, Table};
use crate::file_parameters::Scope;
use crate::{Dialect, Preparation};

/// The maximum length of a table's mark, in characters.
const MARK_CHARACTERS: usize = 200;

impl Table {
    /// Names of all tables of this kind.
    pub(crate) fn names(&self, scope: &Scope<'_>) -> Result<Vec<String>, Mistake> {
        let count = scope.evaluate(&self.count)?;
        if !(1..=MOST_TABLES).contains(&count) {
            let problem = format!("there cannot be {count} tables of kind `{}`", self.kind);
            return Err(
                Mistake::new(self.at, problem).with_hint(format!("1 to {MOST_TABLES} tables are possible"))
            );
        }
        Ok((1..=count as usize).map(|number| self.name.of(number)).collect())
    }

    /// The columns of the table with these options.
    pub(crate) fn columns_in<'a>(&'a self, scope: &'a Scope<'_>) -> impl Iterator<Item = &'a Column> {
        self.columns.iter().filter(|column| scope.holds(&column.when))
    }

    /// Checks that the dbms fills the columns that the load leaves out.
    pub(crate) fn check_ids(&self, scope: &Scope<'_>, dialect: Dialect) -> Result<(), Mistake> {
        let has_key = self.primary_key.as_ref().is_some_and(|key| scope.holds(&key.when));
        let needs_key = match dialect {
            Dialect::Postgres | Dialect::Mysql(_) => false,
            Dialect::Sqlite => true,
        };
        let loaded = self.columns_in(scope).any(|column| column.content.is_some());
        let left_out = self.columns_in(scope).find(|column| column.content.is_none());
        match left_out {
            Some(column) if needs_key && loaded && !has_key => {
                let problem = format!(
                    "SQLite generates no values for column `{}` of table `{}`, which has no primary key",
                    column.name, self.kind
                );
                Err(Mistake::new(self.at, problem).with_hint("keep the primary key on SQLite"))
            }
            _ => Ok(()),
        }
    }

    /// Drops the table with this number (from 1) if it exists, and creates it with the indexes that it starts with.
    pub(crate) fn create(&self, scope: &Scope<'_>, dialect: Dialect, number: usize) -> Vec<Preparation> {
        let name = self.name.of(number);
        let mark = mark(&scope.workload.name);
        let mut parts: Vec<String> = self
            .columns_in(scope)
            .map(|column| format!("{} {}", column.name, column.sql_type.of(dialect)))
            .collect();
        if let Some(key) = self.primary_key.as_ref().filter(|key| scope.holds(&key.when)) {
            parts.push(format!("PRIMARY KEY ({})", key.columns.join(", ")));
        }
        let early = self.indexes_in(scope, true);
        let mut options = String::new();
        let mut others = Vec::new();
        match dialect {
            Dialect::Postgres => {
                // Marks the table as one that a later run may drop.
                others.push(format!("COMMENT ON TABLE {name} IS '{mark}'"));
                others.extend(early.map(|index| create_index(index, &name, number)));
            }
            Dialect::Mysql(engine) => {
                // An AUTO_INCREMENT column without a key is refused, so the key must exist from the start.
                parts.extend(early.map(|index| format!("KEY {} ({})", index.name.of(number), index.columns)));
                options = format!(" ENGINE = {engine} COMMENT = '{mark}'");
            }
            Dialect::Sqlite => others.extend(early.map(|index| create_index(index, &name, number))),
        }
        let suffix = scope.substitute(self.suffix.of(dialect));
        if !suffix.trim().is_empty() {
            options.push(' ');
            options.push_str(suffix.trim());
        }
        let mut statements = vec![format!("CREATE TABLE {name}({}){options}", parts.join(", "))];
        statements.extend(others);
        Preparation::anew(name, statements)
    }

    /// Creates the indexes that come after the load.
    pub(crate) fn create_indexes(&self, scope: &Scope<'_>, number: usize) -> Vec<String> {
        let name = self.name.of(number);
        self.indexes_in(scope, false).map(|index| create_index(index, &name, number)).collect()
    }

    /// Number of secondary indexes.
    pub(crate) fn count_indexes(&self, scope: &Scope<'_>) -> u64 {
        [true, false].map(|is_early| self.indexes_in(scope, is_early).count() as u64).iter().sum()
    }

    fn indexes_in<'a>(&'a self, scope: &'a Scope<'_>, is_early: bool) -> impl Iterator<Item = &'a Index> {
        self.indexes.iter().filter(move |index| index.is_early == is_early && scope.holds(&index.when))
    }
}

/// The comment that marks a table as basecase's. The workload's name may be a path; it stands between quotes.
fn mark(workload: &str) -> String {
    let is_harmless = |letter: char| letter.is_alphanumeric() || "_-./ ".contains(letter);
    let shown = workload.chars().map(|letter| if is_harmless(letter) { letter } else { '_' });
    format!("{TABLE_MARK}{}", shown.take(MARK_CHARACTERS).collect::<String>())
}

fn create_index(index: &Index, table: &str, number: usize) -> String {
    format!("CREATE INDEX {} ON {table}({})", index.name.of(number), index.columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_01_a_files_name_cannot_leave_the_mark() {
        assert_eq!(mark("./it's \\ mine.toml"), "basecase: ./it_s _ mine.toml");
    }
}
