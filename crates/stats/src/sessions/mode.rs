//! Two modes of a candidate's sessions, told apart by a counter or by their throughput.

use basecase_model::names;

use super::SessionPair;
use super::gap::upper_group;
use crate::distribution::t_critical;
use crate::interval::Interval;
use crate::layers::Layers;
use crate::reading::Estimate;
use crate::sample::mean;
use crate::signed_rank::median;

/// Errors of intervals here: each holds the truth in 95 %. They are no verdicts.
const ALPHA: f64 = 0.05;
/// The least amount per operation that the larger group must have, in the counter's unit. Less is taken for none.
const LEAST_AMOUNT: f64 = 0.05;
/// How many times as much the larger group must have.
const LEAST_FACTOR: f64 = 1.5;
/// How many grains of the counter the groups must be apart within a session: less is how it was counted.
const LEAST_GRAINS: f64 = 10.0;
/// Groups that the sessions of the other side share are the machine's.
const SHARED: f64 = 0.5;

/// A counter that may tell sessions apart.
struct Counter {
    name: &'static str,
    unit: f64,
    /// It is counted in steps of this size.
    grain: f64,
}

const fn counter(name: &'static str, unit: f64, grain: f64) -> Counter {
    Counter { name, unit, grain }
}

/// Those that are tried, first what names a deed; CPU time is where many of them end.
const COUNTERS: [Counter; 7] = [
    counter(names::SERVER_MINOR_FAULTS, 1.0, 1.0),
    counter(names::SERVER_MAJOR_FAULTS, 1.0, 1.0),
    counter(names::SERVER_READ_BYTES, 4096.0, 4096.0),
    counter(names::SERVER_VOLUNTARY_SWITCHES, 1.0, 1.0),
    counter(names::SERVER_INVOLUNTARY_SWITCHES, 1.0, 1.0),
    counter(names::SERVER_CPU_SYSTEM_US, 1.0, 10_000.0),
    counter(names::SERVER_CPU_US, 1.0, 1_000.0),
];

/// What tells two modes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telltale {
    /// This counter, per operation.
    Counter(&'static str),
    /// No counter, but the ratio of throughputs itself.
    Throughput,
}

/// Two modes of a candidate's sessions, of which each is one number with noise.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionModes {
    /// What tells them apart.
    pub telltale: Telltale,
    /// The mode with less of it, and the one with more.
    pub modes: [SessionMode; 2],
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMode {
    /// The counter per operation of its typical session; `None` without a counter.
    pub per_operation: Option<f64>,
    /// Its sessions.
    pub sessions: usize,
    /// In how many starts it occurs.
    pub starts: usize,
    /// Its share of all sessions, 0 to 1.
    pub share: f64,
    /// The shares that the sessions do not contradict.
    pub share_interval: [f64; 2],
    /// The effect of contender against base in these sessions.
    pub effect: Estimate,
}

impl SessionModes {
    /// Of base and contender. Groups of the ratio alone, which no counter tells apart, are put down to the contender.
    pub(super) fn of_both(pairs: &[SessionPair<'_>], margin: f64) -> [Option<SessionModes>; 2] {
        let [base, contender] = [0, 1].map(|side| SessionModes::by_counter(pairs, side));
        if base.is_some() || contender.is_some() {
            return [base, contender];
        }
        [None, SessionModes::by_throughput(pairs, margin)]
    }

    /// How much better the contender fares in the mode with more of the telltale than in the other.
    pub fn difference(&self) -> f64 {
        let [less, more] = &self.modes;
        more.effect.effect - less.effect.effect
    }

    fn by_counter(pairs: &[SessionPair<'_>], side: usize) -> Option<SessionModes> {
        COUNTERS.iter().find_map(|counter| {
            let amounts: Vec<f64> = pairs
                .iter()
                .map(|pair| pair.records[side].per_operation(counter.name))
                .collect::<Option<_>>()?;
            let upper = counter.groups(pairs, side, &amounts)?;
            SessionModes::of(Telltale::Counter(counter.name), pairs, &upper, Some(&amounts))
        })
    }

    fn by_throughput(pairs: &[SessionPair<'_>], margin: f64) -> Option<SessionModes> {
        let effects: Vec<(usize, f64)> = pairs.iter().map(|pair| (pair.start, pair.effect)).collect();
        let upper = upper_group(&effects)?;
        SessionModes::of(Telltale::Throughput, pairs, &upper, None)
            .filter(|modes| modes.difference() >= margin)
    }

    fn of(
        telltale: Telltale,
        pairs: &[SessionPair<'_>],
        upper: &[bool],
        amounts: Option<&[f64]>,
    ) -> Option<SessionModes> {
        let effects: Vec<f64> = pairs.iter().map(|pair| pair.effect).collect();
        let middles = [false, true].map(|wanted| mean(&of_group(&effects, upper, wanted)));
        let rest = pairs
            .iter()
            .zip(upper)
            .map(|(pair, is_upper)| (pair.start, pair.effect - middles[usize::from(*is_upper)]))
            .collect::<Vec<_>>();
        let layers = Layers::of(&rest, 2)?;
        let members: Vec<(usize, f64)> =
            pairs.iter().zip(upper).map(|(pair, is_upper)| (pair.start, f64::from(*is_upper))).collect();
        let worth = Layers::of(&members, 1)?.worth();
        let mode = |is_upper: bool| {
            let starts: Vec<usize> = pairs
                .iter()
                .zip(upper)
                .filter(|(_, own)| **own == is_upper)
                .map(|(pair, _)| pair.start)
                .collect();
            let sizes: Vec<usize> = starts.chunk_by(|one, next| one == next).map(<[usize]>::len).collect();
            let effect = middles[usize::from(is_upper)];
            let half_width = t_critical(ALPHA, layers.freedom) * layers.of_mean(&sizes).sqrt();
            let interval = Some(Interval::around(effect, half_width)).filter(|found| found.is_bounded());
            let share = starts.len() as f64 / pairs.len() as f64;
            SessionMode {
                per_operation: amounts.map(|amounts| median(&mut of_group(amounts, upper, is_upper))),
                sessions: starts.len(),
                starts: sizes.len(),
                share,
                share_interval: share_interval(share, worth),
                effect: Estimate { effect, interval },
            }
        };
        Some(SessionModes { telltale, modes: [mode(false), mode(true)] })
    }
}

impl Counter {
    /// Which sessions of one side are in the upper group of this counter.
    fn groups(&self, pairs: &[SessionPair<'_>], side: usize, amounts: &[f64]) -> Option<Vec<bool>> {
        let logarithm = |amount: f64| (amount / self.unit + LEAST_AMOUNT).ln();
        let own: Vec<(usize, f64)> =
            pairs.iter().zip(amounts).map(|(pair, amount)| (pair.start, logarithm(*amount))).collect();
        let upper = upper_group(&own)?;
        let [low, high] = [false, true].map(|wanted| median(&mut of_group(amounts, &upper, wanted)));
        let is_large = high >= LEAST_AMOUNT * self.unit && high >= LEAST_FACTOR * low;
        let operations = pairs.iter().map(|pair| pair.records[side].operations).min()? as f64;
        let most_below = of_group(amounts, &upper, false).into_iter().fold(f64::NEG_INFINITY, f64::max);
        let least_above = of_group(amounts, &upper, true).into_iter().fold(f64::INFINITY, f64::min);
        let is_counted = (least_above - most_below) * operations >= LEAST_GRAINS * self.grain;
        let difference =
            |values: &[f64]| mean(&of_group(values, &upper, true)) - mean(&of_group(values, &upper, false));
        let own: Vec<f64> = own.into_iter().map(|(_, logarithm)| logarithm).collect();
        let others: Vec<f64> = pairs
            .iter()
            .map(|pair| Some(logarithm(pair.records[1 - side].per_operation(self.name)?)))
            .collect::<Option<_>>()?;
        let is_own = difference(&others) < SHARED * difference(&own);
        (is_large && is_counted && is_own).then_some(upper)
    }
}

fn of_group(values: &[f64], upper: &[bool], wanted: bool) -> Vec<f64> {
    values.iter().zip(upper).filter(|(_, own)| **own == wanted).map(|(value, _)| *value).collect()
}

/// The interval of a share by Wilson (1927), of as many independent sessions as these are worth. With few starts they are worth little and
/// the quantile is that of Student's t.
fn share_interval(share: f64, worth: f64) -> [f64; 2] {
    let square = t_critical(ALPHA, (worth - 1.0).max(1.0)).powi(2);
    let middle = (share + square / (2.0 * worth)) / (1.0 + square / worth);
    let spread = (share * (1.0 - share) / worth + square / (4.0 * worth * worth)).max(0.0);
    let half_width = square.sqrt() * spread.sqrt() / (1.0 + square / worth);
    [(middle - half_width).max(0.0), (middle + half_width).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_interval_of_wilson() {
        // With very many degrees of freedom the quantile is that of the normal distribution: 10 of 100 are 5.5 to 17.4 %.
        let [low, high] = share_interval(0.1, 100.0);
        assert!((low - 0.055).abs() < 0.002 && (high - 0.174).abs() < 0.002, "{low} {high}");
        let [low, high] = share_interval(0.0, 20.0);
        assert!(low == 0.0 && high > 0.1, "{low} {high}");
    }
}
