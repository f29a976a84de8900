//! What a database holds, and whether it holds what it should.

use serde::{Deserialize, Serialize};

/// What one table holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableState {
    /// Name of the table.
    pub table: String,
    /// Rows; `None` when counting them would disturb what is measured next.
    pub rows: Option<u64>,
    /// Smallest primary key; `None` of an empty table.
    pub min_id: Option<i64>,
    /// Largest primary key; `None` of an empty table.
    pub max_id: Option<i64>,
    /// The sequence's last value, where the dbms has one.
    pub last_value: Option<i64>,
}

/// What all tables of a workload hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The tables in the order of their clients.
    pub tables: Vec<TableState>,
}

/// One comparison of what was expected with what is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is compared, e.g. `pi1 rows`.
    pub name: String,
    /// What the model or the client's own count says.
    pub expected: String,
    /// What the server says.
    pub actual: String,
    /// Whether they agree.
    pub passed: bool,
}

impl Check {
    /// A comparison for equality.
    pub fn equal<T: PartialEq + ToString>(name: impl Into<String>, expected: &T, actual: &T) -> Self {
        Check {
            name: name.into(),
            expected: expected.to_string(),
            actual: actual.to_string(),
            passed: expected == actual,
        }
    }
}
