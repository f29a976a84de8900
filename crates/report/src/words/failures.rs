//! Failures in words.

use basecase_analysis::Failure;
use basecase_model::Check;

/// A failure in words.
pub(crate) trait FailureWords {
    /// The candidate and the step, e.g. `pg in l.i0, round 2`.
    fn place(&self) -> String;

    /// The first line of the reason.
    fn brief(&self) -> &str;

    /// A line for each failed check.
    fn check_lines(&self) -> Vec<String>;
}

impl FailureWords for Failure<'_> {
    fn place(&self) -> String {
        let round = self.round.map(|round| format!(", round {}", round + 1)).unwrap_or_default();
        format!("{} in {}{round}", self.candidate.name, self.step.name)
    }

    fn brief(&self) -> &str {
        self.reason.lines().next().unwrap_or_default()
    }

    fn check_lines(&self) -> Vec<String> {
        let line =
            |check: &&Check| format!("{}: expected {}, is {}", check.name, check.expected, check.actual);
        self.checks.iter().map(line).collect()
    }
}
