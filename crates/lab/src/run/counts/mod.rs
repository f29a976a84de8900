//! Counts the instructions of operations: each step of each candidate, in several starts of its server.

mod callgrind;
mod events;
mod hardware;
mod images;
mod server;
mod side_by_side;
mod sqlite_session;
mod start;
mod tally;
mod trial;
mod windows;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use basecase_model::{CandidateFacts, Cell, Experiment, StepCount};
use basecase_stats::{WorkWindow, needs_more_windows};
use basecase_store::Store;

use self::events::Events;
use self::side_by_side::side_by_side;
use self::sqlite_session::SqliteSessions;
pub use self::sqlite_session::{SQLITE_SESSION, serve_sqlite_session};
use self::start::{Start, Told, changes_rows};
use self::trial::tried;
use super::{RunOptions, Summary, begun};
use crate::message::explain;
use crate::observer::{Event, Observer, Phase};
use crate::plan::{InstructionMeter, Plan};

/// Starts of each candidate's server.
const STARTS: u32 = 2;
/// The most of them, for steps whose windows differ.
const MOST_STARTS: u32 = 4;
/// The most steps of a start under callgrind, where sessions are threads and stay open: with the session before its window, a step has
/// three, and InnoDB of MySQL 8.0 spends 70 million instructions on every sixteenth session that is open at once (`trx_allocate_for_mysql`).
const MOST_STEPS_OF_THREADS: usize = 3;

/// What the user is told where the processor counts.
const NO_FUNCTIONS: &str = "the processor's counter counts instructions, which does not tell functions: --counts-engine callgrind says in \
                            which of them a difference lies";

/// Counts what of `plan` is not in `store` yet. The store must be locked for the run.
///
/// # Errors
/// When the store fails. A step that cannot be counted is stored as failed, and the others go on.
pub(crate) fn count(
    plan: &Plan,
    store: &mut Store,
    options: &RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let meter = plan.meter.as_ref().context("the plan is not one of counts")?;
    let experiment = begun::experiment(plan, store, options)?;
    store.save_experiment(&experiment)?;
    store.save_cells(&plan.experiment.id, &plan.cells())?;
    let known = store.counts(&plan.experiment.id)?;
    let mut counting = Counting {
        options,
        plan,
        experiment,
        meter,
        store,
        stop,
        observer,
        known,
        events: BTreeMap::new(),
        failed: BTreeMap::new(),
    };
    let found = counting.complete();
    if let InstructionMeter::Hardware(_) = meter {
        counting.observer.notice(Event::Note(NO_FUNCTIONS));
    }
    counting.recall_events();
    counting.all_starts()?;
    let complete = counting.complete();
    // Steps whose windows differ have more starts.
    let all = complete.max(plan.candidates.len() * counting.steps().len() * STARTS as usize);
    let failed = counting.failed.into_values().collect();
    let interrupted = stop.load(Ordering::Relaxed);
    if !options.keep_data && !interrupted {
        plan.candidates.iter().try_for_each(images::remove)?;
    }
    Ok(Summary {
        experiment: counting.experiment,
        all,
        measured: complete - found,
        found,
        failed,
        interrupted,
    })
}

/// Counts under way.
struct Counting<'a> {
    options: &'a RunOptions,
    plan: &'a Plan,
    /// The plan's experiment, with what servers reported of themselves.
    experiment: Experiment,
    meter: &'a InstructionMeter,
    store: &'a mut Store,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    /// All counts of the plan's cells, as they come.
    known: Vec<StepCount>,
    /// The events of the sessions, by step.
    events: BTreeMap<usize, Events>,
    /// Why a step of a candidate could not be counted.
    failed: BTreeMap<(usize, usize), String>,
}

impl Counting<'_> {
    /// The numbers of the steps that are counted.
    fn steps(&self) -> Vec<usize> {
        let steps = self.plan.steps.iter().enumerate();
        steps
            .filter(|(_, step)| step.facts.is_compared() && self.options.is_chosen(&step.facts.name))
            .map(|(number, _)| number)
            .collect()
    }

    /// How many starts of steps were counted.
    fn complete(&self) -> usize {
        self.known.iter().filter(|count| count.is_complete()).count()
    }

    /// The complete counts of a step.
    fn counts_of<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a StepCount> {
        let key = cell.key();
        self.known.iter().filter(move |count| count.cell == key && count.is_complete())
    }

    /// The steps of a candidate that lack this start.
    fn missing(&self, candidate: usize, start: u32) -> Vec<usize> {
        let cells = &self.plan.candidates[candidate].cells;
        let is_missing = |step: &usize| {
            if self.failed.contains_key(&(candidate, *step)) {
                return false;
            }
            let counts: Vec<&StepCount> = self.counts_of(&cells[*step]).collect();
            if counts.iter().any(|count| count.start == start) {
                return false;
            }
            let windows = counts.iter().flat_map(|count| {
                count.per_operation().map(|instructions| WorkWindow { start: count.start, instructions })
            });
            start < STARTS || needs_more_windows(&windows.collect::<Vec<_>>())
        };
        self.steps().into_iter().filter(is_missing).collect()
    }

    fn all_starts(&mut self) -> Result<()> {
        for start in 0..MOST_STARTS {
            let due: Vec<(usize, Vec<usize>)> = (0..self.plan.candidates.len())
                .map(|candidate| (candidate, self.missing(candidate, start)))
                .filter(|(_, steps)| !steps.is_empty())
                .collect();
            if due.is_empty() || self.stop.load(Ordering::Relaxed) {
                continue;
            }
            let sessions = SqliteSessions::new(self.plan, self.meter, start);
            self.images(start, &due)?;
            self.find_events(&due, &sessions)?;
            self.starts(&due, &sessions)?;
        }
        Ok(())
    }

    /// Makes the data that the sessions begin with, where it is not there. A candidate for which that fails is not counted.
    fn images(&mut self, start: u32, due: &[(usize, Vec<usize>)]) -> Result<()> {
        let (plan, stop) = (self.plan, self.stop);
        let is_lacking = |(candidate, steps): &&(usize, Vec<usize>)| {
            !images::are_there(plan, &plan.candidates[*candidate], start, steps)
        };
        let lacking: Vec<&(usize, Vec<usize>)> = due.iter().filter(is_lacking).collect();
        for (candidate, _) in &lacking {
            let name = &plan.candidates[*candidate].facts.name.0;
            self.observer.notice(Event::Phase { candidate: Some(name), phase: Phase::MakeImages });
        }
        let make = |&(candidate, steps): &&(usize, Vec<usize>)| {
            images::provide(plan, &plan.candidates[*candidate], start, steps, stop)
        };
        side_by_side(lacking, stop, make, |(candidate, steps), made| {
            if let Err(error) = made {
                let reason = format!("{}: {}", plan.candidates[*candidate].facts.name, explain(&error));
                self.failed.extend(steps.iter().map(|step| ((*candidate, *step), reason.clone())));
            }
            Ok(())
        })
    }

    /// Takes the events of windows that are stored.
    fn recall_events(&mut self) {
        for (number, step) in self.plan.steps.iter().enumerate() {
            let windows = self.known.iter().filter(|count| count.step == step.facts.name);
            let mut windows = windows.flat_map(|count| &count.windows);
            if let Some(events) = windows.find_map(Events::of_window) {
                self.events.insert(number, events);
            }
        }
    }

    /// The events of the sessions, found out on the first candidate for which each step works, and the same for all.
    fn find_events(&mut self, due: &[(usize, Vec<usize>)], sessions: &SqliteSessions<'_>) -> Result<()> {
        for (candidate, steps) in due {
            let unknown = steps.iter().copied().filter(|step| !self.events.contains_key(step)).collect();
            let groups = self.groups_to_try(*candidate, unknown);
            let failed = self.try_events(*candidate, groups, sessions)?;
            // A row that one step inserted may be in the way of another.
            self.try_events(*candidate, failed, sessions)?;
        }
        Ok(())
    }

    /// Tries what events need, each group of steps in a start. Returns the steps that failed in company, which may work alone.
    fn try_events(
        &mut self,
        candidate: usize,
        groups: Vec<Vec<usize>>,
        sessions: &SqliteSessions<'_>,
    ) -> Result<Vec<Vec<usize>>> {
        let events = BTreeMap::new();
        let starts = self.starts_of(candidate, groups, &events, sessions);
        let mut again = Vec::new();
        side_by_side(starts, self.stop, tried, |start, found| {
            for (step, found) in found {
                match found {
                    Ok(found) => drop(self.events.insert(step, found)),
                    Err(_) if start.steps.len() > 1 => again.push(vec![step]),
                    Err(error) => self.take(candidate, &[step], vec![start.failed(step, error)])?,
                }
            }
            Ok(())
        })?;
        Ok(again)
    }

    /// Remembers that a step of a candidate cannot be counted.
    fn fail(&mut self, candidate: usize, step: usize, reason: &str) {
        let (plan, name) = (self.plan, &self.plan.candidates[candidate].facts.name);
        let label = &plan.steps[step].facts.label;
        self.failed.insert((candidate, step), format!("{name} {label}: {reason}"));
    }

    /// The steps of a candidate that did not fail, divided into those that one start serves: steps that leave the data as it is.
    fn groups(&self, candidate: usize, steps: Vec<usize>) -> Vec<Vec<usize>> {
        let steps = steps.into_iter().filter(|step| !self.failed.contains_key(&(candidate, *step)));
        let (alone, together): (Vec<usize>, Vec<usize>) =
            steps.partition(|step| changes_rows(self.plan, *step));
        let together = self.served_together(candidate, &together);
        alone.into_iter().map(|step| vec![step]).chain(together).collect()
    }

    /// The same for trials, where steps that write the same tables need not each begin with the image.
    fn groups_to_try(&self, candidate: usize, steps: Vec<usize>) -> Vec<Vec<usize>> {
        if self.plan.workload.is_chain() {
            return self.groups(candidate, steps);
        }
        let (writing, reading): (Vec<usize>, Vec<usize>) =
            steps.into_iter().partition(|step| changes_rows(self.plan, *step));
        [writing, reading].iter().flat_map(|steps| self.served_together(candidate, steps)).collect()
    }

    /// Divides steps into those that one start serves one after the other.
    fn served_together(&self, candidate: usize, steps: &[usize]) -> Vec<Vec<usize>> {
        let has_threads = self.plan.candidates[candidate].facts.build.dbms.has_threads();
        let stay_open = has_threads && self.meter.callgrind().is_some();
        let most = if stay_open { MOST_STEPS_OF_THREADS } else { steps.len().max(1) };
        steps.chunks(most).map(<[usize]>::to_vec).collect()
    }

    /// The starts of a candidate, each of which serves a group of steps.
    fn starts_of<'s>(
        &self,
        candidate: usize,
        groups: Vec<Vec<usize>>,
        events: &'s BTreeMap<usize, Events>,
        sessions: &'s SqliteSessions<'s>,
    ) -> Vec<Start<'s>>
    where
        Self: 's,
    {
        let (plan, meter, number, stop) = (self.plan, self.meter, sessions.number(), self.stop);
        groups
            .into_iter()
            .map(|steps| Start { plan, meter, candidate, number, steps, events, sessions, stop })
            .collect()
    }

    /// Executes starts, and stores what they counted.
    fn starts(&mut self, due: &[(usize, Vec<usize>)], sessions: &SqliteSessions<'_>) -> Result<()> {
        let events = self.events.clone();
        let mut starts: Vec<Start<'_>> = due
            .iter()
            .map(|(candidate, steps)| (*candidate, self.groups(*candidate, steps.clone())))
            .flat_map(|(candidate, groups)| self.starts_of(candidate, groups, &events, sessions))
            .collect();
        // The longest first, so that no processor is idle at the end.
        starts.sort_by_key(|start| Reverse(start.steps.len()));
        side_by_side(starts, self.stop, Start::count, |start, Told { counts, facts }| {
            self.identify(start.candidate, facts)?;
            self.take(start.candidate, &start.steps, counts)
        })
    }

    /// Stores what a candidate's server reported of itself while it was counted.
    fn identify(&mut self, candidate: usize, reported: Option<CandidateFacts>) -> Result<()> {
        let known = self.experiment.candidates.get_mut(candidate);
        if let (Some(known), Some(reported)) = (known, reported)
            && known.running.is_empty()
        {
            *known = reported;
            self.store.save_experiment(&self.experiment)?;
        }
        Ok(())
    }

    /// Stores what a start counted.
    fn take(&mut self, candidate: usize, steps: &[usize], counts: Vec<StepCount>) -> Result<()> {
        let plan = self.plan;
        let cells = &plan.candidates[candidate].cells;
        let rows: Vec<(&Cell, &StepCount)> =
            steps.iter().zip(&counts).map(|(step, count)| (&cells[*step], count)).collect();
        self.store.save_counts(&plan.experiment.id, &rows)?;
        for (&step, count) in steps.iter().zip(counts) {
            if let Some(reason) = &count.failure {
                self.fail(candidate, step, reason);
            }
            self.observer.notice(Event::CountStored { count: &count, step: &plan.steps[step].facts });
            self.known.push(count);
        }
        Ok(())
    }
}
