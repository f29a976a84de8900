//! From the trials of an experiment in rounds to decisions on its steps.

use std::collections::BTreeMap;

use basecase_model::{Experiment, Headline, OperationClass, Schedule, Slice, StepFacts, Trial, names};
use thiserror::Error;

use crate::{
    Comparison, ComparisonError, Decision, Dependence, Judge, Looks, LooksError, Plan, PlanError, Round,
    Sequential, Suite,
};

/// The share of the target below which background writers of any candidate make a round say nothing.
const SLA_TOLERANCE: f64 = 0.95;

/// What is judged. Each is a family of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// The number that is reported of a step: queries, inserts or indexed rows per second.
    Throughput,
    /// CPU time of the server per operation; less is better.
    ServerCpu,
}

impl Metric {
    /// Both.
    pub const ALL: [Metric; 2] = [Metric::Throughput, Metric::ServerCpu];
}

/// Why trials cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum JudgementError {
    /// The experiment's looks are none.
    #[error(transparent)]
    Looks(#[from] LooksError),
    /// Its errors are none.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A number of a trial is none.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
}

/// Decisions on the steps of an experiment in rounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    decisions: BTreeMap<(Metric, usize, usize), Decision>,
    effects: BTreeMap<(Metric, usize, usize), Vec<f64>>,
    suites: BTreeMap<(Metric, usize), Suite>,
    plan: Option<Plan>,
    candidates: usize,
}

impl Judgement {
    /// Judges every compared step of every candidate that has a round with the base case. Nothing of an experiment that is not in
    /// rounds.
    ///
    /// # Errors
    /// When the experiment's schedule or a trial holds what no schedule or trial can hold.
    pub fn of(experiment: &Experiment, trials: &[Trial]) -> Result<Judgement, JudgementError> {
        let candidates = experiment.candidates.len();
        let mut judgement = Judgement { candidates, ..Judgement::default() };
        let Some(schedule) = &experiment.schedule else { return Ok(judgement) };
        let judge = Judge::new(Plan {
            sequential: Sequential::Scheduled(looks(schedule)?),
            dependence: Dependence::Positive,
            ..Plan::default()
        })?;
        judgement.plan = Some(judge.plan().clone());
        for metric in Metric::ALL {
            let (mut places, mut family) = (Vec::new(), Vec::new());
            for (number, step) in experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared()) {
                let margin = (1.0 + schedule.margin(step)).ln();
                for candidate in 1..candidates {
                    let rounds = rounds(experiment, trials, step, candidate, metric);
                    if !rounds.is_empty() {
                        places.push((metric, number, candidate));
                        family.push(Comparison { rounds, margin });
                    }
                }
            }
            let decisions = judge.decide(&family)?;
            let effects =
                family.iter().map(|comparison| comparison.rounds.iter().map(|round| round.effect).collect());
            judgement.effects.extend(places.iter().copied().zip(effects));
            for candidate in 1..candidates {
                let of =
                    places.iter().zip(&family).zip(&decisions).filter(|((place, _), _)| place.2 == candidate);
                let (own, decided): (Vec<_>, Vec<_>) =
                    of.map(|((_, comparison), decision)| (comparison.clone(), decision.clone())).unzip();
                judgement.suites.insert((metric, candidate), judge.suite(&own, &decided)?);
            }
            judgement.decisions.extend(places.into_iter().zip(decisions));
        }
        Ok(judgement)
    }

    /// What was agreed on; absent of an experiment that is not in rounds.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Whether there is any decision.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// The decision on a step of a candidate, both by their numbers in the experiment.
    pub fn decision(&self, metric: Metric, step: usize, candidate: usize) -> Option<&Decision> {
        self.decisions.get(&(metric, step, candidate))
    }

    /// The effects of its rounds, as logarithms of the ratio to the base case.
    pub fn effects(&self, metric: Metric, step: usize, candidate: usize) -> &[f64] {
        self.effects.get(&(metric, step, candidate)).map_or(&[], Vec::as_slice)
    }

    /// What all steps of a candidate say together.
    pub fn suite(&self, metric: Metric, candidate: usize) -> Option<&Suite> {
        self.suites.get(&(metric, candidate))
    }

    /// Whether the throughput of no candidate needs more rounds of a step.
    pub fn is_settled(&self, step: usize) -> bool {
        (1..self.candidates).all(|candidate| {
            self.decision(Metric::Throughput, step, candidate).is_some_and(|decision| decision.leaves)
        })
    }
}

fn looks(schedule: &Schedule) -> Result<Looks, LooksError> {
    Looks::new(schedule.looks.iter().map(|look| *look as usize).collect::<Vec<_>>())
}

/// The rounds of a candidate with the base case.
fn rounds(
    experiment: &Experiment,
    trials: &[Trial],
    step: &StepFacts,
    candidate: usize,
    metric: Metric,
) -> Vec<Round> {
    let pairs = pairs(experiment, trials, step, candidate);
    pairs.filter_map(|(base, contender)| round(step, base, contender, metric)).collect()
}

/// The trials of the base case and of a candidate in the same rounds, in their order. Only what was measured together is compared.
pub(crate) fn pairs<'a>(
    experiment: &Experiment,
    trials: &'a [Trial],
    step: &StepFacts,
    candidate: usize,
) -> impl Iterator<Item = (&'a Trial, &'a Trial)> {
    let of = |candidate: usize| -> BTreeMap<(u32, &'a str), &'a Trial> {
        let name = experiment.candidates.get(candidate).map(|facts| &facts.name.0);
        let is_of =
            |trial: &&Trial| trial.is_complete() && trial.step == step.name && Some(&trial.candidate) == name;
        trials
            .iter()
            .filter(is_of)
            .map(|trial| ((trial.place.round, trial.measured_by.as_str()), trial))
            .collect()
    };
    let (bases, contenders) = (of(0), of(candidate));
    bases.into_iter().filter_map(move |(place, base)| Some((base, *contenders.get(&place)?)))
}

/// What a round says; `None` when it says nothing.
pub(crate) fn round(step: &StepFacts, base: &Trial, contender: &Trial, metric: Metric) -> Option<Round> {
    if !keeps_rate(step, base) || !keeps_rate(step, contender) {
        return None;
    }
    if base.slices.is_empty() || contender.slices.is_empty() {
        let effect = whole(step, contender, metric)? - whole(step, base, metric)?;
        return Some(Round::from(effect));
    }
    let value = |slice: &Slice| match metric {
        Metric::Throughput => logarithm(slice.rate),
        Metric::ServerCpu => slice.server_cpu_us_per_operation().and_then(|cost| logarithm(1.0 / cost)),
    };
    let values = |trial: &Trial| -> Option<Vec<f64>> { trial.slices.iter().map(value).collect() };
    let (base_values, contender_values) = (values(base)?, values(contender)?);
    let passes = base.slices.iter().map(|slice| slice.pass).max()? + 1;
    let of_pass = |pass: u32| {
        let mean_of = |trial: &Trial, values: &[f64]| {
            mean(
                trial
                    .slices
                    .iter()
                    .zip(values)
                    .filter(|(slice, _)| slice.pass == pass)
                    .map(|(_, value)| *value),
            )
        };
        Some(mean_of(contender, &contender_values)? - mean_of(base, &base_values)?)
    };
    Some(Round {
        effect: mean(contender_values.iter().copied())? - mean(base_values.iter().copied())?,
        passes: (0..passes).filter_map(of_pass).collect(),
        base: base_values,
        contender: contender_values,
    })
}

/// The logarithm of what a whole trial came to, larger for better.
fn whole(step: &StepFacts, trial: &Trial, metric: Metric) -> Option<f64> {
    match metric {
        Metric::Throughput => logarithm(trial.headline(step)?),
        Metric::ServerCpu => {
            let class = match step.headline {
                Headline::Queries => OperationClass::Query,
                _ => OperationClass::Insert,
            };
            let operations = step.headline_items.unwrap_or_else(|| trial.items(class));
            logarithm(operations as f64 / trial.counters.get(names::SERVER_CPU_US)?)
        }
    }
}

/// Whether background writers kept their rate, where a step has any.
fn keeps_rate(step: &StepFacts, trial: &Trial) -> bool {
    let rate = trial.items(OperationClass::Insert) as f64 / trial.seconds;
    step.sla_target.is_none_or(|target| rate.round() >= (SLA_TOLERANCE * target).round())
}

fn logarithm(value: f64) -> Option<f64> {
    Some(value.ln()).filter(|logarithm| logarithm.is_finite())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
