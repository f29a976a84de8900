//! Trials that failed.

use basecase_model::{CandidateFacts, Check, StepFacts, TrialStatus};

use crate::results::Results;

/// A chosen trial that failed.
pub(crate) struct Failure<'a> {
    /// The candidate.
    pub(crate) candidate: &'a CandidateFacts,
    /// The step.
    pub(crate) step: &'a StepFacts,
    /// What failed.
    pub(crate) reason: &'a str,
    /// The last lines of the server's log.
    pub(crate) log_tail: &'a str,
    /// The checks that did not pass.
    pub(crate) checks: Vec<&'a Check>,
}

/// The failed trials in the order of candidates and steps.
pub(crate) fn failures<'a>(results: &Results<'a>) -> Vec<Failure<'a>> {
    let mut failures = Vec::new();
    for (number, candidate) in results.candidates() {
        for (step_number, step) in results.steps() {
            let Some(trial) = results.trial(step_number, number) else { continue };
            let TrialStatus::Failed { reason, log_tail } = &trial.status else { continue };
            let checks = trial.checks.iter().filter(|check| !check.passed).collect();
            failures.push(Failure { candidate, step, reason, log_tail, checks });
        }
    }
    failures
}

impl Failure<'_> {
    /// Which candidate in which step.
    pub(crate) fn place(&self) -> String {
        format!("{} in {}", self.candidate.name, self.step.name)
    }

    /// Each failed check in words.
    pub(crate) fn check_lines(&self) -> Vec<String> {
        let line =
            |check: &&Check| format!("{}: expected {}, is {}", check.name, check.expected, check.actual);
        self.checks.iter().map(line).collect()
    }
}
