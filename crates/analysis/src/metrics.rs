//! The metrics of a trial: the Insert Benchmark's 21 columns, and further ones worth showing.
//!
//! Counters cover exactly the measured window and all clients. What the machine does not provide is `None`, never 0.

use basecase_model::{OperationClass, StatementClass, names};
use basecase_stats::JudgedMetric;

use crate::effect::Effect;
use crate::latencies::latencies;
use crate::results::{Measured, Results, quotient};

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * 1024.0;
const GIB: f64 = MIB * 1024.0;

/// One number of the metrics line.
#[derive(Debug)]
pub struct TrialMetric {
    /// Its name; for the 21 columns, as in published results.
    pub name: &'static str,
    /// Its unit; empty for a plain count.
    pub unit: &'static str,
    /// Digits after the point when shown.
    pub decimals: usize,
    /// Its meaning in a few words.
    pub meaning: &'static str,
    /// Computes it.
    pub of: fn(&Measured<'_>) -> Option<f64>,
    /// The judged metric that it equals, if any.
    judged: Option<JudgedMetric>,
}

impl TrialMetric {
    /// The same metric, marked as one that is judged in rounds.
    const fn judged_as(self, judged: JudgedMetric) -> TrialMetric {
        TrialMetric { judged: Some(judged), ..self }
    }
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    meaning: &'static str,
    of: fn(&Measured<'_>) -> Option<f64>,
) -> TrialMetric {
    TrialMetric { name, unit, decimals, meaning, of, judged: None }
}

// The methods themselves are bound to one lifetime and cannot be in the tables.
fn inserts_per_second(measured: &Measured<'_>) -> Option<f64> {
    measured.inserts_per_second()
}

fn operations_per_second(measured: &Measured<'_>) -> Option<f64> {
    measured.headline()
}

fn reads_per_operation(measured: &Measured<'_>) -> Option<f64> {
    measured.per_operation(names::DEVICE_READS)
}

fn kib_read_per_operation(measured: &Measured<'_>) -> Option<f64> {
    Some(measured.per_operation(names::DEVICE_READ_BYTES)? / KIB)
}

fn switches_per_operation(measured: &Measured<'_>) -> Option<f64> {
    measured.per_operation(names::HOST_CONTEXT_SWITCHES)
}

fn cpu_percent(measured: &Measured<'_>) -> Option<f64> {
    quotient(measured.host_cpu_us()? / 1e4, measured.trial.seconds * f64::from(measured.cores))
}

fn cpu_per_operation(measured: &Measured<'_>) -> Option<f64> {
    measured.spread(measured.host_cpu_us()?)
}

fn server_cpu_per_operation(measured: &Measured<'_>) -> Option<f64> {
    measured.per_operation(names::SERVER_CPU_US)
}

/// The numbers of the 21 columns in their published order; the 21st is the candidate's name, [`TAG`].
pub static COLUMNS: &[TrialMetric] = &[
    metric("ips", "rows/s", 0, "rows inserted per second; in l.x rows indexed", inserts_per_second),
    metric("qps", "queries/s", 0, "queries per second", |m| Some(m.queries_per_second())),
    metric("rps", "1/s", 0, "storage reads per second", |m| m.per_second(names::DEVICE_READS)),
    metric("rmbps", "MiB/s", 1, "read from storage per second", |m| {
        Some(m.per_second(names::DEVICE_READ_BYTES)? / MIB)
    }),
    metric("wps", "1/s", 1, "storage writes per second", |m| m.per_second(names::DEVICE_WRITES)),
    metric("wmbps", "MiB/s", 1, "written to storage per second", |m| {
        Some(m.per_second(names::DEVICE_WRITTEN_BYTES)? / MIB)
    }),
    metric("rpq", "1/op", 3, "storage reads per operation", reads_per_operation),
    metric("rkbpq", "KiB/op", 3, "read from storage per operation", kib_read_per_operation),
    metric("wpi", "1/row", 3, "storage writes per inserted row, deletes not counted", |m| {
        m.per_insert(names::DEVICE_WRITES)
    }),
    metric("wkbpi", "KiB/row", 3, "written to storage per inserted row, deletes not counted", |m| {
        Some(m.per_insert(names::DEVICE_WRITTEN_BYTES)? / KIB)
    }),
    metric("csps", "1/s", 0, "context switches per second, whole host", |m| {
        m.per_second(names::HOST_CONTEXT_SWITCHES)
    }),
    metric("cpups", "%", 1, "CPU of the whole host in use, all cores = 100", cpu_percent),
    metric("cspq", "1/op", 3, "context switches per operation, whole host", switches_per_operation),
    metric("cpupq", "µs/op", 0, "CPU per operation, whole host", cpu_per_operation),
    metric("dbgb1", "GiB", 1, "data and indexes at the end, as the server counts them", |m| {
        Some(m.trial.gauges.get(names::DATABASE_BYTES)? / GIB)
    }),
    metric("dbgb2", "GiB", 1, "whole data directory with logs at the end", |m| {
        Some(m.trial.gauges.get(names::DIRECTORY_BYTES)? / GIB)
    }),
    metric("rss", "GiB", 1, "memory of the server's processes: proportional set size (PSS)", |m| {
        Some(m.trial.gauges.get(names::SERVER_PSS_BYTES)? / GIB)
    }),
    metric("maxop", "s", 3, "longest single statement: insert in l steps, query in q steps", |m| {
        let roles = m.trial.roles_of(m.headline_class());
        Some(roles.map(|role| role.service.max_ns()).max()? as f64 / 1e9)
    }),
    metric("p50", "1/s", 0, "rate that 50 % of the seconds reached or exceeded, all clients", |m| {
        m.throughput()?.percentile(50.0)
    }),
    metric("p99", "1/s", 0, "rate that 99 % of the seconds reached or exceeded, all clients", |m| {
        m.throughput()?.percentile(99.0)
    }),
];

/// Name of the 21st column.
pub const TAG: &str = "tag";

/// How the CPU time of `cpupq` is divided. Shown right after it.
pub static CPU_SHARES: &[TrialMetric] = &[
    metric(
        "server_cpupq",
        "µs/op",
        0,
        "CPU per operation of the server's processes",
        server_cpu_per_operation,
    ),
    metric(
        "client_cpupq",
        "µs/op",
        1,
        "CPU per operation of basecase itself (with an embedded engine)",
        |m| m.per_operation(names::CLIENT_CPU_US),
    ),
];

/// Further metrics of a trial.
pub static EXTRAS: &[TrialMetric] = &[
    metric("seconds", "s", 1, "length of the measured window", |m| Some(m.trial.seconds)),
    metric("deletes_per_s", "rows/s", 0, "rows deleted per second", |m| {
        quotient(m.trial.items(OperationClass::Delete) as f64, m.trial.seconds)
    }),
    metric("iowait_pct", "%", 1, "idle with I/O pending, all cores = 100", |m| {
        m.share(names::HOST_CPU_IOWAIT_US)
    }),
    metric("steal_pct", "%", 1, "taken by the hypervisor, all cores = 100", |m| {
        m.share(names::HOST_CPU_STEAL_US)
    }),
    metric("server_cspq", "1/op", 3, "context switches of the server per operation", |m| {
        let counters = &m.trial.counters;
        let voluntary = counters.get(names::SERVER_VOLUNTARY_SWITCHES)?;
        m.spread(voluntary + counters.get(names::SERVER_INVOLUNTARY_SWITCHES)?)
    }),
    metric("log_kbpq", "KiB/op", 3, "WAL or redo log written per operation", |m| {
        Some(m.counted_per_operation(names::SERVER_LOG_BYTES)? / KIB)
    }),
    metric("tables_gib", "GiB", 3, "tables, as the server tells", |m| {
        Some(m.trial.gauges.get(names::TABLES_BYTES)? / GIB)
    }),
    metric("indexes_gib", "GiB", 3, "indexes, as the server tells", |m| {
        Some(m.trial.gauges.get(names::INDEXES_BYTES)? / GIB)
    }),
    metric("log_gib", "GiB", 3, "files of WAL or redo log", |m| {
        Some(m.trial.gauges.get(names::LOG_BYTES)? / GIB)
    }),
    metric("client_peak_gib", "GiB", 1, "peak resident memory of basecase", |m| {
        Some(m.trial.gauges.get(names::CLIENT_PEAK_RSS_BYTES)? / GIB)
    }),
    metric("server_connections", "", 0, "connections accepted during the step", |m| {
        m.trial.counters.get(names::SERVER_CONNECTIONS)
    }),
    metric("retries", "", 0, "statements retried after an error", |m| Some(m.retries() as f64)),
    metric("sla_missed_s", "s", 0, "seconds in which inserts missed the target rate", |m| {
        Some(m.shortfall()?.missed as f64)
    }),
    metric("sla_judged_s", "s", 0, "seconds judged for it", |m| Some(m.shortfall()?.judged as f64)),
    metric("insert_p50_us", "µs", 0, "median service time of insert statements", |m| {
        m.latency_us(OperationClass::Insert, 0.5)
    }),
    metric("insert_p99_us", "µs", 0, "99th percentile of their service time", |m| {
        m.latency_us(OperationClass::Insert, 0.99)
    }),
    metric("delete_p50_us", "µs", 0, "median service time of delete statements", |m| {
        m.latency_us(OperationClass::Delete, 0.5)
    }),
    metric("delete_p99_us", "µs", 0, "99th percentile of their service time", |m| {
        m.latency_us(OperationClass::Delete, 0.99)
    }),
    metric("query_p50_us", "µs", 0, "median service time of queries", |m| {
        m.latency_us(OperationClass::Query, 0.5)
    }),
    metric("query_p99_us", "µs", 0, "99th percentile of their service time", |m| {
        m.latency_us(OperationClass::Query, 0.99)
    }),
];

/// The cost of an operation of a workload file's step for the whole host, with the names and order of published metric tables; `cpu_us/o`
/// and `server_us/o` are ours.
pub static RESOURCES: &[TrialMetric] = &[
    metric("cpu/o", "% × s/op", 6, "CPU per operation, all cores = 100 %", |m| {
        quotient(cpu_percent(m)?, m.headline()?)
    }),
    metric("cpu_us/o", "µs/op", 1, "CPU per operation, over all cores", cpu_per_operation),
    metric(
        "server_us/o",
        "µs/op",
        1,
        "CPU per operation of the server's processes",
        server_cpu_per_operation,
    )
    .judged_as(JudgedMetric::ServerCpu),
    metric("cs/o", "1/op", 3, "context switches per operation", switches_per_operation),
    metric("r/o", "1/op", 3, "storage reads per operation", reads_per_operation),
    metric("rKB/o", "KiB/op", 3, "read from storage per operation", kib_read_per_operation),
    metric("wKB/o", "KiB/op", 3, "written to storage per operation", |m| {
        Some(m.per_operation(names::DEVICE_WRITTEN_BYTES)? / KIB)
    }),
    metric("o/s", "1/s", 0, "operations per second", operations_per_second)
        .judged_as(JudgedMetric::Throughput),
];

/// The server's CPU time by mode of the processor, shown where it is known apart.
pub static CPU_MODES: &[TrialMetric] = &[
    metric("user_us/o", "µs/op", 1, "server CPU, user: per operation, in its own code", |m| {
        m.spread(m.server_cpu_modes_us()?.user)
    }),
    metric("kernel_us/o", "µs/op", 1, "server CPU, kernel: per operation, on its behalf", |m| {
        m.spread(m.server_cpu_modes_us()?.kernel)
    }),
];

/// [`RESOURCES`], and [`CPU_MODES`] where some candidate of the step has them.
pub fn costs(results: &Results<'_>, step: usize) -> Vec<&'static TrialMetric> {
    let is_known =
        |(candidate, _)| results.measured(step, candidate).is_some_and(|measured| measured.tells_cpu_modes());
    let modes = if results.candidates().any(is_known) { CPU_MODES } else { &[] };
    let with_modes = |metric: &'static TrialMetric| {
        let modes = if metric.judged == Some(JudgedMetric::ServerCpu) { modes } else { &[] };
        std::iter::once(metric).chain(modes)
    };
    RESOURCES.iter().flat_map(with_modes).collect()
}

// As above.
fn scanned_krows_per_second(measured: &Measured<'_>) -> Option<f64> {
    measured.scanned_krows_per_second()
}

/// Metrics of the events of a workload file.
pub static EVENTS: &[TrialMetric] = &[
    metric("events_per_s", "1/s", 2, "events per second", |m| Some(m.events_per_second())),
    metric("event_mean_us", "µs", 0, "mean service time of events", |m| {
        Some(latencies(m.trial, m.headline_class())?.service.mean_ns() / 1e3)
    }),
    metric("event_p95_us", "µs", 0, "95th percentile of their service time", |m| {
        Some(m.event_latency_ms(95.0)? * 1e3)
    }),
    metric("event_max_us", "µs", 0, "longest event", |m| {
        Some(latencies(m.trial, m.headline_class())?.service.max_ns() as f64 / 1e3)
    }),
    metric(
        "scanned_krows_per_s",
        "1000/s",
        0,
        "rows that one connection scans per second, in thousands",
        scanned_krows_per_second,
    ),
];

/// A level of the server's control group, in MiB.
fn group_mib(measured: &Measured<'_>, name: &str) -> Option<f64> {
    Some(measured.trial.gauges.get(name)? / MIB)
}

/// A level of the server's control group, in per cent of its limit.
fn of_limit(measured: &Measured<'_>, name: &str) -> Option<f64> {
    let gauges = &measured.trial.gauges;
    Some(quotient(gauges.get(name)?, gauges.get(names::GROUP_LIMIT_BYTES)?)? * 100.0)
}

/// What the kernel counts for a server with a limit on memory.
pub static OF_GROUP: &[TrialMetric] = &[
    metric("group_rpq", "1/op", 3, "storage reads per operation by the server's control group", |m| {
        m.per_operation(names::GROUP_READS)
    }),
    metric("group_rkbpq", "KiB/op", 3, "read from storage per operation by the server alone", |m| {
        let bytes = m.per_operation(names::GROUP_READ_BYTES);
        Some(bytes.or_else(|| m.per_operation(names::SERVER_READ_BYTES))? / KIB)
    }),
    metric(
        "device_rpq",
        "1/op",
        3,
        "storage reads per operation of the whole device, as rpq",
        reads_per_operation,
    ),
    metric("refaultpq", "1/op", 3, "pages read again soon after they had to make room, per operation", |m| {
        m.per_operation(names::GROUP_REFAULTS)
    }),
    metric(
        "memory_pct",
        "%",
        1,
        "most memory charged to the server in a second of the step, of its limit",
        |m| of_limit(m, names::GROUP_MEMORY_BYTES),
    ),
    metric(
        "memory_peak_pct",
        "%",
        1,
        "most memory charged to the server since its start, of its limit",
        |m| of_limit(m, names::GROUP_PEAK_BYTES),
    ),
    metric("cached_mib", "MiB", 0, "page cache charged to the server in that second", |m| {
        group_mib(m, names::GROUP_CACHED_BYTES)
    }),
    metric("anonymous_mib", "MiB", 0, "anonymous memory of the server in that second", |m| {
        group_mib(m, names::GROUP_ANONYMOUS_BYTES)
    }),
    metric("shared_mib", "MiB", 0, "shared memory of the server in that second", |m| {
        group_mib(m, names::GROUP_SHARED_BYTES)
    }),
    metric(
        "io_waiting_pct",
        "%",
        1,
        "time spent waiting for I/O: in which some task waited (PSI), or of the server's reads per connection, whichever is more",
        |m| Some(m.waiting_share()? * 100.0),
    ),
    metric("memory_waiting_pct", "%", 1, "time in which some task of the server waited for memory", |m| {
        Some(m.per_second(names::GROUP_MEMORY_PRESSURE_US)? / 1e4)
    }),
];

/// How a workload file's step goes with its number of threads.
pub static THREADS: &[TrialMetric] = &[
    metric("event_time_mean_us", "µs", 0, "mean event time, including the wait if paced", |m| {
        let latencies = latencies(m.trial, m.headline_class())?;
        Some(latencies.response.unwrap_or(latencies.service).mean_ns() / 1e3)
    }),
    metric("reads_per_s", "1/s", 0, "statements per second that can return rows", |m| {
        m.statements_per_second(StatementClass::Read)
    }),
    metric("writes_per_s", "1/s", 0, "statements per second that changed a row", |m| {
        m.statements_per_second(StatementClass::Write)
    }),
    metric("server_cpu_pct", "%", 0, "CPU of the server, mean, one core = 100", |m| {
        Some(m.per_second(names::SERVER_CPU_US)? / 1e4)
    }),
    metric("server_cpu_max_pct", "%", 0, "CPU of the server in its busiest second, one core = 100", |m| {
        let track = m.trial.tracks.iter().find(|track| track.name == names::SERVER_CPU_US)?;
        Some(f64::from(track.values.iter().copied().reduce(f32::max)?) / 1e4)
    }),
];

/// The metric of how far purge lags.
pub static PURGE_LAG: TrialMetric = metric(
    "history_transactions",
    "",
    0,
    "InnoDB's history list at the end: transactions yet to be purged",
    |m| m.trial.gauges.get(names::END_HISTORY_TRANSACTIONS),
);

/// Row operations, as InnoDB counts them.
pub static INNODB_ROWS: &[TrialMetric] = &[
    metric("innodb_rows_read_per_s", "1/s", 0, "rows read per second by InnoDB", |m| {
        m.counted_per_second("innodb.rows_read")
    }),
    metric("innodb_rows_inserted_per_s", "1/s", 0, "rows inserted per second by InnoDB", |m| {
        m.counted_per_second("innodb.rows_inserted")
    }),
    metric("innodb_rows_updated_per_s", "1/s", 0, "rows updated per second by InnoDB", |m| {
        m.counted_per_second("innodb.rows_updated")
    }),
    metric("innodb_rows_deleted_per_s", "1/s", 0, "rows deleted per second by InnoDB", |m| {
        m.counted_per_second("innodb.rows_deleted")
    }),
];

/// Every metric, once.
pub fn all() -> impl Iterator<Item = &'static TrialMetric> {
    COLUMNS.iter().chain(extras()).chain(of_workload_file()).chain(RESOURCES).chain(CPU_MODES).chain(OF_GROUP)
}

/// Further metrics of workload files' trials in data files.
pub fn of_workload_file() -> impl Iterator<Item = &'static TrialMetric> {
    EVENTS.iter().chain(THREADS).chain(INNODB_ROWS)
}

/// The metrics that follow the 21 columns where their order is kept, as in data files.
pub fn extras() -> impl Iterator<Item = &'static TrialMetric> {
    CPU_SHARES.iter().chain(EXTRAS).chain(std::iter::once(&PURGE_LAG))
}

/// The metrics in the order for people: the 21 columns, with [`CPU_SHARES`] next to `cpupq`.
pub fn line() -> impl Iterator<Item = &'static TrialMetric> {
    let shares = |metric: &'static TrialMetric| if metric.name == "cpupq" { CPU_SHARES } else { &[] };
    COLUMNS.iter().flat_map(move |metric| std::iter::once(metric).chain(shares(metric)))
}

impl Results<'_> {
    /// A metric relative to the base case: in rounds the mean ratio of a round with its interval; otherwise, or if a round has no such
    /// ratio, as [`ratio`] without one.
    pub fn relative_cost(&self, metric: &TrialMetric, step: usize, candidate: usize) -> Option<Effect> {
        let value = |candidate| (metric.of)(&self.measured(step, candidate)?);
        let of_all = || Some(Effect { ratio: ratio(value(candidate)?, value(0)?), interval: None });
        self.cost_in_rounds(metric, step, candidate).or_else(of_all)
    }

    /// Judged metrics come from the judgement.
    fn cost_in_rounds(&self, metric: &TrialMetric, step: usize, candidate: usize) -> Option<Effect> {
        match metric.judged {
            Some(judged) => self.judged_effect(judged, step, candidate),
            None => self.paired(step, candidate)?.effect(&metric.of),
        }
    }
}

/// `value / base`: 1 where both are 0, infinite where only the base is.
pub fn ratio(value: f64, base: f64) -> f64 {
    // The sum of no numbers is -0, which would turn infinity around.
    let base = base + 0.0;
    if value == 0.0 && base == 0.0 { 1.0 } else { value / base }
}

#[cfg(test)]
mod tests {
    use basecase_model::{Headline, RoleRecord, StepFacts, Trial};

    use super::*;
    use crate::fixture;

    fn trial(seconds: f64, inserts: u64, queries: u64) -> Trial {
        let role = |class, items| RoleRecord {
            items,
            ended_us: (seconds * 1e6) as u64,
            ..fixture::idle_role("any", class)
        };
        let roles = vec![role(OperationClass::Insert, inserts), role(OperationClass::Query, queries)];
        Trial { seconds, roles, ..fixture::empty_trial() }
    }

    fn shown(name: &str, trial: &Trial, step: &StepFacts, cores: u32) -> String {
        let metric = line().chain(EXTRAS).find(|metric| metric.name == name).unwrap();
        match (metric.of)(&Measured { trial, rounds: 1, step, cores }) {
            Some(value) => format!("{value:.*}", metric.decimals),
            None => "NA".into(),
        }
    }

    #[test]
    fn published_row_of_mysql_5_6_21() {
        // 8 cores, l.i0, 30M rows: ips 103448, cpups 22.8, cpupq 18, csps 12308, cspq 0.119, wmbps 31.2, wkbpi 0.309.
        let seconds = 290.0;
        let mut trial = trial(seconds, 30_000_000, 0);
        trial.counters.set(names::HOST_CPU_USER_US, 0.200 * 8e6 * seconds);
        trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.028 * 8e6 * seconds);
        trial.counters.set(names::HOST_CONTEXT_SWITCHES, 12_308.0 * seconds);
        trial.counters.set(names::DEVICE_WRITTEN_BYTES, 31.2 * MIB * seconds);
        let step = fixture::step("l.i0");
        let shown = |name| shown(name, &trial, &step, 8);
        assert_eq!(shown("ips"), "103448");
        assert_eq!(shown("qps"), "0");
        assert_eq!(shown("cpups"), "22.8");
        assert_eq!(shown("cpupq"), "18");
        assert_eq!(shown("csps"), "12308");
        assert_eq!(shown("cspq"), "0.119");
        assert_eq!(shown("wmbps"), "31.2");
        assert_eq!(shown("wkbpi"), "0.309");
        assert_eq!(shown("rps"), "NA", "an absent counter is not 0");
        assert_eq!(shown("server_cpupq"), "NA");
        assert_eq!(shown("p99"), "NA");
    }

    #[test]
    fn published_row_of_postgres_13_1() {
        // 4 cores, q100: ips 100, qps 7724, wps 187.0, cpups 27.7, wpi 1.87, cspq 29730/7724 = 3.849, cpupq 143.
        let seconds = 1800.0;
        let mut trial = trial(seconds, 100 * 1800, 7724 * 1800);
        trial.counters.set(names::HOST_CPU_USER_US, 0.277 * 4e6 * seconds);
        trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.0);
        trial.counters.set(names::HOST_CONTEXT_SWITCHES, 29_730.0 * seconds);
        trial.counters.set(names::DEVICE_WRITES, 187.0 * seconds);
        let step = fixture::step("qr100");
        let shown = |name| shown(name, &trial, &step, 4);
        assert_eq!(shown("ips"), "100");
        assert_eq!(shown("qps"), "7724");
        assert_eq!(shown("wps"), "187.0");
        assert_eq!(shown("wpi"), "1.870");
        assert_eq!(shown("cspq"), "3.849");
        assert_eq!(shown("cpupq"), "143");
    }

    #[test]
    fn an_index_build_counts_the_rows_present() {
        let step = StepFacts { headline_items: Some(20_100), ..fixture::step("l.x") };
        assert_eq!(shown("ips", &trial(2.0, 100, 0), &step, 1), "10050");
        assert_eq!(shown("ips", &trial(0.0, 100, 0), &step, 1), "NA");
    }

    #[test]
    fn published_cost_of_a_point_query() {
        // 48 cores: cpu/s 83.5 at 848,290.78 queries/s are cpu/o 0.000098, and 47 µs.
        let mut trial = trial(100.0, 0, 84_829_078);
        trial.counters.set(names::HOST_CPU_USER_US, 0.835 * 48e6 * 100.0);
        trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.0);
        let step = StepFacts { headline: Headline::Queries, ..fixture::step("qr100") };
        let measured = Measured { trial: &trial, rounds: 1, step: &step, cores: 48 };
        let shown = |metric: &TrialMetric| format!("{:.*}", metric.decimals, (metric.of)(&measured).unwrap());
        assert_eq!(shown(&RESOURCES[0]), "0.000098");
        assert_eq!(shown(&RESOURCES[1]), "47.2");
    }

    #[test]
    fn costs_of_nothing_are_alike() {
        assert_eq!([ratio(0.0, 0.0), ratio(2.0, 0.0), ratio(1.0, 2.0)], [1.0, f64::INFINITY, 0.5]);
        let nothing = [0.0; 0].iter().sum::<f64>();
        assert_eq!([ratio(0.0, nothing), ratio(2.0, nothing)], [1.0, f64::INFINITY]);
    }

    #[test]
    fn names_are_unique_and_the_published_ones_in_order() {
        let published = "ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq dbgb1 dbgb2 rss maxop \
                         p50 p99";
        let ours: Vec<&str> = COLUMNS.iter().map(|metric| metric.name).collect();
        assert_eq!(ours.join(" "), published);
        let mut names: Vec<&str> = all().map(|metric| metric.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_documentation_lists_every_metric() {
        const FORMATS: &str = include_str!("../../../docs/formats.md");
        let row =
            |metric: &TrialMetric| format!("| `{}` | {} | {}", metric.name, metric.unit, metric.meaning);
        let missing: Vec<String> = all().map(row).filter(|row| !FORMATS.contains(row.as_str())).collect();
        assert!(missing.is_empty(), "docs/formats.md lacks\n{} |", missing.join(" |\n"));
    }
}
