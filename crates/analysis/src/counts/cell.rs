//! What was counted of one candidate on one step.

use std::collections::BTreeSet;

use basecase_model::{CountWindow, OperationClass, StepCount};
use basecase_stats::WorkWindow;

/// What was counted of one candidate on one step.
#[derive(Clone)]
pub struct CellCount<'a> {
    /// The starts of its server in which something was counted, in their order.
    pub starts: Vec<&'a StepCount>,
    // All that was tried, also in vain.
    tried: Vec<&'a StepCount>,
}

impl<'a> CellCount<'a> {
    /// From all starts of the cell.
    pub(super) fn of(tried: &[&'a StepCount]) -> Self {
        let counts = |start: &&&StepCount| start.is_complete() && start.windows.iter().any(is_valid);
        CellCount { starts: tried.iter().filter(counts).copied().collect(), tried: tried.to_vec() }
    }

    /// Whether anything was counted.
    pub(super) fn is_counted(&self) -> bool {
        !self.starts.is_empty()
    }

    /// Whether anything was tried.
    pub(super) fn was_tried(&self) -> bool {
        !self.tried.is_empty()
    }

    /// Instructions per operation of each window, start by start.
    pub fn by_start(&self) -> Vec<Vec<f64>> {
        let windows = |start: &&'a StepCount| {
            let valid = start.windows.iter().filter(|window| is_valid(window));
            valid.map(CountWindow::per_operation).collect()
        };
        self.starts.iter().map(windows).collect()
    }

    /// All windows, as they are judged.
    pub fn work_windows(&self) -> Vec<WorkWindow> {
        let of_start = |(start, windows): (u32, Vec<f64>)| {
            windows.into_iter().map(move |instructions| WorkWindow { start, instructions })
        };
        (0..).zip(self.by_start()).flat_map(of_start).collect()
    }

    /// Instructions per operation of all windows.
    pub fn windows(&self) -> Vec<f64> {
        self.by_start().concat()
    }

    /// Instructions per operation, the mean over the windows; `None` if nothing was counted.
    pub fn instructions(&self) -> Option<f64> {
        mean(&self.windows())
    }

    /// The windows with the fewest and with the most instructions per operation; `None` of fewer than two.
    pub fn range(&self) -> Option<[f64; 2]> {
        ends(&self.windows())
    }

    /// The standard deviation of the windows divided by their mean; `None` for fewer than two.
    pub fn spread(&self) -> Option<f64> {
        let windows = self.windows();
        let mean = mean(&windows).filter(|_| windows.len() > 1)?;
        let squares: f64 = windows.iter().map(|window| (window - mean).powi(2)).sum();
        Some((squares / (windows.len() - 1) as f64).sqrt() / mean)
    }

    /// Operations of all windows together.
    pub fn operations(&self) -> u64 {
        let windows = self.starts.iter().flat_map(|start| &start.windows);
        windows.filter(|window| is_valid(window)).map(|window| window.operations).sum()
    }

    /// The operations and events of a window, which decide what is executed; `None` if nothing was counted, or windows differ.
    pub(crate) fn window_size(&self) -> Option<(u64, u64)> {
        let valid = self.starts.iter().flat_map(|start| &start.windows).filter(|window| is_valid(window));
        let mut sizes = valid.map(|window| (window.operations, window.events));
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// What one operation is.
    pub fn operation(&self) -> Option<OperationClass> {
        self.tried.last().map(|start| start.operation)
    }

    /// Key of the cell.
    pub fn key(&self) -> Option<&'a str> {
        self.tried.last().map(|start| start.cell.as_str())
    }

    /// Why nothing was counted, from the newest start; `None` if something was, or nothing was tried.
    pub fn failure(&self) -> Option<&'a str> {
        let newest = self.tried.last().filter(|_| self.starts.is_empty())?;
        Some(newest.failure.as_deref().unwrap_or("no window was counted"))
    }

    /// The warnings of its starts, each once.
    pub fn warnings(&self) -> BTreeSet<&'a str> {
        self.tried.iter().flat_map(|start| &start.warnings).map(String::as_str).collect()
    }
}

/// Whether a window tells how much an operation takes.
fn is_valid(window: &CountWindow) -> bool {
    window.operations > 0 && window.instructions > 0
}

/// The mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The smallest and the largest of some values; `None` of fewer than two.
pub(crate) fn ends(values: &[f64]) -> Option<[f64; 2]> {
    let smallest = values.iter().copied().reduce(f64::min)?;
    let largest = values.iter().copied().reduce(f64::max)?;
    (values.len() > 1).then_some([smallest, largest])
}
