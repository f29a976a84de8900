//! The machine, as far as configs are sized from it.

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
        Host {
            cores: basecase_probe::usable_cores(),
            memory_bytes: basecase_probe::usable_memory_bytes().unwrap_or(0),
        }
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
