//! Which boundaries are changes.

use super::segmentation::Sums;
use super::welch::Welch;
use super::{Change, History};
use crate::discovery::{Dependence, adjusted};

/// The changes of each history, in the order of versions.
///
/// The levels that explain a history best, at that penalty for each change, are confirmed from the bottom up: over all
/// histories together, the weakest boundary goes, and its levels become one, until each that is left is a discovery at
/// `rate` by Welch's test between the rounds of its two levels and at least half a margin large. Two changes close to each
/// other so do not hide each other. A history without a version of two rounds has no changes.
pub fn change_points(
    histories: &[History],
    penalty: impl Fn(&History) -> f64,
    rate: f64,
) -> Vec<Vec<Change>> {
    let boundaries = |history| Sums::of(history).map(|sums| sums.boundaries(penalty(history)));
    let mut all: Vec<Levels<'_>> = histories
        .iter()
        .map(|history| Levels { history, boundaries: boundaries(history).unwrap_or_default() })
        .collect();
    loop {
        let changes = tested(&all, rate);
        let doubtful = changes.iter().filter(|(place, change)| {
            change.adjusted_p > rate || change.magnitude.abs() < histories[*place].margin / 2.0
        });
        let weakest = doubtful.max_by(|(_, left), (_, right)| {
            left.p.total_cmp(&right.p).then(right.magnitude.abs().total_cmp(&left.magnitude.abs()))
        });
        let Some((place, change)) = weakest else {
            let mut sorted = vec![Vec::new(); histories.len()];
            changes.into_iter().for_each(|(place, change)| sorted[place].push(change));
            return sorted;
        };
        all[*place].boundaries.retain(|boundary| *boundary != change.version);
    }
}

/// The levels of one history.
struct Levels<'a> {
    history: &'a History,
    boundaries: Vec<usize>,
}

/// Every boundary with its test, and the place of its history.
fn tested(all: &[Levels<'_>], rate: f64) -> Vec<(usize, Change)> {
    let mut changes = Vec::new();
    for (place, levels) in all.iter().enumerate() {
        let history = levels.history;
        let starts = [0].into_iter().chain(levels.boundaries.iter().copied());
        let ends = levels.boundaries.iter().skip(1).copied().chain([history.versions()]);
        for ((start, version), end) in starts.zip(levels.boundaries.iter().copied()).zip(ends) {
            let welch = Welch::of(&history.level(start..version), &history.level(version..end));
            changes.push((place, Change::new(version, welch, rate)));
        }
    }
    let p_values: Vec<f64> = changes.iter().map(|(_, change)| change.p).collect();
    for ((_, change), adjusted_p) in changes.iter_mut().zip(adjusted(&p_values, Dependence::Positive)) {
        change.adjusted_p = adjusted_p;
    }
    changes
}
