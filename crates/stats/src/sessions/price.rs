//! What one unit more of a counter costs an operation, from sessions between which it varied.

use basecase_model::names;

use super::SessionPair;
use crate::distribution::t_critical;
use crate::interval::Interval;
use crate::sample::mean;

/// Counters that have a price. Involuntary switches have none: they come by the clock, so slow sessions have more of them for being slow.
const COUNTERS: [&str; 2] = [names::SERVER_MINOR_FAULTS, names::SERVER_VOLUNTARY_SWITCHES];
/// The least standard deviation of a counter per operation for it to have a price.
const LEAST_SD: f64 = 0.01;

/// What an operation takes longer for one unit more of a counter, as a share of its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterPrice {
    /// The counter.
    pub counter: &'static str,
    /// The share of an operation's time that one more per operation adds: 0.05 is 5 %.
    pub per_unit: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The pairs of sessions that it comes from.
    pub sessions: usize,
}

/// The prices of the counters that varied, together: the least squares of the logarithm of time on the differences of all counters, within
/// rounds. A round's own level is taken off, so the luck of starts is in no price.
pub(super) fn prices(pairs: &[SessionPair<'_>]) -> Vec<CounterPrice> {
    let column = |counter: &&'static str| {
        let difference = |pair: &SessionPair<'_>| {
            let [base, contender] = pair.records.map(|record| record.per_operation(counter));
            Some((pair.start, contender? - base?))
        };
        let values = within_starts(&pairs.iter().map(difference).collect::<Option<Vec<_>>>()?);
        let squares: f64 = values.iter().map(|value| value * value).sum();
        ((squares / values.len() as f64).sqrt() >= LEAST_SD).then_some((*counter, values))
    };
    let (counters, columns): (Vec<&'static str>, Vec<Vec<f64>>) = COUNTERS.iter().filter_map(column).unzip();
    let times: Vec<(usize, f64)> = pairs.iter().map(|pair| (pair.start, -pair.effect)).collect();
    let starts = times.chunk_by(|one, next| one.0 == next.0).count();
    let Some(freedom) = pairs.len().checked_sub(starts + columns.len()).filter(|freedom| *freedom >= 5)
    else {
        return Vec::new();
    };
    let critical = t_critical(0.05, freedom as f64);
    let slopes = slopes(&columns, &within_starts(&times), freedom as f64);
    let price = |(counter, (slope, error)): (&'static str, (f64, f64))| CounterPrice {
        counter,
        per_unit: slope,
        interval: Interval::around(slope, critical * error),
        sessions: pairs.len(),
    };
    counters.into_iter().zip(slopes).map(price).filter(|price| price.interval.is_bounded()).collect()
}

/// Values less the mean of their start.
fn within_starts(values: &[(usize, f64)]) -> Vec<f64> {
    let of_start = |values: &[(usize, f64)]| {
        let middle = mean(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        values.iter().map(|(_, value)| value - middle).collect::<Vec<_>>()
    };
    values.chunk_by(|one, next| one.0 == next.0).flat_map(of_start).collect()
}

/// The slope on each of one or two columns with its standard error; none if they are the same. Errors may differ from session to session
/// (White 1980, with the correction for leverage of MacKinnon & White 1985), and are never smaller than if they did not.
fn slopes(columns: &[Vec<f64>], times: &[f64], freedom: f64) -> Vec<(f64, f64)> {
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    // A second column of zeros is none.
    let none = vec![0.0; times.len()];
    let [first, second] = [0, 1].map(|number| columns.get(number).unwrap_or(&none).as_slice());
    let (aa, ab, bb) = (dot(first, first), dot(first, second), dot(second, second));
    let bb = if columns.len() < 2 { 1.0 } else { bb };
    let determinant = aa * bb - ab * ab;
    if determinant <= 1e-6 * aa * bb {
        return Vec::new();
    }
    let inverse = [[bb / determinant, -ab / determinant], [-ab / determinant, aa / determinant]];
    let sums = [dot(first, times), dot(second, times)];
    let slope = |row: &[f64; 2]| row[0] * sums[0] + row[1] * sums[1];
    let found = [slope(&inverse[0]), slope(&inverse[1])];
    let rest: Vec<f64> = times
        .iter()
        .zip(first.iter().zip(second))
        .map(|(time, (one, other))| time - found[0] * one - found[1] * other)
        .collect();
    let usual = dot(&rest, &rest) / freedom;
    let error = |number: usize| {
        let influence = |(rest, (one, other)): (&f64, (&f64, &f64))| {
            let own = |row: &[f64; 2]| row[0] * one + row[1] * other;
            let leverage = one * own(&inverse[0]) + other * own(&inverse[1]);
            (own(&inverse[number]) * rest / (1.0 - leverage).max(1e-3)).powi(2)
        };
        let robust: f64 = rest.iter().zip(first.iter().zip(second)).map(influence).sum();
        robust.max(usual * inverse[number][number]).sqrt()
    };
    (0..columns.len()).map(|number| (found[number], error(number))).collect()
}
