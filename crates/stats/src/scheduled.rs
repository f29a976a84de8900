//! Interim analyses after numbers of rounds that are fixed in advance.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::boundary::Boundary;
use crate::distribution::t_critical;
use crate::interim_analyses::InterimAnalysis;
use crate::interim_data::InterimData;
use crate::interval::{Estimator, Interval};
use crate::reading::{Reading, SMALLEST_P};
use crate::sample::Sample;
use crate::signed_rank::{SignedRank, median, walsh_averages};

/// From this many rounds on the signed-rank interval is used: with fewer rounds it cannot be strict enough.
pub(crate) const RANKS_FROM: usize = 10;

/// The largest error for which boundaries are tabulated; repeated p-values above it are reported as 1.
const LARGEST_ALPHA: f64 = 0.9;

/// How many errors are tabulated per factor of ten.
const ERRORS_PER_DECADE: f64 = 5.0;

/// How many sets of analyses are remembered at most.
const REMEMBERED: usize = 500;

/// The sets of analyses that were asked for in this process, by error, rounds and shares. Steps are judged after every round, and most of
/// them have the same analyses but for the last.
static KNOWN: LazyLock<Mutex<HashMap<Vec<u64>, Arc<Scheduled>>>> = LazyLock::new(Mutex::default);

/// The hybrid repeated confidence interval: each interim analysis has an interval as strict as the boundary requires, and the result is the
/// intersection of all intervals so far (Jennison & Turnbull 1989).
#[derive(Debug)]
pub(crate) struct Scheduled {
    pub(crate) analyses: Vec<InterimAnalysis>,
    /// Logarithms of the tabulated errors, increasing.
    errors: Arc<Vec<f64>>,
    /// The boundary of each of them, up to the last analysis.
    boundaries: Vec<Boundary>,
    rules: Vec<Arc<Rule>>,
}

/// The rule of one interim analysis.
#[derive(Debug)]
struct Rule {
    rounds: usize,
    /// The exact distribution, if the signed-rank interval is used.
    exact: Option<SignedRank>,
    /// Logarithms of this analysis's own level, one for each tabulated error.
    levels: Vec<f64>,
}

impl Scheduled {
    /// These analyses with an error of `alpha`, whose boundary is among the tabulated ones exactly.
    pub(crate) fn of(analyses: &[InterimAnalysis], alpha: f64) -> Arc<Self> {
        let bits = |analysis: &InterimAnalysis| [analysis.rounds as u64, analysis.spent.to_bits()];
        let key: Vec<u64> = [alpha.to_bits()].into_iter().chain(analyses.iter().flat_map(bits)).collect();
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scheduled) = known().get(&key) {
            return Arc::clone(scheduled);
        }
        let scheduled = Arc::new(match analyses.split_last() {
            Some((last, before)) => Scheduled::of(before, alpha).then(*last),
            None => Scheduled::before_first(alpha),
        });
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, Arc::clone(&scheduled));
        scheduled
    }

    /// Chooses the tabulated errors, about 40.
    fn before_first(alpha: f64) -> Self {
        let steps = ((LARGEST_ALPHA / SMALLEST_P).log10() * ERRORS_PER_DECADE).ceil();
        let error = |step: usize| (LARGEST_ALPHA / SMALLEST_P).ln() * step as f64 / steps + SMALLEST_P.ln();
        // Two errors that are almost equal would make the interpolation degenerate.
        let is_apart = |error: &f64| (error - alpha.ln()).abs() > 0.01;
        let mut errors: Vec<f64> =
            (0..=steps as usize).map(error).filter(is_apart).chain([alpha.ln()]).collect();
        errors.sort_by(f64::total_cmp);
        let boundaries = errors.iter().map(|error| Boundary::before_first(error.exp())).collect();
        Scheduled { analyses: Vec::new(), errors: Arc::new(errors), boundaries, rules: Vec::new() }
    }

    /// The same with one analysis more.
    fn then(&self, analysis: InterimAnalysis) -> Self {
        let boundaries: Vec<Boundary> =
            self.boundaries.iter().map(|boundary| boundary.then(analysis)).collect();
        let rule = Rule {
            rounds: analysis.rounds,
            exact: (analysis.rounds >= RANKS_FROM).then(|| SignedRank::of(analysis.rounds)),
            levels: boundaries.iter().map(|boundary| boundary.level.ln()).collect(),
        };
        Scheduled {
            analyses: self.analyses.iter().copied().chain([analysis]).collect(),
            errors: Arc::clone(&self.errors),
            boundaries,
            rules: self.rules.iter().cloned().chain([Arc::new(rule)]).collect(),
        }
    }

    /// The reading of the interim analyses so far at error `alpha`, using those with the same basis as the last one; `None` before the
    /// first.
    pub(crate) fn read(&self, interim_data: &[InterimData], alpha: f64) -> Option<Reading> {
        let now = interim_data.last()?;
        let rule_of = |data: &InterimData| self.rules.iter().find(|rule| rule.rounds == data.rounds);
        let (mut interval, mut last, mut smallest) = (Interval::ALL, Interval::ALL, f64::INFINITY);
        for data in interim_data.iter().filter(|data| data.basis == now.basis) {
            let rule = rule_of(data)?;
            let mut seen = Seen::new(rule, data)?;
            last = seen.interval(self.level(rule, alpha));
            interval = interval.and(last);
            smallest = smallest.min(line_through(&rule.levels, &self.errors, seen.level_against_zero().ln()));
        }
        let repeated_p = smallest.exp();
        let at = rule_of(now)?;
        let mut seen = Seen::new(at, now)?;
        let level = self.level(at, alpha);
        Some(Reading {
            interval,
            last,
            estimate: seen.estimate(),
            estimator: if seen.ranks.is_some() { Estimator::HodgesLehmann } else { Estimator::Mean },
            level,
            used: at.rounds,
            repeated_p: if repeated_p > LARGEST_ALPHA { 1.0 } else { repeated_p.max(SMALLEST_P) },
            contested: last.is_bounded()
                && last.contains(0.0) != Interval::of_mean(&seen.sample, level).contains(0.0),
        })
    }

    /// The critical value of Student's t after this many rounds, at the level of the last interim analysis.
    pub(crate) fn last_critical(&self, alpha: f64, rounds: usize) -> f64 {
        let critical = |rule: &Arc<Rule>| t_critical(self.level(rule, alpha), (rounds - 1) as f64);
        self.rules.last().map_or(f64::INFINITY, critical)
    }

    /// The two-sided level of an interim analysis on its own, if all of them together have the error `alpha`.
    fn level(&self, rule: &Rule, alpha: f64) -> f64 {
        line_through(&self.errors, &rule.levels, alpha.ln()).exp()
    }
}

/// The effects that one interim analysis uses.
struct Seen<'a> {
    sample: Sample,
    ranks: Option<(Cow<'a, SignedRank>, Vec<f64>)>,
}

impl<'a> Seen<'a> {
    fn new(rule: &'a Rule, data: &InterimData) -> Option<Self> {
        if let Some(sample) = data.within_nodes {
            return Some(Seen { sample, ranks: None });
        }
        let values = &data.values;
        // Merged rounds give fewer values.
        let exact = match &rule.exact {
            Some(exact) if values.len() == rule.rounds => Some(Cow::Borrowed(exact)),
            Some(_) if values.len() >= RANKS_FROM => Some(Cow::Owned(SignedRank::of(values.len()))),
            _ => None,
        };
        let ranks = exact.map(|exact| (exact, walsh_averages(values)));
        Some(Seen { sample: Sample::of(values)?, ranks })
    }

    fn interval(&mut self, level: f64) -> Interval {
        match &mut self.ranks {
            Some((exact, averages)) => Interval::of_signed_ranks(averages, exact, level),
            None => Interval::of_mean(&self.sample, level),
        }
    }

    /// The level at which the interval just excludes 0.
    fn level_against_zero(&self) -> f64 {
        match &self.ranks {
            Some((exact, averages)) => exact.level_against_zero(averages),
            None => self.sample.p_value(),
        }
    }

    fn estimate(&mut self) -> f64 {
        self.ranks.as_mut().map_or(self.sample.mean, |(_, averages)| median(averages))
    }
}

/// Linear interpolation at `x` through points with increasing `xs`, extrapolated beyond both ends.
fn line_through(xs: &[f64], ys: &[f64], x: f64) -> f64 {
    let right = xs.partition_point(|known| *known < x).clamp(1, xs.len() - 1);
    let (left_x, right_x) = (xs[right - 1], xs[right]);
    let (left_y, right_y) = (ys[right - 1], ys[right]);
    left_y + (right_y - left_y) * ((x - left_x) / (right_x - left_x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interim_analyses::InterimAnalyses;

    #[test]
    fn levels_of_any_looks_rise_with_the_error() {
        let every: Vec<usize> = (5..=60).collect();
        for rounds in [vec![3, 4], vec![3, 500], vec![10, 11, 12, 400], vec![40], every] {
            let scheduled = Scheduled::of(&InterimAnalyses::new(rounds).unwrap().by_rounds(), 0.05);
            let rises = |rule: &Arc<Rule>| rule.levels.windows(2).all(|pair| pair[0] < pair[1]);
            assert!(scheduled.rules.iter().all(rises), "{:?}", scheduled.analyses);
        }
    }

    #[test]
    fn tabulated_levels_rise_and_are_those_of_boundaries() {
        let analyses = InterimAnalyses::general().by_rounds();
        let scheduled = Scheduled::of(&analyses, 0.05);
        assert!(scheduled.rules.iter().all(|rule| rule.levels.is_sorted()));
        for alpha in [2e-8, 1e-6, 3e-5, 0.000_4, 0.007, 0.05, 0.13] {
            let mut boundary = Boundary::before_first(alpha);
            for (rule, analysis) in scheduled.rules.iter().zip(&analyses) {
                boundary = boundary.then(*analysis);
                let level = boundary.level;
                let tabulated = scheduled.level(rule, alpha);
                assert!(
                    (tabulated / level - 1.0).abs() < 0.005,
                    "{alpha} {} {tabulated} {level}",
                    rule.rounds
                );
            }
        }
    }
}
