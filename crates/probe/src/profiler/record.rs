//! What the kernel writes into a ring buffer, see perf_event_open(2).
//!
//! It is parsed here and not by `perf-event-data`, which rejects samples of threads without user registers as damaged.

use super::registers::Registers;

/// The fields of a sample, in the order of their bits.
pub(super) const FIELDS: [perf_event::SampleFlag; 6] = [
    perf_event::SampleFlag::TID,
    perf_event::SampleFlag::TIME,
    perf_event::SampleFlag::PERIOD,
    perf_event::SampleFlag::CALLCHAIN,
    perf_event::SampleFlag::REGS_USER,
    perf_event::SampleFlag::STACK_USER,
];

const LOST: u32 = 2;
const COMMAND: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MAP: u32 = 10;
const SWITCH: u32 = 14;
const SWITCH_OF_PROCESSOR: u32 = 15;

/// In `misc` of a command: it is due to execve(2).
const BY_EXECUTION: u16 = 1 << 13;
/// In `misc` of a switch: the thread leaves the processor.
const AWAY: u16 = 1 << 13;
/// In `misc` of a switch: the thread is preempted.
const PREEMPTED: u16 = 1 << 14;

/// Numbers from here on mark the kind of addresses that follow in a call chain.
const FIRST_MARK: u64 = -4095i64 as u64;
/// Addresses of the kernel follow.
const KERNEL_MARK: u64 = -128i64 as u64;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Occurrence {
    /// When, in ns of the monotonic clock.
    pub(super) time_ns: u64,
    /// The process.
    pub(super) process: u32,
    /// The thread.
    pub(super) thread: u32,
    /// What it was.
    pub(super) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A sample was taken.
    Sample(Sample),
    /// The thread left its processor.
    Left {
        /// Whether the thread was preempted.
        preempted: bool,
    },
    /// The thread came back to a processor.
    Returned,
    /// The process was created by another one, or the thread by its own process.
    Forked {
        /// The process that created it.
        parent: u32,
    },
    /// The thread ends. It leaves its processor for the last time soon after.
    Ended,
    /// The process executes another program.
    Executed,
    /// The process mapped a file with code.
    Mapped,
    /// The kernel had no room for as many records.
    Lost(u64),
}

/// Where a thread was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    /// How many events it represents.
    pub(super) weight: u64,
    /// Addresses in the kernel, from the innermost.
    pub(super) kernel: Vec<u64>,
    /// Registers in user mode; `None` for a thread without any.
    pub(super) registers: Option<Registers>,
    /// The stack from the stack pointer on.
    pub(super) stack: Vec<u8>,
}

/// Reads one record, without its header; `None` if it is not needed.
pub(super) fn parse(kind: u32, misc: u16, bytes: &[u8]) -> Option<Occurrence> {
    let mut fields = Fields(bytes);
    if kind == SAMPLE {
        let (process, thread) = fields.pair()?;
        let time_ns = fields.word()?;
        return Some(Occurrence { time_ns, process, thread, what: What::Sample(fields.sample()?) });
    }
    // Every other record ends with the process and the thread that caused it, and the time.
    let mut trailer = Fields(bytes.get(bytes.len().checked_sub(16)?..)?);
    let (mut process, mut thread) = trailer.pair()?;
    let time_ns = trailer.word()?;
    let what = match kind {
        SWITCH | SWITCH_OF_PROCESSOR if misc & AWAY != 0 => What::Left { preempted: misc & PREEMPTED != 0 },
        SWITCH | SWITCH_OF_PROCESSOR => What::Returned,
        COMMAND if misc & BY_EXECUTION != 0 => What::Executed,
        EXIT => What::Ended,
        MAP => What::Mapped,
        LOST => {
            fields.word()?;
            What::Lost(fields.word()?)
        }
        FORK => {
            let (child, parent) = fields.pair()?;
            let (child_thread, _) = fields.pair()?;
            (process, thread) = (child, child_thread);
            What::Forked { parent }
        }
        _ => return None,
    };
    Some(Occurrence { time_ns, process, thread, what })
}

/// The rest of a record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn word(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*head))
    }

    fn pair(&mut self) -> Option<(u32, u32)> {
        let (first, rest) = self.0.split_first_chunk()?;
        let (second, rest) = rest.split_first_chunk()?;
        self.0 = rest;
        Some((u32::from_ne_bytes(*first), u32::from_ne_bytes(*second)))
    }

    fn sample(&mut self) -> Option<Sample> {
        let weight = self.word()?;
        let length = self.word()?;
        let mut kernel = Vec::new();
        let mut is_of_kernel = false;
        for _ in 0..length {
            let address = self.word()?;
            if address >= FIRST_MARK {
                is_of_kernel = address == KERNEL_MARK;
            } else if is_of_kernel {
                kernel.push(address);
            }
        }
        let registers = match self.word()? {
            0 => None,
            form => {
                let values = [(); Registers::COUNT].map(|()| self.word());
                Registers::of(form, values)
            }
        };
        let size = usize::try_from(self.word()?).ok()?;
        let (stack, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        // The filled size follows only if there is any data.
        let filled = if size == 0 { 0 } else { usize::try_from(self.word()?).ok()? };
        Some(Sample { weight, kernel, registers, stack: stack.get(..filled)?.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn pair(first: u32, second: u32) -> u64 {
        let (first, second) = (first.to_ne_bytes(), second.to_ne_bytes());
        u64::from_ne_bytes([first, second].concat().try_into().unwrap())
    }

    #[test]
    fn a_sample_of_a_thread_without_user_registers() {
        let bytes = words(&[pair(7, 8), 99, 3, 4, KERNEL_MARK, 10, 11, KERNEL_MARK + 1, 0, 0]);
        let occurrence = parse(SAMPLE, 0, &bytes).unwrap();
        assert_eq!((occurrence.process, occurrence.thread, occurrence.time_ns), (7, 8, 99));
        let What::Sample(sample) = occurrence.what else { panic!() };
        assert_eq!(sample, Sample { weight: 3, kernel: vec![10, 11], registers: None, stack: vec![] });
    }

    #[test]
    fn a_sample_with_a_stack_that_is_half_filled() {
        let mut fields = vec![pair(7, 8), 99, 1, 0, 2];
        fields.extend([1; Registers::COUNT]);
        fields.extend([16, 5, 6, 8]);
        let What::Sample(sample) = parse(SAMPLE, 0, &words(&fields)).unwrap().what else { panic!() };
        assert!(sample.registers.is_some());
        assert_eq!(sample.stack, words(&[5]));
    }

    #[test]
    fn switches_forks_ends_and_losses() {
        let what = |kind, misc, fields: &[u64]| parse(kind, misc, &words(fields)).map(|it| it.what);
        assert_eq!(what(SWITCH, 0, &[pair(7, 8), 9]), Some(What::Returned));
        let away = what(SWITCH_OF_PROCESSOR, AWAY | PREEMPTED, &[pair(1, 1), pair(7, 8), 9]);
        assert_eq!(away, Some(What::Left { preempted: true }));
        assert_eq!(what(LOST, 0, &[1, 5, pair(7, 8), 9]), Some(What::Lost(5)));
        let ended = [pair(7, 7), pair(8, 8), 9, pair(7, 8), 9];
        assert_eq!(what(EXIT, 0, &ended), Some(What::Ended));
        let fork = |child, parent| {
            parse(FORK, 0, &words(&[pair(child, parent), pair(child, parent), 9, pair(1, 1), 9]))
        };
        let forked = fork(20, 10).unwrap();
        assert_eq!((forked.process, forked.what), (20, What::Forked { parent: 10 }));
        let thread = parse(FORK, 0, &words(&[pair(10, 10), pair(12, 11), 9, pair(10, 11), 9])).unwrap();
        assert_eq!((thread.process, thread.thread, thread.what), (10, 12, What::Forked { parent: 10 }));
        assert_eq!(what(COMMAND, 0, &[pair(7, 8), 0, pair(7, 8), 9]), None);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(kind in 0u32..20, misc: u16, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(kind, misc, &bytes);
        }
    }
}
