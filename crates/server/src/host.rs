//! The machine, as far as configs are sized from it.

use std::path::Path;

const GIB: u64 = 1 << 30;

/// Cores and memory that basecase may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Processors that this process may run on.
    pub cores: u32,
    /// Memory in bytes: of the machine, or of the control group where that is less.
    pub memory_bytes: u64,
}

impl Host {
    /// This machine.
    pub fn detect() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let information = rustix::system::sysinfo();
        // The field is of the machine's word size, which differs between targets.
        #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
        let units = u64::try_from(information.totalram).unwrap_or(0);
        let machine = units.saturating_mul(u64::from(information.mem_unit));
        let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let memory_bytes = limits.iter().filter_map(|path| limit(Path::new(path))).fold(machine, u64::min);
        Host { cores: u32::try_from(cores).unwrap_or(u32::MAX), memory_bytes }
    }

    /// Memory as it stands on the machine's label, in GiB: kernels report a little less, and a config must not differ between
    /// two boots.
    pub fn label_gib(self) -> u64 {
        let whole = self.memory_bytes.div_ceil(GIB).max(1);
        // Memory is sold in steps of about an eighth: 1 GiB up to 15, 2 up to 31, 4 up to 63, …
        let step = ((1_u64 << whole.ilog2()) / 8).max(1);
        whole.div_ceil(step) * step
    }

    /// The part of a config's name that says what it was sized for, e.g. `c2r24`.
    pub fn label(self) -> String {
        format!("c{}r{}", self.cores, self.label_gib())
    }
}

fn limit(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_on_the_box() {
        let label = |gib: f64| Host { cores: 2, memory_bytes: (gib * GIB as f64) as u64 }.label();
        assert_eq!(label(23.4), "c2r24");
        assert_eq!(label(0.4), "c2r1");
        assert_eq!(label(7.7), "c2r8");
        assert_eq!(label(15.5), "c2r16");
        assert_eq!(label(31.2), "c2r32");
        assert_eq!(label(62.7), "c2r64");
        assert_eq!(label(125.6), "c2r128");
        assert_eq!(label(24.0), "c2r24");
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let host = Host::detect();
        assert!(host.cores >= 1 && host.memory_bytes > 1 << 26, "{host:?}");
    }
}
