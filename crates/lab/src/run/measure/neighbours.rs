//! How much of the machine other work used while candidates were measured.

use std::num::NonZero;

use basecase_model::{Measures, names};
use basecase_stats::{NOISY_CORES, NOISY_STEAL};

/// How much of the machine was used by work other than the servers' and the client's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Neighbours {
    /// Processors that they used.
    pub(crate) cores: f64,
    /// Share of the time of all processors that the hypervisor gave away, 0 to 1.
    pub(crate) steal_share: f64,
}

impl Neighbours {
    /// Out of what was counted of the host, of the client and, of all servers, this much CPU time in µs. `None` where the host's counters are not
    /// known.
    pub(crate) fn of(counters: &Measures, servers_us: impl IntoIterator<Item = f64>) -> Option<Neighbours> {
        let sum_of = |wanted: &[&str]| -> Option<f64> { wanted.iter().map(|name| counters.get(name)).sum() };
        let busy = sum_of(&[names::HOST_CPU_USER_US, names::HOST_CPU_SYSTEM_US])?;
        let idle = sum_of(&[names::HOST_CPU_IDLE_US, names::HOST_CPU_IOWAIT_US])?;
        let steal = counters.get(names::HOST_CPU_STEAL_US).unwrap_or(0.0);
        let client = counters.get(names::CLIENT_CPU_US).unwrap_or(0.0);
        let own: f64 = servers_us.into_iter().sum();
        let all = busy + idle + steal;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as f64;
        let share = |time_us: f64| if all > 0.0 { (time_us / all).clamp(0.0, 1.0) } else { 0.0 };
        Some(Neighbours { cores: share(busy - own - client) * cores, steal_share: share(steal) })
    }

    /// The warning for a single run, by the thresholds of rounds.
    pub(crate) fn warning(self) -> Option<String> {
        let mut told = Vec::new();
        if self.cores > NOISY_CORES {
            told.push(format!("others used {:.1} processors", self.cores));
        }
        if self.steal_share > NOISY_STEAL {
            told.push(format!("the hypervisor gave {:.0} % of the time to others", self.steal_share * 100.0));
        }
        (!told.is_empty()).then(|| format!("the machine was busy: {}", told.join(", and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds of all processors, of which these shares were user time and stolen; server and client had a second each.
    fn neighbours(busy: f64, steal: f64) -> Neighbours {
        let all = 1e7 * std::thread::available_parallelism().map_or(1, NonZero::get) as f64;
        let mut counters = Measures::new();
        for (name, value) in [
            (names::HOST_CPU_USER_US, busy * all),
            (names::HOST_CPU_SYSTEM_US, 0.0),
            (names::HOST_CPU_IDLE_US, (1.0 - busy - steal) * all),
            (names::HOST_CPU_IOWAIT_US, 0.0),
            (names::HOST_CPU_STEAL_US, steal * all),
            (names::CLIENT_CPU_US, 1e6),
        ] {
            counters.set(name, value);
        }
        Neighbours::of(&counters, [1e6]).unwrap()
    }

    #[test]
    fn defect_26_a_single_run_on_a_busy_machine_has_a_warning() {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as f64;
        let busy = |others: f64| neighbours((others + 0.2) / cores, 0.0);
        assert_eq!(busy(0.25).warning(), None);
        assert_eq!(busy(0.6).warning().as_deref(), Some("the machine was busy: others used 0.6 processors"));
        let stolen = neighbours(0.2 / cores, 0.08).warning();
        assert_eq!(
            stolen.as_deref(),
            Some("the machine was busy: the hypervisor gave 8 % of the time to others")
        );
        assert_eq!(neighbours(0.0, 0.0).cores, 0.0, "never below 0");
        assert_eq!(Neighbours::of(&Measures::new(), []), None);
    }
}
