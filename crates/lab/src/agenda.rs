//! What is still to be decided of an experiment in rounds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use basecase_model::{Experiment, Trial};
use basecase_stats::Judgement;

/// The trials of an experiment in rounds, and what they leave open.
pub(crate) struct Agenda {
    experiment: Experiment,
    /// In the order in which they were measured.
    trials: Vec<Trial>,
    /// Candidates by the steps that they failed in this run: they would fail again.
    out: BTreeSet<(usize, usize)>,
}

impl Agenda {
    /// With the trials that there are.
    pub(crate) fn new(experiment: &Experiment, trials: Vec<Trial>) -> Self {
        Agenda { experiment: experiment.clone(), trials, out: BTreeSet::new() }
    }

    /// Takes in a new trial. A candidate that failed a step is not asked for it again.
    pub(crate) fn add(&mut self, trial: Trial) {
        if !trial.is_complete() {
            let step = self.experiment.steps.iter().position(|step| step.name == trial.step);
            let candidate = (0..self.candidates()).find(|candidate| self.name(*candidate) == trial.candidate);
            self.out.extend(candidate.zip(step));
        }
        self.trials.push(trial);
    }

    /// Takes all trials, old and new.
    pub(crate) fn renew(&mut self, trials: Vec<Trial>) {
        self.trials = trials;
    }

    /// Whether this experiment loaded a candidate's tables.
    pub(crate) fn has_load(&self, candidate: usize) -> bool {
        let Experiment { id, steps, .. } = &self.experiment;
        let is_load = |trial: &Trial| {
            trial.is_complete() && trial.step == steps[0].name && trial.candidate == self.name(candidate)
        };
        self.trials.iter().any(|trial| is_load(trial) && trial.measured_by == *id)
    }

    /// Asks a candidate for nothing any more.
    pub(crate) fn dismiss(&mut self, candidate: usize) {
        self.out.extend((0..self.experiment.steps.len()).map(|step| (candidate, step)));
    }

    /// The candidates that are to be measured in a step; none when nothing is left to compare.
    pub(crate) fn runners(&self, step: usize) -> Vec<usize> {
        let is_in = |candidate: &usize| !self.out.contains(&(*candidate, step));
        let runners: Vec<usize> = (0..self.candidates()).filter(is_in).collect();
        if runners.first() == Some(&0) && runners.len() > 1 { runners } else { Vec::new() }
    }

    /// The candidates that are to be measured in any of these steps.
    pub(crate) fn runners_of_any(&self, steps: &[usize]) -> BTreeSet<usize> {
        steps.iter().flat_map(|step| self.runners(*step)).collect()
    }

    /// The steps that are not decided yet.
    ///
    /// # Errors
    /// When a trial holds what no trial can hold.
    pub(crate) fn open_steps(&self) -> Result<Vec<usize>> {
        let judgement = Judgement::of(&self.experiment, &self.trials)?;
        let steps = self.experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let is_open = |step: &usize| {
            let mut contenders = self.runners(*step).into_iter().skip(1);
            contenders.any(|candidate| !judgement.is_settled(*step, candidate))
        };
        Ok(steps.map(|(number, _)| number).filter(is_open).collect())
    }

    /// The first round that an open step lacks, with all open steps that lack it; `None` when nothing is open.
    ///
    /// # Errors
    /// As of [`Agenda::open_steps`].
    pub(crate) fn next_round(&self) -> Result<Option<(u32, Vec<usize>)>> {
        let open = self.open_steps()?;
        let first_missing = |step: &usize| (0..).find(|round| !self.has(*step, *round)).unwrap_or(0);
        let first = open.iter().map(first_missing).min();
        let lacking = |round| open.iter().copied().filter(|step| !self.has(*step, round)).collect();
        Ok(first.map(|round| (round, lacking(round))))
    }

    /// Whether all candidates that did not fail have a complete trial of a step in a round, measured together.
    fn has(&self, step: usize, round: u32) -> bool {
        let name = &self.experiment.steps[step].name;
        let is_of = |trial: &&Trial| trial.is_complete() && trial.place.round == round && trial.step == *name;
        let mut together: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for trial in self.trials.iter().filter(is_of) {
            together.entry(&trial.measured_by).or_default().insert(&trial.candidate);
        }
        together.values().any(|present| {
            (0..self.candidates()).all(|candidate| {
                present.contains(self.name(candidate))
                    || self.out.contains(&(candidate, step))
                    || self.had_failed(candidate, step, round)
            })
        })
    }

    /// Whether the last that is known of a candidate up to a round, or of its trials of this step, is a failure. Another run asks it
    /// again, in rounds to come.
    fn had_failed(&self, candidate: usize, step: usize, round: u32) -> bool {
        let (name, step) = (self.name(candidate), &self.experiment.steps[step].name);
        let known =
            || self.trials.iter().filter(|trial| trial.candidate == name && trial.place.round <= round);
        let is_failure = |last: Option<&Trial>| last.is_some_and(|trial| !trial.is_complete());
        is_failure(known().next_back()) || is_failure(known().rfind(|trial| trial.step == *step))
    }

    fn candidates(&self) -> usize {
        self.experiment.candidates.len()
    }

    fn name(&self, candidate: usize) -> &str {
        &self.experiment.candidates[candidate].name.0
    }
}
