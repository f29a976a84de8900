//! Finds changes in imported series of single runs, as Apache Otava does.

use super::welch::Welch;
use super::{Change, HistoryError, check};

/// Size of a window. Windows overlap by half.
const WINDOW: usize = 50;
/// The p-value below which a split is considered further.
const WEAK: f64 = 0.01;
/// The p-value below which it is reported.
const STRONG: f64 = 0.001;

/// The changes in a series with one ln throughput per version, by divisive clustering with the energy statistic (Matteson & James 2014) in
/// overlapping windows, with a t-test in place of permutations, merging until every p-value is below 0.001, as Apache Otava documents it.
/// With fewer than four values on a side, nothing is known about its power.
///
/// It exists for comparison with that program. It does not correct for the number of places it tests.
///
/// # Errors
/// When a number is no logarithm.
pub fn divisive_change_points(values: &[f64]) -> Result<Vec<Change>, HistoryError> {
    for (version, value) in values.iter().enumerate() {
        check(&[*value], version + 1)?;
    }
    let mut boundaries = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = (start + WINDOW).min(values.len());
        let found = divided(&values[start..end]);
        boundaries.extend(found.iter().map(|boundary| start + boundary));
        start = found.last().map_or(0, |last| start + last).max(start + WINDOW / 2);
    }
    boundaries.sort_unstable();
    boundaries.dedup();
    loop {
        let changes = tested(values, &boundaries);
        let weakest = changes.iter().max_by(|left, right| left.p.total_cmp(&right.p));
        match weakest {
            Some(change) if change.p >= STRONG => boundaries.retain(|boundary| *boundary != change.version),
            _ => return Ok(changes),
        }
    }
}

/// Every boundary with the test between its two neighbouring parts.
fn tested(values: &[f64], boundaries: &[usize]) -> Vec<Change> {
    let starts = [0].into_iter().chain(boundaries.iter().copied());
    let ends = boundaries.iter().skip(1).copied().chain([values.len()]);
    starts
        .zip(boundaries.iter().copied())
        .zip(ends)
        .map(|((start, version), end)| {
            Change::new(version, Welch::of(&values[start..version], &values[version..end]), STRONG)
        })
        .collect()
}

/// The boundaries within one window: repeatedly the best split of any part, as long as it passes the weak test.
fn divided(window: &[f64]) -> Vec<usize> {
    let mut ends = vec![0, window.len()];
    loop {
        let best = ends
            .windows(2)
            .filter_map(|part| {
                best_split(&window[part[0]..part[1]]).map(|(split, energy)| (part[0], split, part[1], energy))
            })
            .max_by(|left, right| left.3.total_cmp(&right.3));
        let Some((start, split, end, _)) = best else { break };
        let (earlier, later) = window[start..end].split_at(split);
        if Welch::of(earlier, later).is_none_or(|welch| welch.p_value() >= WEAK) {
            break;
        }
        ends.push(start + split);
        ends.sort_unstable();
    }
    ends[1..ends.len() - 1].to_vec()
}

/// The split with the largest energy between its sides, and that energy. Each side has at least two values.
fn best_split(part: &[f64]) -> Option<(usize, f64)> {
    let energy = |split: usize| {
        let (earlier, later) = part.split_at(split);
        let (left, right) = (earlier.len() as f64, later.len() as f64);
        let across: f64 =
            earlier.iter().flat_map(|one| later.iter().map(move |other| (one - other).abs())).sum();
        left * right / (left + right) * (2.0 * across / (left * right) - spread(earlier) - spread(later))
    };
    (2..part.len().saturating_sub(1))
        .map(|split| (split, energy(split)))
        .max_by(|left, right| left.1.total_cmp(&right.1))
}

/// The mean distance between two different values.
fn spread(values: &[f64]) -> f64 {
    let distances: f64 = values
        .iter()
        .enumerate()
        .flat_map(|(index, one)| values[..index].iter().map(move |other| (one - other).abs()))
        .sum();
    let count = values.len() as f64;
    2.0 * distances / (count * (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulation::{Noise, Simulation};

    #[test]
    fn changes_in_a_long_series_are_found_and_none_where_there_is_none() {
        let mut simulation = Simulation::new("divisive", 0);
        let level = |index: usize| if (40..90).contains(&index) { 5.0 } else { 0.0 };
        let noise = simulation.effects(Noise::Gaussian, 160);
        let values: Vec<f64> = noise.iter().enumerate().map(|(index, noise)| level(index) + noise).collect();
        let changes = divisive_change_points(&values).unwrap();
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert!(changes[0].version.abs_diff(40) <= 1 && changes[1].version.abs_diff(90) <= 1, "{changes:?}");
        assert!(changes[0].interval.contains(5.0) && changes[1].interval.contains(-5.0));
        assert_eq!(divisive_change_points(&[1.0; 60]).unwrap(), []);
        assert_eq!(divisive_change_points(&[]).unwrap(), []);
        assert_eq!(divisive_change_points(&[1.0, 9.0, 1.0]).unwrap(), []);
        assert!(
            divisive_change_points(&[1.0, f64::NAN])
                .unwrap_err()
                .to_string()
                .starts_with("round 1 of version 2")
        );
    }
}
