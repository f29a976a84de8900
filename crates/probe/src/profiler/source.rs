//! The events that are sampled, on every processor.

use std::io;

use basecase_model::ProfileKind;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Clock, Sampler};

use super::record::{FIELDS, Occurrence, parse};
use super::registers::Registers;
use crate::perf::{Attempt, PerfError, online_processors};

/// The size of a processor's buffer, if the kernel allows this user so much: room for samples of a fifth of a second.
const MOST_BUFFER_BYTES: usize = 4 << 20;

/// The size that the kernel allows every user.
const LEAST_BUFFER_BYTES: usize = 512 << 10;

/// The size of all buffers together, on machines with many processors.
const ALL_BUFFERS_BYTES: usize = 256 << 20;

/// The most bytes of the stack that the kernel copies into a sample. Frames beyond are cut off. A sample may have 64 KiB,
/// and MySQL's stacks need more than 32: with that, 3 % of them were cut.
const STACK_BYTES: u32 = 60 << 10;

/// The event that samples processors without hardware counters, as in `perf list`.
const CLOCK: &str = "cpu-clock";

/// One event on every processor.
///
/// The events are per processor, not per thread. So it makes no difference whether threads exist already, start or end, and
/// there is no work at context switches.
pub(super) struct Source {
    /// What its samples are for.
    pub(super) kind: ProfileKind,
    /// The event's name, as in `perf list`.
    pub(super) event: &'static str,
    samplers: Vec<Sampler>,
}

impl Source {
    /// Opens it, and starts counting at once.
    pub(super) fn open(kind: ProfileKind, frequency_hz: u32) -> Result<Self, PerfError> {
        match kind {
            ProfileKind::Cpu => match Self::of(kind, Hardware::CPU_CYCLES, "cycles", frequency_hz) {
                // A virtual machine may lack hardware counters.
                Err(PerfError::Event { .. }) => Self::of(kind, Software::CPU_CLOCK, CLOCK, frequency_hz),
                result => result,
            },
            ProfileKind::OffCpu => {
                Self::of(kind, Software::CONTEXT_SWITCHES, "context-switches", frequency_hz)
            }
        }
    }

    fn of(
        kind: ProfileKind,
        event: impl Event + Copy,
        name: &'static str,
        frequency_hz: u32,
    ) -> Result<Self, PerfError> {
        let attempt = Attempt { event: name, purpose: "take samples of whole processors", enough: 0 };
        let mut builder = builder(kind, event, frequency_hz);
        // The clock also ticks on idle processors. Hardware counters do not, and some reject the option.
        builder.exclude_idle(name == CLOCK);
        let processors = online_processors();
        let share = ALL_BUFFERS_BYTES / processors.len().max(1);
        let bytes = share.clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        let open = |processor| sampler(builder.one_cpu(processor), attempt, bytes);
        let samplers = processors.into_iter().map(open).collect::<Result<_, PerfError>>()?;
        Ok(Source { kind, event: name, samplers })
    }

    /// Returns the records since the last call. Those of each processor are in order.
    pub(super) fn drain(&mut self, mut found: impl FnMut(Occurrence)) {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                if let Some(occurrence) = parse(record.ty(), record.misc(), &record.to_contiguous()) {
                    found(occurrence);
                }
            }
        }
    }

    /// Stops counting. Earlier records can still be drained.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.samplers.iter_mut().try_for_each(|sampler| sampler.as_counter_mut().disable())
    }
}

/// The event, with as large a buffer as the kernel allows this user.
fn sampler(builder: &Builder<'_>, attempt: Attempt, mut bytes: usize) -> Result<Sampler, PerfError> {
    loop {
        let counter = builder.build().map_err(|error| attempt.refused(error))?;
        match counter.sampled(bytes) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && bytes > LEAST_BUFFER_BYTES => {
                bytes = (bytes / 2).max(LEAST_BUFFER_BYTES);
            }
            result => return result.map_err(PerfError::Buffer),
        }
    }
}

fn builder(kind: ProfileKind, event: impl Event + Copy, frequency_hz: u32) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder
        .any_pid()
        .enabled(true)
        .include_kernel()
        .sample_frequency(frequency_hz.into())
        .exclude_callchain_user(true)
        .sample_regs_user(Registers::mask())
        .sample_stack_user(STACK_BYTES)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .task(true)
        .comm(true)
        .mmap(true)
        .mmap2(true);
    for field in FIELDS {
        builder.sample(field);
    }
    builder.context_switch(kind == ProfileKind::OffCpu);
    builder
}
