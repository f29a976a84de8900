//! The results of a calibration: planted slowdowns, and what was found.

use basecase_model::Experiment;
use basecase_stats::{Recovery, Replay};

use crate::rounds::Rounds;

/// Number of series drawn for each replay.
pub const REPLAYED_SERIES: usize = 500;

/// An experiment in which something was planted.
#[derive(Clone, Copy)]
pub struct CalibrationRun<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its rounds.
    pub rounds: &'a Rounds<'a>,
}

/// Candidates of one step whose servers had the same slowdown planted.
pub struct RecoveryGroup<'a> {
    /// The step, by number.
    pub step: usize,
    /// The name of the first.
    pub name: &'a str,
    /// What was planted in each, and what was found.
    pub members: Vec<&'a Recovery>,
}

impl RecoveryGroup<'_> {
    /// Mean of the planted effects.
    pub fn truth(&self) -> f64 {
        self.members.iter().map(|recovery| recovery.truth).sum::<f64>() / self.members.len() as f64
    }

    /// All their errors.
    pub fn errors(&self) -> Vec<f64> {
        self.members.iter().flat_map(|recovery| recovery.errors.iter().copied()).collect()
    }

    /// How many of them satisfy `is_such`.
    pub fn count(&self, is_counted: impl Fn(&Recovery) -> bool) -> usize {
        self.members.iter().filter(|recovery| is_counted(recovery)).count()
    }
}

/// Groups in the order of steps and candidates, from all runs together.
pub fn grouped<'a>(runs: &[CalibrationRun<'a>]) -> Vec<RecoveryGroup<'a>> {
    let mut groups: Vec<RecoveryGroup<'a>> = Vec::new();
    for CalibrationRun { experiment, rounds } in runs {
        for recovery in &rounds.recoveries {
            let (step, name) = (recovery.step, experiment.candidates[recovery.candidate].name.first());
            match groups.iter_mut().find(|group| (group.step, group.name) == (step, name)) {
                Some(group) => group.members.push(recovery),
                None => groups.push(RecoveryGroup { step, name, members: vec![recovery] }),
            }
        }
    }
    groups
}

impl CalibrationRun<'_> {
    /// Replays series of rounds drawn from the errors of a group, each judged by the margins, interim analyses and seed of this run; `None`
    /// if nothing can be judged.
    pub fn replay(&self, group: &RecoveryGroup<'_>) -> Option<Replay> {
        let schedule = self.experiment.schedule.as_ref()?;
        let margin = (1.0 + schedule.margin(self.experiment.steps.get(group.step)?)).ln();
        let judge = self.rounds.judgement.judge()?;
        judge.replay(&group.errors(), group.truth(), margin, REPLAYED_SERIES, schedule.seed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn copies_of_one_candidate_are_one_group() {
        let (experiment, trials) = fixture::replicates();
        let rounds = Rounds::of(&experiment, &trials).unwrap();
        let run = CalibrationRun { experiment: &experiment, rounds: &rounds };
        let groups = grouped(&[run]);
        let steps: Vec<usize> = groups.iter().map(|group| group.step).collect();
        assert!(steps.windows(2).all(|two| two[0] < two[1]), "one for each step: {steps:?}");
        let range =
            |group: &&RecoveryGroup<'_>| experiment.steps[group.step].label.starts_with("range-covered-pk");
        let group = groups.iter().find(range).unwrap();
        assert_eq!((group.members.len(), group.errors().len()), (2, 20), "of ten rounds each");
    }
}
