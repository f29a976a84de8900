//! Whether steps wait for storage, and the limits on the memory of servers that make them.

use basecase_model::names;

use crate::results::{Measured, Results, quotient};

/// Storage reads per operation from which a step counts as IO-bound.
pub const IO_BOUND_READS: f64 = 0.1;
/// Share of the time waiting for input or output from which a step counts as IO-bound, 0 to 1.
pub const IO_BOUND_WAITING: f64 = 0.25;

impl Measured<'_> {
    /// Storage reads per operation: of the server's own control group if they are counted, or else of the whole device.
    pub fn reads_per_operation(&self) -> Option<f64> {
        self.per_operation(names::GROUP_READS).or_else(|| self.per_operation(names::DEVICE_READS))
    }

    /// Share of the window that went to waiting for input or output, 0 to 1, by whichever tells more: the time in which some task waited
    /// (PSI), of the server's control group if that is known or else of the host; or the time of the server's reads in the device and its
    /// queue, per connection. A task that waits for a processor after its read does not count as waiting in the first.
    pub fn waiting_share(&self) -> Option<f64> {
        let counters = &self.trial.counters;
        let waited =
            counters.get(names::GROUP_IO_PRESSURE_US).or_else(|| counters.get(names::HOST_IO_PRESSURE_US));
        let connections = self.trial.roles_of(self.headline_class()).count().max(1) as f64;
        let read = self.own_read_us().map(|time_us| time_us / connections);
        let longest_us = [waited, read].into_iter().flatten().reduce(f64::max)?;
        quotient(longest_us / 1e6, self.trial.seconds).map(|share| share.min(1.0))
    }

    /// The server's share of the device's read time, by the bytes that it read, µs; `None` if these are not known.
    fn own_read_us(&self) -> Option<f64> {
        let counters = &self.trial.counters;
        let own = counters.get(names::GROUP_READ_BYTES).or_else(|| counters.get(names::SERVER_READ_BYTES))?;
        let all = counters.get(names::DEVICE_READ_BYTES)?.max(1.0);
        Some(counters.get(names::DEVICE_READ_US)? * (own / all).min(1.0))
    }

    /// Whether it is IO-bound: it reads from storage, and, if that is known, waits for it. `None` if reads are not counted.
    pub fn is_io_bound(&self) -> Option<bool> {
        let reads = self.reads_per_operation()?;
        let waits = self.waiting_share().is_none_or(|share| share >= IO_BOUND_WAITING);
        Some(reads >= IO_BOUND_READS && waits)
    }
}

impl<'a> Results<'a> {
    /// Whether the memory of some candidate's server was limited.
    pub fn has_memory_limit(&self) -> bool {
        self.candidates().any(|(_, facts)| facts.memory_limit_bytes.is_some())
    }

    /// The candidates of a size that was published as IO-bound of which no measured step is.
    pub fn unexpectedly_cached(&self) -> Vec<&'a str> {
        if !self.experiment.is_meant_io_bound() {
            return Vec::new();
        }
        let is_cached = |candidate: usize| {
            let known: Vec<bool> =
                self.steps().filter_map(|(step, _)| self.measured(step, candidate)?.is_io_bound()).collect();
            !known.is_empty() && !known.contains(&true)
        };
        let cached = self.candidates().filter(|(candidate, _)| is_cached(*candidate));
        cached.map(|(_, facts)| facts.name.0.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::Experiment;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_step_that_reads_and_waits_is_io_bound() {
        let (experiment, mut trials) = fixture::sample();
        let bound = |trials: &[basecase_model::Trial]| {
            Results::new(&experiment, &trials[..1]).measured(0, 0).unwrap().is_io_bound()
        };
        let operations = {
            let results = Results::new(&experiment, &trials[..1]);
            let measured = results.measured(0, 0).unwrap();
            measured.headline().unwrap() * trials[0].seconds
        };
        let window_us = trials[0].seconds * 1e6;
        let counters = &mut trials[0].counters;
        counters.set(names::DEVICE_READS, operations * 3.0);
        counters.set(names::HOST_IO_PRESSURE_US, window_us * 0.5);
        assert_eq!(bound(&trials), Some(true));
        trials[0].counters.set(names::GROUP_READS, operations * 0.01);
        assert_eq!(bound(&trials), Some(false), "others used the device");
        trials[0].counters.set(names::GROUP_READS, operations);
        trials[0].counters.set(names::GROUP_IO_PRESSURE_US, window_us * 0.01);
        let reads = |read_us: f64, trials: &mut [basecase_model::Trial]| {
            trials[0].counters.set(names::DEVICE_READ_US, read_us);
            trials[0].counters.set(names::DEVICE_READ_BYTES, 1e6);
            trials[0].counters.set(names::GROUP_READ_BYTES, 5e5);
        };
        reads(0.0, &mut trials);
        assert_eq!(bound(&trials), Some(false), "it hardly waits");
        // Other work has the processors, so that tasks wait for these after each read.
        reads(window_us, &mut trials);
        assert_eq!(bound(&trials), Some(true));
    }

    #[test]
    fn a_size_that_was_meant_to_be_io_bound_and_is_not_is_told() {
        let (mut experiment, mut trials) = fixture::sample();
        for trial in &mut trials {
            trial.counters.set(names::DEVICE_READS, 0.0);
        }
        assert!(Results::new(&experiment, &trials).unexpectedly_cached().is_empty());
        experiment.parameters.push((Experiment::MEANT.into(), Experiment::IO_BOUND.into()));
        let cached = Results::new(&experiment, &trials).unexpectedly_cached();
        assert_eq!(cached.len(), experiment.candidates.len());
    }
}
