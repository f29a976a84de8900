//! When the window opens and closes, and which events may begin.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use basecase_workload::Window;

use crate::arrivals::Arrivals;
use crate::turn_gate::{TurnGate, TurnKind};

/// How long events under way may take to end once the window has closed, at least. On long windows they have a tenth of it.
const EVENT_GRACE: Duration = Duration::from_secs(2);

/// A window on the clock.
pub(crate) struct Schedule {
    /// When the window opens; for a group that takes turns, when its roles are started.
    pub(crate) origin: Instant,
    closes: Option<Instant>,
    /// From when on events that are under way are broken off.
    breaks_off: Option<Instant>,
    events_left: Option<AtomicU64>,
    arrivals: Option<Arrivals>,
    turns: Option<TurnGate>,
}

/// Whether an event may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may begin at once.
    Now,
    /// It may begin at this instant.
    At(Instant),
    /// Not before the group's next turn.
    Later,
    /// No more events begin.
    Closed,
}

impl Schedule {
    /// The schedule of roles that start at `start`.
    pub(crate) fn new(window: &Window, start: Instant) -> Self {
        let origin = start + window.warm_up;
        Schedule {
            origin,
            closes: window.time.map(|time| origin + time),
            breaks_off: window.time.map(|time| origin + time + EVENT_GRACE.max(time / 10)),
            events_left: window.events.map(AtomicU64::new),
            arrivals: window.events_per_second.map(|rate| Arrivals::new(rate, start)),
            turns: None,
        }
    }

    /// The schedule of a worker group with this many turn-taking threads.
    pub(crate) fn in_turns(kind: TurnKind, threads: usize) -> Self {
        let origin = Instant::now();
        let turns = Some(TurnGate::new(kind, threads, origin));
        Schedule { origin, closes: None, breaks_off: None, events_left: None, arrivals: None, turns }
    }

    /// The turn gate of a group that runs a step to its end in chunks.
    pub(crate) fn chunks(&self) -> Option<&TurnGate> {
        self.turns.as_ref().filter(|turns| turns.kind == TurnKind::Chunks)
    }

    /// The turn gate of the group, if it takes turns.
    pub(crate) fn turns(&self) -> Option<&TurnGate> {
        self.turns.as_ref()
    }

    /// Whether an event that is under way at `now` is broken off: the window closed a while ago.
    #[inline]
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.breaks_off.is_some_and(|breaks_off| now >= breaks_off)
    }

    /// Asks for the next event, at `now`.
    #[inline]
    pub(crate) fn admit(&self, now: Instant) -> Admission {
        if let Some(turns) = &self.turns {
            return if turns.admits(now) { Admission::Now } else { Admission::Later };
        }
        let is_closed = |instant| self.closes.is_some_and(|closes| instant >= closes);
        if is_closed(now) {
            return Admission::Closed;
        }
        // Events before the window opens do not count towards the limit.
        if let Some(left) = self.events_left.as_ref().filter(|_| now >= self.origin)
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        {
            return Admission::Closed;
        }
        match &self.arrivals {
            None => Admission::Now,
            Some(arrivals) => {
                let instant = arrivals.next();
                if is_closed(instant) { Admission::Closed } else { Admission::At(instant) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn time_counts_from_the_opening() {
        let start = Instant::now();
        let window = Window { warm_up: SECOND, time: Some(2 * SECOND), ..Window::default() };
        let schedule = Schedule::new(&window, start);
        assert_eq!(schedule.origin, start + SECOND);
        assert_eq!(schedule.admit(start), Admission::Now);
        assert_eq!(schedule.admit(start + 3 * SECOND - Duration::from_nanos(1)), Admission::Now);
        assert_eq!(schedule.admit(start + 3 * SECOND), Admission::Closed);
    }

    #[test]
    fn events_have_a_while_to_end_after_the_window() {
        let start = Instant::now();
        let overdue = |seconds: u32| {
            let window = Window { warm_up: SECOND, time: Some(seconds * SECOND), ..Window::default() };
            let schedule = Schedule::new(&window, start);
            (1..100).find(|second| schedule.is_overdue(start + *second * SECOND))
        };
        assert_eq!((overdue(5), overdue(50)), (Some(1 + 5 + 2), Some(1 + 50 + 5)));
        let by_count = Schedule::new(&Window { events: Some(9), ..Window::default() }, start);
        assert!(!by_count.is_overdue(start + 1000 * SECOND));
    }

    #[test]
    fn events_of_the_warm_up_are_beside_the_count() {
        let start = Instant::now();
        let schedule =
            Schedule::new(&Window { warm_up: SECOND, events: Some(2), ..Window::default() }, start);
        let admissions: Vec<Admission> =
            [0, 0, 0, 1, 1, 1].into_iter().map(|second| schedule.admit(start + second * SECOND)).collect();
        assert_eq!(admissions[..5], [Admission::Now; 5]);
        assert_eq!(admissions[5], Admission::Closed);
    }

    #[test]
    fn arrivals_end_with_the_window() {
        let start = Instant::now();
        let window = Window { time: Some(SECOND), events_per_second: Some(1000.0), ..Window::default() };
        let schedule = Schedule::new(&window, start);
        let mut events = 0;
        while let Admission::At(instant) = schedule.admit(start) {
            assert!(instant < start + SECOND);
            events += 1;
        }
        assert!((800..1200).contains(&events), "{events}");
    }
}
