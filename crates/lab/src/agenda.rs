//! What is still to be decided of an experiment in rounds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use basecase_model::{Experiment, Trial};
use basecase_stats::Judgement;

/// The trials of an experiment in rounds, and what they leave open.
pub(crate) struct Agenda {
    experiment: Experiment,
    trials: Vec<Trial>,
    judgement: Judgement,
    /// Steps that failed in this run: they would fail again.
    failed: BTreeSet<usize>,
}

impl Agenda {
    /// With the trials that there are.
    pub(crate) fn new(experiment: &Experiment, trials: Vec<Trial>) -> Result<Self> {
        let judgement = Judgement::of(experiment, &trials)?;
        Ok(Agenda { experiment: experiment.clone(), trials, judgement, failed: BTreeSet::new() })
    }

    /// Takes in new trials.
    pub(crate) fn add(&mut self, trials: Vec<Trial>) -> Result<()> {
        for trial in trials.iter().filter(|trial| !trial.is_complete()) {
            self.failed.extend(self.experiment.steps.iter().position(|step| step.name == trial.step));
        }
        self.trials.extend(trials);
        self.judgement = Judgement::of(&self.experiment, &self.trials)?;
        Ok(())
    }

    /// The steps that are not decided yet.
    pub(crate) fn open_steps(&self) -> Vec<usize> {
        let steps = self.experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let is_open = |step: &usize| !self.failed.contains(step) && !self.judgement.is_settled(*step);
        steps.map(|(number, _)| number).filter(is_open).collect()
    }

    /// Whether all candidates have a complete trial of a step in a round, measured together.
    pub(crate) fn has(&self, step: usize, round: u32) -> bool {
        let name = &self.experiment.steps[step].name;
        let is_of = |trial: &&Trial| trial.is_complete() && trial.place.round == round && trial.step == *name;
        let mut together: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for trial in self.trials.iter().filter(is_of) {
            together.entry(&trial.measured_by).or_default().insert(&trial.candidate);
        }
        let candidates = &self.experiment.candidates;
        together.values().any(|present| candidates.iter().all(|one| present.contains(one.name.0.as_str())))
    }

    /// The first round that an open step lacks, with all open steps that lack it; `None` when nothing is open.
    pub(crate) fn next_round(&self) -> Option<(u32, Vec<usize>)> {
        let open = self.open_steps();
        let first_missing = |step: &usize| (0..).find(|round| !self.has(*step, *round)).unwrap_or(0);
        let round = open.iter().map(first_missing).min()?;
        Some((round, open.into_iter().filter(|step| !self.has(*step, round)).collect()))
    }
}
