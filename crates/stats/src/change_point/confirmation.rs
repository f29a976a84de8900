//! Confirms which boundaries are changes.

use super::segmentation::Sums;
use super::{Change, History};
use crate::discovery::{Dependence, adjusted};

/// The changes of each history, in the order of versions.
///
/// The segmentation that fits a history best at the given penalty is pruned by backward elimination. Over all histories together, the
/// weakest boundary is removed and its two levels are joined, until every remaining boundary is a discovery at `rate` by Welch's test
/// between the rounds of its two levels, and at least half a margin large. So two neighbouring changes do not mask each other. Where
/// anchors were handed over between the levels, the change must also be worth the penalty when the error of the handover is included, which
/// the segmentation does not know. A history in which no version has two rounds has no changes.
pub fn change_points(
    histories: &[History],
    penalty: impl Fn(&History) -> f64,
    rate: f64,
) -> Vec<Vec<Change>> {
    let levels = |history| {
        let penalty = penalty(history);
        let boundaries = Sums::of(history).map(|sums| sums.boundaries(penalty)).unwrap_or_default();
        Levels { history, penalty, boundaries }
    };
    let mut all: Vec<Levels<'_>> = histories.iter().map(levels).collect();
    loop {
        let changes = tested(&all, rate);
        let doubtful = changes.iter().filter(|Tested { place, change, gains }| {
            !gains || change.adjusted_p > rate || change.magnitude.abs() < histories[*place].margin / 2.0
        });
        let weakest = doubtful.max_by(|Tested { change: left, .. }, Tested { change: right, .. }| {
            left.p.total_cmp(&right.p).then(right.magnitude.abs().total_cmp(&left.magnitude.abs()))
        });
        let Some(Tested { place, change, .. }) = weakest else {
            let mut sorted = vec![Vec::new(); histories.len()];
            changes.into_iter().for_each(|tested| sorted[tested.place].push(tested.change));
            return sorted;
        };
        all[*place].boundaries.retain(|boundary| *boundary != change.version);
    }
}

/// The levels of one history.
struct Levels<'a> {
    history: &'a History,
    /// The penalty of each boundary, in squared standard errors.
    penalty: f64,
    boundaries: Vec<usize>,
}

/// A boundary with its test.
struct Tested {
    /// The index of its history.
    place: usize,
    change: Change,
    /// Whether it is worth the penalty when the error of handovers is included.
    gains: bool,
}

/// Tests every boundary.
fn tested(all: &[Levels<'_>], rate: f64) -> Vec<Tested> {
    let mut changes = Vec::new();
    for (place, levels) in all.iter().enumerate() {
        let history = levels.history;
        let starts = [0].into_iter().chain(levels.boundaries.iter().copied());
        let ends = levels.boundaries.iter().skip(1).copied().chain([history.versions()]);
        for ((start, version), end) in starts.zip(levels.boundaries.iter().copied()).zip(ends) {
            let (earlier, later) = (history.level(start..version), history.level(version..end));
            let welch = history.difference(&earlier, &later);
            let gains = earlier.behind == later.behind
                || welch.is_some_and(|welch| welch.squared_errors() >= levels.penalty);
            changes.push(Tested { place, change: Change::new(version, welch, rate), gains });
        }
    }
    let p_values: Vec<f64> = changes.iter().map(|tested| tested.change.p).collect();
    for (tested, adjusted_p) in changes.iter_mut().zip(adjusted(&p_values, Dependence::Positive)) {
        tested.change.adjusted_p = adjusted_p;
    }
    changes
}
