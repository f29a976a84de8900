//! How counts are judged: the instructions of an operation, base case against contender.
//!
//! Counts are made in windows, and windows in starts of the server. Windows of one start share its luck, so that a mean is as uncertain as
//! the means of starts scatter (nested design: Kalibera & Jones 2013), or their windows, whichever says more. Two starts alone say little
//! about scatter; what the steps of a kind say together is put to it (Smyth 2004). It widens an interval and never narrows what a step's
//! own windows say.
//!
//! Effects are natural logarithms of the ratio of contender to base case, above 0 where the contender does *more work*.

mod agreement;
mod course;
mod prior;
#[cfg(test)]
mod tests;
mod verdict;
mod windows;

use thiserror::Error;

use crate::discovery::{Dependence, adjusted, selected_error};
use crate::distribution::{t_critical, t_p_value};
use crate::interval::Interval;
use crate::scatter::Scatter;
use crate::verdict::Qualifier;

pub use agreement::Agreement;
pub use course::{WorkCourse, WorkShift, WorkShifts};
pub use verdict::WorkVerdict;
pub use windows::{WorkSide, WorkWindow, needs_more_windows};

use prior::VariancePrior;
use windows::Windows;

/// Even windows that agree to the last instruction leave the luck of one build untold: where its strings and tables happen to lie. No
/// difference is known better than with this standard error, relative.
const FLOOR: f64 = 0.0002;

/// What a step does. Writes scatter more than reads, so each kind tells of its own alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// It only reads.
    Read,
    /// It writes.
    Write,
}

impl WorkKind {
    /// Of a step that writes, or one that only reads.
    pub fn of_step(writes: bool) -> WorkKind {
        if writes { WorkKind::Write } else { WorkKind::Read }
    }
}

/// The windows of one step on base case and contender.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkComparison {
    /// What the step does.
    pub kind: WorkKind,
    /// Windows of the base case.
    pub base: Vec<WorkWindow>,
    /// Windows of the contender.
    pub contender: Vec<WorkWindow>,
}

/// How a family of counts is judged. Fixed before the first window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkPlan {
    /// The smallest effect that matters, as a logarithm: ln 1.005 for 0.5 %.
    pub margin: f64,
    /// The probability that an interval misses the effect.
    pub alpha: f64,
    /// The accepted share of false discoveries among all reported changes.
    pub false_discovery_rate: f64,
    /// How the comparisons may depend on each other.
    pub dependence: Dependence,
}

/// What is decided of one step and contender.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkDecision {
    /// The verdict.
    pub verdict: WorkVerdict,
    /// What it leaves open or adds.
    pub qualifier: Option<Qualifier>,
    /// ln of the ratio of contender to base case. `None` if one of them has no window.
    pub effect: Option<f64>,
    /// The effects that the windows do not contradict, above 0 for more work. `None` if it has no bounds.
    pub interval: Option<Interval>,
    /// Of a reported change: the interval that allows for being chosen among many.
    pub selected_interval: Option<Interval>,
    /// The probability of such a difference, or a larger one, between candidates that do the same work.
    pub p: f64,
    /// The smallest false discovery rate at which it would be a discovery.
    pub adjusted_p: f64,
    /// The base case's windows.
    pub base: WorkSide,
    /// The contender's windows.
    pub contender: WorkSide,
    /// The margin, as a logarithm.
    pub margin: f64,
}

/// Why counts cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WorkError {
    /// A count is not above 0, or not finite.
    #[error(
        "comparison {comparison}: a window has {instructions} instructions per operation, which is no count\nhint: leave out windows that failed"
    )]
    NoCount {
        /// Which comparison of the family, from 1.
        comparison: usize,
        /// The count.
        instructions: f64,
    },
    /// The plan has a number that is out of range.
    #[error("{what} of {value} is not possible\nhint: give a number above 0 and below 1")]
    Plan {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

impl Default for WorkPlan {
    /// A margin of 0.5 %, and 5 % for both error rates.
    fn default() -> Self {
        WorkPlan {
            margin: 1.005_f64.ln(),
            alpha: 0.05,
            false_discovery_rate: 0.05,
            dependence: Dependence::Positive,
        }
    }
}

impl WorkPlan {
    /// Decides all comparisons of a family, in their order.
    ///
    /// # Errors
    /// If a count or a number of the plan is impossible.
    pub fn decide(&self, family: &[WorkComparison]) -> Result<Vec<WorkDecision>, WorkError> {
        self.check(family)?;
        let sides: Vec<[Windows; 2]> = family
            .iter()
            .map(|comparison| [Windows::of(&comparison.base), Windows::of(&comparison.contender)])
            .collect();
        let [reads, writes] = [WorkKind::Read, WorkKind::Write].map(|kind| Pool::of(kind, family, &sides));
        let read = |(comparison, [base, contender]): (&WorkComparison, &[Windows; 2])| match comparison.kind {
            WorkKind::Read => Reading::of(base, contender, &reads),
            WorkKind::Write => Reading::of(base, contender, &writes),
        };
        let readings: Vec<Option<Reading>> = family.iter().zip(&sides).map(read).collect();
        let p_values: Vec<f64> = readings.iter().map(|reading| reading.map_or(1.0, Reading::p)).collect();
        let adjusted = adjusted(&p_values, self.dependence);
        let discoveries = adjusted.iter().filter(|p| **p <= self.false_discovery_rate).count();
        let selected = selected_error(self.false_discovery_rate, discoveries, family.len());
        let decide = |(at, [base, contender]): (usize, &[Windows; 2])| {
            let interval = readings[at].map(|reading| reading.interval(self.alpha));
            let is_discovery = adjusted[at] <= self.false_discovery_rate;
            let (verdict, qualifier) = interval.map_or((WorkVerdict::NotEnoughData, None), |interval| {
                WorkVerdict::of(interval, self.margin, is_discovery)
            });
            let chosen = readings[at].filter(|_| verdict.is_change());
            WorkDecision {
                verdict,
                qualifier,
                effect: base.mean().zip(contender.mean()).map(|(base, contender)| contender - base),
                interval,
                selected_interval: chosen.map(|reading| reading.interval(selected)),
                p: p_values[at],
                adjusted_p: adjusted[at],
                base: base.told(),
                contender: contender.told(),
                margin: self.margin,
            }
        };
        Ok(sides.iter().enumerate().map(decide).collect())
    }

    fn check(&self, family: &[WorkComparison]) -> Result<(), WorkError> {
        let numbers = [
            ("a margin", self.margin),
            ("an error", self.alpha),
            ("a false discovery rate", self.false_discovery_rate),
        ];
        if let Some((what, value)) = numbers.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0)) {
            return Err(WorkError::Plan { what, value });
        }
        for (at, comparison) in family.iter().enumerate() {
            let mut counts =
                comparison.base.iter().chain(&comparison.contender).map(|window| window.instructions);
            if let Some(instructions) = counts.find(|count| !(*count > 0.0 && count.is_finite())) {
                return Err(WorkError::NoCount { comparison: at + 1, instructions });
            }
        }
        Ok(())
    }
}

/// What all steps of a kind say of scatter.
#[derive(Debug, Clone, Copy)]
struct Pool {
    between: Option<VariancePrior>,
    within: Option<VariancePrior>,
}

impl Pool {
    fn of(kind: WorkKind, family: &[WorkComparison], sides: &[[Windows; 2]]) -> Pool {
        let mut known: Vec<&Windows> = Vec::new();
        for (comparison, [base, contender]) in family.iter().zip(sides) {
            for side in [base, contender] {
                // Several contenders are compared with one base case, which tells of its scatter once.
                if comparison.kind == kind && !known.contains(&side) {
                    known.push(side);
                }
            }
        }
        let prior = |scatter: fn(&Windows) -> Option<Scatter>| {
            VariancePrior::of(&known.iter().filter_map(|windows| scatter(windows)).collect::<Vec<_>>())
        };
        Pool { between: prior(Windows::between), within: prior(Windows::within) }
    }

    /// The squared standard error of the mean of a side, and the most degrees of freedom that a sum of such may have: both sides may
    /// draw on the same variances.
    fn squared_error(&self, side: &Windows) -> Option<(Scatter, f64)> {
        let between = VariancePrior::judge(self.between, side.between())?;
        let within = VariancePrior::judge(self.within, side.within());
        let of_means = within.map_or(0.0, |within| within.variance / side.windows_per_start());
        let variance = between.variance.max(of_means) / side.starts() as f64;
        // Windows stand in for starts that agree by chance, so that they make nothing better known.
        let freedom = within.map_or(between.freedom, |within| between.freedom.min(within.freedom));
        let known = self.between.map_or(0.0, VariancePrior::known);
        Some((Scatter { variance, freedom }, known))
    }
}

/// More degrees of freedom make no difference.
const MOST_FREEDOM: f64 = 1e4;

/// An effect with its standard error.
#[derive(Debug, Clone, Copy)]
struct Reading {
    effect: f64,
    standard_error: f64,
    freedom: f64,
}

impl Reading {
    /// `None` if nothing is known of how starts scatter.
    fn of(base: &Windows, contender: &Windows, pool: &Pool) -> Option<Reading> {
        let effect = contender.mean()? - base.mean()?;
        let (base, known) = pool.squared_error(base)?;
        let (contender, _) = pool.squared_error(contender)?;
        let whole = base.variance + contender.variance + FLOOR * FLOOR;
        // Satterthwaite (1946). The floor is known.
        let uncertain = base.variance.powi(2) / base.freedom + contender.variance.powi(2) / contender.freedom;
        let variances = (base.variance + contender.variance).powi(2) / uncertain;
        let most = variances.min(known);
        let share = (base.variance + contender.variance) / whole;
        let freedom = if uncertain > 0.0 { (most / share.powi(2)).min(MOST_FREEDOM) } else { MOST_FREEDOM };
        Some(Reading { effect, standard_error: whole.sqrt(), freedom })
    }

    fn interval(self, error: f64) -> Interval {
        Interval::around(self.effect, t_critical(error, self.freedom) * self.standard_error)
    }

    fn p(self) -> f64 {
        t_p_value(self.effect / self.standard_error, self.freedom)
    }
}
