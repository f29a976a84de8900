//! An experiment in rounds: its pooled rounds, its decisions, and how the rounds went.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use basecase_model::{Experiment, Schedule, Slice, StepFacts, Trial, names};
use basecase_stats::{
    AnalysisPlan, Judge, Judgement, JudgementError, NOISY_CANARY, NOISY_CORES, Recovery, usual_canary_ns,
};

use crate::pool::{Pooled, pooled};

/// What is known about an experiment in rounds.
pub struct Rounds<'a> {
    /// How it is decided.
    pub schedule: Schedule,
    /// The decisions; none if the rounds cannot be judged.
    pub judgement: Judgement,
    /// Why they cannot.
    pub refusal: Option<JudgementError>,
    /// Every step on every candidate, pooled over all rounds.
    pub pooled: Vec<Pooled<'a>>,
    /// The steps; each has its conduct as soon as somebody asks for it. A history of many experiments does not.
    conducts: Vec<(&'a StepFacts, OnceLock<Conduct>)>,
    /// What was planted in servers, and what was found.
    pub recoveries: Vec<Recovery>,
    /// All trials, as they were measured.
    pub trials: &'a [Trial],
    /// Trials that failed and were not measured again in the same round.
    failed: Vec<Trial>,
}

/// What the rounds of an experiment say, without the trials that say it.
#[derive(Debug, Clone)]
pub(crate) struct RoundVerdicts {
    schedule: Schedule,
    judgement: Judgement,
    refusal: Option<JudgementError>,
    recoveries: Vec<Recovery>,
}

impl RoundVerdicts {
    /// From an experiment and all its trials; `None` if it is not in rounds.
    pub(crate) fn of(experiment: &Experiment, trials: &[Trial]) -> Option<Self> {
        let schedule = experiment.schedule.clone()?;
        let (judgement, refusal) = match Judgement::of(experiment, trials) {
            Ok(judgement) => (judgement, None),
            Err(error) => (Judgement::default(), Some(error)),
        };
        let recoveries = judgement.recoveries(experiment, trials);
        Some(RoundVerdicts { schedule, judgement, refusal, recoveries })
    }
}

/// How the rounds of a step went, over all candidates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conduct {
    /// How client and servers were placed on processors; several if that changed.
    pub placements: Vec<String>,
    /// Whether the operating system was free to place the single connection and its server.
    pub is_unpinned: bool,
    /// The number of slices of a candidate in the shortest and in the longest round; `None` if candidates did not take turns.
    pub slices: Option<(usize, usize)>,
    /// Mean length of a slice, seconds.
    pub slice_s: Option<f64>,
    /// Mean length of a round of the step with everything that belongs to it, seconds.
    pub round_s: Option<f64>,
    /// Bytes of the copies of the data that rounds began with.
    pub copy_bytes: Option<Level>,
    /// Time until those were on the device, seconds.
    pub copy_s: Option<Level>,
    /// Processors that others used.
    pub others_cores: Option<Level>,
    /// Share of the time that the hypervisor gave to others, 0 to 1.
    pub steal_share: Option<Level>,
    /// How much longer the canary before a pass took than it usually does; 0 if as long.
    pub slowed: Option<Level>,
}

/// A level over the trials of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its mean.
    pub mean: f64,
    /// The largest of them.
    pub largest: f64,
}

impl<'a> Rounds<'a> {
    /// From an experiment and all its trials; `None` if it is not in rounds.
    pub fn of(experiment: &'a Experiment, trials: &'a [Trial]) -> Option<Self> {
        Some(Rounds::judged(experiment, trials, RoundVerdicts::of(experiment, trials)?))
    }

    /// The same of an experiment that is judged.
    pub(crate) fn judged(experiment: &'a Experiment, trials: &'a [Trial], verdicts: RoundVerdicts) -> Self {
        let RoundVerdicts { schedule, judgement, refusal, recoveries } = verdicts;
        let conducts = experiment.steps.iter().map(|step| (step, OnceLock::new())).collect();
        let failed = trials.iter().filter(|trial| is_lost(trial, trials)).cloned().collect();
        let pooled = pooled(experiment, trials);
        Rounds { schedule, judgement, refusal, pooled, conducts, recoveries, trials, failed }
    }

    /// The newest trial of a step on a candidate that failed and was not repeated successfully.
    pub fn failed(&self, step: &str, candidate: &str) -> Option<&Trial> {
        self.failed.iter().rfind(|trial| trial.step == step && trial.candidate == candidate)
    }

    /// The rounds of a step that two candidates share, in their order.
    pub fn pairs(
        &self,
        step: &str,
        base: &str,
        contender: &str,
    ) -> impl Iterator<Item = (&'a Trial, &'a Trial)> {
        let contenders = self.rounds_of(step, contender);
        self.rounds_of(step, base).iter().filter_map(move |base| {
            Some((*base, *contenders.iter().find(|other| other.round() == base.round())?))
        })
    }

    /// The rounds of a step on a candidate, in their order; none of what was measured alone.
    pub(crate) fn rounds_of(&self, step: &str, candidate: &str) -> &[&'a Trial] {
        let is_of = |pooled: &&Pooled<'a>| pooled.trial.step == step && pooled.trial.candidate == candidate;
        self.pooled.iter().find(is_of).map_or(&[], |pooled| pooled.rounds.as_slice())
    }

    /// How many loads of the data the rounds began with; `None` if that is not known, or each step began with what the one before it left.
    pub fn loads(&self) -> Option<usize> {
        let rounds = self.pooled.iter().flat_map(|pooled| &pooled.rounds);
        let loads: BTreeSet<u32> = rounds
            .filter_map(|trial| trial.gauges.get(names::IMAGE_ROUND))
            .map(|round| round as u32)
            .collect();
        Some(loads.len()).filter(|loads| *loads > 0)
    }

    /// How the rounds of a step went.
    pub fn conduct(&self, step: usize) -> Option<&Conduct> {
        let (step, conduct) = self.conducts.get(step)?;
        Some(conduct.get_or_init(|| Conduct::of(step, self.trials)))
    }

    /// The share of all slices, 0 to 1, whose processor was so slow right before their pass that others must have used it, or its clock gone
    /// down; `None` where that was not measured.
    pub fn slow_share(&self) -> Option<f64> {
        let slices = self.trials.iter().filter(|trial| trial.is_complete()).flat_map(|trial| &trial.slices);
        let mut canaries: Vec<f64> = slices.filter_map(|slice| slice.canary_ns).collect();
        let most = NOISY_CANARY * usual_canary_ns(&mut canaries)?;
        let slow = canaries.iter().filter(|canary_ns| **canary_ns > most).count();
        Some(slow as f64 / canaries.len() as f64)
    }

    /// The analysis plan.
    pub fn plan(&self) -> AnalysisPlan {
        self.judgement.judge().map(Judge::plan).cloned().unwrap_or_default()
    }
}

/// Whether a trial failed and no complete one took its place.
fn is_lost(trial: &Trial, trials: &[Trial]) -> bool {
    let replaces = |other: &Trial| {
        other.is_complete()
            && other.place.round == trial.place.round
            && (&other.step, &other.candidate) == (&trial.step, &trial.candidate)
    };
    !trial.is_complete() && !trials.iter().any(replaces)
}

impl Conduct {
    fn of(step: &StepFacts, trials: &[Trial]) -> Conduct {
        let trials: Vec<&Trial> =
            trials.iter().filter(|trial| trial.is_complete() && trial.step == step.name).collect();
        let mut placements: Vec<String> = trials.iter().map(|trial| trial.placement.clone()).collect();
        placements.sort();
        placements.dedup();
        let counts = || trials.iter().map(|trial| trial.slices.len()).filter(|count| *count > 0);
        let lengths: Vec<f64> = trials
            .iter()
            .flat_map(|trial| &trial.slices)
            .map(|slice: &Slice| slice.length_us / 1e6)
            .collect();
        let level = |name: &str| {
            Level::of(&trials.iter().filter_map(|trial| trial.gauges.get(name)).collect::<Vec<_>>())
        };
        Conduct {
            placements,
            is_unpinned: step.threads == Some(1) && trials.iter().any(|trial| is_unpinned(trial)),
            slices: counts().min().zip(counts().max()),
            slice_s: Level::of(&lengths).map(|level| level.mean),
            round_s: level(names::ROUND_SECONDS).map(|level| level.mean),
            copy_bytes: level(names::IMAGE_BYTES),
            copy_s: level(names::IMAGE_COPY_SECONDS),
            others_cores: level(names::ROUND_OTHERS_CORES),
            steal_share: level(names::ROUND_STEAL_SHARE),
            slowed: slowed(&trials),
        }
    }

    /// Whether others used so much of the machine that rounds scatter.
    pub fn is_noisy(&self) -> bool {
        self.others_cores.is_some_and(|others| others.mean > NOISY_CORES)
    }
}

/// See [`Conduct::slowed`].
fn slowed(trials: &[&Trial]) -> Option<Level> {
    let canaries: Vec<f64> =
        trials.iter().flat_map(|trial| &trial.slices).filter_map(|slice| slice.canary_ns).collect();
    // A copy is reordered, so that sums are those of the order of time.
    let usual = usual_canary_ns(&mut canaries.clone())?;
    Level::of(&canaries.iter().map(|canary| canary / usual - 1.0).collect::<Vec<_>>())
}

/// Whether neither a server nor its client was pinned. An embedded database has no other thread to wake up.
fn is_unpinned(trial: &Trial) -> bool {
    trial.placement == "unpinned" && trial.slices.iter().any(|slice| slice.server_cpu_us.is_some())
}

impl Level {
    /// `None` without values.
    fn of(values: &[f64]) -> Option<Level> {
        let largest = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Level { mean: values.iter().sum::<f64>() / values.len() as f64, largest })
    }
}
