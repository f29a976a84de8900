//! Samples the server's stacks while a step runs.

use anyhow::Result;
use basecase_model::{Measures, Profile, ProfileKind};
use basecase_probe::{HardwareCounters, Profiler};

/// How runs are profiled. The kernel has been asked, and permits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileOrder {
    /// What is counted.
    kinds: Vec<ProfileKind>,
    /// Samples per second and processor.
    frequency_hz: u32,
    /// Whether the trials that are measured are profiled themselves; else all steps run a second time for it, so that the profile
    /// costs the measured numbers nothing.
    pub(crate) in_same_pass: bool,
}

impl ProfileOrder {
    /// Profiles of these kinds, as often as costs little. It is tried on this process, so that nobody waits for a download before
    /// a refusal.
    ///
    /// # Errors
    /// When the kernel does not let this user observe processes so closely.
    pub fn tried(kinds: Vec<ProfileKind>, in_same_pass: bool) -> Result<Self> {
        let frequency_hz = Profiler::USUAL_FREQUENCY_HZ;
        Profiler::start(std::process::id(), &kinds, frequency_hz)?.finish()?;
        Ok(ProfileOrder { kinds, frequency_hz, in_same_pass })
    }
}

/// A server that is being profiled.
pub(crate) struct Profiling {
    profiler: Profiler,
    /// None where there are too many threads, or the kernel counts nothing.
    hardware: Option<HardwareCounters>,
}

impl Profiling {
    /// Begins with the tree of processes that grows from `root`.
    pub(crate) fn begin(order: &ProfileOrder, root: u32) -> Result<Self> {
        Ok(Profiling {
            hardware: HardwareCounters::open(root).ok(),
            profiler: Profiler::start(root, &order.kinds, order.frequency_hz)?,
        })
    }

    /// Ends it: the stacks, and what the hardware counted.
    pub(crate) fn end(self) -> Result<(Vec<Profile>, Measures)> {
        let Profiling { profiler, hardware } = self;
        let mut counted = Measures::new();
        if let Some(mut hardware) = hardware {
            hardware.read_into(&mut counted);
        }
        Ok((profiler.finish()?, counted))
    }
}
