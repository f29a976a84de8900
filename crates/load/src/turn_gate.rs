//! Worker groups that take turns: when the roles of one of them may work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a slice ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceEnd {
    /// So long after it opened. What has begun by then is finished and counts.
    After(Duration),
    /// As that, and its events are counted.
    Counted(Duration),
    /// With so many events over all roles. Slices of steps that write are counted, so that candidates have equally old tables.
    Events(u64),
    /// After so long, in the midst of what the roles do: their server stands still until their next turn. Of a database without
    /// a server, when the roles have nothing left to do.
    Cut(Duration),
}

/// What a worker group does with its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnKind {
    /// It works for as long as it is let: what counts is how fast.
    Slices,
    /// It does a step to its end, with pauses in between: its clock stands still while others have their turns.
    Portions,
}

/// One turn of a worker group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Counted from 1.
    number: u64,
    /// From when on events count; `None` when none does.
    pub(crate) opens: Option<Instant>,
}

/// Tells the threads of one worker group when it is their turn.
///
/// While a slice lasts, a role only compares the clock with one number that nobody writes.
#[derive(Debug)]
pub(crate) struct TurnGate {
    pub(crate) kind: TurnKind,
    /// Teams that take part.
    threads: usize,
    base: Instant,
    /// From when on no event begins, ns after `base`.
    ends_ns: AtomicU64,
    /// Events that may still begin, of a slice that counts them.
    events_left: AtomicU64,
    /// How long others had their turns so far, ns.
    paused_ns: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    turn: Turn,
    /// Teams that wait for the next turn.
    waiting: usize,
    /// Teams that have nothing left to do.
    gone: usize,
    /// Since when all threads are at rest.
    rested: Option<Instant>,
    is_over: bool,
}

impl State {
    /// Takes in that a thread has come to rest.
    fn look(&mut self, threads: usize) {
        if self.waiting + self.gone >= threads {
            self.rested.get_or_insert_with(Instant::now);
        }
    }
}

/// Events of a slice that does not count them.
const UNLIMITED: u64 = u64::MAX;
/// Events of a slice that counts them and ends by the clock: more than there can be.
const PLENTY: u64 = u64::MAX - 1;
/// The end of a slice that the clock does not end.
const NEVER: u64 = u64::MAX;

impl TurnGate {
    /// Of so many threads. Nobody's turn yet.
    pub(crate) fn new(kind: TurnKind, threads: usize, base: Instant) -> Self {
        let turn = Turn { number: 0, opens: None };
        TurnGate {
            kind,
            threads,
            base,
            ends_ns: AtomicU64::new(0),
            events_left: AtomicU64::new(UNLIMITED),
            paused_ns: AtomicU64::new(0),
            state: Mutex::new(State { turn, waiting: 0, gone: 0, rested: Some(base), is_over: false }),
            changed: Condvar::new(),
        }
    }

    /// How long others had their turns so far. Changes only while all threads are at rest, or their server stands still.
    pub(crate) fn paused(&self) -> Duration {
        Duration::from_nanos(self.paused_ns.load(Ordering::Relaxed))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an event may begin at `now`.
    #[inline]
    pub(crate) fn admits(&self, now: Instant) -> bool {
        let now_ns = now.saturating_duration_since(self.base).as_nanos() as u64;
        if now_ns >= self.ends_ns.load(Ordering::Relaxed) {
            return false;
        }
        let left = &self.events_left;
        left.load(Ordering::Relaxed) == UNLIMITED
            || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Waits until the turn after `last` begins; `None` when there is none. All roles of the calling thread must be between events.
    pub(crate) fn wait(&self, last: Option<Turn>) -> Option<Turn> {
        let last = last.map_or(0, |turn| turn.number);
        let mut state = self.state();
        state.waiting += 1;
        state.look(self.threads);
        self.changed.notify_all();
        while state.turn.number == last && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.is_over).then_some(state.turn)
    }

    /// Takes in that a thread has nothing left to do.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        state.gone += 1;
        state.look(self.threads);
        self.changed.notify_all();
    }

    /// Whether no thread has anything left to do.
    pub(crate) fn is_finished(&self) -> bool {
        self.state().gone >= self.threads
    }

    /// How long the last turn lasted that began at `began`: until all threads were at rest.
    pub(crate) fn worked(&self, began: Instant) -> Duration {
        self.end_of_last(&self.state()).saturating_duration_since(began)
    }

    /// When the last turn was over. Teams that rest early, because nothing is due, have their time all the same.
    fn end_of_last(&self, state: &State) -> Instant {
        let rested = state.rested.unwrap_or_else(Instant::now);
        match self.ends_ns.load(Ordering::Relaxed) {
            ends_ns if ends_ns == NEVER || state.gone >= self.threads => rested,
            ends_ns => rested.max(self.base + Duration::from_nanos(ends_ns)),
        }
    }

    /// Lets the worker group work until the slice ends. Events count `from` on. Every thread must wait.
    pub(crate) fn begin(&self, from: Option<Instant>, end: SliceEnd) {
        let mut state = self.state();
        let now = Instant::now();
        self.add_pause(&mut state, now);
        let ends_ns = |time| {
            let ends = from.unwrap_or(now) + time;
            ends.saturating_duration_since(self.base).as_nanos() as u64
        };
        let (ends_ns, events) = match end {
            SliceEnd::After(time) => (ends_ns(time), UNLIMITED),
            SliceEnd::Counted(time) => (ends_ns(time), PLENTY),
            SliceEnd::Events(events) => (NEVER, events),
            SliceEnd::Cut(_) => (NEVER, UNLIMITED),
        };
        self.ends_ns.store(ends_ns, Ordering::Relaxed);
        self.events_left.store(events, Ordering::Relaxed);
        state.turn = Turn { number: state.turn.number + 1, opens: from };
        state.waiting = 0;
        state.look(self.threads);
        self.changed.notify_all();
    }

    /// Cuts the turn short at `now`: the server stands still, and with it whoever waits for it.
    pub(crate) fn cut(&self, now: Instant) {
        self.state().rested.get_or_insert(now);
    }

    /// Goes on with a turn that was cut short. Must be called before the server goes on, for it is what answers are timed by.
    pub(crate) fn resume(&self) {
        let mut state = self.state();
        self.add_pause(&mut state, Instant::now());
        state.look(self.threads);
    }

    /// Takes in that the worker group's clock stood still until `now`.
    fn add_pause(&self, state: &mut State, now: Instant) {
        let pause = now.saturating_duration_since(self.end_of_last(state));
        self.paused_ns.fetch_add(pause.as_nanos() as u64, Ordering::Relaxed);
        state.rested = None;
    }

    /// Events that began in a slice that counts them and ended by the clock.
    pub(crate) fn counted(&self) -> u64 {
        PLENTY - self.events_left.load(Ordering::Relaxed).min(PLENTY)
    }

    /// Whether all threads are at rest, after at most `patience`.
    pub(crate) fn is_idle(&self, patience: Duration) -> bool {
        let state = self.state();
        let busy = |state: &mut State| state.waiting + state.gone < self.threads;
        let (state, _) =
            self.changed.wait_timeout_while(state, patience, busy).unwrap_or_else(PoisonError::into_inner);
        state.waiting + state.gone >= self.threads
    }

    /// No turn comes any more.
    pub(crate) fn end(&self) {
        self.ends_ns.store(0, Ordering::Relaxed);
        self.state().is_over = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_slice_ends_with_its_time_or_its_events() {
        let now = Instant::now();
        let turns = TurnGate::new(TurnKind::Slices, 1, now);
        assert!(!turns.admits(now));
        turns.begin(Some(now), SliceEnd::After(Duration::from_millis(30)));
        assert!(turns.admits(now + Duration::from_millis(29)));
        assert!(!turns.admits(now + Duration::from_millis(30)));
        turns.begin(Some(now), SliceEnd::Events(2));
        let admitted: Vec<bool> = (0..4).map(|_| turns.admits(now)).collect();
        assert_eq!(admitted, [true, true, false, false]);
        turns.begin(Some(now), SliceEnd::Counted(Duration::from_millis(30)));
        assert!(turns.admits(now) && turns.admits(now) && !turns.admits(now + Duration::from_millis(30)));
        assert_eq!(turns.counted(), 2);
        turns.end();
        assert!(!turns.admits(now));
    }

    #[test]
    fn the_clock_of_a_crew_stands_still_between_its_turns() {
        let base = Instant::now();
        let turns = TurnGate::new(TurnKind::Portions, 1, base);
        let (slice, pause) = (Duration::from_millis(20), Duration::from_millis(60));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut last = None;
                while let Some(turn) = turns.wait(last) {
                    last = Some(turn);
                }
                turns.leave();
            });
            for number in 1..=2 {
                assert!(turns.is_idle(PATIENCE) && !turns.is_finished());
                thread::sleep(pause);
                let began = Instant::now();
                turns.begin(Some(began), SliceEnd::After(slice));
                assert!(turns.is_idle(PATIENCE));
                assert!(turns.worked(began) >= slice, "it rests early, and has its time all the same");
                // The first began with the worker group, the second with the end of the slice before.
                assert!(turns.paused() >= pause * number - slice * (number - 1));
                assert!(turns.paused() + slice * (number - 1) <= base.elapsed());
            }
            turns.end();
        });
        assert!(turns.is_finished());
    }

    #[test]
    fn every_team_takes_every_turn_once_until_there_is_none() {
        let turns = TurnGate::new(TurnKind::Slices, 3, Instant::now());
        let result = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = None;
                    while let Some(turn) = turns.wait(last) {
                        last = Some(turn);
                        result.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for turn in 0..100 {
                assert!(turns.is_idle(PATIENCE));
                assert_eq!(result.load(Ordering::Relaxed), 3 * turn);
                turns.begin(None, SliceEnd::Events(0));
            }
            assert!(turns.is_idle(PATIENCE));
            turns.end();
        });
        assert_eq!(result.into_inner(), 300);
    }
}
