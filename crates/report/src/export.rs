//! What is written for another program.

/// What another program reads of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// In the form of that program.
    pub text: String,
    /// What is left out and why, each with a hint.
    pub notes: Vec<String>,
}
