//! The events whose samples are taken, on every processor.

use std::io;

use basecase_model::ProfileKind;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Clock, Sampler};

use super::record::{FIELDS, Occurrence, parse};
use super::registers::Registers;
use crate::perf::{Attempt, PerfError, online_processors};

/// Bytes of a processor's buffer, if the kernel lets this user have so much: samples of a fifth of a second.
const MOST_BUFFER_BYTES: usize = 4 << 20;

/// Bytes of it that every user may have.
const LEAST_BUFFER_BYTES: usize = 512 << 10;

/// Bytes of all buffers together, on machines of many processors.
const ALL_BUFFERS_BYTES: usize = 256 << 20;

/// Bytes of a stack that go with a sample, of which the kernel copies what there is. Frames beyond are cut off. A sample may have
/// 64 KiB, and MySQL's stacks need more than 32: 3 % of them were cut.
const STACK_BYTES: u32 = 60 << 10;

/// The event that samples processors without counters of hardware, as `perf list` has it.
const CLOCK: &str = "cpu-clock";

/// One event on every processor.
///
/// Events of processors and not of threads: threads that exist, come and go are then all the same, and nothing has to
/// be done when the kernel changes from one to another.
pub(super) struct Source {
    /// What its samples are for.
    pub(super) kind: ProfileKind,
    /// Its name, as `perf list` has it.
    pub(super) event: &'static str,
    samplers: Vec<Sampler>,
}

impl Source {
    /// Opens it, and lets it count at once.
    pub(super) fn open(kind: ProfileKind, frequency_hz: u32) -> Result<Self, PerfError> {
        match kind {
            ProfileKind::Cpu => match Self::of(kind, Hardware::CPU_CYCLES, "cycles", frequency_hz) {
                // A virtual machine may have no counters of hardware.
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
        // The clock ticks on idle processors too. Counters of hardware do not, and some refuse to be told.
        builder.exclude_idle(name == CLOCK);
        let processors = online_processors();
        let share = ALL_BUFFERS_BYTES / processors.len().max(1);
        let bytes = share.clamp(LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        let open = |processor| sampler(builder.one_cpu(processor), attempt, bytes);
        let samplers = processors.into_iter().map(open).collect::<Result<_, PerfError>>()?;
        Ok(Source { kind, event: name, samplers })
    }

    /// Hands over what happened since the last time. Of each processor it is in order.
    pub(super) fn drain(&mut self, mut found: impl FnMut(Occurrence)) {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                if let Some(occurrence) = parse(record.ty(), record.misc(), &record.to_contiguous()) {
                    found(occurrence);
                }
            }
        }
    }

    /// Ends the counting. What has been counted can still be drained.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.samplers.iter_mut().try_for_each(|sampler| sampler.as_counter_mut().disable())
    }
}

/// The event with as large a buffer as the kernel lets this user have.
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
