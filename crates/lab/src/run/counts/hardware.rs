//! Sessions that the processor counts: from before the first event of a session until it waits after the last.

use std::path::PathBuf;

use anyhow::{Context, Result};
use basecase_load::SerialGroup;
use basecase_model::OperationClass;
use basecase_probe::{CounterEvent, InstructionCounter};
use basecase_server::Served;

use super::sqlite_session::count_of;
use super::tally::{Counts, Tally};
use super::windows::SessionCount;

/// Windows of a step in each start.
const WINDOWS: usize = 2;

/// The sessions of one start, which the processor counts.
pub(super) struct HardwareTally {
    event: CounterEvent,
    /// The folder of what sessions with SQLite counted of themselves.
    folder: PathBuf,
    /// The sessions that began last and are counted.
    latest: Vec<Counted>,
    /// How many sessions were counted, which numbers them: the system gives the number of a thread that ended to a later one.
    begun: u32,
    counts: Counts,
}

/// A session that is counted.
struct Counted {
    number: u32,
    by: Counter,
}

enum Counter {
    /// Here, from outside.
    Ours(InstructionCounter),
    /// By its process, which has this number: it executes other things than statements as well.
    Own(u32),
}

impl HardwareTally {
    /// Of no sessions yet. Those with SQLite leave in `folder` what they counted of themselves.
    pub(super) fn new(event: CounterEvent, folder: PathBuf) -> Self {
        HardwareTally { event, folder, latest: Vec::new(), begun: 0, counts: Counts::default() }
    }
}

impl Tally for HardwareTally {
    fn windows(&self) -> usize {
        WINDOWS
    }

    fn begin(
        &mut self,
        served: &dyn Served,
        group: &mut SerialGroup,
        is_counted: &dyn Fn(OperationClass) -> bool,
    ) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        self.latest.clear();
        for (role, session) in group.sessions() {
            let thread =
                served.session_thread(session)?.context("the dbms has no threads for its sessions")?;
            all.push(thread);
            if is_counted(role) {
                let by = if served.dbms().is_embedded() {
                    Counter::Own(thread)
                } else {
                    Counter::Ours(InstructionCounter::of_thread(self.event, thread)?)
                };
                self.latest.push(Counted { number: self.begun, by });
                self.begun += 1;
            }
        }
        all.iter().enumerate().for_each(|(role, thread)| group.pace(role, *thread));
        // What was asked of it last is over.
        group.await_sleep();
        for counted in &mut self.latest {
            if let Counter::Ours(counter) = &mut counted.by {
                counter.start()?;
            }
        }
        Ok(self.latest.iter().map(|counted| counted.number).collect())
    }

    fn finish(&mut self, group: SerialGroup) -> Result<()> {
        group.await_sleep();
        let mut own = Vec::new();
        for Counted { number, by } in self.latest.drain(..) {
            match by {
                Counter::Ours(mut counter) => {
                    let count = SessionCount::of_instructions(counter.read()?);
                    self.counts.0.insert(number, count);
                }
                Counter::Own(process) => own.push((number, process)),
            }
        }
        // A process tells when it ends.
        drop(group);
        for (number, process) in own {
            let count = SessionCount::of_instructions(count_of(&self.folder, process)?);
            self.counts.0.insert(number, count);
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<Counts> {
        Ok(self.counts)
    }
}
