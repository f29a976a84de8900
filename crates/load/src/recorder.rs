//! What one role did: counts, histograms, per-second samples.

use std::time::{Duration, Instant};

use basecase_model::{Aside, Histogram, Operation, Reply, RoleRecord, Sample, StatementCounts};
use basecase_workload::RolePlan;

/// Length of a sample.
const INTERVAL_MS: u32 = 1_000;
/// Beyond any turn.
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// Fills a [`RoleRecord`] while the role runs.
///
/// An event belongs to the period in which it was admitted: one admitted before the window opened is part of the warm-up, with all its
/// statements.
pub(crate) struct Recorder {
    /// All but its latencies.
    record: RoleRecord,
    service: Histogram,
    response: Option<Histogram>,
    /// When the window opens: earlier events do not count.
    opens: Instant,
    /// The zero of the role's clock: when the window opens. For a group that takes turns, the clock stands still between turns.
    origin: Instant,
    /// How long the group's clock has stood still, if the group runs a step to its end in chunks.
    paused: Duration,
    /// When the last operation that counts was answered.
    last: Instant,
    turn: Option<TurnCounts>,
    slices: Vec<RoleSlice>,
    /// When the current event began, if one is incomplete.
    began: Option<Instant>,
    is_in_window: bool,
    /// The kinds of the current event's statements with the rows that they affected, in case they are undone.
    affected: Vec<(u16, u64)>,
    warm_up_events: u64,
    warm_up_items: u64,
    broken_off: u64,
    window: Vec<StatementCounts>,
    warm_up: Vec<StatementCounts>,
}

/// The role's counts when its turn began.
struct TurnCounts {
    items: u64,
    warm_up_items: u64,
    /// When its first event that counts began.
    began: Option<Instant>,
}

/// What a role did in one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RoleSlice {
    /// Items that count.
    pub(crate) items: u64,
    /// From its first event that counts to its last answer.
    pub(crate) time: Duration,
    /// Items of events that began before the slice opened.
    pub(crate) warm_up_items: u64,
}

/// What a role did.
pub(crate) struct Recording {
    pub(crate) role: RoleRecord,
    /// One for each turn.
    pub(crate) slices: Vec<RoleSlice>,
    /// Events that began before the window opened.
    pub(crate) warm_up_events: u64,
    /// Events that had not ended long after the window had closed.
    pub(crate) broken_off: u64,
    /// Counts by kind, in the window.
    pub(crate) window: Vec<StatementCounts>,
    /// Counts by kind, before the window.
    pub(crate) warm_up: Vec<StatementCounts>,
}

/// When an operation was sent and when its last row was fetched.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

impl Recorder {
    /// A recorder for this many kinds of operations.
    pub(crate) fn new(plan: &RolePlan, kinds: usize, origin: Instant) -> Self {
        Recorder {
            record: RoleRecord::idle(plan.client, plan.name, plan.class, INTERVAL_MS),
            service: Histogram::new(),
            response: None,
            opens: origin,
            origin,
            paused: Duration::ZERO,
            last: origin,
            turn: None,
            slices: Vec::new(),
            began: None,
            // Roles that run no events have no warm-up.
            is_in_window: true,
            affected: Vec::new(),
            warm_up_events: 0,
            warm_up_items: 0,
            broken_off: 0,
            window: vec![StatementCounts::default(); kinds],
            warm_up: vec![StatementCounts::default(); kinds],
        }
    }

    /// Statements counted so far.
    pub(crate) fn statements(&self) -> u64 {
        self.record.statements
    }

    /// Records that the next event was admitted for `instant`.
    #[inline]
    pub(crate) fn admit(&mut self, instant: Instant) {
        self.is_in_window = instant >= self.opens;
        if self.is_in_window
            && let Some(turn) = &mut self.turn
            && turn.began.is_none()
        {
            turn.began = Some(instant);
            self.origin = instant - (self.last.saturating_duration_since(self.origin));
        }
    }

    /// Records that the turn begins. Events count from `opens` on, or not at all.
    pub(crate) fn begin_turn(&mut self, opens: Option<Instant>) {
        self.opens = opens.unwrap_or_else(|| Instant::now() + FAR);
        self.turn =
            Some(TurnCounts { items: self.record.items, warm_up_items: self.warm_up_items, began: None });
    }

    /// Records that the turn is over.
    pub(crate) fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        self.slices.push(RoleSlice {
            items: self.record.items - turn.items,
            time: turn.began.map(|began| self.last.saturating_duration_since(began)).unwrap_or_default(),
            warm_up_items: self.warm_up_items - turn.warm_up_items,
        });
    }

    /// Records how long the group's clock has stood still so far.
    #[inline]
    pub(crate) fn stand_still(&mut self, paused: Duration) {
        self.origin += paused - self.paused;
        self.paused = paused;
    }

    /// Whether an event has begun and is not complete.
    pub(crate) fn is_within_event(&self) -> bool {
        self.began.is_some()
    }

    /// Counts one main operation. Its event was meant to begin at `intended`.
    #[inline]
    pub(crate) fn count(
        &mut self,
        operation: &Operation,
        reply: &Reply,
        span: Span,
        intended: Option<Instant>,
    ) {
        let began = *self.began.get_or_insert(span.sent);
        let is_mismatch = !operation.expectation.is_met_by(reply);
        let counts = if self.is_in_window { &mut self.window } else { &mut self.warm_up };
        if let Some(counts) = counts.get_mut(usize::from(operation.kind)) {
            counts.executed += 1;
            counts.without_effect += u64::from(reply.affected == 0);
            counts.affected += reply.affected;
            counts.fetched += reply.fetched;
            counts.mismatches += u64::from(is_mismatch);
        }
        if operation.ends_event {
            self.began = None;
            self.affected.clear();
        } else {
            self.affected.push((operation.kind, reply.affected));
        }
        if !self.is_in_window {
            self.warm_up_events += u64::from(operation.ends_event);
            self.warm_up_items += u64::from(operation.items);
            return;
        }
        let ended_us = self.mark(span);
        let record = &mut self.record;
        record.statements += 1;
        record.items += u64::from(operation.items);
        record.affected += reply.affected;
        record.fetched += reply.fetched;
        record.mismatches += u64::from(is_mismatch);
        let interval = (ended_us / (u64::from(INTERVAL_MS) * 1_000)) as usize;
        let samples = &mut record.series.samples;
        if interval >= samples.len() {
            samples.resize(interval + 1, Sample::default());
        }
        let sample = &mut samples[interval];
        sample.items += operation.items;
        if operation.ends_event {
            let service_ns = nanoseconds(began, span.answered);
            record.events += 1;
            self.service.record_ns(service_ns);
            if let Some(intended) = intended {
                self.response.get_or_insert_default().record_ns(nanoseconds(intended, span.answered));
            }
            sample.max_us = sample.max_us.max(u32::try_from(service_ns / 1_000).unwrap_or(u32::MAX));
        }
    }

    /// Counts one aside.
    pub(crate) fn count_aside(&mut self, name: &str, span: Span) {
        self.mark(span);
        let time_us = nanoseconds(span.sent, span.answered) / 1_000;
        let asides = &mut self.record.asides;
        match asides.iter_mut().find(|aside| aside.name == name) {
            Some(aside) => {
                aside.count += 1;
                aside.total_us += time_us;
                aside.max_us = aside.max_us.max(time_us);
            }
            None => {
                asides.push(Aside { name: name.to_owned(), count: 1, total_us: time_us, max_us: time_us });
            }
        }
    }

    /// Counts a retry of an operation.
    pub(crate) fn count_repetition(&mut self) {
        self.record.retries += 1;
    }

    /// Counts a restart of the event after an operation that was sent at `failed`: the time spent belongs to the event. The effects of its
    /// statements are undone if they were part of one transaction.
    pub(crate) fn begin_anew(&mut self, is_undone: bool, failed: Instant) {
        self.record.retries += 1;
        self.began.get_or_insert(failed);
        self.give_up(is_undone);
    }

    /// Counts an event that is not gone on with: its statements count, and it does not.
    pub(crate) fn break_off(&mut self, is_undone: bool) {
        self.broken_off += 1;
        self.began = None;
        self.give_up(is_undone);
    }

    /// Forgets the current event's statements, whose effects are undone or stay.
    fn give_up(&mut self, is_undone: bool) {
        let counts = if self.is_in_window { &mut self.window } else { &mut self.warm_up };
        for (kind, affected) in self.affected.drain(..).filter(|_| is_undone) {
            if let Some(counts) = counts.get_mut(usize::from(kind)) {
                counts.undone += affected;
            }
        }
    }

    /// Updates the role's first and last instant. Returns the last in µs after the window opened.
    #[inline]
    fn mark(&mut self, span: Span) -> u64 {
        if self.record.ended_us == 0 {
            self.record.started_us = nanoseconds(self.origin, span.sent) / 1_000;
        }
        // At least 1, because 0 stands for a role that did nothing.
        self.record.ended_us = (nanoseconds(self.origin, span.answered) / 1_000).max(1);
        self.last = span.answered;
        self.record.ended_us
    }

    pub(crate) fn finish(self, client_cpu_us: f64, server_cpu_us: Option<f64>) -> Recording {
        Recording {
            role: RoleRecord {
                client_cpu_us,
                server_cpu_us,
                service: self.service.into(),
                response: self.response.map(Into::into),
                ..self.record
            },
            slices: self.slices,
            warm_up_events: self.warm_up_events,
            broken_off: self.broken_off,
            window: self.window,
            warm_up: self.warm_up,
        }
    }
}

/// Nanoseconds from `start` to `end`; 0 when `end` is earlier.
#[inline]
fn nanoseconds(start: Instant, end: Instant) -> u64 {
    let elapsed = end.saturating_duration_since(start);
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use basecase_model::OperationClass;
    use basecase_workload::Work;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn recorder(origin: Instant) -> Recorder {
        let plan = RolePlan::new(1, "client", OperationClass::Query, Work::Queue(0));
        Recorder::new(&plan, 2, origin)
    }

    fn operation(kind: u16, ends_event: bool) -> Operation {
        Operation { kind, ends_event, items: 1, ..Operation::default() }
    }

    fn reply(affected: u64) -> Reply {
        Reply { affected, ..Reply::default() }
    }

    #[test]
    fn an_event_is_timed_as_a_whole_and_counts_where_it_began() {
        let start = Instant::now();
        let mut recorder = recorder(start + 10 * MS);
        let span = |from: u32, to: u32| Span { sent: start + from * MS, answered: start + to * MS };
        recorder.admit(start + 5 * MS);
        // Its second statement is sent after the opening, but still belongs to the warm-up.
        recorder.count(&operation(0, false), &reply(1), span(5, 8), None);
        recorder.count(&operation(1, true), &reply(0), span(11, 12), None);
        recorder.admit(start + 12 * MS);
        recorder.count(&operation(0, false), &reply(1), span(12, 15), None);
        recorder.count(&operation(1, true), &reply(0), span(16, 22), None);
        let recording = recorder.finish(0.0, None);
        let role = recording.role;
        assert_eq!((recording.warm_up_events, role.events, role.statements, role.items), (1, 1, 2, 2));
        assert_eq!((role.started_us, role.ended_us), (2_000, 12_000));
        assert_eq!((role.service.count(), role.service.max_ns()), (1, 10_000_000));
        let executed = |counts: &[StatementCounts]| -> Vec<_> {
            counts.iter().map(|counts| (counts.executed, counts.without_effect)).collect()
        };
        assert_eq!(executed(&recording.window), [(1, 0), (1, 1)]);
        assert_eq!(executed(&recording.warm_up), [(1, 0), (1, 1)]);
    }

    #[test]
    fn without_a_transaction_nothing_is_undone() {
        let start = Instant::now();
        let mut recorder = recorder(start);
        let span = Span { sent: start, answered: start + MS };
        recorder.count(&operation(0, false), &reply(3), span, None);
        recorder.begin_anew(false, start + MS);
        recorder.count(&operation(0, true), &reply(2), span, None);
        let counts = recorder.finish(0.0, None).window[0];
        assert_eq!((counts.affected, counts.undone), (5, 0));
    }

    #[test]
    fn what_is_broken_off_counts_by_statement_only() {
        for (is_undone, undone) in [(true, 3), (false, 0)] {
            let start = Instant::now();
            let mut recorder = recorder(start);
            recorder.count(&operation(0, false), &reply(3), Span { sent: start, answered: start + MS }, None);
            recorder.break_off(is_undone);
            assert!(!recorder.is_within_event());
            let recording = recorder.finish(0.0, None);
            assert_eq!((recording.broken_off, recording.role.events, recording.role.statements), (1, 0, 1));
            assert_eq!((recording.role.retries, recording.window[0].undone), (0, undone));
        }
    }

    #[test]
    fn what_is_begun_anew_is_undone_and_its_time_counts() {
        let start = Instant::now();
        let mut recorder = recorder(start);
        let span = |from: u32, to: u32| Span { sent: start + from * MS, answered: start + to * MS };
        recorder.count(&operation(0, false), &reply(3), span(0, 1), None);
        recorder.begin_anew(true, start + MS);
        recorder.count(&operation(0, false), &reply(2), span(3, 4), None);
        recorder.count(&operation(1, true), &reply(0), span(4, 5), None);
        // An event whose first statement fails has begun with that statement.
        recorder.begin_anew(true, start + 6 * MS);
        recorder.count(&operation(0, true), &reply(1), span(8, 9), None);
        let recording = recorder.finish(0.0, None);
        assert_eq!((recording.role.events, recording.role.retries), (2, 2));
        assert_eq!((recording.window[0].affected, recording.window[0].undone), (6, 3));
        assert_eq!(recording.role.service.max_ns(), 5_000_000);
        assert_eq!(recording.role.service.quantile_ns(0.1) / 100_000, 30);
    }
}
