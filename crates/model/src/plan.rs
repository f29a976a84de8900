//! How the server would execute a statement.

/// The plan of one statement of a step, as the server showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementPlan {
    /// The statement's name, as in [`crate::StatementRecord`]; for the Insert Benchmark, the name of a role's statement.
    pub statement: String,
    /// The explained statement, with its values.
    pub sql: String,
    /// The plan, one line per node, as the server printed it.
    pub text: String,
}
