//! What a run would do: what is measured already, how long the rest takes, and what it needs of the machine.

use std::collections::BTreeSet;

use basecase_model::{Experiment, Observation, StepFacts, Trial, names};

/// An experiment as it is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// Its id; `None` if builds are missing, which it depends on.
    pub id: Option<String>,
    /// The workload's name.
    pub workload: String,
    /// Sizes and options of the workload.
    pub sizes: Vec<(String, String)>,
    /// The id of this host.
    pub host: String,
    /// The mark of shortened times, `1/50`; `None` if they are as usual.
    pub timing: Option<String>,
    /// The candidates' names, the base case first.
    pub candidates: Vec<String>,
    /// What is not here yet.
    pub missing: Vec<MissingBuild>,
    /// The steps in their order.
    pub steps: Vec<PlannedStep>,
    /// How candidates are measured.
    pub protocol: PlannedProtocol,
    /// What its data takes on the disk.
    pub disk: PlannedDisk,
    /// What its servers take of the memory.
    pub memory: PlannedMemory,
}

/// A build that has to be got first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingBuild {
    /// The candidate that needs it.
    pub candidate: String,
    /// Whether it is compiled here, and not downloaded.
    pub is_compiled: bool,
}

/// A step as it is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// The step.
    pub facts: StepFacts,
    /// Seconds that it takes each candidate, each time, as it is configured: with its warm-up.
    pub seconds: f64,
    /// Keys of the candidates' cells; empty if builds are missing.
    pub cells: Vec<String>,
    /// Whether it loads the data, which rounds do not do each time.
    pub is_load: bool,
}

/// How candidates are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedProtocol {
    /// Each once.
    Classic,
    /// In rounds.
    Rounds {
        /// The number of rounds after which there may be the first verdicts.
        first: u32,
        /// The most rounds.
        last: u32,
        /// After how many seconds no round begins any more, if that is limited.
        budget_seconds: Option<f64>,
    },
    /// Instructions are counted, which has no fixed time.
    Counts,
}

/// Room on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedDisk {
    /// Bytes that all data takes at most, reckoned from its rows.
    pub estimated_bytes: u64,
    /// How many copies of each candidate's data there are at a time; `None` if there is only one candidate's at a time.
    pub copies: Option<u64>,
    /// Bytes that are free.
    pub free_bytes: u64,
}

/// Memory of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedMemory {
    /// Bytes that configs and limits let all servers take that run at the same time; `None` if builds are missing, which are asked.
    pub asked_bytes: Option<u64>,
    /// Bytes that the machine has.
    pub machine_bytes: u64,
}

/// How long a step probably takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Seconds of each candidate, each time.
    pub seconds: f64,
    /// How many trials in the store say so; 0 if it is what is configured.
    pub trials: usize,
}

/// What the store holds of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredStep {
    /// So many of its candidates.
    Cells(usize),
    /// All candidates in so many rounds.
    Rounds(usize),
}

/// A step of a dry run.
#[derive(Debug, Clone, PartialEq)]
pub struct DryStep {
    /// The step.
    pub facts: StepFacts,
    /// Whether it loads the data.
    pub is_load: bool,
    /// What is reused; `None` if builds are missing.
    pub stored: Option<StoredStep>,
    /// How long it takes each candidate, each time; `None` where instructions are counted.
    pub expected: Option<Expected>,
    /// Seconds of all candidates that are to be measured: in each round, or altogether.
    pub seconds: Option<f64>,
}

/// What a run would do.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun {
    /// The experiment.
    pub planned: Planned,
    /// Its steps.
    pub steps: Vec<DryStep>,
    /// Least and most seconds; the same where that is known.
    pub total_seconds: Option<(f64, f64)>,
    /// Bytes that the data takes on the disk, as it was in the store's trials of the same candidates; `None` if there are none.
    pub known_disk_bytes: Option<u64>,
}

impl Planned {
    /// Whether the steps of a stored experiment took as long as those of this one will: the same work on the same machine.
    pub fn is_like(&self, experiment: &Experiment) -> bool {
        experiment.workload == self.workload
            && experiment.host.id == self.host
            && experiment.short_timing() == self.timing.as_deref()
            && experiment.schedule.is_some() == matches!(self.protocol, PlannedProtocol::Rounds { .. })
            && self.sizes.iter().all(|size| experiment.parameters.contains(size))
    }

    /// Keys of all cells.
    pub fn cells(&self) -> Vec<String> {
        self.steps.iter().flat_map(|step| &step.cells).cloned().collect()
    }

    /// Whether each step begins with what the one before it left.
    fn is_chain(&self) -> bool {
        self.workload == basecase_model::INSERT_BENCHMARK
    }

    /// How often a step is run: in each round, or not.
    fn is_in_rounds(&self, step: &PlannedStep) -> bool {
        matches!(self.protocol, PlannedProtocol::Rounds { .. }) && (!step.is_load || self.is_chain())
    }
}

impl DryRun {
    /// What a run would do, by experiments of the same work with their trials, the trials of its own cells, and the keys of those cells that
    /// are counted.
    pub fn of(planned: Planned, alike: &[crate::Stored], own: &[Trial], counted: &BTreeSet<String>) -> Self {
        let steps = planned.steps.iter().map(|step| dry_step(&planned, step, alike, own, counted));
        let steps: Vec<DryStep> = steps.collect();
        let total_seconds = total(&planned, &steps);
        let known_disk_bytes = known_disk(&planned, alike);
        DryRun { planned, steps, total_seconds, known_disk_bytes }
    }
}

fn dry_step(
    planned: &Planned,
    step: &PlannedStep,
    alike: &[crate::Stored],
    own: &[Trial],
    counted: &BTreeSet<String>,
) -> DryStep {
    let stored = planned.missing.is_empty().then(|| stored(planned, step, own, counted));
    let is_timed = planned.protocol != PlannedProtocol::Counts;
    let expected = is_timed.then(|| expected(planned, step, alike));
    let left = match stored {
        Some(StoredStep::Cells(done)) => planned.candidates.len().saturating_sub(done),
        Some(StoredStep::Rounds(_)) | None => planned.candidates.len(),
    };
    let seconds = expected.map(|expected| expected.seconds * left as f64);
    DryStep { facts: step.facts.clone(), is_load: step.is_load, stored, expected, seconds }
}

/// What is in the store of a step.
fn stored(planned: &Planned, step: &PlannedStep, own: &[Trial], counted: &BTreeSet<String>) -> StoredStep {
    let is_in_rounds = matches!(planned.protocol, PlannedProtocol::Rounds { .. });
    let is_own = |trial: &Trial| !is_in_rounds || Some(&trial.measured_by) == planned.id.as_ref();
    let is_usable =
        |trial: &&Trial| trial.is_complete() && trial.observation != Observation::Profiled && is_own(trial);
    let usable: Vec<&Trial> = own.iter().filter(is_usable).collect();
    if planned.is_in_rounds(step) {
        let rounds = |cell: &String| -> BTreeSet<u32> {
            usable.iter().filter(|trial| trial.cell == *cell).map(|trial| trial.place.round).collect()
        };
        let common = step.cells.iter().map(rounds).reduce(|one, other| &one & &other);
        return StoredStep::Rounds(common.map_or(0, |rounds| rounds.len()));
    }
    let is_there = |cell: &&String| match planned.protocol {
        PlannedProtocol::Counts => counted.contains(*cell),
        _ => usable.iter().any(|trial| trial.cell == **cell),
    };
    StoredStep::Cells(step.cells.iter().filter(is_there).count())
}

/// How long a step takes one candidate: the mean of what is stored of it, or else as it is configured.
fn expected(planned: &Planned, step: &PlannedStep, alike: &[crate::Stored]) -> Expected {
    let took_turns = planned.is_in_rounds(step) && !planned.is_chain();
    let seconds_of = |experiment: &Experiment, trial: &Trial| {
        let round = trial.gauges.get(names::ROUND_SECONDS);
        let share = round.map(|seconds| seconds / experiment.candidates.len().max(1) as f64);
        if took_turns { share } else { Some(share.unwrap_or(trial.seconds)) }
    };
    let is_of = |trial: &&Trial| {
        trial.step == step.facts.name && trial.is_complete() && trial.observation != Observation::Profiled
    };
    let seconds: Vec<f64> = alike
        .iter()
        .flat_map(|(experiment, trials)| {
            trials.iter().filter(is_of).filter_map(move |trial| seconds_of(experiment, trial))
        })
        .collect();
    match seconds.len() {
        0 => Expected { seconds: step.seconds, trials: 0 },
        trials => Expected { seconds: seconds.iter().sum::<f64>() / trials as f64, trials },
    }
}

/// Seconds of everything that is left to measure, at least and at most.
fn total(planned: &Planned, steps: &[DryStep]) -> Option<(f64, f64)> {
    let seconds = |is_wanted: &dyn Fn(&PlannedStep) -> bool| -> Option<f64> {
        let both = planned.steps.iter().zip(steps).filter(|(step, _)| is_wanted(step));
        both.map(|(_, dry)| dry.seconds).sum()
    };
    match planned.protocol {
        PlannedProtocol::Counts => None,
        PlannedProtocol::Classic => seconds(&|_| true).map(|all| (all, all)),
        PlannedProtocol::Rounds { budget_seconds: Some(budget), .. } => Some((budget, budget)),
        PlannedProtocol::Rounds { first, last, budget_seconds: None } => {
            let round = seconds(&|step| planned.is_in_rounds(step))?;
            let once = seconds(&|step| !planned.is_in_rounds(step))?;
            let done = |step: &DryStep| match step.stored {
                Some(StoredStep::Rounds(rounds)) => Some(rounds),
                _ => None,
            };
            let done = steps.iter().filter_map(done).min().unwrap_or(0) as u32;
            let of = |rounds: u32| once + round * f64::from(rounds.saturating_sub(done));
            Some((of(first), of(last)))
        }
    }
}

/// What the data of all candidates took on the disk in stored trials, as many copies of it as there will be.
fn known_disk(planned: &Planned, alike: &[crate::Stored]) -> Option<u64> {
    let bytes = |trial: &Trial| {
        trial.gauges.get(names::DIRECTORY_BYTES).or_else(|| trial.gauges.get(names::DATABASE_BYTES))
    };
    let of_candidate = |name: &String| -> Option<u64> {
        let trials = alike.iter().flat_map(|(_, trials)| trials).filter(|trial| trial.candidate == *name);
        trials.filter_map(bytes).reduce(f64::max).map(|bytes| bytes as u64)
    };
    let all: Vec<u64> = planned.candidates.iter().map(of_candidate).collect::<Option<_>>()?;
    match planned.disk.copies {
        None => all.into_iter().max(),
        Some(copies) => Some(all.iter().sum::<u64>().saturating_mul(copies)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, planned};

    #[test]
    fn what_is_new_takes_as_long_as_it_is_configured() {
        let (experiment, trials) = fixture::sample();
        let planned = planned(&experiment, &trials);
        let (steps, candidates) = (planned.steps.len(), planned.candidates.len());
        let dry = DryRun::of(planned, &[], &[], &BTreeSet::new());
        assert!(dry.steps.iter().all(|step| step.stored == Some(StoredStep::Cells(0))));
        assert!(dry.steps.iter().all(|step| step.expected == Some(Expected { seconds: 7.0, trials: 0 })));
        let all = 7.0 * (steps * candidates) as f64;
        assert_eq!((dry.total_seconds, dry.known_disk_bytes), (Some((all, all)), None));
    }

    #[test]
    fn what_is_stored_is_not_measured_again() {
        let (experiment, trials) = fixture::sample();
        let planned = planned(&experiment, &trials);
        assert!(planned.is_like(&experiment));
        let alike = [(experiment, trials.clone())];
        let first = &planned.steps[0].facts.name;
        let complete: Vec<&Trial> = trials
            .iter()
            .filter(|trial| trial.is_complete() && trial.step == *first)
            .filter(|trial| trial.observation != Observation::Profiled)
            .collect();
        let done = complete.iter().map(|trial| &trial.cell).collect::<BTreeSet<_>>().len();
        let candidates = planned.candidates.len();
        let dry = DryRun::of(planned.clone(), &alike, &trials, &BTreeSet::new());
        assert_eq!(dry.steps[0].stored, Some(StoredStep::Cells(done)));
        let mean = complete.iter().map(|trial| trial.seconds).sum::<f64>() / complete.len() as f64;
        let expected = dry.steps[0].expected.unwrap();
        assert!((expected.seconds - mean).abs() < 1e-9 && expected.trials == complete.len());
        let left = (candidates - done) as f64;
        assert!((dry.steps[0].seconds.unwrap() - left * mean).abs() < 1e-9);
        let missing = vec![MissingBuild { candidate: "pg".into(), is_compiled: false }];
        let unknown = DryRun::of(Planned { missing, ..planned }, &alike, &trials, &BTreeSet::new());
        assert_eq!(unknown.steps[0].stored, None);
    }

    #[test]
    fn rounds_take_from_the_first_verdicts_to_the_last_round_or_the_budget() {
        let (experiment, trials) = fixture::in_rounds();
        let planned = planned(&experiment, &trials);
        let new = DryRun::of(planned.clone(), &[], &[], &BTreeSet::new());
        let (load, round) = new.steps.split_first().unwrap();
        assert_eq!((load.stored, round[0].stored), (Some(StoredStep::Cells(0)), Some(StoredStep::Rounds(0))));
        let round: f64 = round.iter().filter_map(|step| step.seconds).sum();
        let once = load.seconds.unwrap();
        assert_eq!(new.total_seconds, Some((once + 5.0 * round, once + 40.0 * round)));
        let protocol = PlannedProtocol::Rounds { first: 5, last: 40, budget_seconds: Some(90.0) };
        let limited = DryRun::of(Planned { protocol, ..planned }, &[], &[], &BTreeSet::new());
        assert_eq!(limited.total_seconds, Some((90.0, 90.0)));
    }
}
