//! Which trial stands for which candidate and step.

use std::collections::HashMap;

use basecase_model::{
    CandidateFacts, Experiment, Headline, Observation, OperationClass, Profile, StepFacts, Trial,
};

/// An experiment with the chosen trial of every candidate and step.
pub(crate) struct Results<'a> {
    /// The experiment.
    pub(crate) experiment: &'a Experiment,
    // One row per step, one entry per candidate.
    chosen: Vec<Vec<Option<&'a Trial>>>,
    // The newest complete trials with a profile, by step and candidate.
    profiled: HashMap<(&'a str, &'a str), &'a Trial>,
}

/// A complete trial with what is needed to read it.
#[derive(Clone, Copy)]
pub(crate) struct Measured<'a> {
    /// The trial.
    pub(crate) trial: &'a Trial,
    /// Its step.
    pub(crate) step: &'a StepFacts,
    /// Processors of the host it ran on.
    pub(crate) cores: u32,
}

impl<'a> Results<'a> {
    /// Chooses the newest complete trial of each candidate and step, else its newest failed one. One that was profiled counts only
    /// where there is no other: a profile costs time.
    pub(crate) fn new(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let mut newest: HashMap<(&str, &str), &'a Trial> = HashMap::new();
        for trial in trials {
            let place = newest.entry((trial.step.as_str(), trial.candidate.as_str())).or_insert(trial);
            let rank = |trial: &Trial| (trial.is_complete(), trial.observation != Observation::Profiled);
            if rank(trial) >= rank(place) {
                *place = trial;
            }
        }
        let chosen = experiment
            .steps
            .iter()
            .map(|step| {
                let of = |candidate: &CandidateFacts| {
                    newest.get(&(step.name.as_str(), candidate.name.0.as_str())).copied()
                };
                experiment.candidates.iter().map(of).collect()
            })
            .collect();
        let has_profile = |trial: &&Trial| trial.is_complete() && !trial.profiles.is_empty();
        let profiled = trials
            .iter()
            .filter(has_profile)
            .map(|trial| ((trial.step.as_str(), trial.candidate.as_str()), trial))
            .collect();
        Results { experiment, chosen, profiled }
    }

    /// The steps with their number.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, &'a StepFacts)> + use<'a> {
        self.experiment.steps.iter().enumerate()
    }

    /// The candidates with their number; 0 is the base case.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (usize, &'a CandidateFacts)> + use<'a> {
        self.experiment.candidates.iter().enumerate()
    }

    /// The chosen trial, complete or failed; `None` when there is none yet.
    pub(crate) fn trial(&self, step: usize, candidate: usize) -> Option<&'a Trial> {
        self.chosen.get(step)?.get(candidate).copied().flatten()
    }

    /// The chosen trial when it is complete.
    pub(crate) fn measured(&self, step: usize, candidate: usize) -> Option<Measured<'a>> {
        let trial = self.trial(step, candidate).filter(|trial| trial.is_complete())?;
        let step = self.experiment.steps.get(step)?;
        Some(Measured { trial, step, cores: self.experiment.host.cores })
    }

    /// The newest complete trial of a cell that has a profile.
    pub(crate) fn profiled(&self, step: usize, candidate: usize) -> Option<Measured<'a>> {
        let step = self.experiment.steps.get(step)?;
        let name = &self.experiment.candidates.get(candidate)?.name;
        let trial = self.profiled.get(&(step.name.as_str(), name.0.as_str())).copied()?;
        Some(Measured { trial, step, cores: self.experiment.host.cores })
    }

    /// The profiles of a step, of whichever trial has the newest.
    pub(crate) fn profiles(&self, step: usize, candidate: usize) -> &'a [Profile] {
        self.profiled(step, candidate).map_or(&[], |measured| &measured.trial.profiles)
    }

    /// The headline value; `None` of a failed or missing trial.
    pub(crate) fn headline(&self, step: usize, candidate: usize) -> Option<f64> {
        self.measured(step, candidate)?.headline()
    }

    /// The headline value divided by the base case's; `None` when either is missing or the base case's is 0.
    pub(crate) fn relative(&self, step: usize, candidate: usize) -> Option<f64> {
        quotient(self.headline(step, candidate)?, self.headline(step, 0)?)
    }

    /// Whether background writers missed their rate, so that the step's headline says nothing.
    pub(crate) fn missed_sla(&self, step: usize, candidate: usize) -> bool {
        self.measured(step, candidate).and_then(|measured| measured.sla()).is_some_and(|sla| !sla.met)
    }
}

impl Measured<'_> {
    /// `ips`: rows inserted, or indexed, per second of the step.
    pub(crate) fn inserts_per_second(&self) -> Option<f64> {
        let items = match (self.step.headline, self.step.headline_items) {
            (Headline::Indexed, Some(items)) => items,
            _ => self.trial.items(OperationClass::Insert),
        };
        quotient(items as f64, self.trial.seconds)
    }

    /// `qps`: queries per second of the query roles' own windows.
    pub(crate) fn queries_per_second(&self) -> f64 {
        // The sum over no role is -0, which prints as such.
        self.trial.rate(OperationClass::Query) + 0.0
    }

    /// The number that tables show and compare.
    pub(crate) fn headline(&self) -> Option<f64> {
        match self.step.headline {
            Headline::Inserts | Headline::Indexed => self.inserts_per_second(),
            Headline::Queries => Some(self.queries_per_second()),
        }
    }

    /// The class whose operations the headline counts.
    pub(crate) fn headline_class(&self) -> OperationClass {
        match self.step.headline {
            Headline::Inserts | Headline::Indexed => OperationClass::Insert,
            Headline::Queries => OperationClass::Query,
        }
    }

    /// Whether the background writers kept their rate; `None` where the step has none.
    pub(crate) fn sla(&self) -> Option<crate::sla::Sla> {
        crate::sla::Sla::judge(self.step.sla_target?, self.inserts_per_second())
    }
}

/// `dividend / divisor`, or `None` when that is no finite number.
pub(crate) fn quotient(dividend: f64, divisor: f64) -> Option<f64> {
    Some(dividend / divisor).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use basecase_model::TrialStatus;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_newest_complete_trial_counts_else_the_newest_failed_one() {
        let (experiment, trials) = fixture::sample();
        let complete = trials.iter().find(|trial| trial.is_complete()).unwrap().clone();
        let failed = Trial {
            status: TrialStatus::Failed { reason: "first".into(), log_tail: String::new() },
            ..complete.clone()
        };
        let newer = Trial {
            status: TrialStatus::Failed { reason: "second".into(), log_tail: String::new() },
            ..complete.clone()
        };
        let faster = Trial { seconds: complete.seconds / 2.0, ..complete.clone() };
        let chosen = |trials: &[Trial]| Results::new(&experiment, trials).trial(0, 0).cloned();
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[failed.clone(), newer.clone()]), Some(newer.clone()));
        assert_eq!(chosen(&[failed, complete.clone(), newer]), Some(complete.clone()));
        assert_eq!(chosen(&[complete, faster.clone()]), Some(faster));
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        assert_eq!(quotient(1.0, 0.0), None);
        assert_eq!(quotient(0.0, 0.0), None);
        assert_eq!(quotient(3.0, 2.0), Some(1.5));
    }
}
