//! Crews that take turns: when the roles of one of them may work.

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
}

/// One turn of a crew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Counted from 1.
    number: u64,
    /// From when on events count; `None` when none does.
    pub(crate) opens: Option<Instant>,
}

/// Tells the teams of one crew when it is their turn.
///
/// While a slice lasts, a role only compares the clock with one number that nobody writes.
#[derive(Debug)]
pub(crate) struct Turns {
    base: Instant,
    /// From when on no event begins, ns after `base`.
    ends_ns: AtomicU64,
    /// Events that may still begin, of a slice that counts them.
    events_left: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    turn: Turn,
    /// Teams that wait for the next turn.
    waiting: usize,
    is_over: bool,
}

/// Events of a slice that does not count them.
const UNLIMITED: u64 = u64::MAX;
/// Events of a slice that counts them and ends by the clock: more than there can be.
const PLENTY: u64 = u64::MAX - 1;

impl Turns {
    /// Nobody's turn yet.
    pub(crate) fn new() -> Self {
        let turn = Turn { number: 0, opens: None };
        Turns {
            base: Instant::now(),
            ends_ns: AtomicU64::new(0),
            events_left: AtomicU64::new(UNLIMITED),
            state: Mutex::new(State { turn, waiting: 0, is_over: false }),
            changed: Condvar::new(),
        }
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

    /// Waits until the turn after `last` begins; `None` when there is none. All roles of the calling team must be between events.
    pub(crate) fn wait(&self, last: Option<Turn>) -> Option<Turn> {
        let last = last.map_or(0, |turn| turn.number);
        let mut state = self.state();
        state.waiting += 1;
        self.changed.notify_all();
        while state.turn.number == last && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.is_over).then_some(state.turn)
    }

    /// Lets the crew work until the slice ends. Events count `from` on. Every team must wait.
    pub(crate) fn begin(&self, from: Option<Instant>, end: SliceEnd) {
        let mut state = self.state();
        let ends_ns = |time| {
            let ends = from.unwrap_or_else(Instant::now) + time;
            ends.saturating_duration_since(self.base).as_nanos() as u64
        };
        let (ends_ns, events) = match end {
            SliceEnd::After(time) => (ends_ns(time), UNLIMITED),
            SliceEnd::Counted(time) => (ends_ns(time), PLENTY),
            SliceEnd::Events(events) => (u64::MAX, events),
        };
        self.ends_ns.store(ends_ns, Ordering::Relaxed);
        self.events_left.store(events, Ordering::Relaxed);
        state.turn = Turn { number: state.turn.number + 1, opens: from };
        state.waiting = 0;
        self.changed.notify_all();
    }

    /// Events that began in a slice that counts them and ended by the clock.
    pub(crate) fn counted(&self) -> u64 {
        PLENTY - self.events_left.load(Ordering::Relaxed).min(PLENTY)
    }

    /// Whether all of so many teams wait, after at most `patience`.
    pub(crate) fn is_idle(&self, teams: usize, patience: Duration) -> bool {
        let state = self.state();
        let busy = |state: &mut State| state.waiting < teams;
        let (state, _) =
            self.changed.wait_timeout_while(state, patience, busy).unwrap_or_else(PoisonError::into_inner);
        state.waiting >= teams
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
        let turns = Turns::new();
        let now = Instant::now();
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
    fn every_team_takes_every_turn_once_until_there_is_none() {
        let turns = Turns::new();
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = None;
                    while let Some(turn) = turns.wait(last) {
                        last = Some(turn);
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for turn in 0..100 {
                assert!(turns.is_idle(3, PATIENCE));
                assert_eq!(taken.load(Ordering::Relaxed), 3 * turn);
                turns.begin(None, SliceEnd::Events(0));
            }
            assert!(turns.is_idle(3, PATIENCE));
            turns.end();
        });
        assert_eq!(taken.into_inner(), 300);
    }
}
