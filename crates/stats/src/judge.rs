//! The entry point: from rounds to decisions.

use std::sync::Arc;

use crate::analysis_plan::{AnalysisPlan, AnalysisPlanError, Sequential};
use crate::anytime;
use crate::comparison::{Comparison, ComparisonError, Round, is_logarithm};
use crate::decision::{Decision, Flag};
use crate::discovery::{adjusted, selected_error};
use crate::interim_analyses::{InterimAnalyses, InterimAnalysis};
use crate::interim_data::{Basis, InterimData};
use crate::interval::{Estimator, Interval};
use crate::missed_rate::MissedRate;
use crate::modes::Modes;
use crate::reading::{Estimate, Reading};
use crate::sample::{Sample, mean};
use crate::scheduled::Scheduled;
use crate::trend::{has_order_effect, is_not_steady};
use crate::variance::{Components, detectable_effect, start_spread};
use crate::verdict::{Outlook, Verdict};

/// An analysis plan with its boundaries: computed once, asked after every round.
#[derive(Debug, Clone)]
pub struct Judge {
    plan: AnalysisPlan,
    /// Of rounds without a calendar.
    method: Method,
    /// How much rounds of one load resemble each other, 0 to 1.
    load_correlation: f64,
}

/// How the analyses of a series are combined.
#[derive(Debug, Clone)]
enum Method {
    Scheduled(Arc<Scheduled>),
    Anytime,
}

/// A smaller rise of the share of the error would buy an analysis nothing.
const LEAST_SHARE: f64 = 1e-6;

impl Judge {
    /// Computes the boundaries of the plan's interim analyses.
    ///
    /// # Errors
    /// When an error or rate of the plan is outside 0.0001 to 0.5.
    pub fn new(plan: AnalysisPlan) -> Result<Self, AnalysisPlanError> {
        plan.check()?;
        let method = match &plan.sequential {
            Sequential::Scheduled(analyses) => {
                Method::Scheduled(Scheduled::of(&analyses.by_rounds(), plan.alpha))
            }
            Sequential::Anytime => Method::Anytime,
        };
        Ok(Judge { plan, method, load_correlation: 0.0 })
    }

    /// The same for rounds that correlate by so much, 0 to 1, where they began with the same load of the data.
    #[must_use]
    pub(crate) fn with_load_correlation(self, load_correlation: f64) -> Self {
        Judge { load_correlation, ..self }
    }

    /// How much rounds of one load resemble each other, 0 to 1; 0 if that is not known.
    pub fn load_correlation(&self) -> f64 {
        self.load_correlation
    }

    /// The analysis plan.
    pub fn plan(&self) -> &AnalysisPlan {
        &self.plan
    }

    /// Judges a family: all comparisons of one metric in one report. The order of the decisions is that of the comparisons.
    ///
    /// # Errors
    /// When a number is no logarithm or a margin is not above 0; the message names comparison and round.
    pub fn decide(&self, family: &[Comparison]) -> Result<Vec<Decision>, ComparisonError> {
        let mut series = Vec::with_capacity(family.len());
        for (index, comparison) in family.iter().enumerate() {
            comparison.check(index + 1)?;
            series.push(Series::of(self, comparison));
        }
        Ok(self.decide_all(&series))
    }

    /// The decisions on a family of series.
    pub(crate) fn decide_all(&self, series: &[Series<'_>]) -> Vec<Decision> {
        let p_values: Vec<f64> = series.iter().map(Series::repeated_p).collect();
        let adjusted = adjusted(&p_values, self.plan.dependence);
        let discoveries = adjusted.iter().filter(|p| self.is_discovery(**p)).count();
        let selected = selected_error(self.plan.false_discovery_rate, discoveries, series.len());
        let decide = |(series, adjusted_p): (&Series<'_>, &f64)| {
            let mut decision = series.decide(self, *adjusted_p);
            if decision.verdict.is_change() {
                decision.selected_interval = series.interval(selected);
            }
            decision
        };
        series.iter().zip(&adjusted).map(decide).collect()
    }

    /// The estimate from the effects of any number of rounds, with the interval that holds over all interim analyses. It is not a verdict:
    /// among many such estimates, some intervals miss by chance. `None` without rounds, or if an effect cannot be a logarithm of a ratio.
    pub fn estimate(&self, rounds: Vec<Round>) -> Option<Estimate> {
        if !rounds.iter().map(|round| round.effect).all(is_logarithm) {
            return None;
        }
        Some(Series::of(self, &Comparison { rounds, margin: 1.0 })).and_then(|series| series.estimate())
    }

    /// The reading of all rounds of a comparison, at error `alpha`.
    pub(crate) fn read(&self, comparison: &Comparison, alpha: f64) -> Option<Reading> {
        self.method_of(&comparison.rounds).read(&self.interim_data(comparison), alpha)
    }

    /// The data of each interim analysis so far.
    pub(crate) fn interim_data(&self, comparison: &Comparison) -> Vec<InterimData> {
        let data = |rounds| InterimData::after(comparison, rounds, self.load_correlation);
        self.analyses(&comparison.rounds).into_iter().map(data).collect()
    }

    /// The numbers of rounds at the interim analyses so far.
    pub(crate) fn analyses(&self, rounds: &[Round]) -> Vec<usize> {
        self.method_of(rounds).analyses(rounds.len())
    }

    /// The reading of such data, taken from rounds that follow this calendar.
    #[cfg(test)]
    pub(crate) fn read_data(&self, rounds: &[Round], data: &[InterimData], alpha: f64) -> Option<Reading> {
        self.method_of(rounds).read(data, alpha)
    }

    /// How the analyses of these rounds are combined.
    fn method_of(&self, rounds: &[Round]) -> Method {
        match (&self.method, self.analyses_by_calendar(rounds)) {
            (Method::Scheduled(_), Some(analyses)) => {
                Method::Scheduled(Scheduled::of(&analyses, self.plan.alpha))
            }
            (method, _) => method.clone(),
        }
    }

    /// The analyses of rounds that follow the calendar: after every round from the first analysis of the plan to the last. Where they are
    /// quick and the budget is long, the share of the rounds is larger than that of the time, and may be spent. `None` if these rounds do not
    /// follow it, or before the first analysis.
    fn analyses_by_calendar(&self, rounds: &[Round]) -> Option<Vec<InterimAnalysis>> {
        let mut analyses: Vec<InterimAnalysis> = Vec::new();
        for (index, round) in rounds.iter().enumerate().take(self.last_rounds()) {
            let rounds = index + 1;
            let spent = round.conditions.spent?.max(rounds as f64 / self.last_rounds() as f64);
            let before = analyses.last().map_or(0.0, |last| last.spent);
            if rounds >= self.first_analysis() && spent - before > LEAST_SHARE {
                analyses.push(InterimAnalysis { rounds, spent });
            }
        }
        Some(analyses).filter(|analyses| !analyses.is_empty())
    }

    pub(crate) fn is_discovery(&self, adjusted_p: f64) -> bool {
        adjusted_p <= self.plan.false_discovery_rate
    }

    /// Half-width of an interval after this many rounds, in standard errors.
    pub(crate) fn critical_after(&self, rounds: usize) -> f64 {
        match &self.method {
            Method::Scheduled(scheduled) => scheduled.last_critical(self.plan.alpha, rounds),
            Method::Anytime => anytime::critical(rounds, self.plan.alpha),
        }
    }

    /// The number of rounds after which no analysis follows; if there is no last one, as many as the default plan has.
    pub(crate) fn last_rounds(&self) -> usize {
        self.last_analysis().unwrap_or(InterimAnalyses::general().last())
    }

    /// Whether there is an interim analysis after this many rounds.
    pub(crate) fn looks_after(&self, rounds: usize) -> bool {
        match &self.plan.sequential {
            Sequential::Scheduled(analyses) => analyses.at_or_after(rounds) == Some(rounds),
            Sequential::Anytime => true,
        }
    }

    /// The number of rounds at the last interim analysis, if there is one.
    pub(crate) fn last_analysis(&self) -> Option<usize> {
        match &self.plan.sequential {
            Sequential::Scheduled(analyses) => Some(analyses.last()),
            Sequential::Anytime => None,
        }
    }

    /// The number of rounds at the first interim analysis.
    pub(crate) fn first_analysis(&self) -> usize {
        self.look_at(1)
    }

    /// The first interim analysis at or after this many values; beyond the last one, that many.
    fn look_at(&self, values: usize) -> usize {
        match &self.plan.sequential {
            Sequential::Scheduled(analyses) => analyses.at_or_after(values).unwrap_or(values),
            Sequential::Anytime => values.max(anytime::first_analysis(self.plan.alpha)),
        }
    }
}

impl Method {
    /// The numbers of rounds at the interim analyses up to `all` rounds.
    fn analyses(&self, all: usize) -> Vec<usize> {
        match self {
            Method::Scheduled(scheduled) => {
                let rounds = scheduled.analyses.iter().map(|analysis| analysis.rounds);
                rounds.take_while(|rounds| *rounds <= all).collect()
            }
            Method::Anytime => (2..=all).collect(),
        }
    }

    /// The reading of the interim analyses so far, at error `alpha`.
    fn read(&self, interim_data: &[InterimData], alpha: f64) -> Option<Reading> {
        match self {
            Method::Scheduled(scheduled) => scheduled.read(interim_data, alpha),
            Method::Anytime => anytime::read(interim_data, alpha),
        }
    }
}

/// A comparison and its reading.
pub(crate) struct Series<'a> {
    comparison: &'a Comparison,
    method: Method,
    interim_data: Vec<InterimData>,
    /// The basis of the last interim analysis; before the first, the basis that an analysis now would have.
    basis: Basis,
    /// All rounds on this basis.
    values: Vec<f64>,
    /// Between-round standard deviation.
    sd: Option<f64>,
    reading: Option<Reading>,
}

impl<'a> Series<'a> {
    pub(crate) fn of(judge: &Judge, comparison: &'a Comparison) -> Self {
        let interim_data = judge.interim_data(comparison);
        let basis = interim_data.last().map_or_else(|| InterimData::of(comparison).basis, |data| data.basis);
        let sd = Sample::of(&basis.values(comparison)).map(|sample| sample.sd);
        Series::with_data(judge, comparison, interim_data, basis, sd)
    }

    /// The series of a comparison whose interim analyses have these data, on the basis of the last one.
    pub(crate) fn with_data(
        judge: &Judge,
        comparison: &'a Comparison,
        interim_data: Vec<InterimData>,
        basis: Basis,
        sd: Option<f64>,
    ) -> Self {
        let method = judge.method_of(&comparison.rounds);
        let reading = method.read(&interim_data, judge.plan.alpha);
        Series { comparison, method, values: basis.values(comparison), interim_data, basis, sd, reading }
    }

    /// The interval of the interim analyses so far, at error `alpha`, if it is bounded.
    fn interval(&self, alpha: f64) -> Option<Interval> {
        let interval = self.method.read(&self.interim_data, alpha).map(|reading| reading.interval);
        interval.filter(|interval| interval.is_bounded())
    }

    /// The estimate and interval, if the interim analyses so far give one.
    fn bounded_reading(&self) -> Option<Reading> {
        self.reading.filter(|reading| reading.interval.half_width().is_finite())
    }

    fn estimate(&self) -> Option<Estimate> {
        Estimate::of(&self.values, self.bounded_reading().as_ref())
    }

    fn repeated_p(&self) -> f64 {
        self.reading.map_or(1.0, |reading| reading.repeated_p)
    }

    /// The decision, without the interval for a reported change.
    fn decide(&self, judge: &Judge, adjusted_p: f64) -> Decision {
        let margin = self.comparison.margin;
        let rounds = &self.comparison.rounds;
        let reading = self.bounded_reading();
        let is_unstable = reading.is_some_and(|reading| reading.interval.is_contradiction());
        let (verdict, qualifier) = reading.map_or((Verdict::NotEnoughData, None), |reading| {
            Verdict::of(reading.interval, margin, judge.is_discovery(adjusted_p))
        });
        let is_settled = verdict.is_settled(qualifier);
        let told = self.estimate();
        let estimate = told.map(|told| told.effect);
        let interval = told.and_then(|told| told.interval);
        let components = Components::of(rounds);
        let starts = self.starts();
        let [base_modes, contender_modes] = starts.each_ref().map(|starts| Modes::of(starts));
        let flags = [
            (Flag::Unstable, is_unstable),
            (Flag::Contested, reading.is_some_and(|reading| reading.contested)),
            (Flag::MergedRounds, self.basis.rounds_each > 1),
            (Flag::Bimodal, base_modes.or(contender_modes).is_some()),
            (Flag::NotSteady, self.is_not_steady()),
            (Flag::Stalls, self.basis.has_stalls),
            (Flag::OrderEffect, has_order_effect(rounds)),
        ];
        Decision {
            verdict,
            qualifier,
            estimate,
            estimator: self.reading.map_or(Estimator::Mean, |reading| reading.estimator),
            interval,
            selected_interval: None,
            level: reading.map(|reading| reading.level),
            repeated_p: self.repeated_p(),
            adjusted_p,
            rounds: rounds.len(),
            rounds_dropped: 0,
            missed_rate: MissedRate::default(),
            rounds_used: reading.map_or(0, |reading| reading.used),
            rounds_merged: self.basis.rounds_each,
            between_round_sd: self.sd,
            start_sd: components.map(|components| components.start_sd),
            pass_sd: components.map(|components| components.pass_sd),
            run_sd: start_spread(&starts),
            detectable: self.sd.and_then(|sd| detectable_effect(sd, self.values.len())),
            margin,
            smallest_margin: interval.map(Interval::reach),
            flags: flags.into_iter().filter_map(|(flag, is_set)| is_set.then_some(flag)).collect(),
            base_modes,
            contender_modes,
            leaves: is_settled || judge.last_analysis().is_some_and(|last| rounds.len() >= last),
            outlook: if is_settled {
                Outlook::Settled
            } else {
                self.outlook(judge, verdict, interval, estimate)
            },
        }
    }

    fn outlook(
        &self,
        judge: &Judge,
        verdict: Verdict,
        interval: Option<Interval>,
        estimate: Option<f64>,
    ) -> Outlook {
        let rounds = self.comparison.rounds.len();
        let margin = self.comparison.margin;
        let needed = match (interval, estimate, self.reading) {
            (Some(interval), Some(estimate), Some(reading)) => {
                match verdict.rounds_needed(interval, estimate, margin, reading.used) {
                    Some(needed) => needed.ceil() as usize,
                    None => return Outlook::OnTheMargin,
                }
            }
            _ => 0,
        };
        let needed = needed.max(rounds + 1);
        let follows_calendar =
            self.comparison.rounds.last().is_some_and(|round| round.conditions.spent.is_some());
        let analysis =
            if follows_calendar { needed.max(judge.first_analysis()) } else { judge.look_at(needed) };
        Outlook::MoreRounds(analysis.saturating_sub(rounds).max(1))
    }

    /// Mean ln throughput of each start, of base and contender.
    fn starts(&self) -> [Vec<f64>; 2] {
        let rounds = &self.comparison.rounds;
        let means = |side: fn(&Round) -> &Vec<f64>| {
            rounds.iter().map(side).filter(|slices| !slices.is_empty()).map(|slices| mean(slices)).collect()
        };
        [means(|round| &round.base), means(|round| &round.contender)]
    }

    fn is_not_steady(&self) -> bool {
        let Comparison { rounds, margin } = self.comparison;
        is_not_steady(rounds.iter().map(|round| &round.base[..]), *margin)
            || is_not_steady(rounds.iter().map(|round| &round.contender[..]), *margin)
    }
}
