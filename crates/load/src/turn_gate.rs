//! Admits the events of one worker group during its turns.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a slice ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceEnd {
    /// A fixed time after it opened. Events that have begun by then finish and count.
    After(Duration),
    /// The same, and its events are counted.
    Counted(Duration),
    /// After this many events over all roles. Slices of steps that write are counted, so that the candidates' tables have the same age.
    Events(u64),
    /// After this time, even in the middle of an event: the server is suspended until the group's next turn. Without a server, the slice
    /// ends when the roles have nothing left to do.
    Cut(Duration),
}

/// How a worker group uses its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnKind {
    /// It works for as long as it is allowed to; its speed is measured.
    Slices,
    /// It runs a step to its end, with pauses in between: its clock stands still during the turns of others.
    Chunks,
}

/// One turn of a worker group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Counted from 1.
    number: u64,
    /// From when on events count; `None` if none counts.
    pub(crate) opens: Option<Instant>,
    /// The number of the sessions in which it is worked.
    pub(crate) session: u32,
}

/// Tells the threads of one worker group when it is their turn.
///
/// During a slice, a role only compares the clock with one number that nobody writes.
#[derive(Debug)]
pub(crate) struct TurnGate {
    pub(crate) kind: TurnKind,
    /// Number of threads that take part.
    threads: usize,
    base: Instant,
    /// When events stop beginning, ns after `base`.
    ends_ns: AtomicU64,
    /// Events that may still begin, in a slice that counts them.
    events_left: AtomicU64,
    /// Total time of the turns of others, ns.
    paused_ns: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    turn: Turn,
    /// Threads that wait for the next turn.
    waiting: usize,
    /// Threads that have nothing left to do.
    gone: usize,
    /// Since when all threads are at rest.
    rested: Option<Instant>,
    is_over: bool,
}

impl State {
    /// Records that a thread has come to rest.
    fn look(&mut self, threads: usize) {
        if self.waiting + self.gone >= threads {
            self.rested.get_or_insert_with(Instant::now);
        }
    }
}

/// The number of events of a slice that does not count them.
const UNLIMITED: u64 = u64::MAX;
/// The number of events of a slice that counts them but ends by the clock: more than it can reach.
const PLENTY: u64 = u64::MAX - 1;
/// The end of a slice that does not end by the clock.
const NEVER: u64 = u64::MAX;

impl TurnGate {
    /// A gate for this many threads. It starts closed.
    pub(crate) fn new(kind: TurnKind, threads: usize, base: Instant) -> Self {
        let turn = Turn { number: 0, opens: None, session: 0 };
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

    /// Total time of the turns of others so far. It changes only while all threads are at rest or the server is suspended.
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

    /// Waits until the turn after `last` begins; `None` when there are no more turns. All roles of the calling thread must be between
    /// events.
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

    /// Records that a thread has nothing left to do.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        state.gone += 1;
        state.look(self.threads);
        self.changed.notify_all();
    }

    /// Whether all threads have nothing left to do.
    pub(crate) fn is_finished(&self) -> bool {
        self.state().gone >= self.threads
    }

    /// How long the last turn took, from `began` until all threads were at rest.
    pub(crate) fn worked(&self, began: Instant) -> Duration {
        self.end_of_last(&self.state()).saturating_duration_since(began)
    }

    /// When the last turn was over. A thread that rests early because nothing is due still uses its full time.
    fn end_of_last(&self, state: &State) -> Instant {
        let rested = state.rested.unwrap_or_else(Instant::now);
        match self.ends_ns.load(Ordering::Relaxed) {
            ends_ns if ends_ns == NEVER || state.gone >= self.threads => rested,
            ends_ns => rested.max(self.base + Duration::from_nanos(ends_ns)),
        }
    }

    /// Opens the gate for the sessions of this number until the slice ends. Events count from `from` on. Every thread must be waiting.
    pub(crate) fn begin(&self, session: u32, from: Option<Instant>, end: SliceEnd) {
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
        state.turn = Turn { number: state.turn.number + 1, opens: from, session };
        state.waiting = 0;
        state.look(self.threads);
        self.changed.notify_all();
    }

    /// Interrupts the turn at `now`: the server is suspended, and with it every role that waits for it.
    pub(crate) fn cut(&self, now: Instant) {
        self.state().rested.get_or_insert(now);
    }

    /// Continues an interrupted turn. It must be called before the server resumes, because the response times depend on it.
    pub(crate) fn resume(&self) {
        let mut state = self.state();
        self.add_pause(&mut state, Instant::now());
        state.look(self.threads);
    }

    /// Records that the group's clock stood still until `now`.
    fn add_pause(&self, state: &mut State, now: Instant) {
        let pause = now.saturating_duration_since(self.end_of_last(state));
        self.paused_ns.fetch_add(pause.as_nanos() as u64, Ordering::Relaxed);
        state.rested = None;
    }

    /// Events that began in a slice that counts them but ends by the clock.
    pub(crate) fn counted(&self) -> u64 {
        PLENTY - self.events_left.load(Ordering::Relaxed).min(PLENTY)
    }

    /// Waits at most `patience`, and returns whether all threads are at rest.
    pub(crate) fn is_idle(&self, patience: Duration) -> bool {
        let state = self.state();
        let busy = |state: &mut State| state.waiting + state.gone < self.threads;
        let (state, _) =
            self.changed.wait_timeout_while(state, patience, busy).unwrap_or_else(PoisonError::into_inner);
        state.waiting + state.gone >= self.threads
    }

    /// Closes the gate for good.
    pub(crate) fn end(&self) {
        self.ends_ns.store(0, Ordering::Relaxed);
        self.state().is_over = true;
        self.changed.notify_all();
    }
}

/// Who gives the turns of a gate. The gate closes when it is dropped, so that no thread waits for the turn of a giver that panicked.
#[derive(Debug)]
pub(crate) struct TurnGiver<'a>(pub(crate) &'a TurnGate);

impl Deref for TurnGiver<'_> {
    type Target = TurnGate;

    fn deref(&self) -> &TurnGate {
        self.0
    }
}

impl Drop for TurnGiver<'_> {
    fn drop(&mut self) {
        self.end();
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
        turns.begin(0, Some(now), SliceEnd::After(Duration::from_millis(30)));
        assert!(turns.admits(now + Duration::from_millis(29)));
        assert!(!turns.admits(now + Duration::from_millis(30)));
        turns.begin(0, Some(now), SliceEnd::Events(2));
        let admitted: Vec<bool> = (0..4).map(|_| turns.admits(now)).collect();
        assert_eq!(admitted, [true, true, false, false]);
        turns.begin(0, Some(now), SliceEnd::Counted(Duration::from_millis(30)));
        assert!(turns.admits(now) && turns.admits(now) && !turns.admits(now + Duration::from_millis(30)));
        assert_eq!(turns.counted(), 2);
        turns.end();
        assert!(!turns.admits(now));
    }

    #[test]
    fn the_clock_of_a_crew_stands_still_between_its_turns() {
        let base = Instant::now();
        let turns = TurnGate::new(TurnKind::Chunks, 1, base);
        let (slice, pause) = (Duration::from_millis(20), Duration::from_millis(60));
        // How long it took from the beginning of a slice until its pause was known.
        let mut delay = Duration::ZERO;
        thread::scope(|scope| {
            let giver = TurnGiver(&turns);
            scope.spawn(|| {
                let mut last = None;
                while let Some(turn) = turns.wait(last) {
                    last = Some(turn);
                }
                turns.leave();
            });
            for number in 1..=2 {
                assert!(giver.is_idle(PATIENCE) && !giver.is_finished());
                thread::sleep(pause);
                let began = Instant::now();
                giver.begin(0, Some(began), SliceEnd::After(slice));
                delay += began.elapsed();
                assert!(giver.is_idle(PATIENCE));
                assert!(giver.worked(began) >= slice, "it rests early, and has its time all the same");
                // The first pause began with the group, the second with the end of the slice before.
                assert!(giver.paused() >= pause * number - slice * (number - 1));
                assert!(giver.paused() + slice * (number - 1) <= base.elapsed() + delay);
            }
        });
        assert!(turns.is_finished());
    }

    #[test]
    fn every_team_takes_every_turn_once_until_there_is_none() {
        let turns = TurnGate::new(TurnKind::Slices, 3, Instant::now());
        let result = AtomicUsize::new(0);
        thread::scope(|scope| {
            let giver = TurnGiver(&turns);
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
                assert!(giver.is_idle(PATIENCE));
                assert_eq!(result.load(Ordering::Relaxed), 3 * turn);
                giver.begin(0, None, SliceEnd::Events(0));
            }
            assert!(giver.is_idle(PATIENCE));
        });
        assert_eq!(result.into_inner(), 300);
    }
}
