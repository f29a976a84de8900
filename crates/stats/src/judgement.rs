//! From the trials of an experiment in rounds to decisions on its steps.

use std::collections::BTreeMap;

use basecase_model::{Experiment, Schedule, Trial};
use thiserror::Error;

use crate::debt;
use crate::interim_data::effects;
use crate::pair::Pair;
use crate::{
    AnalysisPlan, AnalysisPlanError, Comparison, ComparisonError, Decision, Dependence, Flag,
    InterimAnalyses, InterimAnalysesError, Judge, Round, Sequential, Suite,
};

/// What is judged. Each is a family of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JudgedMetric {
    /// The number that is reported of a step: queries, inserts or indexed rows per second.
    Throughput,
    /// CPU time of the server per operation; less is better.
    ServerCpu,
}

impl JudgedMetric {
    /// Both.
    pub const ALL: [JudgedMetric; 2] = [JudgedMetric::Throughput, JudgedMetric::ServerCpu];
}

/// Why trials cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum JudgementError {
    /// The experiment's interim analyses are none.
    #[error(transparent)]
    InterimAnalyses(#[from] InterimAnalysesError),
    /// Its errors are none.
    #[error(transparent)]
    AnalysisPlan(#[from] AnalysisPlanError),
    /// A number of a trial is none.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
}

/// Decisions on the steps of an experiment in rounds.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    decisions: BTreeMap<(JudgedMetric, usize, usize), Decision>,
    effects: BTreeMap<(JudgedMetric, usize, usize), Vec<f64>>,
    inclusive: BTreeMap<(JudgedMetric, usize, usize), Decision>,
    suites: BTreeMap<(JudgedMetric, usize), Suite>,
    judge: Option<Judge>,
}

impl Judgement {
    /// Judges every compared step of every candidate that has a round with the base case. Nothing of an experiment that is not in
    /// rounds.
    ///
    /// # Errors
    /// When the experiment's schedule or a trial holds what no schedule or trial can hold.
    pub fn of(experiment: &Experiment, trials: &[Trial]) -> Result<Judgement, JudgementError> {
        let candidates = experiment.candidates.len();
        let mut judgement = Judgement::default();
        let Some(schedule) = &experiment.schedule else { return Ok(judgement) };
        let judge = Judge::new(AnalysisPlan {
            sequential: Sequential::Scheduled(analyses(schedule)?),
            dependence: Dependence::Positive,
            ..AnalysisPlan::default()
        })?;
        let compared = experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let pairs: Vec<_> = compared
            .flat_map(|step| (1..candidates).map(move |candidate| (step, candidate)))
            .map(|(step, candidate)| {
                let pairs = Pair::all(experiment, trials, step.1, candidate);
                let has_debt_shifted = step.1.writes && debt::has_shifted(&pairs);
                (step, candidate, pairs, has_debt_shifted)
            })
            .collect();
        for metric in JudgedMetric::ALL {
            let (mut places, mut family) = (Vec::new(), Vec::new());
            let mut debts = Vec::new();
            for ((number, step), candidate, pairs, has_debt_shifted) in &pairs {
                let told = pairs.iter().filter_map(|pair| Some((pair, pair.round(metric)?)));
                let (told, rounds): (Vec<&Pair<'_>>, Vec<Round>) = told.unzip();
                if !rounds.is_empty() {
                    let margin = (1.0 + schedule.margin(step)).ln();
                    let paid =
                        told.iter().zip(&rounds).map(|(pair, round)| debt::inclusive(pair, round, metric));
                    let paid: Option<Vec<Round>> = paid.collect();
                    let paid =
                        paid.map(|rounds| judge.decide(&[Comparison { rounds, margin }])).transpose()?;
                    debts.push((*has_debt_shifted, paid.and_then(|decisions| decisions.into_iter().next())));
                    places.push((metric, *number, *candidate));
                    family.push(Comparison { rounds, margin });
                }
            }
            let mut decisions = judge.decide(&family)?;
            for ((place, decision), (has_shifted, paid)) in places.iter().zip(&mut decisions).zip(debts) {
                if has_shifted || paid.as_ref().is_some_and(|paid| paid.contradicts(decision)) {
                    decision.flags.push(Flag::DebtShift);
                }
                judgement.inclusive.extend(paid.map(|paid| (*place, paid)));
            }
            if experiment.is_chain() {
                // Its tables grow and age on the way: that is the work.
                decisions
                    .iter_mut()
                    .for_each(|decision| decision.flags.retain(|flag| *flag != Flag::NotSteady));
            }
            let effects = family.iter().zip(&decisions).map(|(comparison, decision)| {
                effects(&comparison.rounds, decision.flags.contains(&Flag::Stalls))
            });
            judgement.effects.extend(places.iter().copied().zip(effects));
            let mut decided: BTreeMap<_, _> = places.iter().copied().zip(decisions).collect();
            if metric == JudgedMetric::Throughput {
                for ((number, step), candidate, pairs, _) in &pairs {
                    let place = (metric, *number, *candidate);
                    let decision = match decided.remove(&place) {
                        Some(decision) => Some(decision),
                        // None of its rounds counts, and that may be a verdict as well. It is none of the family.
                        None if !pairs.is_empty() => {
                            let margin = (1.0 + schedule.margin(step)).ln();
                            judge.decide(&[Comparison { rounds: Vec::new(), margin }])?.pop()
                        }
                        None => None,
                    };
                    if let Some(mut decision) = decision {
                        judge.heed_dropped(&mut decision, pairs);
                        decided.insert(place, decision);
                    }
                }
            }
            if experiment.short_timing().is_some() {
                decided.values_mut().for_each(Decision::withhold);
            }
            for candidate in 1..candidates {
                let compared = places.iter().zip(&family).filter(|(place, _)| place.2 == candidate);
                let own: Vec<_> = compared.map(|(_, comparison)| comparison.clone()).collect();
                let of = decided.iter().filter(|(place, _)| place.2 == candidate);
                let decided: Vec<_> = of.map(|(_, decision)| decision.clone()).collect();
                judgement.suites.insert((metric, candidate), judge.suite(&own, &decided)?);
            }
            judgement.decisions.extend(decided);
        }
        judgement.judge = Some(judge);
        Ok(judgement)
    }

    /// Who judged, by what was agreed on; absent of an experiment that is not in rounds.
    pub fn judge(&self) -> Option<&Judge> {
        self.judge.as_ref()
    }

    /// Whether there is any decision.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// The decision on a step of a candidate, both by their numbers in the experiment.
    pub fn decision(&self, metric: JudgedMetric, step: usize, candidate: usize) -> Option<&Decision> {
        self.decisions.get(&(metric, step, candidate))
    }

    /// The same as if what the step put off had been done at once; of steps that write, where it is known.
    pub fn with_debt(&self, metric: JudgedMetric, step: usize, candidate: usize) -> Option<&Decision> {
        self.inclusive.get(&(metric, step, candidate))
    }

    /// The effects of its rounds, as logarithms of the ratio to the base case.
    pub fn effects(&self, metric: JudgedMetric, step: usize, candidate: usize) -> &[f64] {
        self.effects.get(&(metric, step, candidate)).map_or(&[], Vec::as_slice)
    }

    /// What all steps of a candidate say together.
    pub fn suite(&self, metric: JudgedMetric, candidate: usize) -> Option<&Suite> {
        self.suites.get(&(metric, candidate))
    }

    /// Whether the throughput of a candidate in a step needs no more rounds.
    pub fn is_settled(&self, step: usize, candidate: usize) -> bool {
        self.decision(JudgedMetric::Throughput, step, candidate).is_some_and(|decision| decision.leaves)
    }
}

fn analyses(schedule: &Schedule) -> Result<InterimAnalyses, InterimAnalysesError> {
    InterimAnalyses::new(
        schedule.interim_analyses.iter().map(|analysis| *analysis as usize).collect::<Vec<_>>(),
    )
}
