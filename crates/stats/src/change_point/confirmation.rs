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
        Levels::of(history, penalty, boundaries, rate)
    };
    let mut all: Vec<Levels<'_>> = histories.iter().map(levels).collect();
    loop {
        adjust(&mut all);
        let tested = all.iter().enumerate().flat_map(|(place, levels)| {
            levels.tested.iter().enumerate().map(move |(number, tested)| ((place, number), tested))
        });
        let doubtful = tested.filter(|((place, _), Tested { change, gains })| {
            !gains || change.adjusted_p > rate || change.magnitude.abs() < histories[*place].margin / 2.0
        });
        let weakest =
            doubtful.max_by(|(_, Tested { change: left, .. }), (_, Tested { change: right, .. })| {
                left.p.total_cmp(&right.p).then(right.magnitude.abs().total_cmp(&left.magnitude.abs()))
            });
        let Some(((place, number), _)) = weakest else {
            let changes =
                |levels: Levels<'_>| levels.tested.into_iter().map(|tested| tested.change).collect();
            return all.into_iter().map(changes).collect();
        };
        all[place].join(number, rate);
    }
}

/// The levels of one history.
struct Levels<'a> {
    history: &'a History,
    /// The penalty of each boundary, in squared standard errors.
    penalty: f64,
    boundaries: Vec<usize>,
    /// The test of each boundary.
    tested: Vec<Tested>,
}

/// A boundary with its test.
struct Tested {
    change: Change,
    /// Whether it is worth the penalty when the error of handovers is included.
    gains: bool,
}

impl<'a> Levels<'a> {
    fn of(history: &'a History, penalty: f64, boundaries: Vec<usize>, rate: f64) -> Self {
        let mut levels = Levels { history, penalty, boundaries, tested: Vec::new() };
        levels.tested = (0..levels.boundaries.len()).map(|number| levels.test(number, rate)).collect();
        levels
    }

    /// Tests a boundary: its two levels reach from the boundary before it to the one behind it.
    fn test(&self, number: usize, rate: f64) -> Tested {
        let Levels { history, boundaries, .. } = self;
        let version = boundaries[number];
        let start = number.checked_sub(1).map_or(0, |before| boundaries[before]);
        let end = boundaries.get(number + 1).copied().unwrap_or(history.versions());
        let (earlier, later) = (history.level(start..version), history.level(version..end));
        let welch = history.difference(&earlier, &later);
        let gains = earlier.behind == later.behind
            || welch.is_some_and(|welch| welch.squared_errors() >= self.penalty);
        Tested { change: Change::new(version, welch, rate), gains }
    }

    /// Joins the levels on both sides of a boundary. Only its neighbours have another level then, so they alone are tested anew.
    fn join(&mut self, number: usize, rate: f64) {
        self.boundaries.remove(number);
        self.tested.remove(number);
        for neighbour in [number.checked_sub(1), Some(number)].into_iter().flatten() {
            if neighbour < self.boundaries.len() {
                self.tested[neighbour] = self.test(neighbour, rate);
            }
        }
    }
}

/// Adjusts the p-values of all boundaries, which are one family.
fn adjust(all: &mut [Levels<'_>]) {
    let tested = || all.iter().flat_map(|levels| &levels.tested);
    let p_values: Vec<f64> = tested().map(|tested| tested.change.p).collect();
    let tested = all.iter_mut().flat_map(|levels| &mut levels.tested);
    for (tested, adjusted_p) in tested.zip(adjusted(&p_values, Dependence::Positive)) {
        tested.change.adjusted_p = adjusted_p;
    }
}
