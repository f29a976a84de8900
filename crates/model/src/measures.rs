//! Named numbers read off the machine and the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Numbers by name, with units in the names. What the machine does not provide is absent, never zero.
///
/// Used for counters (what was added in the measured window) and for gauges (a level at its end). Names that basecase itself reads are in
/// [`names`]; a dbms adds its own under its prefix.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures(BTreeMap<String, f64>);

impl Measures {
    /// Without any numbers.
    pub fn new() -> Self {
        Measures::default()
    }

    /// Sets one number.
    pub fn set(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    /// One number, or `None` if it could not be read.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All numbers, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Inserts every number of `other`; equal names take its value.
    pub fn extend(&mut self, other: Measures) {
        self.0.extend(other.0);
    }

    /// The increase since `earlier`, for the names that both have.
    pub fn since(&self, earlier: &Measures) -> Measures {
        Measures(
            self.0
                .iter()
                .filter_map(|(name, value)| earlier.get(name).map(|before| (name.clone(), value - before)))
                .collect(),
        )
    }
}

/// The names that basecase reads on every host.
pub mod names {
    use crate::Dbms;

    /// CPU time in user mode (with nice) of the whole host, µs over all cores.
    pub const HOST_CPU_USER_US: &str = "host.cpu_user_us";
    /// CPU time in system mode of the whole host (with interrupts), µs over all cores.
    pub const HOST_CPU_SYSTEM_US: &str = "host.cpu_system_us";
    /// CPU time of the whole host, as exact as that of processes, if the kernel provides it, µs over all cores.
    pub const HOST_CPU_US: &str = "host.cpu_us";
    /// Idle time of the whole host, µs over all cores.
    pub const HOST_CPU_IDLE_US: &str = "host.cpu_idle_us";
    /// Idle time with I/O pending, µs over all cores.
    pub const HOST_CPU_IOWAIT_US: &str = "host.cpu_iowait_us";
    /// Time that the hypervisor gave to others, µs over all cores.
    pub const HOST_CPU_STEAL_US: &str = "host.cpu_steal_us";
    /// Context switches of the whole host.
    pub const HOST_CONTEXT_SWITCHES: &str = "host.context_switches";
    /// Interrupts of the whole host.
    pub const HOST_INTERRUPTS: &str = "host.interrupts";
    /// Processes and threads that were started on the whole host.
    pub const HOST_FORKS: &str = "host.forks";
    /// Page faults of the whole host.
    pub const HOST_PAGE_FAULTS: &str = "host.page_faults";
    /// Page faults of the whole host that had to read from a device.
    pub const HOST_MAJOR_FAULTS: &str = "host.major_faults";
    /// Time in which some task waited for a processor (PSI), µs.
    pub const HOST_CPU_PRESSURE_US: &str = "host.cpu_pressure_us";
    /// Time in which some task waited for input or output (PSI), µs.
    pub const HOST_IO_PRESSURE_US: &str = "host.io_pressure_us";
    /// Time in which some task waited for memory (PSI), µs.
    pub const HOST_MEMORY_PRESSURE_US: &str = "host.memory_pressure_us";
    /// Bytes that went through the loopback interface.
    pub const HOST_LOOPBACK_BYTES: &str = "host.loopback_bytes";
    /// Level: bytes of memory that the host could provide without swapping.
    pub const HOST_MEMORY_AVAILABLE_BYTES: &str = "host.memory_available_bytes";
    /// Level: bytes that the whole host has yet to write to a device.
    pub const HOST_DIRTY_BYTES: &str = "host.dirty_bytes";
    /// Level: mean frequency of the processors, MHz.
    pub const HOST_CPU_MHZ: &str = "host.cpu_mhz";
    /// Level: the hottest thermal zone, °C.
    pub const HOST_TEMPERATURE_C: &str = "host.temperature_c";
    /// Completed reads of the block device under the data directory.
    pub const DEVICE_READS: &str = "device.reads";
    /// Bytes read from that device.
    pub const DEVICE_READ_BYTES: &str = "device.read_bytes";
    /// Completed writes to that device.
    pub const DEVICE_WRITES: &str = "device.writes";
    /// Bytes written to that device.
    pub const DEVICE_WRITTEN_BYTES: &str = "device.written_bytes";
    /// Total time of reads from that device, µs.
    pub const DEVICE_READ_US: &str = "device.read_us";
    /// Total time of writes to that device, µs.
    pub const DEVICE_WRITE_US: &str = "device.write_us";
    /// Time in which that device was busy, µs.
    pub const DEVICE_BUSY_US: &str = "device.busy_us";
    /// Total time of all requests in that device and its queue, µs: divided by the window, the mean queue length.
    pub const DEVICE_QUEUE_US: &str = "device.queue_us";
    /// CPU time of basecase itself, µs. For an embedded dbms it includes the engine.
    pub const CLIENT_CPU_US: &str = "client.cpu_us";
    /// CPU time of the server's process tree, µs. Absent for an embedded dbms.
    pub const SERVER_CPU_US: &str = "server.cpu_us";
    /// The part of it in system mode, µs; known in whole ticks (10 ms).
    pub const SERVER_CPU_SYSTEM_US: &str = "server.cpu_system_us";
    /// Voluntary context switches of the server's threads: they waited.
    pub const SERVER_VOLUNTARY_SWITCHES: &str = "server.voluntary_switches";
    /// Involuntary context switches of the server's threads: they had to yield a processor.
    pub const SERVER_INVOLUNTARY_SWITCHES: &str = "server.involuntary_switches";
    /// Minor page faults of the server's process tree, which read nothing from a device.
    pub const SERVER_MINOR_FAULTS: &str = "server.minor_faults";
    /// Major page faults of the server's process tree, which had to read from a device.
    pub const SERVER_MAJOR_FAULTS: &str = "server.major_faults";
    /// Bytes that the server's process tree caused to be read from devices.
    pub const SERVER_READ_BYTES: &str = "server.read_bytes";
    /// Reads from the device under the data directory by the server's control group. Like all counts of the group, only servers with a limit
    /// on memory have it.
    pub const GROUP_READS: &str = "group.reads";
    /// Bytes read from that device by the group.
    pub const GROUP_READ_BYTES: &str = "group.read_bytes";
    /// Pages of the group that were read again soon after they had to make room.
    pub const GROUP_REFAULTS: &str = "group.refaults";
    /// Page faults of the group that had to read from a device.
    pub const GROUP_MAJOR_FAULTS: &str = "group.major_faults";
    /// Time in which some task of the group waited for memory (PSI), µs; control groups of version 2 have it.
    pub const GROUP_MEMORY_PRESSURE_US: &str = "group.memory_pressure_us";
    /// Time in which some task of the group waited for input or output (PSI), µs; control groups of version 2 have it.
    pub const GROUP_IO_PRESSURE_US: &str = "group.io_pressure_us";
    /// Level: memory that is charged to the group, bytes.
    pub const GROUP_MEMORY_BYTES: &str = "group.memory_bytes";
    /// Level: page cache of files that is charged to the group, bytes.
    pub const GROUP_CACHED_BYTES: &str = "group.cached_bytes";
    /// Level: anonymous memory of the group's processes, bytes.
    pub const GROUP_ANONYMOUS_BYTES: &str = "group.anonymous_bytes";
    /// Level: shared memory of the group, such as the buffers of Postgres, bytes.
    pub const GROUP_SHARED_BYTES: &str = "group.shared_bytes";
    /// Gauge: the most memory that was charged to the group since its server started, bytes.
    pub const GROUP_PEAK_BYTES: &str = "group.peak_bytes";
    /// Gauge: the limit on the group's memory, bytes.
    pub const GROUP_LIMIT_BYTES: &str = "group.limit_bytes";
    /// Where the names of the server's counters begin.
    pub const SERVER_PREFIX: &str = "server.";
    /// Prefix of what is counted for the server's control group.
    pub const GROUP_PREFIX: &str = "group.";
    /// Context switches of basecase itself.
    pub const CLIENT_SWITCHES: &str = "client.switches";
    /// Time that the server's threads ran, as counted by the kernel's scheduler, µs over all cores. Like the two that follow and the
    /// hardware counters, only profiled trials have it.
    pub const SERVER_TASK_CLOCK_US: &str = "server.task_clock_us";
    /// Page faults of the server's process tree.
    pub const SERVER_PAGE_FAULTS: &str = "server.page_faults";
    /// How often a thread of the server continued on another processor than before.
    pub const SERVER_CPU_MIGRATIONS: &str = "server.cpu_migrations";
    /// Prefix of the hardware counters of the server.
    pub const HARDWARE_PREFIX: &str = "hardware.";
    /// Instructions that the server's threads completed, including those in the kernel. Like every hardware counter, it is absent if the
    /// machine has none, and extrapolated if it counted only part of the time.
    pub const HARDWARE_INSTRUCTIONS: &str = "hardware.instructions";
    /// Cycles that processors spent on the server.
    pub const HARDWARE_CYCLES: &str = "hardware.cycles";
    /// Accesses to the last-level cache, as the processor's maker defines them.
    pub const HARDWARE_CACHE_REFERENCES: &str = "hardware.cache_references";
    /// Misses of the last-level cache.
    pub const HARDWARE_CACHE_MISSES: &str = "hardware.cache_misses";
    /// Branches that the server's threads completed.
    pub const HARDWARE_BRANCHES: &str = "hardware.branches";
    /// Mispredicted branches.
    pub const HARDWARE_BRANCH_MISSES: &str = "hardware.branch_misses";
    /// Gauge: proportional set size of the server's process tree, bytes.
    pub const SERVER_PSS_BYTES: &str = "server.pss_bytes";
    /// Gauge: threads with which basecase drove the step.
    pub const CLIENT_THREADS: &str = "client.threads";
    /// Gauge: share of the window in which the busiest of the threads that drive several sessions each did not wait for a reply, 0 to 1.
    /// Near 1, the client is the bottleneck.
    pub const CLIENT_BUSY_SHARE: &str = "client.busy_share";
    /// Gauge: mean time that a reply waited behind others that had arrived with it at the same thread, µs. It is part of the latency.
    pub const CLIENT_QUEUE_US: &str = "client.queue_us";
    /// Gauge: time of the window, or of the turns that count, in which basecase itself was not running although it was due, µs: it was
    /// suspended, or had no processor.
    pub const CLIENT_STOPPED_US: &str = "client.stopped_us";
    /// Prefix of gauges that end with the number of a pass in which this happened during a slice; they tell for how long, µs. Such a pass
    /// does not count.
    pub const CLIENT_STOPPED_PASS: &str = "client.stopped_us.pass_";
    /// Gauge: peak resident memory of basecase, bytes.
    pub const CLIENT_PEAK_RSS_BYTES: &str = "client.peak_rss_bytes";
    /// Gauge: size of the database as the server counts it, bytes.
    pub const DATABASE_BYTES: &str = "size.database_bytes";
    /// Gauge: bytes of the whole data directory, including logs and WAL.
    pub const DIRECTORY_BYTES: &str = "size.directory_bytes";
    /// Gauge: bytes of the WAL or redo log files.
    pub const LOG_BYTES: &str = "size.log_bytes";
    /// Gauge: bytes of the files of the replication log.
    pub const BINARY_LOG_BYTES: &str = "size.binary_log_bytes";
    /// Gauge: bytes of all tables, as the server reports; for InnoDB including their primary keys.
    pub const TABLES_BYTES: &str = "size.tables_bytes";
    /// Gauge: bytes of all indexes, as the server reports; for InnoDB the secondary ones.
    pub const INDEXES_BYTES: &str = "size.indexes_bytes";
    /// Seconds over which the server's own counters counted, if that was longer than the window: including the warm-up, as if its
    /// statements had been as fast as those of the window.
    pub const SERVER_COUNTED_SECONDS: &str = "server.counted_seconds";
    /// Connections accepted during the step, as counted by the server.
    pub const SERVER_CONNECTIONS: &str = "server.connections";
    /// Statements of the step that were committed, as counted by the server.
    pub const SERVER_COMMITS: &str = "server.commits";
    /// Insert statements executed, as counted by the server.
    pub const SERVER_INSERT_STATEMENTS: &str = "server.insert_statements";
    /// Update statements executed, as counted by the server.
    pub const SERVER_UPDATE_STATEMENTS: &str = "server.update_statements";
    /// Delete statements executed, as counted by the server.
    pub const SERVER_DELETE_STATEMENTS: &str = "server.delete_statements";
    /// Rows inserted, as counted by the server.
    pub const SERVER_ROWS_INSERTED: &str = "server.rows_inserted";
    /// Rows updated, as counted by the server.
    pub const SERVER_ROWS_UPDATED: &str = "server.rows_updated";
    /// Rows deleted, as counted by the server.
    pub const SERVER_ROWS_DELETED: &str = "server.rows_deleted";
    /// Pages that the server had to read because its own cache lacked them.
    pub const SERVER_CACHE_MISSES: &str = "server.cache_misses";
    /// Pages that the server requested from its own cache, found or not.
    pub const SERVER_CACHE_REQUESTS: &str = "server.cache_requests";
    /// Bytes of WAL or redo log that the server wrote.
    pub const SERVER_LOG_BYTES: &str = "server.log_bytes";
    /// How often the server synced that log.
    pub const SERVER_LOG_SYNCS: &str = "server.log_syncs";
    /// Pages of tables and indexes that the server wrote.
    pub const SERVER_PAGES_WRITTEN: &str = "server.pages_written";
    /// Rows that the server read, by index or by scan.
    pub const SERVER_ROWS_READ: &str = "server.rows_read";
    /// Bytes of temporary files that the server wrote.
    pub const SERVER_TEMPORARY_BYTES: &str = "server.temporary_bytes";

    /// Gauge: transactions in InnoDB's history list when the step ended, which purge has yet to go through.
    pub const END_HISTORY_TRANSACTIONS: &str = "end.debt.history_transactions";
    /// Prefix of what RocksDB counts for each column family and level, as `rocksdb.default.l1.writegb`.
    pub const ROCKSDB_PREFIX: &str = "rocksdb.";
    /// Prefix of tracks of statements per second by latency: `latency.CLASS.END_ns`, up to that end.
    pub const LATENCY_PREFIX: &str = "latency.";
    /// Prefix of the time that the server's busy sessions spent in a state, µs over all sessions, from samples of the sessions:
    /// `session.cpu_us`, or the name of a wait.
    pub const SESSION_PREFIX: &str = "session.";
    /// How long a step of a round took, including sessions, warm-up and the slices of all candidates; seconds.
    pub const ROUND_SECONDS: &str = "round.seconds";
    /// The calendar time of the experiment at the end of a step of a round, seconds: see [`crate::CalendarTime`].
    pub const CALENDAR_SECONDS: &str = "calendar.seconds";
    /// Processors used by others than the servers and the client while candidates took turns.
    pub const ROUND_OTHERS_CORES: &str = "round.others_cores";
    /// Share of all processors' time that the hypervisor gave to others meanwhile, 0 to 1.
    pub const ROUND_STEAL_SHARE: &str = "round.steal_share";
    /// The round for which the data was loaded that a step began with.
    pub const IMAGE_ROUND: &str = "image.round";
    /// Bytes of the copy of the data that a step began with.
    pub const IMAGE_BYTES: &str = "image.bytes";
    /// Time until that copy was on the device, seconds.
    pub const IMAGE_COPY_SECONDS: &str = "image.copy_seconds";
    /// How long it took after the last slice until the server had paid the step's debt, seconds.
    pub const DRAIN_SECONDS: &str = "drain.seconds";
    /// The server's CPU time for that, µs.
    pub const DRAIN_SERVER_CPU_US: &str = "drain.server_cpu_us";
    /// Number of messages counted by a planted library.
    pub const PLANTED_CALLS: &str = "planted.calls";
    /// Time that it spent after them, µs.
    pub const PLANTED_US: &str = "planted.us";
    /// Prefix of how often the sessions executed a prepared statement with a generic plan, also while they warmed up; the statement's name
    /// follows. Only Postgres from 14 on tells.
    pub const PLANS_GENERIC: &str = "plans.generic.";
    /// The same with a plan for the values of one execution.
    pub const PLANS_CUSTOM: &str = "plans.custom.";
    /// How often the sessions were sampled.
    pub const SESSION_LOOKS: &str = "session.looks";
    /// Busy sessions that waited for nothing, µs over all sessions.
    pub const SESSION_CPU_US: &str = "session.cpu_us";

    /// What the operating system counts for the server.
    const SERVER_BY_SYSTEM: [&str; 10] = [
        SERVER_CPU_US,
        SERVER_CPU_SYSTEM_US,
        SERVER_VOLUNTARY_SWITCHES,
        SERVER_INVOLUNTARY_SWITCHES,
        SERVER_MINOR_FAULTS,
        SERVER_MAJOR_FAULTS,
        SERVER_READ_BYTES,
        SERVER_TASK_CLOCK_US,
        SERVER_PAGE_FAULTS,
        SERVER_CPU_MIGRATIONS,
    ];

    /// Whether it is counted for the server, by itself or by the operating system.
    pub fn is_of_server(name: &str) -> bool {
        let mut own = Dbms::ALL.into_iter().flat_map(Dbms::counter_prefixes);
        name.starts_with("server.") || own.any(|prefix| name.starts_with(prefix))
    }

    /// Whether the server itself counts it: then it includes the warm-up, as [`SERVER_COUNTED_SECONDS`] tells. All others cover the window
    /// alone.
    pub fn is_counted_by_server(name: &str) -> bool {
        is_of_server(name) && !SERVER_BY_SYSTEM.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_keeps_only_what_both_have() {
        let mut before = Measures::new();
        before.set("a", 1.0);
        before.set("b", 5.0);
        let mut after = Measures::new();
        after.set("a", 4.0);
        after.set("c", 9.0);
        let delta = after.since(&before);
        assert_eq!(delta.get("a"), Some(3.0));
        assert_eq!(delta.get("b"), None);
        assert_eq!(delta.get("c"), None);
    }
}
