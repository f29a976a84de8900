//! From the trials of an experiment in rounds to decisions on its steps.

use std::collections::BTreeMap;

use basecase_model::{Experiment, Schedule, Trial};
use thiserror::Error;

use crate::debt;
use crate::interim_data::effects;
use crate::load_correlation::load_correlation;
use crate::pair::Pair;
use crate::sessions::Sessions;
use crate::{
    AnalysisPlan, AnalysisPlanError, Comparison, ComparisonError, Decision, Dependence, Flag,
    InterimAnalyses, InterimAnalysesError, Judge, Round, Sequential, Suite,
};

/// A metric that is judged. Each metric is a family of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JudgedMetric {
    /// The headline number of a step: queries, inserted rows or indexed rows per second.
    Throughput,
    /// Server CPU time per operation; less is better.
    ServerCpu,
}

impl JudgedMetric {
    /// All of them.
    pub const ALL: [JudgedMetric; 2] = [JudgedMetric::Throughput, JudgedMetric::ServerCpu];
}

/// Why trials cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum JudgementError {
    /// The experiment's interim analyses are invalid.
    #[error(transparent)]
    InterimAnalyses(#[from] InterimAnalysesError),
    /// The plan's error rates are invalid.
    #[error(transparent)]
    AnalysisPlan(#[from] AnalysisPlanError),
    /// A trial holds an invalid number.
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
    sessions: BTreeMap<(usize, usize), Sessions>,
    round_effects: BTreeMap<(usize, usize), Vec<RoundEffect>>,
    judge: Option<Judge>,
}

/// The throughput of a candidate in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundEffect {
    /// Its number, from 0.
    pub round: u32,
    /// The id of the experiment that measured it.
    pub experiment: String,
    /// The logarithm of the typical ratio to the base case.
    pub effect: f64,
}

impl Judgement {
    /// Judges every compared step of every candidate that has a round together with the base case. The judgement of an experiment that is
    /// not in rounds is empty.
    ///
    /// # Errors
    /// When the experiment's schedule or a trial holds what no schedule or trial can hold.
    pub fn of(experiment: &Experiment, trials: &[Trial]) -> Result<Judgement, JudgementError> {
        let candidates = experiment.candidates.len();
        let mut judgement = Judgement::default();
        let Some(schedule) = &experiment.schedule else { return Ok(judgement) };
        let judge = judge_of(schedule)?;
        let steps = experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let compared: Vec<Compared<'_>> = steps
            .flat_map(|step| (1..candidates).map(move |candidate| (step, candidate)))
            .map(|((number, step), candidate)| {
                let pairs = Pair::all(experiment, trials, step, candidate);
                let has_debt_shifted = step.writes && debt::has_shifted(&pairs);
                let margin = (1.0 + schedule.margin(step)).ln();
                Compared { number, candidate, margin, pairs, has_debt_shifted }
            })
            .collect();
        let families = JudgedMetric::ALL.map(|metric| Family::of(metric, &compared));
        let correlation =
            families.first().map_or(0.0, |throughput| load_correlation(&throughput.comparisons));
        let judge = judge.with_load_correlation(correlation);
        for family in families {
            judgement.judge_family(&judge, experiment, family, &compared)?;
        }
        for Compared { number, candidate, margin, pairs, .. } in &compared {
            judgement.judge_sessions((*number, *candidate), *margin, pairs);
        }
        judgement.judge = Some(judge);
        Ok(judgement)
    }

    /// Judges the family of one metric.
    fn judge_family(
        &mut self,
        judge: &Judge,
        experiment: &Experiment,
        family: Family,
        compared: &[Compared<'_>],
    ) -> Result<(), JudgementError> {
        let Family { metric, places, comparisons: family, debts, round_effects } = family;
        if metric == JudgedMetric::Throughput {
            let places = places.iter().map(|(_, step, candidate)| (*step, *candidate));
            self.round_effects.extend(places.zip(round_effects));
        }
        let mut decisions = judge.decide(&family)?;
        for ((place, decision), (has_shifted, paid)) in places.iter().zip(&mut decisions).zip(debts) {
            let paid = paid.map(|paid| judge.decide(&[paid])).transpose()?;
            let paid = paid.and_then(|decisions| decisions.into_iter().next());
            if has_shifted || paid.as_ref().is_some_and(|paid| paid.contradicts(decision)) {
                decision.flags.push(Flag::DebtShift);
            }
            self.inclusive.extend(paid.map(|paid| (*place, paid)));
        }
        if experiment.is_chain() {
            // Its tables grow and age as it runs; that is its work.
            decisions.iter_mut().for_each(|decision| decision.flags.retain(|flag| *flag != Flag::NotSteady));
        }
        let effects = family.iter().zip(&decisions).map(|(comparison, decision)| {
            effects(&comparison.rounds, decision.flags.contains(&Flag::Stalls))
        });
        self.effects.extend(places.iter().copied().zip(effects));
        let mut decided: BTreeMap<_, _> = places.iter().copied().zip(decisions).collect();
        if metric == JudgedMetric::Throughput {
            heed_dropped_rounds(judge, compared, &mut decided)?;
        }
        if experiment.short_timing().is_some() {
            decided.values_mut().for_each(Decision::withhold);
        }
        for candidate in 1..experiment.candidates.len() {
            let own = places.iter().zip(&family).filter(|(place, _)| place.2 == candidate);
            let own: Vec<_> = own.map(|(_, comparison)| comparison.clone()).collect();
            let own_decisions = decided.iter().filter(|(place, _)| place.2 == candidate);
            let own_decisions: Vec<_> = own_decisions.map(|(_, decision)| decision.clone()).collect();
            self.suites.insert((metric, candidate), judge.suite(&own, &own_decisions)?);
        }
        self.decisions.extend(decided);
        Ok(())
    }

    /// Looks at the sessions of a comparison, where they were told apart.
    fn judge_sessions(&mut self, (step, candidate): (usize, usize), margin: f64, pairs: &[Pair<'_>]) {
        let all: Vec<_> = pairs.iter().enumerate().flat_map(|(start, pair)| pair.sessions(start)).collect();
        let Some(sessions) = Sessions::among(&all, margin) else { return };
        if let Some(decision) = self.decisions.get_mut(&(JudgedMetric::Throughput, step, candidate)) {
            decision.replace_modes(sessions.has_modes_apart(margin));
        }
        self.sessions.insert((step, candidate), sessions);
    }

    /// The judge with its plan; `None` for an experiment that is not in rounds.
    pub fn judge(&self) -> Option<&Judge> {
        self.judge.as_ref()
    }

    /// Whether there is no decision at all.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// The decision on a step of a candidate, both by their numbers in the experiment.
    pub fn decision(&self, metric: JudgedMetric, step: usize, candidate: usize) -> Option<&Decision> {
        self.decisions.get(&(metric, step, candidate))
    }

    /// The same with debt included; only for steps that write, if it is known.
    pub fn with_debt(&self, metric: JudgedMetric, step: usize, candidate: usize) -> Option<&Decision> {
        self.inclusive.get(&(metric, step, candidate))
    }

    /// The effects of its rounds: logarithms of the ratio to the base case.
    pub fn effects(&self, metric: JudgedMetric, step: usize, candidate: usize) -> &[f64] {
        self.effects.get(&(metric, step, candidate)).map_or(&[], Vec::as_slice)
    }

    /// The throughput of a candidate in each round of a step that counts, both by their numbers, in the order of measurement.
    pub fn round_effects(&self, step: usize, candidate: usize) -> &[RoundEffect] {
        self.round_effects.get(&(step, candidate)).map_or(&[], Vec::as_slice)
    }

    /// What the sessions of a step and a candidate tell, both by their numbers; `None` if sessions were not told apart.
    pub fn sessions(&self, step: usize, candidate: usize) -> Option<&Sessions> {
        self.sessions.get(&(step, candidate))
    }

    /// The summary over all steps of a candidate.
    pub fn suite(&self, metric: JudgedMetric, candidate: usize) -> Option<&Suite> {
        self.suites.get(&(metric, candidate))
    }

    /// Whether the throughput of a candidate in a step needs no further rounds.
    pub fn is_settled(&self, step: usize, candidate: usize) -> bool {
        self.decision(JudgedMetric::Throughput, step, candidate).is_some_and(|decision| decision.leaves)
    }
}

/// A step and a contender, with the rounds that both sides were measured in.
struct Compared<'a> {
    /// Number of the step.
    number: usize,
    candidate: usize,
    margin: f64,
    pairs: Vec<Pair<'a>>,
    has_debt_shifted: bool,
}

/// The comparisons of one metric that have a round.
struct Family {
    metric: JudgedMetric,
    places: Vec<(JudgedMetric, usize, usize)>,
    comparisons: Vec<Comparison>,
    /// Of each, whether debt has shifted, and the comparison with debt included, if that is known.
    debts: Vec<(bool, Option<Comparison>)>,
    /// Of each, its rounds.
    round_effects: Vec<Vec<RoundEffect>>,
}

impl Family {
    fn of(metric: JudgedMetric, compared: &[Compared<'_>]) -> Self {
        let (mut places, mut comparisons, mut debts) = (Vec::new(), Vec::new(), Vec::new());
        let mut round_effects = Vec::new();
        for Compared { number, candidate, margin, pairs, has_debt_shifted } in compared {
            let counted = pairs.iter().filter_map(|pair| Some((pair, pair.round(metric)?)));
            let (counted, rounds): (Vec<&Pair<'_>>, Vec<Round>) = counted.unzip();
            if rounds.is_empty() {
                continue;
            }
            let paid = counted.iter().zip(&rounds).map(|(pair, round)| debt::inclusive(pair, round, metric));
            let paid: Option<Vec<Round>> = paid.collect();
            debts.push((*has_debt_shifted, paid.map(|rounds| Comparison { rounds, margin: *margin })));
            let round_effect = |(pair, measured): (&&Pair<'_>, &Round)| {
                let (round, experiment) = pair.place();
                RoundEffect { round, experiment: experiment.to_owned(), effect: measured.effect }
            };
            round_effects.push(counted.iter().zip(&rounds).map(round_effect).collect());
            places.push((metric, *number, *candidate));
            comparisons.push(Comparison { rounds, margin: *margin });
        }
        Family { metric, places, comparisons, debts, round_effects }
    }
}

/// Corrects the decisions on throughput for rounds that do not count.
fn heed_dropped_rounds(
    judge: &Judge,
    compared: &[Compared<'_>],
    decided: &mut BTreeMap<(JudgedMetric, usize, usize), Decision>,
) -> Result<(), ComparisonError> {
    for Compared { number, candidate, margin, pairs, .. } in compared {
        let place = (JudgedMetric::Throughput, *number, *candidate);
        let decision = match decided.remove(&place) {
            Some(decision) => Some(decision),
            // None of its rounds counts, which may be a verdict as well. It does not belong to the family.
            None if !pairs.is_empty() => {
                judge.decide(&[Comparison { rounds: Vec::new(), margin: *margin }])?.pop()
            }
            None => None,
        };
        if let Some(mut decision) = decision {
            judge.heed_dropped(&mut decision, pairs);
            decided.insert(place, decision);
        }
    }
    Ok(())
}

/// The judge of rounds with this schedule.
pub(crate) fn judge_of(schedule: &Schedule) -> Result<Judge, JudgementError> {
    Ok(Judge::new(AnalysisPlan {
        sequential: Sequential::Scheduled(analyses(schedule)?),
        dependence: Dependence::Positive,
        ..AnalysisPlan::default()
    })?)
}

fn analyses(schedule: &Schedule) -> Result<InterimAnalyses, InterimAnalysesError> {
    InterimAnalyses::new(
        schedule.interim_analyses.iter().map(|analysis| *analysis as usize).collect::<Vec<_>>(),
    )
}
