//! The properties of the machine that configs are sized from.

const GIB: u64 = 1 << 30;

const MIB: u64 = 1 << 20;

/// Cores and memory that basecase may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Processors that this process may run on.
    pub cores: u32,
    /// Memory in bytes: the machine's, or the control group's limit if that is less.
    pub memory_bytes: u64,
    /// Whether the memory is a control group's limit, which is exact.
    pub is_limited: bool,
}

impl Host {
    /// This machine.
    pub fn detect() -> Self {
        Host {
            cores: basecase_probe::usable_cores(),
            memory_bytes: basecase_probe::usable_memory_bytes().unwrap_or(0),
            is_limited: basecase_probe::memory_limit_bytes().is_some(),
        }
    }

    /// The same with at most this memory, in bytes, as the control group of a single server allows.
    pub fn limited_to(self, bytes: u64) -> Self {
        if bytes >= self.memory_bytes {
            return self;
        }
        Host { memory_bytes: bytes, is_limited: true, ..self }
    }

    /// The memory that configs are sized for, in MiB. A control group's limit is used exactly, since a server that takes
    /// more is killed. A machine's memory is rounded up to its nominal size, because kernels report a little less, and a
    /// config must not differ between two boots.
    pub fn sizing_mib(self) -> u64 {
        if self.is_limited {
            return self.memory_bytes / MIB;
        }
        let whole = self.memory_bytes.div_ceil(GIB).max(1);
        // Memory comes in steps of about an eighth: 1 GiB up to 15, 2 up to 31, 4 up to 63, …
        let step = ((1_u64 << whole.ilog2()) / 8).max(1);
        whole.div_ceil(step) * step * (GIB / MIB)
    }

    /// The suffix of a config's name that says what it was sized for, e.g. `c2r24` for 24 GiB, or `c2r400m` for 400 MiB.
    pub fn label(self) -> String {
        match self.sizing_mib() {
            mib if mib % (GIB / MIB) == 0 => format!("c{}r{}", self.cores, mib / (GIB / MIB)),
            mib => format!("c{}r{mib}m", self.cores),
        }
    }

    /// Memory for messages, e.g. `this host has 24105 MiB`.
    pub fn memory_text(self) -> String {
        let what = if self.is_limited { "the control group allows" } else { "this host has" };
        format!("{what} {} MiB", self.memory_bytes / MIB)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(gib: f64, is_limited: bool) -> Host {
        Host { cores: 2, memory_bytes: (gib * GIB as f64) as u64, is_limited }
    }

    #[test]
    fn defect_23_a_limit_is_sized_for_exactly() {
        let limited = |mib: u64| host(mib as f64 / 1024.0, true);
        assert_eq!((limited(400).sizing_mib(), limited(400).label().as_str()), (400, "c2r400m"));
        assert_eq!((limited(23_962).sizing_mib(), limited(23_962).label().as_str()), (23_962, "c2r23962m"));
        assert_eq!(
            limited(4096).label(),
            host(3.9, false).label(),
            "what was measured in whole GiB keeps its name"
        );
        assert_eq!(limited(400).memory_text(), "the control group allows 400 MiB");
    }

    #[test]
    fn a_limit_is_within_what_there_is() {
        let whole = host(24.0, false);
        assert_eq!(whole.limited_to(300 << 20).label(), "c2r300m");
        assert_eq!(whole.limited_to(48 << 30), whole);
        assert_eq!(host(0.25, true).limited_to(300 << 20).label(), "c2r256m", "a container's limit is less");
    }

    #[test]
    fn labels_are_those_on_the_box() {
        let label = |gib: f64| host(gib, false).label();
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
