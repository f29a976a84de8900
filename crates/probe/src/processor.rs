//! CPU time, context switches and interrupts of the whole host, from `/proc/stat`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use basecase_model::{Measures, names};
use nix::unistd::{SysconfVar, sysconf};

use crate::clock::own_cpu_ns;

/// Microseconds in one tick, the unit of CPU time in `/proc`.
pub fn tick_us() -> f64 {
    static TICKS_PER_SECOND: LazyLock<i64> = LazyLock::new(|| {
        sysconf(SysconfVar::CLK_TCK).ok().flatten().filter(|ticks| *ticks > 0).unwrap_or(100)
    });
    1e6 / *TICKS_PER_SECOND as f64
}

/// The root of the control groups that count CPU time (v1), in nanoseconds as the scheduler does for each process. The root
/// of cgroups v2 only sums the ticks of `/proc/stat`. What a container sees as the root is not the real one: only that has a
/// release agent.
static ROOT_USAGE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"]
        .map(Path::new)
        .into_iter()
        .find(|root| root.join("release_agent").exists())
        .map(|root| root.join("cpuacct.usage"))
});

/// CPU time of the whole host since boot in µs, as exact as that of processes; `None` if the kernel only counts ticks.
pub(crate) fn exact_us() -> Option<f64> {
    let time_ns: u64 = fs::read_to_string(ROOT_USAGE.as_ref()?).ok()?.trim().parse().ok()?;
    Some(time_ns as f64 / 1e3)
}

/// Adds the host's counts since boot to `measures`.
pub(crate) fn read_into(measures: &mut Measures) {
    let Ok(text) = fs::read_to_string("/proc/stat") else { return };
    if let Some(ticks) = CpuTicks::parse(&text) {
        measures.set(names::HOST_CPU_USER_US, ticks.user as f64 * tick_us());
        measures.set(names::HOST_CPU_SYSTEM_US, ticks.system as f64 * tick_us());
        measures.set(names::HOST_CPU_IDLE_US, ticks.idle as f64 * tick_us());
        measures.set(names::HOST_CPU_IOWAIT_US, ticks.iowait as f64 * tick_us());
        measures.set(names::HOST_CPU_STEAL_US, ticks.steal as f64 * tick_us());
    }
    for (name, key) in [
        (names::HOST_CONTEXT_SWITCHES, "ctxt "),
        (names::HOST_INTERRUPTS, "intr "),
        (names::HOST_FORKS, "processes "),
    ] {
        if let Some(count) = parse_count(&text, key) {
            measures.set(name, count as f64);
        }
    }
}

/// The number of processors that the kernel schedules on; `None` if `/proc/stat` cannot be read.
pub(crate) fn online() -> Option<u32> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    u32::try_from(parse_online(&text)).ok().filter(|count| *count > 0)
}

/// CPU time of the host that this process did not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OthersTime {
    /// CPU time of other processes, in µs.
    pub busy_us: f64,
    /// CPU time that the hypervisor gave to other machines, in µs.
    pub steal_us: f64,
}

impl OthersTime {
    /// The time since an unspecified instant, so only differences matter; `None` if the kernel does not tell. It is in ticks
    /// of some ms if the kernel does not count more exactly.
    pub fn now() -> Option<OthersTime> {
        // The first line is all that is needed, and the rest is long.
        let mut head = [0; 256];
        let length = File::open("/proc/stat").ok()?.read(&mut head).ok()?;
        let CpuTicks { user, system, steal, .. } =
            CpuTicks::parse(std::str::from_utf8(head.get(..length)?).ok()?)?;
        let own_us = own_cpu_ns()? as f64 / 1e3;
        let busy_us = exact_us().unwrap_or((user + system) as f64 * tick_us()) - own_us;
        Some(OthersTime { busy_us, steal_us: steal as f64 * tick_us() })
    }

    /// The difference from `before`. Never below 0, although the host's ticks may lag behind the clock of this process.
    #[must_use]
    pub fn since(self, before: OthersTime) -> OthersTime {
        OthersTime {
            busy_us: (self.busy_us - before.busy_us).max(0.0),
            steal_us: (self.steal_us - before.steal_us).max(0.0),
        }
    }
}

/// The first line of `/proc/stat`, in ticks. Guests are part of `user` already, see proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    /// In user mode.
    pub user: u64,
    /// In the kernel, with interrupts.
    pub system: u64,
    /// At rest.
    pub idle: u64,
    /// At rest while something waited for a disk.
    pub iowait: u64,
    /// Given to other machines by the hypervisor.
    pub steal: u64,
}

impl CpuTicks {
    /// Out of the text of `/proc/stat`.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, iowait, interrupts, soft_interrupts, steal, ..] = ticks[..] else {
            return None;
        };
        Some(CpuTicks {
            user: user.saturating_add(nice),
            system: system.saturating_add(interrupts).saturating_add(soft_interrupts),
            idle,
            iowait,
            steal,
        })
    }
}

/// The first number of the line that begins with `key`.
fn parse_count(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

fn parse_online(text: &str) -> usize {
    let is_one = |line: &str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    text.lines().filter(|line| is_one(line)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "cpu  100 20 30 4000 50 6 7 8 9 10\n\
                        cpu0 50 10 15 2000 25 3 3 4 4 5\n\
                        cpu1 50 10 15 2000 25 3 4 4 5 5\n\
                        intr 99 1 2\nctxt 258584\nbtime 1\n";

    #[test]
    fn sums_as_the_names_say() {
        let expected = CpuTicks { user: 120, system: 43, idle: 4000, iowait: 50, steal: 8 };
        assert_eq!(CpuTicks::parse(TEXT), Some(expected));
        assert_eq!((parse_count(TEXT, "ctxt "), parse_count(TEXT, "intr ")), (Some(258_584), Some(99)));
        assert_eq!(parse_online(TEXT), 2);
        assert_eq!(CpuTicks::parse("cpu  1 2 3\n"), None);
    }

    #[test]
    fn reads_this_host() {
        let mut measures = Measures::new();
        read_into(&mut measures);
        assert!(measures.get(names::HOST_CPU_IDLE_US).unwrap() > 0.0);
        assert!(measures.get(names::HOST_CONTEXT_SWITCHES).unwrap() > 0.0);
        assert!(online().unwrap() > 0);
        let reading = || {
            let mut measures = Measures::new();
            read_into(&mut measures);
            let value = |name: &str| measures.get(name).unwrap();
            let busy_us = value(names::HOST_CPU_USER_US) + value(names::HOST_CPU_SYSTEM_US);
            (busy_us, OthersTime::now().unwrap().busy_us + own_cpu_ns().unwrap() as f64 / 1e3)
        };
        // Since the start of the host they may have drifted apart: they are counted in different places.
        let before = reading();
        let until = std::time::Instant::now() + std::time::Duration::from_millis(200);
        while std::time::Instant::now() < until {}
        let after = reading();
        let drift_us = (after.0 - before.0) - (after.1 - before.1);
        assert!(drift_us.abs() < 1e6, "{before:?} {after:?}");
        let others = OthersTime::now().unwrap();
        assert_eq!(others.since(others), OthersTime { busy_us: 0.0, steal_us: 0.0 });
    }

    #[test]
    fn defect_27_others_never_took_less_than_nothing() {
        let at = |busy_us| OthersTime { busy_us, steal_us: 0.0 };
        assert_eq!(at(5.0).since(at(10_000.0)).busy_us, 0.0);
    }

    #[test]
    fn defect_27_the_host_is_counted_as_exactly_as_its_processes() {
        if ROOT_USAGE.is_none() {
            eprintln!("skipped: this kernel counts the host in ticks only");
            return;
        }
        let (host, own) = (exact_us().unwrap(), own_cpu_ns().unwrap());
        let mut sum = 0_u64;
        (0..20_000_000_u64).for_each(|number| sum = std::hint::black_box(sum ^ number));
        let own_us = (own_cpu_ns().unwrap() - own) as f64 / 1e3;
        assert!(exact_us().unwrap() - host >= own_us * 0.99, "{own_us}");
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(cpu|ctxt|[0-9 \\n]|.){0,60}") {
            let _ = (CpuTicks::parse(&text), parse_count(&text, "ctxt "), parse_online(&text));
        }
    }
}
