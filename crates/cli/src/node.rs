//! This machine as one of several that measure one experiment.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use basecase_fleet::{Delivery, read_decided};
use basecase_lab::{DecidedSteps, Event, Observer, Request, RunOptions, Share};

use crate::arguments::FleetArguments;

/// Counts are delivered no more often than this: each of them is small.
const DELIVER_COUNTS_EVERY: Duration = Duration::from_secs(30);

/// Makes request and options those of one node. Returns whether anything is left for it to do.
pub(crate) fn on_node(request: &mut Request, options: &mut RunOptions, arguments: &FleetArguments) -> bool {
    let Some(node) = arguments.node else { return true };
    request.on_node(node);
    if request.protocol.is_counts() {
        return match request.take_share(node) {
            Share::Candidates => true,
            Share::Nothing => false,
            Share::Steps(names) => {
                let is_chosen =
                    |name: &String| options.steps.as_ref().is_none_or(|chosen| chosen.contains(name));
                options.steps = Some(names.into_iter().filter(is_chosen).collect());
                options.steps.as_ref().is_some_and(|own| !own.is_empty())
            }
        };
    }
    // Where no coordinator says what is decided, all steps have the rounds that they may have: a node that ended by what it saw would bias what
    // all of them say together.
    let decided = arguments.decided.clone();
    let told = move || decided.as_deref().and_then(read_decided).unwrap_or_default();
    options.decided = Some(DecidedSteps::told_by(told));
    true
}

/// Takes the store that this node delivered before, if it went on elsewhere and has none here.
pub(crate) fn restore(arguments: &FleetArguments, store: &Path) -> Result<()> {
    let Some(folder) = &arguments.deliver else { return Ok(()) };
    let restored = Delivery::to(folder)
        .restore(store)
        .with_context(|| format!("cannot go on with what {} holds of this node", folder.display()));
    restored.map(drop)
}

/// Delivers the store as it is at the end.
pub(crate) fn deliver(arguments: &FleetArguments, store: &Path) -> Result<()> {
    let Some(folder) = &arguments.deliver else { return Ok(()) };
    Delivery::to(folder)
        .deliver(store)
        .with_context(|| format!("cannot deliver the results of this node to {}", folder.display()))
}

/// An observer that delivers the store after each round, and tells another observer what happens.
pub(crate) struct Delivering {
    observer: Box<dyn Observer>,
    delivery: Delivery,
    store: PathBuf,
    /// When counts were delivered last.
    counts_at: Option<Instant>,
    /// Whether the user knows that deliveries fail.
    has_told: bool,
}

impl Delivering {
    /// The observer itself where nothing is delivered.
    pub(crate) fn around(
        observer: Box<dyn Observer>,
        arguments: &FleetArguments,
        store: &Path,
    ) -> Box<dyn Observer> {
        let Some(folder) = &arguments.deliver else { return observer };
        let delivery = Delivery::to(folder);
        Box::new(Delivering { observer, delivery, store: store.to_owned(), counts_at: None, has_told: false })
    }

    fn deliver(&mut self) {
        if let Err(error) = self.delivery.deliver(&self.store)
            && !std::mem::replace(&mut self.has_told, true)
        {
            // What is measured stays in this node's own store, and the next round tries again.
            let note = format!("not delivered, and the run goes on: {error:#}");
            self.observer.notice(Event::Note(&note));
        }
    }
}

impl Observer for Delivering {
    fn notice(&mut self, event: Event<'_>) {
        let is_due = match &event {
            Event::RoundEnds { .. } => true,
            Event::CountStored { .. }
                if self.counts_at.is_none_or(|before| before.elapsed() >= DELIVER_COUNTS_EVERY) =>
            {
                self.counts_at = Some(Instant::now());
                true
            }
            _ => false,
        };
        self.observer.notice(event);
        if is_due {
            self.deliver();
        }
    }
}
