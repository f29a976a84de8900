//! The events whose samples are taken, on every processor.

use std::io;

use basecase_model::ProfileKind;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Clock, Sampler};

use super::record::{FIELDS, Occurrence, parse};
use super::registers::Registers;
use crate::perf::{Attempt, PerfError, online_processors};

/// Bytes of a processor's buffer. With the kernel's page before it, it is as much as any user may have.
const BUFFER_BYTES: usize = 512 << 10;

/// Bytes of a stack that go with a sample. Frames beyond are cut off.
const STACK_BYTES: u32 = 32 << 10;

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
                Err(PerfError::Event { .. }) => {
                    Self::of(kind, Software::CPU_CLOCK, "cpu-clock", frequency_hz)
                }
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
        let mut samplers = Vec::new();
        for processor in online_processors() {
            let counter = builder(kind, event, frequency_hz).one_cpu(processor).build();
            let counter = counter.map_err(|error| attempt.refused(error))?;
            samplers.push(counter.sampled(BUFFER_BYTES).map_err(PerfError::Buffer)?);
        }
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
    match kind {
        // The clock ticks on idle processors too.
        ProfileKind::Cpu => builder.exclude_idle(true),
        ProfileKind::OffCpu => builder.context_switch(true),
    };
    builder
}
