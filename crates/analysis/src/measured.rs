//! The formulas behind every metric, from the counters and roles of a trial.

use basecase_model::{OperationClass, RoleRecord, StatementClass, names};

use crate::latencies::latencies;
use crate::results::{Measured, quotient};
use crate::sla::Shortfall;
use crate::throughput::Throughput;

/// The least CPU time in user and in kernel mode for them to be told apart, µs: the kernel's is known in ticks of 10 ms, and a hundred of
/// them are off by some 10 %.
const LEAST_CPU_US: f64 = 1e6;

/// CPU time of a server by mode of the processor, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuModes {
    /// In the server's own code.
    pub user: f64,
    /// In the kernel on its behalf.
    pub kernel: f64,
}

impl Measured<'_> {
    /// The server's CPU time in both modes; `None` where the kernel's is not known. Of short windows it is imprecise.
    pub fn server_cpu_modes_us(&self) -> Option<CpuModes> {
        let kernel = self.trial.counters.get(names::SERVER_CPU_SYSTEM_US)?;
        let user = self.trial.counters.get(names::SERVER_CPU_US)? - kernel;
        Some(CpuModes { user: user.max(0.0), kernel })
    }

    /// Whether both are long enough to be told apart.
    pub fn tells_cpu_modes(&self) -> bool {
        self.server_cpu_modes_us().is_some_and(|modes| modes.user.min(modes.kernel) >= LEAST_CPU_US)
    }

    /// A counter divided by the seconds of the window.
    pub fn per_second(&self, name: &str) -> Option<f64> {
        quotient(self.trial.counters.get(name)?, self.trial.seconds)
    }

    /// Thousands of rows that one connection scans per second: the published number for scans, not multiplied by the connections.
    pub fn scanned_krows_per_second(&self) -> Option<f64> {
        let rows = self.step.scanned_rows?;
        let mean_s = latencies(self.trial, self.headline_class())?.service.mean_ns() / 1e9;
        quotient(rows as f64 / 1e3, mean_s)
    }

    /// A counter per second of the time over which it counted; the server's own counters include the warm-up.
    pub fn counted_per_second(&self, name: &str) -> Option<f64> {
        let counters = &self.trial.counters;
        let counted =
            counters.get(names::SERVER_COUNTED_SECONDS).filter(|_| names::is_counted_by_server(name));
        quotient(counters.get(name)?, counted.unwrap_or(self.trial.seconds))
    }

    /// Such a counter per operation.
    pub fn counted_per_operation(&self, name: &str) -> Option<f64> {
        quotient(self.counted_per_second(name)?, self.headline()?)
    }

    /// An amount of the whole window per operation: per insert in `l` steps, per query in `q` steps.
    pub fn spread(&self, amount: f64) -> Option<f64> {
        quotient(quotient(amount, self.trial.seconds)?, self.headline()?)
    }

    /// A counter per operation.
    pub fn per_operation(&self, name: &str) -> Option<f64> {
        self.spread(self.trial.counters.get(name)?)
    }

    /// A counter per inserted row.
    pub fn per_insert(&self, name: &str) -> Option<f64> {
        quotient(self.per_second(name)?, self.inserts_per_second()?)
    }

    /// CPU time of the whole host, µs over all cores; at least that of server and client, because the host's may be counted in ticks of
    /// some ms while theirs is exact.
    pub fn host_cpu_us(&self) -> Option<f64> {
        let counters = &self.trial.counters;
        let in_ticks =
            || Some(counters.get(names::HOST_CPU_USER_US)? + counters.get(names::HOST_CPU_SYSTEM_US)?);
        let host = counters.get(names::HOST_CPU_US).or_else(in_ticks)?;
        let of_both = [names::SERVER_CPU_US, names::CLIENT_CPU_US];
        Some(host.max(of_both.iter().filter_map(|name| counters.get(name)).sum()))
    }

    /// A counter of CPU time as a percentage of all cores' time.
    pub fn share(&self, name: &str) -> Option<f64> {
        quotient(self.per_second(name)? / 1e4, f64::from(self.cores))
    }

    /// Events of the headline's class, over all its roles.
    pub fn events(&self) -> u64 {
        self.trial.roles_of(self.headline_class()).map(|role| role.events).sum()
    }

    /// Events per second: each role over its own window, or all over the step, as in [`Measured::queries_per_second`].
    pub fn events_per_second(&self) -> f64 {
        if self.trial.has_arrivals(self.headline_class()) {
            return quotient(self.events() as f64, self.trial.seconds).unwrap_or(0.0);
        }
        let roles = self.trial.roles_of(self.headline_class());
        let rate = |role: &RoleRecord| {
            quotient(role.events as f64 * 1e6, role.ended_us.saturating_sub(role.started_us) as f64)
        };
        // The sum over no role is -0, which prints as such.
        roles.filter_map(rate).sum::<f64>() + 0.0
    }

    /// Statements of the window per second that count as `class`; `None` if the step's statements have no kinds.
    pub fn statements_per_second(&self, class: StatementClass) -> Option<f64> {
        let records = self.trial.statements.as_slice();
        let executed: u64 = records.iter().map(|record| record.executed_as(class)).sum();
        quotient(executed as f64, self.trial.seconds).filter(|_| !records.is_empty())
    }

    /// Statements retried after a retryable error.
    pub fn retries(&self) -> u64 {
        self.trial.roles.iter().map(|role| role.retries).sum()
    }

    /// Items of the headline's class in each interval.
    pub fn throughput(&self) -> Option<Throughput> {
        Throughput::of(self.trial.roles_of(self.headline_class()), self.rounds)
    }

    /// The latency that this percentage of the events did not exceed.
    pub fn event_latency_ms(&self, percentile: f64) -> Option<f64> {
        let latencies = latencies(self.trial, self.headline_class())?;
        Some(latencies.service.quantile_ns(percentile / 100.0) as f64 / 1e6)
    }

    /// The service time that this share (0 to 1) of the statements of a class did not exceed, µs.
    pub fn latency_us(&self, class: OperationClass, quantile: f64) -> Option<f64> {
        Some(latencies(self.trial, class)?.service.quantile_ns(quantile) as f64 / 1e3)
    }

    /// Seconds in which the background inserts missed their target; `None` where the step has no target.
    pub fn shortfall(&self) -> Option<Shortfall> {
        let target = self.step.sla_target?;
        Shortfall::judge(
            target,
            &Throughput::of(self.trial.roles_of(OperationClass::Insert), self.rounds)?.seconds()?,
        )
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::Trial;

    use super::*;
    use crate::fixture;
    use crate::results::Results;

    #[test]
    fn defect_27_the_host_took_at_least_what_server_and_client_did() {
        let (experiment, mut trials) = fixture::sample();
        let host =
            |trials: &[Trial]| Results::new(&experiment, &trials[..1]).measured(0, 0).unwrap().host_cpu_us();
        let counters = |values: [(&str, f64); 4], trials: &mut [Trial]| {
            values.iter().for_each(|(name, value)| trials[0].counters.set(name, *value));
        };
        let ticks = [
            (names::HOST_CPU_USER_US, 300.0),
            (names::HOST_CPU_SYSTEM_US, 185.6),
            (names::SERVER_CPU_US, 531.5),
            (names::CLIENT_CPU_US, 60.0),
        ];
        counters(ticks, &mut trials);
        assert_eq!(host(&trials), Some(591.5));
        trials[0].counters.set(names::HOST_CPU_US, 640.0);
        assert_eq!(host(&trials), Some(640.0), "counted as exactly as the processes");
    }

    #[test]
    fn what_arrives_at_a_rate_is_counted_over_the_step() {
        let (experiment, mut trials) = fixture::sample();
        let trial = trials.iter_mut().find(|trial| trial.roles_of(OperationClass::Query).next().is_some());
        let trial = trial.unwrap();
        trial.seconds = 10.0;
        let mut counted = (0, 0);
        for role in trial.roles.iter_mut().filter(|role| role.class == OperationClass::Query) {
            // It worked for a moment only, and then waited for its next arrival.
            (role.started_us, role.ended_us) = (1_000_000, 1_100_000);
            role.response = Some(role.service.clone());
            counted = (counted.0 + role.items, counted.1 + role.events);
        }
        let trials = [trial.clone()];
        let results = Results::new(&experiment, &trials);
        let step = experiment.steps.iter().position(|step| step.name == trials[0].step).unwrap();
        let measured = results.measured(step, 0).unwrap();
        assert_eq!(measured.queries_per_second(), counted.0 as f64 / 10.0);
        assert_eq!(measured.events_per_second(), counted.1 as f64 / 10.0);
    }

    #[test]
    fn only_what_the_server_counted_holds_the_warm_up() {
        let (experiment, mut trials) = fixture::sample();
        let Trial { seconds, counters, .. } = &mut trials[0];
        for name in [names::SERVER_CPU_US, names::SERVER_LOG_BYTES, "postgres.wal.wal_bytes"] {
            counters.set(name, 6e6);
        }
        counters.set(names::SERVER_COUNTED_SECONDS, *seconds * 3.0);
        let results = Results::new(&experiment, &trials[..1]);
        let measured = results.measured(0, 0).unwrap();
        let per_second = |name| measured.counted_per_second(name).unwrap() * trials[0].seconds / 1e6;
        assert!((per_second(names::SERVER_CPU_US) - 6.0).abs() < 1e-9);
        assert!((per_second(names::SERVER_LOG_BYTES) - 2.0).abs() < 1e-9);
        assert!((per_second("postgres.wal.wal_bytes") - 2.0).abs() < 1e-9);
    }
}
