//! What an operation costs, and how much of a change in speed each cost can account for.

use basecase_model::{OperationClass, names};
use basecase_stats::Sessions;

use super::setting_topic::SettingTopic::{
    self, Checksums, Compression, Embedded, Execution, Jit, Locks, Log, Memory, Network, Parallelism,
    Planner, Reads, Statistics, Syncs, TemporaryFiles, Text, Writes,
};
use crate::metrics::ratio;
use crate::results::{Measured, quotient};

/// The resource that limits how much of a cost can be incurred at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    /// Processors, at most one per session.
    Processors,
    /// Sessions that wait.
    Sessions,
}

/// Where the time of a cost comes from.
#[derive(Clone, Copy)]
enum Time {
    /// The amount itself is time, in µs.
    Itself,
    /// Its time was measured along with the amount, in µs.
    Measured(fn(&Measured<'_>) -> Option<f64>),
    /// A unit is assumed to cost this many µs: enough for sorting, and reported as approximate.
    Assumed(f64),
    /// The same, unless the sessions of the experiment tell what one more of this counter costs.
    Priced(&'static str, f64),
}

/// How specific a cause is: CPU time is where many others end up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    /// It names something that was done more often.
    Activity,
    /// It names something that was waited for.
    Wait,
    /// It is where many causes end up.
    Sum,
}

/// A use.
pub struct CostKind {
    /// Its name at the beginning of a sentence.
    pub name: &'static str,
    /// The unit in which it is shown, per operation.
    pub unit: &'static str,
    /// What the stored number is divided by to get the unit.
    scale: f64,
    /// The amount in the window.
    amount: fn(&Measured<'_>) -> Option<f64>,
    time: Time,
    resource: Resource,
    /// How specific a cause it is.
    pub specificity: Specificity,
    /// What settings that affect it have to do with, what affects it most first.
    pub topics: &'static [SettingTopic],
}

/// What a unit costs, measured within the experiment: in sessions between which the count varied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredPrice {
    /// Of one unit, µs.
    pub unit_us: f64,
    /// Its 95 % interval.
    pub interval_us: [f64; 2],
    /// The pairs of sessions that it comes from.
    pub sessions: usize,
}

/// A cost of base case and candidate.
pub struct Cost {
    /// What is used.
    pub kind: &'static CostKind,
    /// Per operation of the base case, in the kind's unit.
    pub base: f64,
    /// Per operation of the candidate.
    pub candidate: f64,
    /// The part of the change in time per operation that it can account for: 1 is all of it; below 0 it works against the change. `None` if
    /// there is no change to speak of.
    pub share: Option<f64>,
    /// The time that it adds or saves, as a share of the longer of both times per operation.
    pub weight: f64,
    /// Whether the share rests on an assumed cost per unit.
    pub is_about: bool,
    /// What a unit costs, where the experiment tells it.
    pub price: Option<MeasuredPrice>,
    /// The shares within the interval of that price.
    pub share_interval: Option<[f64; 2]>,
}

impl CostKind {
    /// The amount per operation, in its unit.
    pub fn per_operation(&self, measured: &Measured<'_>) -> Option<f64> {
        Some(self.amount_per_operation(measured)? / self.scale)
    }

    /// The same in the stored unit.
    fn amount_per_operation(&self, measured: &Measured<'_>) -> Option<f64> {
        measured.spread((self.amount)(measured)?)
    }
}

impl Cost {
    /// Whether it counts things done. Those that are done by the clock grow with the time per operation.
    pub fn is_count(&self) -> bool {
        !matches!(self.kind.time, Time::Itself)
    }

    /// Whether it moved so far that it is reported in any case: noise may hide its effect on the speed.
    pub fn is_conspicuous(&self) -> bool {
        let (times, weight) = CONSPICUOUS;
        let ratio = self.ratio();
        self.is_count() && self.weight >= weight && (ratio >= times || ratio <= 1.0 / times)
    }

    /// Candidate / base case, as [`ratio`].
    pub fn ratio(&self) -> f64 {
        ratio(self.candidate, self.base)
    }
}

fn counter(measured: &Measured<'_>, name: &str) -> Option<f64> {
    measured.trial.counters.get(name)
}

/// What the server itself counted, scaled to the window: it also counted before the window opened.
fn told(measured: &Measured<'_>, name: &str) -> Option<f64> {
    Some(measured.counted_per_second(name)? * measured.trial.seconds)
}

fn either(measured: &Measured<'_>, name: &str, other: &str) -> Option<f64> {
    counter(measured, name).or_else(|| counter(measured, other))
}

/// What the host did besides server and client, and what the hypervisor gave to others, unless processors were idle meanwhile: it was taken
/// from the step. µs of CPU.
fn taken_us(measured: &Measured<'_>) -> Option<f64> {
    let known = counter(measured, names::SERVER_CPU_US)? + counter(measured, names::CLIENT_CPU_US)?;
    let steal = counter(measured, names::HOST_CPU_STEAL_US).unwrap_or(0.0);
    let idle = counter(measured, names::HOST_CPU_IDLE_US)?;
    Some((measured.host_cpu_us()? + steal - known - idle).max(0.0))
}

/// The server's share of the device's read time, by the bytes that it caused to be read; all of it if these are not known.
fn read_us(measured: &Measured<'_>) -> Option<f64> {
    let own = |name| counter(measured, name);
    let (time_us, bytes) = (own(names::DEVICE_READ_US)?, own(names::DEVICE_READ_BYTES)?);
    let part = own(names::SERVER_READ_BYTES).map_or(1.0, |server| (server / bytes.max(1.0)).min(1.0));
    Some(time_us * part)
}

/// Time that sessions spent in states whose names contain one of these parts, µs over all sessions; `None` if sessions were not sampled.
fn waits(measured: &Measured<'_>, parts: &[&str]) -> Option<f64> {
    counter(measured, names::SESSION_LOOKS).filter(|looks| *looks > 0.0)?;
    let is_such =
        |name: &str| name.starts_with(names::SESSION_PREFIX) && parts.iter().any(|part| name.contains(part));
    Some(measured.trial.counters.iter().filter(|(name, _)| is_such(name)).map(|(_, time_us)| time_us).sum())
}

fn switches(measured: &Measured<'_>) -> Option<f64> {
    let own = |name| counter(measured, name);
    let server = own(names::SERVER_VOLUNTARY_SWITCHES)
        .zip(own(names::SERVER_INVOLUNTARY_SWITCHES))
        .map(|(voluntary, involuntary)| voluntary + involuntary);
    server.or_else(|| own(names::HOST_CONTEXT_SWITCHES))
}

const KIB: f64 = 1024.0;

/// Told where user and kernel mode are not known apart.
const SERVER_CPU: &str = "CPU time of the server";
const SERVER_CPU_USER: &str = "server CPU, user";
const SERVER_CPU_KERNEL: &str = "server CPU, kernel";

/// The costs that are considered. Assumed costs per unit: a page from the system's cache 5 µs, a context switch 2 µs, a page fault 0.7 µs,
/// a row 0.2 µs, a KiB of log 4 µs, a sync 200 µs, a KiB of temporary file 1 µs.
static KINDS: [CostKind; 17] = [
    CostKind {
        name: "pages that the server's cache lacked",
        unit: "",
        scale: 1.0,
        amount: |m| told(m, names::SERVER_CACHE_MISSES),
        time: Time::Assumed(5.0),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Reads],
    },
    CostKind {
        name: "reads from storage",
        unit: "KiB",
        scale: KIB,
        amount: |m| either(m, names::SERVER_READ_BYTES, names::DEVICE_READ_BYTES),
        time: Time::Measured(read_us),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Reads],
    },
    CostKind {
        name: "log written",
        unit: "KiB",
        scale: KIB,
        amount: |m| told(m, names::SERVER_LOG_BYTES),
        time: Time::Assumed(4.0 / KIB),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Log, Checksums],
    },
    CostKind {
        name: "syncs of the log",
        unit: "",
        scale: 1.0,
        amount: |m| told(m, names::SERVER_LOG_SYNCS),
        time: Time::Assumed(200.0),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Syncs],
    },
    CostKind {
        name: "writes to storage",
        unit: "KiB",
        scale: KIB,
        amount: |m| counter(m, names::DEVICE_WRITTEN_BYTES),
        time: Time::Measured(|m| counter(m, names::DEVICE_WRITE_US)),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Writes, Log, Syncs],
    },
    CostKind {
        name: "pages written",
        unit: "",
        scale: 1.0,
        amount: |m| told(m, names::SERVER_PAGES_WRITTEN),
        time: Time::Assumed(5.0),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[Writes],
    },
    CostKind {
        name: "context switches",
        unit: "",
        scale: 1.0,
        amount: switches,
        time: Time::Priced(names::SERVER_VOLUNTARY_SWITCHES, 2.0),
        resource: Resource::Processors,
        specificity: Specificity::Activity,
        topics: &[Parallelism, Syncs],
    },
    CostKind {
        name: "page faults",
        unit: "",
        scale: 1.0,
        amount: |m| counter(m, names::SERVER_MINOR_FAULTS),
        time: Time::Priced(names::SERVER_MINOR_FAULTS, 0.7),
        resource: Resource::Processors,
        specificity: Specificity::Activity,
        topics: &[Memory],
    },
    CostKind {
        name: "rows read",
        unit: "",
        scale: 1.0,
        amount: |m| told(m, names::SERVER_ROWS_READ),
        time: Time::Assumed(0.2),
        resource: Resource::Processors,
        specificity: Specificity::Activity,
        topics: &[Planner],
    },
    CostKind {
        name: "temporary files",
        unit: "KiB",
        scale: KIB,
        amount: |m| told(m, names::SERVER_TEMPORARY_BYTES),
        time: Time::Assumed(1.0 / KIB),
        resource: Resource::Sessions,
        specificity: Specificity::Activity,
        topics: &[TemporaryFiles],
    },
    CostKind {
        name: "waiting for commits and the log",
        unit: "µs",
        scale: 1.0,
        amount: |m| waits(m, &["commit", "query_end", "walsync", "walwrite", "wal_write", "wal_sync"]),
        time: Time::Itself,
        resource: Resource::Sessions,
        specificity: Specificity::Wait,
        topics: &[Syncs, Log],
    },
    CostKind {
        name: "waiting for data files",
        unit: "µs",
        scale: 1.0,
        amount: |m| waits(m, &["io_datafile", "io_aio", "io_bufio"]),
        time: Time::Itself,
        resource: Resource::Sessions,
        specificity: Specificity::Wait,
        topics: &[Reads],
    },
    CostKind {
        name: "waiting for locks",
        unit: "µs",
        scale: 1.0,
        amount: |m| waits(m, &["session.lock_", "lwlock_", "_lock_", "waiting_for_table"]),
        time: Time::Itself,
        resource: Resource::Sessions,
        specificity: Specificity::Wait,
        topics: &[Locks],
    },
    CostKind {
        name: SERVER_CPU,
        unit: "µs",
        scale: 1.0,
        amount: |m| counter(m, names::SERVER_CPU_US),
        time: Time::Itself,
        resource: Resource::Processors,
        specificity: Specificity::Sum,
        topics: &[Jit, Statistics, Checksums, Planner, Compression, Text, Network, Execution, Memory],
    },
    CostKind {
        name: SERVER_CPU_USER,
        unit: "µs",
        scale: 1.0,
        amount: |m| Some(m.server_cpu_modes_us()?.user),
        time: Time::Itself,
        resource: Resource::Processors,
        specificity: Specificity::Sum,
        topics: &[Jit, Statistics, Checksums, Planner, Compression, Text, Network, Execution],
    },
    CostKind {
        name: SERVER_CPU_KERNEL,
        unit: "µs",
        scale: 1.0,
        amount: |m| Some(m.server_cpu_modes_us()?.kernel),
        time: Time::Itself,
        resource: Resource::Processors,
        specificity: Specificity::Sum,
        topics: &[Memory, Network, Reads, Parallelism],
    },
    CostKind {
        name: "CPU time of the client",
        unit: "µs",
        scale: 1.0,
        amount: |m| counter(m, names::CLIENT_CPU_US),
        time: Time::Itself,
        resource: Resource::Processors,
        specificity: Specificity::Sum,
        // For an embedded dbms it includes the engine.
        topics: &[Embedded, Network],
    },
];

/// Things done that became this many times more or less frequent, and that weigh this much, are reported even if the change does not point
/// to them.
const CONSPICUOUS: (f64, f64) = (1.5, 0.05);

/// Changes in throughput below this leave nothing to account for.
const NO_CHANGE: f64 = 0.005;

/// The costs of base case and candidate, as far as both are known. `sessions` tell what units cost.
pub(super) fn costs(base: &Measured<'_>, candidate: &Measured<'_>, sessions: Option<&Sessions>) -> Vec<Cost> {
    let is_split = [base, candidate].iter().all(|measured| measured.tells_cpu_modes());
    let is_told = |kind: &&CostKind| match kind.name {
        SERVER_CPU => !is_split,
        SERVER_CPU_USER | SERVER_CPU_KERNEL => is_split,
        _ => true,
    };
    KINDS.iter().filter(is_told).filter_map(|kind| cost(kind, base, candidate, sessions)).collect()
}

fn cost(
    kind: &'static CostKind,
    base: &Measured<'_>,
    candidate: &Measured<'_>,
    sessions: Option<&Sessions>,
) -> Option<Cost> {
    let (before, after) = (kind.amount_per_operation(base)?, kind.amount_per_operation(candidate)?);
    let price = match kind.time {
        Time::Priced(counter, usual_us) => measured_price(counter, usual_us, [base, candidate], sessions),
        Time::Itself | Time::Measured(_) | Time::Assumed(_) => None,
    };
    let time_us = |measured: &Measured<'_>, amount: f64| match kind.time {
        Time::Itself => Some(amount),
        Time::Measured(time_us) => measured.spread(time_us(measured)?),
        Time::Assumed(usual_us) | Time::Priced(_, usual_us) => {
            Some(amount * price.map_or(usual_us, |price| price.unit_us))
        }
    };
    let added_us = time_us(base, before).zip(time_us(candidate, after)).map(|(before, after)| after - before);
    let longer_us = [base, candidate]
        .into_iter()
        .filter_map(|measured| resource_us(kind.resource, measured))
        .reduce(f64::max);
    let elapsed_us = elapsed_us(kind.resource, base, candidate);
    let share_of = |added_us: f64| quotient(added_us, elapsed_us?);
    let shares_of = |price: MeasuredPrice| {
        let [one, other] = price.interval_us.map(|unit_us| share_of((after - before) * unit_us));
        Some([one?.min(other?), one?.max(other?)])
    };
    Some(Cost {
        kind,
        base: before / kind.scale,
        candidate: after / kind.scale,
        share: added_us.and_then(share_of),
        weight: added_us
            .zip(longer_us)
            .and_then(|(added, longer)| quotient(added.abs(), longer))
            .unwrap_or(0.0),
        is_about: price.is_none() && matches!(kind.time, Time::Assumed(_) | Time::Priced(..)),
        price,
        share_interval: price.and_then(shares_of),
    })
}

/// What one more of a counter costs, if its interval is no wider to either side than half of the price, or than what it usually costs.
fn measured_price(
    counter: &str,
    usual_us: f64,
    [base, candidate]: [&Measured<'_>; 2],
    sessions: Option<&Sessions>,
) -> Option<MeasuredPrice> {
    let price = sessions?.price(counter)?;
    // Prices are shares of the time of an operation of either.
    let time_us = (processor_us(base)? * processor_us(candidate)?).sqrt();
    let unit_us = price.per_unit * time_us;
    let is_useful = price.interval.half_width() * time_us <= usual_us.max(unit_us.abs() / 2.0);
    is_useful.then(|| MeasuredPrice {
        unit_us,
        interval_us: [price.interval.lower, price.interval.upper].map(|end| end * time_us),
        sessions: price.sessions,
    })
}

/// How much longer an operation takes with the candidate, in µs summed over the limiting resource and without what others took; below 0 if
/// it is faster, `None` if it is as fast.
fn elapsed_us(resource: Resource, base: &Measured<'_>, candidate: &Measured<'_>) -> Option<f64> {
    let (before, after) = (processor_us(base)?, processor_us(candidate)?);
    if (after / before).ln().abs() < NO_CHANGE {
        return None;
    }
    Some(resource_us(resource, candidate)? - resource_us(resource, base)?)
}

/// How long an operation takes, in µs summed over the limiting resource and without what others took.
fn resource_us(resource: Resource, measured: &Measured<'_>) -> Option<f64> {
    let factor = match resource {
        Resource::Processors => 1.0,
        Resource::Sessions => sessions(measured) / processors(measured),
    };
    Some(processor_us(measured)? * factor)
}

fn sessions(measured: &Measured<'_>) -> f64 {
    measured.trial.roles_of(measured.headline_class()).count() as f64
}

/// Processors that the step can use: a session keeps about one busy, including the client's share of the work.
fn processors(measured: &Measured<'_>) -> f64 {
    sessions(measured).min(f64::from(measured.cores)).max(1.0)
}

/// What others took from an operation, in µs of processors.
pub(super) fn taken_per_operation_us(measured: &Measured<'_>) -> Option<f64> {
    measured.spread(taken_us(measured)?)
}

/// How long an operation takes on the processors, without what others took, µs.
pub(super) fn processor_us(measured: &Measured<'_>) -> Option<f64> {
    let whole = quotient(processors(measured) * 1e6, measured.headline()?)?;
    // The step's processors lost their share of what others took, but never what server and client used.
    let part = processors(measured) / f64::from(measured.cores.max(1));
    let taken = taken_per_operation_us(measured).unwrap_or(0.0) * part;
    let used =
        [names::SERVER_CPU_US, names::CLIENT_CPU_US].map(|name| measured.per_operation(name).unwrap_or(0.0));
    Some((whole - taken).max(used.iter().sum::<f64>().min(whole)))
}

/// The word for the operations.
pub fn operation(measured: &Measured<'_>) -> &'static str {
    match measured.headline_class() {
        OperationClass::Query => "query",
        _ => "row",
    }
}
