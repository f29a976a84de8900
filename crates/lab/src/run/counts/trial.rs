//! How many instructions an event of a step needs, about: what the lengths of its sessions go by.

use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::{SerialCounts, SerialGroup};
use basecase_model::OperationClass;

use super::events::Events;
use super::server::Server;
use super::start::{Start, changes_rows};
use crate::message::explain;

/// Events that are tried, beyond those before them.
const EVENTS: u64 = 20;
/// Events of a step that reads before them, which plan and fill caches.
const BEFORE: u64 = 4;
/// Events between two looks at the clock.
const BATCH: u64 = 4;
/// From this time on, fewer events do: only such take so long whose count hardly depends on how many there are.
const PATIENCE: Duration = Duration::from_secs(5);

/// Two sessions of a step, the second of which executed so many events more.
struct Tried {
    shorter: Vec<u32>,
    longer: Vec<u32>,
    events: u64,
}

/// The events that the sessions of each step of a start are to have, or why that cannot be told.
pub(super) fn tried(start: &Start<'_>) -> Vec<(usize, Result<Events>)> {
    let mut found = Vec::with_capacity(start.steps.len());
    let mut unknown = Vec::new();
    for &step in &start.steps {
        match Events::of_whole(start.plan, start.candidate(), step).transpose() {
            Some(whole) => found.push((step, whole)),
            None => unknown.push(step),
        }
    }
    let instructions = match unknown.first() {
        Some(first) => instructions(start, *first, &unknown),
        None => return found,
    };
    let reason = instructions.as_ref().err().map(explain).unwrap_or_default();
    let mut instructions = instructions.unwrap_or_default().into_iter();
    found.extend(unknown.into_iter().map(|step| {
        let of_step = instructions.next().unwrap_or_else(|| Err(anyhow::anyhow!(reason.clone())));
        let events = of_step.and_then(|instructions| {
            Events::of_step(start.plan, start.candidate(), start.meter, step, instructions)
        });
        (step, events)
    }));
    found
}

/// The instructions of an event of each step, one step after the other. `first` is the one whose
/// image the server begins with.
fn instructions(start: &Start<'_>, first: usize, steps: &[usize]) -> Result<Vec<Result<f64>>> {
    let mut server = Server::start(start, first)?;
    let sessions = sessions(start, &mut server, first, steps);
    let counts = server.end();
    // After a failure the server may be gone, and the failure is what the user must be told.
    let sessions = sessions?;
    let counts = counts?;
    let per_event = |Tried { shorter, longer, events }: Tried| {
        let [shorter, longer] = [counts.of(&shorter, 0, 0)?, counts.of(&longer, 0, 0)?];
        Ok(longer.instructions.saturating_sub(shorter.instructions) as f64 / events.max(1) as f64)
    };
    Ok(sessions.into_iter().map(|tried| tried.and_then(per_event)).collect())
}

/// The sessions of each step.
fn sessions(
    start: &Start<'_>,
    server: &mut Server,
    first: usize,
    steps: &[usize],
) -> Result<Vec<Result<Tried>>> {
    let is_embedded = server.is_embedded();
    let mut connect = || server.session_of(start, first, |_| Ok(SerialCounts::default()));
    if !is_embedded {
        // The first session finds less in the server's caches than all others.
        connect()?;
    }
    let is_subtracted = !is_embedded || steps.iter().any(|step| changes_rows(start.plan, *step));
    let connecting = if is_subtracted { connect()?.1 } else { Vec::new() };
    Ok(steps.iter().map(|&step| one(start, server, step, &connecting)).collect())
}

/// Sessions that execute some events of a step. Of one that writes there is a single one, since a second one would find other rows.
fn one(start: &Start<'_>, server: &mut Server, step: usize, connecting: &[u32]) -> Result<Tried> {
    let class = start.plan.steps[step].facts.headline.class();
    let mut session = |events| server.session_of(start, step, |group| some(group, events, class, start));
    if changes_rows(start.plan, step) {
        let (done, longer) = session(EVENTS)?;
        return Ok(Tried { shorter: connecting.to_vec(), longer, events: done.events });
    }
    let (before, shorter) = session(BEFORE)?;
    let (done, longer) = session(BEFORE + EVENTS)?;
    Ok(Tried { shorter, longer, events: done.events.saturating_sub(before.events) })
}

/// So many events, or fewer of a step that takes long.
fn some(
    group: &mut SerialGroup,
    events: u64,
    class: OperationClass,
    start: &Start<'_>,
) -> Result<SerialCounts> {
    let begun = Instant::now();
    let mut sum = SerialCounts::default();
    while sum.events < events {
        let done = group.run(BATCH, class, start.stop)?;
        sum.events += done.events;
        sum.mismatches += done.mismatches;
        let is_enough = sum.events > BEFORE && begun.elapsed() > PATIENCE;
        if done.events < BATCH || is_enough {
            break;
        }
    }
    Ok(sum)
}
