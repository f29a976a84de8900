//! How the server would execute a statement.

/// The plan of one statement of a step, as the server showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementPlan {
    /// The statement's name, as in [`crate::StatementRecord`]; of the Insert Benchmark, what a role's statement is called.
    pub statement: String,
    /// The statement that was explained, with the values that it had.
    pub sql: String,
    /// The plan, a line for each of its nodes, as the server printed it.
    pub text: String,
}
