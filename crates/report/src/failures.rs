//! Trials that failed.

use basecase_model::{CandidateFacts, Check, StepFacts, TrialStatus};

use crate::results::Results;

/// A trial that failed and was not made up for.
pub(crate) struct Failure<'a> {
    /// The candidate.
    pub(crate) candidate: &'a CandidateFacts,
    /// The step.
    pub(crate) step: &'a StepFacts,
    /// The round, from 0, of an experiment in rounds.
    round: Option<u32>,
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
            let (trial, round) = match results.rounds {
                Some(rounds) => {
                    let failed = rounds.failed(&step.name, &candidate.name.0);
                    (failed, failed.map(|trial| trial.place.round))
                }
                None => (results.trial(step_number, number), None),
            };
            let Some(trial) = trial else { continue };
            let TrialStatus::Failed { reason, log_tail } = &trial.status else { continue };
            let checks = trial.checks.iter().filter(|check| !check.passed).collect();
            failures.push(Failure { candidate, step, round, reason, log_tail, checks });
        }
    }
    failures
}

impl Failure<'_> {
    /// Which candidate in which step.
    pub(crate) fn place(&self) -> String {
        let round = self.round.map(|round| format!(", round {}", round + 1)).unwrap_or_default();
        format!("{} in {}{round}", self.candidate.name, self.step.name)
    }

    /// Each failed check in words.
    pub(crate) fn check_lines(&self) -> Vec<String> {
        let line =
            |check: &&Check| format!("{}: expected {}, is {}", check.name, check.expected, check.actual);
        self.checks.iter().map(line).collect()
    }
}
