//! The windows of one candidate on one step.

use crate::sample::mean;
use crate::scatter::Scatter;

/// Windows that differ by more than this, relative, say that sessions have luck of their own.
const LUCK: f64 = 0.0005;
/// How many windows a start then needs.
const WINDOWS_WITH_LUCK: usize = 3;
/// A window stands apart if without it the others lie within this share of the whole range.
const APART: f64 = 0.25;

/// One window: the work of an operation, from two sessions of different lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkWindow {
    /// The start of the server in which it was counted. Windows of one start share its luck.
    pub start: u32,
    /// Instructions per operation.
    pub instructions: f64,
}

/// What the windows of one candidate say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkSide {
    /// Instructions per operation: the geometric mean. `None` without windows.
    pub instructions: Option<f64>,
    /// Starts of the server.
    pub starts: usize,
    /// Windows.
    pub windows: usize,
    /// Standard deviation of the means of starts, relative. `None` with one start.
    pub between_start_sd: Option<f64>,
    /// Standard deviation of windows within a start, relative. `None` if each start has one.
    pub within_start_sd: Option<f64>,
    /// The largest window above the smallest, relative: 0.002 for 0.2 %.
    pub spread: f64,
    /// The place of a window that stands apart: the others lie within a quarter of the spread. Only where the spread is above 0.05 %.
    pub apart: Option<usize>,
}

/// Whether these windows of one candidate and step are too few: fewer than two, or a start has fewer than three where any two windows
/// differ by more than 0.05 %.
pub fn needs_more_windows(windows: &[WorkWindow]) -> bool {
    let windows = Windows::of(windows);
    let fewest = windows.by_start.iter().map(Vec::len).min().unwrap_or(0);
    windows.all.len() < 2 || windows.spread() > LUCK && fewest < WINDOWS_WITH_LUCK
}

/// ln instructions of windows, by start.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Windows {
    all: Vec<f64>,
    by_start: Vec<Vec<f64>>,
}

impl Windows {
    pub(super) fn of(windows: &[WorkWindow]) -> Windows {
        let mut starts: Vec<u32> = windows.iter().map(|window| window.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let of_start = |start: &u32| {
            let mut logarithms: Vec<f64> = windows
                .iter()
                .filter(|window| window.start == *start)
                .map(|window| window.instructions.ln())
                .collect();
            // So that sums do not depend on the order in which windows are told.
            logarithms.sort_by(f64::total_cmp);
            logarithms
        };
        Windows {
            all: windows.iter().map(|window| window.instructions.ln()).collect(),
            by_start: starts.iter().map(of_start).collect(),
        }
    }

    pub(super) fn starts(&self) -> usize {
        self.by_start.len()
    }

    /// The harmonic mean of the numbers of windows in each start.
    pub(super) fn windows_per_start(&self) -> f64 {
        let inverses: Vec<f64> = self.by_start.iter().map(|start| 1.0 / start.len() as f64).collect();
        1.0 / mean(&inverses)
    }

    /// The mean over starts, each counting the same. `None` without windows.
    pub(super) fn mean(&self) -> Option<f64> {
        (!self.by_start.is_empty()).then(|| mean(&self.start_means()))
    }

    fn start_means(&self) -> Vec<f64> {
        self.by_start.iter().map(|start| mean(start)).collect()
    }

    /// How the means of starts scatter.
    pub(super) fn between(&self) -> Option<Scatter> {
        Scatter::of([self.start_means().as_slice()])
    }

    /// How windows scatter around the mean of their start.
    pub(super) fn within(&self) -> Option<Scatter> {
        Scatter::of(self.by_start.iter().map(Vec::as_slice))
    }

    fn spread(&self) -> f64 {
        range(self.all.iter().copied()).exp_m1()
    }

    /// The window that stands apart from all others.
    fn apart(&self) -> Option<usize> {
        let whole = range(self.all.iter().copied());
        let without = |left_out: usize| {
            range(self.all.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, value)| *value))
        };
        let stands_apart = |at: &usize| without(*at) <= APART * whole;
        (self.all.len() > 2 && self.spread() > LUCK).then(|| (0..self.all.len()).find(stands_apart)).flatten()
    }

    pub(super) fn told(&self) -> WorkSide {
        let sd = |scatter: Option<Scatter>| scatter.map(|scatter| scatter.variance.sqrt());
        WorkSide {
            instructions: self.mean().map(f64::exp),
            starts: self.starts(),
            windows: self.all.len(),
            between_start_sd: sd(self.between()),
            within_start_sd: sd(self.within()),
            spread: self.spread(),
            apart: self.apart(),
        }
    }
}

/// The largest less the smallest; 0 without values.
fn range(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    (largest - values.fold(f64::INFINITY, f64::min)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(counts: &[(u32, f64)]) -> Vec<WorkWindow> {
        counts
            .iter()
            .map(|(start, instructions)| WorkWindow { start: *start, instructions: *instructions })
            .collect()
    }

    #[test]
    fn sessions_that_differ_are_repeated() {
        assert!(needs_more_windows(&[]));
        assert!(needs_more_windows(&windows(&[(1, 100.0)])));
        assert!(!needs_more_windows(&windows(&[(1, 100_000.0), (2, 100_049.0)])));
        assert!(needs_more_windows(&windows(&[(1, 100_000.0), (2, 100_051.0)])));
        let three_of_each = [(1, 1.0), (1, 1.1), (1, 1.0), (2, 1.0), (2, 1.0), (2, 1.0)];
        assert!(!needs_more_windows(&windows(&three_of_each)));
        assert!(needs_more_windows(&windows(&three_of_each[..5])));
    }

    #[test]
    fn the_session_with_luck_of_its_own_is_named() {
        // Four sessions of one start of Postgres 18.6, as measured.
        let measured = [(1, 10_293_901.0), (1, 10_274_261.0), (1, 10_274_326.0), (1, 10_274_237.0)];
        let told = Windows::of(&windows(&measured)).told();
        assert_eq!((told.apart, told.starts, told.windows, told.between_start_sd), (Some(0), 1, 4, None));
        assert!((told.spread - 0.0019).abs() < 0.0001, "{told:?}");
        assert_eq!(Windows::of(&windows(&measured[1..])).told().apart, None, "0.001 % is no luck");
        let two_and_two = [(1, 1.0), (1, 1.1), (2, 1.0), (2, 1.1)];
        assert_eq!(Windows::of(&windows(&two_and_two)).told().apart, None);
    }

    #[test]
    fn starts_count_the_same_however_many_windows_they_have() {
        let told = Windows::of(&windows(&[(7, 100.0), (7, 100.0), (7, 100.0), (9, 121.0)])).told();
        assert!((told.instructions.unwrap() - 110.0).abs() < 1e-9, "{told:?}");
    }
}
