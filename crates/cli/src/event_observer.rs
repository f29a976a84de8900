//! Turns what happens in a run into events for programs, and tells how far its steps are in between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use basecase_lab::{Event, Observer};
use basecase_load::Progress;
use basecase_model::OperationClass;

use crate::events::{Events, ProgressEvent, Step, progress_event, rounded};
use crate::ticker::Ticker;

/// Interval of polling a running step.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of progress events.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Writes the events of one run, and the progress of its steps in between.
pub(crate) struct EventObserver {
    events: Events,
    running: Arc<Mutex<Option<Running>>>,
    _ticker: Ticker,
}

/// A running step.
struct Running {
    step: Step<'static>,
    progress: Vec<Arc<Progress>>,
    /// Whether the step has a window whose opening has not been reported yet.
    awaits_window: bool,
    /// When to report progress next.
    next: Option<Instant>,
    /// Inserts, deletes and queries in the last report.
    last: [u64; 3],
}

impl EventObserver {
    pub(crate) fn new(events: Events) -> EventObserver {
        let running: Arc<Mutex<Option<Running>>> = Arc::default();
        let (polled, written) = (Arc::clone(&running), events.clone());
        let ticker = Ticker::start(POLL_INTERVAL, move || {
            if let Some(running) = &mut *held(&polled) {
                running.poll(&written, Instant::now());
            }
        });
        EventObserver { events, running, _ticker: ticker }
    }
}

/// The lock also orders lines, so that no progress is reported after a step has ended.
fn held(running: &Mutex<Option<Running>>) -> MutexGuard<'_, Option<Running>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    fn begin(step: Step<'static>, progress: Vec<Arc<Progress>>, awaits_window: bool) -> Running {
        Running { step, progress, awaits_window, next: None, last: [0; 3] }
    }

    fn items(&self, class: OperationClass) -> u64 {
        self.progress.iter().map(|progress| progress.items(class)).sum()
    }

    /// Reports what is new.
    fn poll(&mut self, events: &Events, now: Instant) {
        if self.awaits_window && self.progress.iter().all(|progress| progress.is_open()) {
            self.awaits_window = false;
            events.write(&ProgressEvent::WindowOpened { step: self.step.clone() });
        }
        let items = [OperationClass::Insert, OperationClass::Delete, OperationClass::Query]
            .map(|class| self.items(class));
        let is_first_of_kind = items.iter().zip(self.last).any(|(now, last)| *now > 0 && last == 0);
        if is_first_of_kind || self.next.is_some_and(|next| now >= next) {
            self.last = items;
            let [inserts, deletes, queries] = items;
            self.next = Some(now + TELL_EVERY);
            let shares = self.progress.iter().map(|progress| progress.share());
            let share = shares.sum::<f64>() / self.progress.len().max(1) as f64;
            let share = Some(rounded(share)).filter(|share| *share > 0.0);
            events.write(&ProgressEvent::StepProgress {
                step: self.step.clone(),
                share,
                inserts,
                deletes,
                queries,
            });
        }
    }
}

impl Observer for EventObserver {
    fn notice(&mut self, event: Event<'_>) {
        let mut running = held(&self.running);
        if !matches!(event, Event::Note(_))
            && let Some(mut running) = running.take()
        {
            // A short step may be over before it was polled.
            running.poll(&self.events, Instant::now());
        }
        self.events.write(&progress_event(&event));
        match event {
            Event::StepBegins { step, round, progress, .. } => {
                let step = Step::new(step, round).into_owned();
                *running = Some(Running::begin(step, vec![progress], true));
            }
            Event::TurnsBegin { step, round, progress, .. } => {
                let step = Step::new(step, round).into_owned();
                *running = Some(Running::begin(step, progress, false));
            }
            _ => {}
        }
    }
}
