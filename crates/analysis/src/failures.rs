//! Trials that failed.

use basecase_model::{CandidateFacts, Check, StepFacts, TrialStatus};

use crate::results::Results;

/// A trial that failed and was not repeated successfully.
#[derive(Debug, Clone)]
pub struct Failure<'a> {
    /// The candidate.
    pub candidate: &'a CandidateFacts,
    /// The step.
    pub step: &'a StepFacts,
    /// The round, from 0, in an experiment in rounds.
    pub round: Option<u32>,
    /// What failed.
    pub reason: &'a str,
    /// The last lines of the server's log.
    pub log_tail: &'a str,
    /// The checks that did not pass.
    pub checks: Vec<&'a Check>,
}

/// The failed trials in the order of candidates and steps.
pub fn failures<'a>(results: &Results<'a>) -> Vec<Failure<'a>> {
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
