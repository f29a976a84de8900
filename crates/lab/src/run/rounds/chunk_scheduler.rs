//! Which candidate runs next in a step that has an end, and which chunk of it.

use std::collections::VecDeque;
use std::time::Duration;

use basecase_load::{SliceEnd, SliceResult, SliceSpec};
use basecase_stats::Orders;
use basecase_workload::Chunk;

use crate::request::Timing;

/// A chunk of a step whose writers keep a rate. They write once in a second: every other chunk has some of it.
const TIME: Duration = Duration::from_millis(500);

/// A chunk of a step that cannot rest, whose statements take seconds.
const CUT: Duration = Duration::from_millis(100);

/// Decides after each chunk which one comes next.
///
/// Candidates go through a step in lock-step, so that whatever the machine does hits all of them alike, and their tables are equally old.
/// The step is never cut: each candidate begins a chunk with what its own last one left, while the others are suspended.
pub(crate) struct ChunkScheduler {
    orders: Orders,
    /// What tells its orders from those of other steps and rounds.
    name: String,
    chunk: Chunk,
    timing: Timing,
    /// By candidate.
    is_done: Vec<bool>,
    passes: u32,
    specs: VecDeque<usize>,
}

impl ChunkScheduler {
    pub(crate) fn new(orders: Orders, name: String, candidates: usize, chunk: Chunk, timing: Timing) -> Self {
        let is_done = vec![false; candidates];
        ChunkScheduler { orders, name, chunk, timing, is_done, passes: 0, specs: VecDeque::new() }
    }

    /// The next chunk after `result`; `None` when all candidates are done.
    pub(crate) fn next(&mut self, result: Option<&SliceResult>) -> Option<SliceSpec> {
        if let Some(result) = result.filter(|result| result.is_last) {
            self.is_done[result.spec.runner] = true;
        }
        if self.is_done.iter().all(|is_done| *is_done) {
            return None;
        }
        loop {
            if self.specs.is_empty() {
                self.specs.extend(self.orders.pass(&self.name, self.passes as usize, self.is_done.len()));
                self.passes += 1;
            }
            let runner = self.specs.pop_front()?;
            if self.is_done[runner] {
                continue;
            }
            let (end, is_kept) = match self.chunk {
                Chunk::Whole => (SliceEnd::Cut(self.timing.of(CUT)), false),
                Chunk::Rounds(rounds) => (SliceEnd::Events(rounds), true),
                Chunk::Time => (SliceEnd::After(TIME), true),
            };
            let pass = is_kept.then(|| self.passes - 1);
            return Some(SliceSpec { runner, session: 0, pass, settle: Duration::ZERO, end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has his turn when; each has so many chunks, and comes to its end in one more.
    fn turns(chunk: Chunk, each: &[usize]) -> Vec<(usize, Option<u32>)> {
        let mut chunks =
            ChunkScheduler::new(Orders::new(7), "step".into(), each.len(), chunk, Timing::ORDINARY);
        let mut result: Option<SliceResult> = None;
        let mut turns: Vec<(usize, Option<u32>)> = Vec::new();
        while let Some(spec) = chunks.next(result.as_ref()) {
            turns.push((spec.runner, spec.pass));
            let count = turns.iter().filter(|turn| turn.0 == spec.runner).count();
            result = Some(SliceResult {
                spec,
                operations: 1,
                events: 0,
                time: TIME,
                others_cpu_us: None,
                is_last: count == each[spec.runner],
            });
        }
        turns
    }

    #[test]
    fn candidates_take_turns_there_and_back_until_each_is_done() {
        let all = turns(Chunk::Rounds(10), &[6, 6]);
        let runners: Vec<usize> = all.iter().map(|turn| turn.0).collect();
        assert_eq!(all.len(), 12);
        assert!(runners.chunks(4).all(|pass| pass == [0, 1, 1, 0] || pass == [1, 0, 0, 1]), "{runners:?}");
        assert_eq!(all.last().unwrap().1, Some(2));
        let uneven = turns(Chunk::Time, &[2, 9]);
        assert_eq!(uneven.iter().filter(|turn| turn.0 == 1).count(), 9);
        let whole = turns(Chunk::Whole, &[1, 1]);
        assert_eq!((whole.len(), whole[0].1), (2, None));
    }
}
