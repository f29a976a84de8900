//! Counters of processors and kernel for the server alone. Only profiled trials have them.

use basecase_model::names;

use crate::metrics::ratio;
use crate::results::{Measured, Results, quotient};

/// The counters and their names.
const COUNTERS: [(&str, &str); 9] = [
    (names::HARDWARE_INSTRUCTIONS, "instructions"),
    (names::HARDWARE_CYCLES, "cycles"),
    (names::HARDWARE_CACHE_REFERENCES, "references to the last-level cache"),
    (names::HARDWARE_CACHE_MISSES, "misses of the last-level cache"),
    (names::HARDWARE_BRANCHES, "branches"),
    (names::HARDWARE_BRANCH_MISSES, "mispredicted branches"),
    (names::SERVER_TASK_CLOCK_US, "time that threads ran, µs"),
    (names::SERVER_PAGE_FAULTS, "page faults"),
    (names::SERVER_CPU_MIGRATIONS, "moves to another processor"),
];

/// Whether the counter is one of these.
pub(crate) fn is_one(name: &str) -> bool {
    COUNTERS.iter().any(|(known, _)| *known == name)
}

/// The trials of base case and candidate in which they were counted.
pub struct Hardware<'a> {
    base: Measured<'a>,
    candidate: Measured<'a>,
    /// Whether a trial differs from the one whose speed is explained.
    pub is_of_profiled_pass: bool,
}

impl<'a> Hardware<'a> {
    /// For a candidate on a step; `None` if nothing was counted on one side.
    pub(crate) fn of(results: &Results<'a>, step: usize, candidate: usize) -> Option<Self> {
        let source = |candidate| {
            let measured = results.measured(step, candidate).filter(has_counted);
            let other = || results.profiled(step, candidate).filter(has_counted);
            measured.map(|found| (found, false)).or_else(|| Some((other()?, true)))
        };
        let ((base, of_pass), (candidate, also_of_pass)) = (source(0)?, source(candidate)?);
        Some(Hardware { base, candidate, is_of_profiled_pass: of_pass || also_of_pass })
    }

    /// The counters of both sides, and instructions per cycle.
    pub fn counts(&self) -> Vec<HardwareCount> {
        let count = |name: &'static str, count: &dyn Fn(&Measured<'_>) -> Option<f64>| {
            Some(HardwareCount { name, base: count(&self.base)?, candidate: count(&self.candidate)? })
        };
        let per_operation = COUNTERS
            .iter()
            .filter_map(|(name, called)| count(called, &|measured| measured.counted_per_operation(name)));
        per_operation.chain(count("instructions per cycle", &instructions_per_cycle)).collect()
    }
}

/// A counter of processors or kernel, per operation of the trials that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HardwareCount {
    /// Its name.
    pub name: &'static str,
    /// Of the base case.
    pub base: f64,
    /// Of the candidate.
    pub candidate: f64,
}

impl HardwareCount {
    /// Candidate / base case: 1 where both are 0.
    pub fn ratio(&self) -> f64 {
        ratio(self.candidate, self.base)
    }
}

/// Why profiled trials have no hardware counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardwareAbsence {
    /// The kernel counts events but the processors do not, as in most virtual machines.
    NoCounters,
    /// The kernel refused to count.
    NothingCounted,
}

fn instructions_per_cycle(measured: &Measured<'_>) -> Option<f64> {
    let count = |name| measured.trial.counters.get(name);
    quotient(count(names::HARDWARE_INSTRUCTIONS)?, count(names::HARDWARE_CYCLES)?)
}

fn has_counted(measured: &Measured<'_>) -> bool {
    measured.trial.counters.iter().any(|(name, _)| is_one(name))
}

/// Why the profiled trials of a step have no hardware counters; `None` if one has them, or none was profiled.
pub fn hardware_absence(results: &Results<'_>, step: usize) -> Option<HardwareAbsence> {
    let candidates = results.candidates();
    let profiled: Vec<Measured<'_>> =
        candidates.filter_map(|(candidate, _)| results.profiled(step, candidate)).collect();
    let is_of_hardware = |(name, _): (&str, f64)| name.starts_with(names::HARDWARE_PREFIX);
    let has_hardware = |measured: &Measured<'_>| measured.trial.counters.iter().any(is_of_hardware);
    if profiled.is_empty() || profiled.iter().any(has_hardware) {
        return None;
    }
    Some(if profiled.iter().any(has_counted) {
        HardwareAbsence::NoCounters
    } else {
        HardwareAbsence::NothingCounted
    })
}

#[cfg(test)]
mod tests {
    use basecase_model::{Measures, Observation, Trial};

    use super::*;
    use crate::fixture;

    /// Whether the counters come from the profiled pass, and those of the base case.
    fn counts(trials: &[Trial]) -> Option<(bool, Vec<(&'static str, f64)>)> {
        let (experiment, _) = fixture::sample();
        let results = Results::new(&experiment, trials);
        let hardware = Hardware::of(&results, 0, 1)?;
        let counts = hardware.counts().into_iter().map(|count| (count.name, count.base)).collect();
        Some((hardware.is_of_profiled_pass, counts))
    }

    #[test]
    fn the_profiled_trial_tells_where_the_measured_one_counted_nothing() {
        let (_, trials) = fixture::sample();
        let (is_of_profiled_pass, found) = counts(&trials).unwrap();
        assert!(is_of_profiled_pass);
        assert_eq!(found.len(), COUNTERS.len() + 1);
        // Per operation of the trial that they come from, so the slower profiled pass changes nothing.
        let rounded = |(name, count): (&'static str, f64)| (name, (count * 100.0).round() / 100.0);
        assert_eq!(rounded(found[0]), ("instructions", 182_000.0));
        assert_eq!(rounded(found[9]), ("instructions per cycle", 1.3));
        // Trials that were profiled while being measured have their own.
        let profiled: Vec<Trial> =
            trials.into_iter().filter(|trial| trial.observation == Observation::Profiled).collect();
        assert!(!counts(&profiled).unwrap().0);
    }

    #[test]
    fn what_the_machine_lacks_is_said_and_has_no_row() {
        let (experiment, mut trials) = fixture::microbenchmarks(2, &fixture::EXCERPT, 2);
        let results = Results::new(&experiment, &trials);
        assert_eq!(hardware_absence(&results, 1), Some(HardwareAbsence::NoCounters));
        let counts = Hardware::of(&results, 1, 1).unwrap().counts();
        assert_eq!(counts.len(), 3, "those of the kernel");
        for trial in &mut trials {
            let mut others = Measures::new();
            let is_other = |(name, _): &(&str, f64)| !is_one(name);
            trial.counters.iter().filter(is_other).for_each(|(name, value)| others.set(name, value));
            trial.counters = others;
        }
        let results = Results::new(&experiment, &trials);
        assert_eq!(hardware_absence(&results, 1), Some(HardwareAbsence::NothingCounted));
        assert!(Hardware::of(&results, 1, 1).is_none());
        let (experiment, trials) = fixture::sample();
        assert_eq!(hardware_absence(&Results::new(&experiment, &trials), 0), None);
        assert_eq!(hardware_absence(&Results::new(&experiment, &[]), 0), None, "nothing was profiled");
    }
}
