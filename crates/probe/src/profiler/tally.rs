//! Counts how often, or how long, threads were in each stack.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use basecase_model::ProfileKind;
use framehop::{CacheNative, MayAllocateDuringUnwind};

use super::family::Family;
use super::frame::Frame;
use super::record::{Occurrence, Sample, What};

/// Where a thread was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Stack {
    /// The name of its process.
    pub(super) command: Arc<str>,
    /// Its frames from the innermost.
    pub(super) frames: Vec<Frame>,
}

/// A thread as it leaves the processors and comes back.
///
/// How long it was away is known every time, but its stack only sometimes, because sampling a stack is expensive. The known
/// stacks are extrapolated to all of the time.
#[derive(Default)]
struct Absence {
    left_ns: Option<u64>,
    total_ns: u64,
    /// The stack that it left from this time, and how many departures that represents; mostly unknown.
    place: Option<(Stack, u64)>,
    /// The nanoseconds of the known departures, each weighted by how many it represents.
    places: HashMap<Stack, u64>,
}

impl Absence {
    fn end(&mut self, now_ns: u64) {
        let place = self.place.take();
        let Some(left_ns) = self.left_ns.take() else { return };
        let away_ns = now_ns.saturating_sub(left_ns);
        self.total_ns += away_ns;
        if let Some((stack, weight)) = place {
            add(&mut self.places, stack, away_ns.saturating_mul(weight));
        }
    }

    /// All its time off the processors, by the stack that it left from.
    fn spread(self, command: &Arc<str>) -> Vec<(Stack, u64)> {
        let known: u64 = self.places.values().fold(0, |sum, time_ns| sum.saturating_add(*time_ns));
        if known == 0 {
            return vec![(
                Stack { command: Arc::clone(command), frames: vec![Frame::NotSampled] },
                self.total_ns,
            )];
        }
        let factor = self.total_ns as f64 / known as f64;
        self.places.into_iter().map(|(stack, time_ns)| (stack, (time_ns as f64 * factor) as u64)).collect()
    }
}

/// The counts of one kind.
pub(super) struct Tally {
    kind: ProfileKind,
    /// Samples, or nanoseconds off the processors, of each stack.
    pub(super) stacks: HashMap<Stack, u64>,
    /// The number of samples of the tree.
    pub(super) samples: u64,
    /// Records that the kernel dropped.
    pub(super) lost: u64,
    /// Threads by their ids and the names of their processes, because ids are reused.
    absences: HashMap<(u32, Arc<str>), Absence>,
    /// Threads that have ended, until their ids are reused. They still leave their processors: when they are preempted, and
    /// for the last time.
    ended: HashSet<u32>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl Tally {
    /// Nothing counted yet.
    pub(super) fn new(kind: ProfileKind) -> Self {
        Tally {
            kind,
            stacks: HashMap::new(),
            samples: 0,
            lost: 0,
            absences: HashMap::new(),
            ended: HashSet::new(),
            cache: CacheNative::new(),
        }
    }

    /// Counts a record. Records must come in time order.
    pub(super) fn count(&mut self, occurrence: Occurrence, family: &mut Family) {
        let Occurrence { time_ns, process, thread, what } = occurrence;
        if let What::Lost(records) = what {
            self.lost += records;
        }
        let Some(command) = family.command(process).map(Arc::clone) else { return };
        match (what, self.kind) {
            (What::Sample(sample), ProfileKind::Cpu) => {
                self.samples += 1;
                let stack = self.stack(process, command, &sample, family);
                add(&mut self.stacks, stack, 1);
            }
            (What::Sample(sample), ProfileKind::OffCpu) => {
                self.samples += 1;
                let stack = self.stack(process, Arc::clone(&command), &sample, family);
                self.absence(thread, command).place = Some((stack, sample.weight.max(1)));
            }
            (What::Left { preempted }, _) => {
                let has_ended = self.ended.contains(&thread);
                let absence = self.absence(thread, command);
                absence.left_ns = (!has_ended).then_some(time_ns);
                if let Some((stack, _)) = absence.place.as_mut().filter(|_| preempted) {
                    stack.frames.insert(0, Frame::Preempted);
                }
            }
            (What::Returned, _) => self.absence(thread, command).end(time_ns),
            (What::Ended, _) => drop(self.ended.insert(thread)),
            (What::Forked { .. }, _) => drop(self.ended.remove(&thread)),
            (What::Lost(_) | What::Executed | What::Mapped, _) => {}
        }
    }

    /// Counts the time of threads that have not come back until `now_ns`.
    pub(super) fn finish(&mut self, now_ns: u64) {
        for ((_, command), mut absence) in std::mem::take(&mut self.absences) {
            absence.end(now_ns);
            for (stack, time_ns) in absence.spread(&command) {
                add(&mut self.stacks, stack, time_ns);
            }
        }
    }

    fn absence(&mut self, thread: u32, command: Arc<str>) -> &mut Absence {
        self.absences.entry((thread, command)).or_default()
    }

    fn stack(&mut self, process: u32, command: Arc<str>, sample: &Sample, family: &mut Family) -> Stack {
        let mut frames: Vec<Frame> = Vec::with_capacity(64);
        // A return address may already lie in the next function.
        let exact = |(index, address): (usize, &u64)| Frame::Kernel(address - u64::from(index > 0));
        frames.extend(sample.kernel.iter().enumerate().map(exact));
        if let Some(space) = family.space(process) {
            space.unwind(sample, &mut self.cache, &mut frames);
        }
        Stack { command, frames }
    }
}

fn add(stacks: &mut HashMap<Stack, u64>, stack: Stack, amount: u64) {
    let counted = stacks.entry(stack).or_insert(0);
    *counted = counted.saturating_add(amount);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happened to this very process.
    fn at(time_ns: u64, what: What) -> Occurrence {
        Occurrence { time_ns, process: std::process::id(), thread: 5, what }
    }

    fn sample(weight: u64, kernel: Vec<u64>) -> What {
        What::Sample(Sample { weight, kernel, registers: None, stack: Vec::new() })
    }

    fn counted(tally: &Tally) -> Vec<(Vec<Frame>, u64)> {
        let mut all: Vec<_> =
            tally.stacks.iter().map(|(stack, count)| (stack.frames.clone(), *count)).collect();
        all.sort_by_key(|(_, count)| *count);
        all
    }

    #[test]
    fn samples_of_one_place_are_added_and_those_of_others_left_out() {
        let mut family = Family::of(std::process::id());
        let mut tally = Tally::new(ProfileKind::Cpu);
        tally.count(at(1, sample(1, vec![100, 200])), &mut family);
        tally.count(at(2, sample(1, vec![100, 200])), &mut family);
        tally.count(Occurrence { process: 1 << 23, ..at(3, sample(1, vec![100])) }, &mut family);
        tally.count(at(4, What::Lost(7)), &mut family);
        assert_eq!(counted(&tally), [(vec![Frame::Kernel(100), Frame::Kernel(199)], 2)]);
        assert_eq!((tally.samples, tally.lost), (2, 7));
    }

    #[test]
    fn time_off_the_processors_counts_where_the_thread_left() {
        let mut family = Family::of(std::process::id());
        let mut tally = Tally::new(ProfileKind::OffCpu);
        let happened = [
            at(1_000, What::Returned),
            at(2_000, sample(1, vec![100])),
            at(2_000, What::Left { preempted: false }),
            at(5_000, What::Returned),
            at(8_000, sample(2, vec![100])),
            at(8_000, What::Left { preempted: true }),
            at(8_500, What::Returned),
            at(10_000, sample(1, vec![300])),
            at(10_000, What::Left { preempted: false }),
            at(10_500, What::Returned),
            at(10_600, What::Ended),
            at(10_700, sample(1, vec![400])),
            at(10_700, What::Left { preempted: true }),
            at(10_800, What::Returned),
            at(10_900, What::Left { preempted: false }),
            // Its id is reused.
            at(11_000, What::Forked { parent: std::process::id() }),
            at(11_500, sample(1, vec![300])),
            at(11_500, What::Left { preempted: false }),
            at(12_250, What::Returned),
        ];
        happened.into_iter().for_each(|occurrence| tally.count(occurrence, &mut family));
        // Only the time of the departure is known.
        let mut unknown = Tally::new(ProfileKind::OffCpu);
        unknown.count(at(1_000, What::Left { preempted: false }), &mut family);
        unknown.finish(3_250);
        tally.finish(20_000);
        assert_eq!(counted(&unknown), [(vec![Frame::NotSampled], 2_250)]);
        let known = [
            (vec![Frame::Preempted, Frame::Kernel(100)], 1_000.0),
            (vec![Frame::Kernel(300)], 1_250.0),
            (vec![Frame::Kernel(100)], 3_000.0),
        ];
        let expected = known.map(|(frames, time_ns)| (frames, (time_ns * 4_750.0 / 5_250.0) as u64));
        assert_eq!(counted(&tally), expected);
    }
}
