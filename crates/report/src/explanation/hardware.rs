//! What processors and kernel counted for the server alone. Only profiled trials have it.

use basecase_model::names;

use super::cost::operation;
use super::{figure, ratio_text};
use crate::metrics::ratio;
use crate::results::{Measured, Results, quotient};
use crate::tables::{Cell, Column, Row, Table};

/// The counters and what they are called.
const COUNTERS: [(&str, &str); 9] = [
    (names::HARDWARE_INSTRUCTIONS, "instructions"),
    (names::HARDWARE_CYCLES, "cycles"),
    (names::HARDWARE_CACHE_REFERENCES, "accesses to the last cache"),
    (names::HARDWARE_CACHE_MISSES, "misses of the last cache"),
    (names::HARDWARE_BRANCHES, "branches"),
    (names::HARDWARE_BRANCH_MISSES, "branches foreseen wrongly"),
    (names::SERVER_TASK_CLOCK_US, "time that threads ran, µs"),
    (names::SERVER_PAGE_FAULTS, "page faults"),
    (names::SERVER_CPU_MIGRATIONS, "moves to another processor"),
];

/// Whether the counter is one of these.
pub(super) fn is_one(name: &str) -> bool {
    COUNTERS.iter().any(|(known, _)| *known == name)
}

/// The trials of base case and candidate in which they were counted.
pub(super) struct Hardware<'a> {
    base: Measured<'a>,
    candidate: Measured<'a>,
    /// Whether a trial is another than the one whose speed is explained.
    is_of_profiled_pass: bool,
}

impl<'a> Hardware<'a> {
    /// Of a candidate on a step; `None` when nothing was counted of one of both.
    pub(super) fn of(results: &Results<'a>, step: usize, candidate: usize) -> Option<Self> {
        let source = |candidate| {
            let measured = results.measured(step, candidate).filter(has_counted);
            let other = || results.profiled(step, candidate).filter(has_counted);
            measured.map(|found| (found, false)).or_else(|| Some((other()?, true)))
        };
        let ((base, of_pass), (candidate, also_of_pass)) = (source(0)?, source(candidate)?);
        Some(Hardware { base, candidate, is_of_profiled_pass: of_pass || also_of_pass })
    }

    /// The counters per operation of the trials that they come from.
    pub(super) fn table(&self) -> Table {
        let row = |called: &str, of: &dyn Fn(&Measured<'_>) -> Option<f64>| {
            let (base, candidate) = (of(&self.base)?, of(&self.candidate)?);
            let cells = [figure(base), figure(candidate), ratio_text(ratio(candidate, base))];
            Some(Row::new(called, cells.map(Cell::plain).into()))
        };
        let counters = COUNTERS
            .iter()
            .filter_map(|(name, called)| row(called, &|measured| measured.counted_per_operation(name)));
        Table {
            caption: format!("Counters of the processors, per {}", operation(&self.base)),
            reading: if self.is_of_profiled_pass { "Of the profiled pass.".into() } else { String::new() },
            corner: "counter",
            columns: ["base case", "candidate", "ratio"].map(|name| Column::numbers(name, "")).into(),
            rows: counters.chain(row("instructions per cycle", &instructions_per_cycle)).collect(),
            ..Table::default()
        }
    }
}

fn instructions_per_cycle(measured: &Measured<'_>) -> Option<f64> {
    let count = |name| measured.trial.counters.get(name);
    quotient(count(names::HARDWARE_INSTRUCTIONS)?, count(names::HARDWARE_CYCLES)?)
}

fn has_counted(measured: &Measured<'_>) -> bool {
    measured.trial.counters.iter().any(|(name, _)| is_one(name))
}

/// That the profiled trials of a step have no counters of hardware, and why; `None` where one has them, or none was profiled.
pub(crate) fn absence(results: &Results<'_>, step: usize) -> Option<&'static str> {
    let candidates = results.candidates();
    let profiled: Vec<Measured<'_>> =
        candidates.filter_map(|(candidate, _)| results.profiled(step, candidate)).collect();
    let is_of_hardware = |(name, _): (&str, f64)| name.starts_with(names::HARDWARE_PREFIX);
    let has_hardware = |measured: &Measured<'_>| measured.trial.counters.iter().any(is_of_hardware);
    if profiled.is_empty() || profiled.iter().any(has_hardware) {
        return None;
    }
    Some(if profiled.iter().any(has_counted) { NO_COUNTERS } else { NOTHING_COUNTED })
}

/// What is said of a machine whose kernel counts events and whose processors do not.
const NO_COUNTERS: &str = "Instructions, cycles and misses of caches and branches are absent: the machine has no counters of hardware, as \
                           most virtual machines.";
/// What is said where the kernel refused to count.
const NOTHING_COUNTED: &str = "Instructions, cycles and misses of caches and branches are absent: the kernel counted no events of the \
                               server's threads.";

#[cfg(test)]
mod tests {
    use basecase_model::{Measures, Observation, Trial};

    use super::*;
    use crate::fixture;

    fn rows(trials: &[Trial]) -> Option<(String, Vec<(String, String)>)> {
        let (experiment, _) = fixture::sample();
        let results = Results::new(&experiment, trials);
        let table = Hardware::of(&results, 0, 1)?.table();
        let row = |row: &Row| (row.name.clone(), row.cells[0].text.clone());
        Some((table.reading, table.rows.iter().map(row).collect()))
    }

    #[test]
    fn the_profiled_trial_tells_where_the_measured_one_counted_nothing() {
        let (_, trials) = fixture::sample();
        let (reading, found) = rows(&trials).unwrap();
        assert_eq!(reading, "Of the profiled pass.");
        assert_eq!(found.len(), COUNTERS.len() + 1);
        // Per operation of the trial that they come from: the slower pass changes nothing.
        assert_eq!(found[0], ("instructions".into(), "182000".into()));
        assert_eq!(found[9], ("instructions per cycle".into(), "1.30".into()));
        // Trials that were profiled while they were measured have their own.
        let profiled: Vec<Trial> =
            trials.into_iter().filter(|trial| trial.observation == Observation::Profiled).collect();
        assert_eq!(rows(&profiled).unwrap().0, "");
    }

    #[test]
    fn what_the_machine_lacks_is_said_and_has_no_row() {
        let (experiment, mut trials) = fixture::microbenchmarks(2, &fixture::EXCERPT, 2);
        let results = Results::new(&experiment, &trials);
        assert_eq!(absence(&results, 1), Some(NO_COUNTERS));
        let table = Hardware::of(&results, 1, 1).unwrap().table();
        assert_eq!(table.rows.len(), 3, "those of the kernel");
        for trial in &mut trials {
            let mut others = Measures::new();
            let is_other = |(name, _): &(&str, f64)| !is_one(name);
            trial.counters.iter().filter(is_other).for_each(|(name, value)| others.set(name, value));
            trial.counters = others;
        }
        let results = Results::new(&experiment, &trials);
        assert_eq!(absence(&results, 1), Some(NOTHING_COUNTED));
        assert!(Hardware::of(&results, 1, 1).is_none());
        let (experiment, trials) = fixture::sample();
        assert_eq!(absence(&Results::new(&experiment, &trials), 0), None);
        assert_eq!(absence(&Results::new(&experiment, &[]), 0), None, "nothing was profiled");
    }
}
