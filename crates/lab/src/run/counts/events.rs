//! How many events the windows of a step have.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::SerialGroup;
use basecase_model::CountWindow;
use basecase_workload::insert_benchmark::Purpose;
use basecase_workload::{Chunk, StepPlan};

use crate::plan::{Candidate, Plan};
use crate::run::deployment::LiveDeployment;
use crate::run::measure::prepare;

/// Instructions that an event is taken to need for each second that it takes at full speed, client and kernel included. Scans come to twice
/// as many on a fast processor.
const PER_SECOND: f64 = 6e9;
/// Instructions that half a window is to have, about.
const PER_WINDOW: f64 = 10e6;
/// The least events of half a window.
const LEAST: u64 = 20;
/// The same if one event takes more than [`PER_WINDOW`].
const LEAST_OF_LONG: u64 = 3;
/// The most of them.
const MOST: u64 = 1_280;
/// Events between two looks at the clock.
const BATCH: u64 = 4;
/// How long the speed of a step is tried.
const TRIED_FOR: Duration = Duration::from_millis(200);

/// The events of a step's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Events {
    /// Of the shorter session.
    pub(super) shorter: u64,
    /// Of the longer session.
    pub(super) longer: u64,
}

impl Events {
    /// Sessions of a step that is executed as a whole: the shorter only begins and ends.
    const WHOLE: Events = Events { shorter: 0, longer: 1 };

    /// Warm-up of half a window, then one half or three.
    fn of_half_window(events: u64) -> Self {
        let warm_up = events.div_ceil(2);
        Events { shorter: warm_up + events, longer: warm_up + 3 * events }
    }

    /// Those of a window that was counted before, so that all windows of a step have the same.
    pub(super) fn of_window(window: &CountWindow) -> Option<Self> {
        match window.events {
            0 => None,
            1 => Some(Events::WHOLE),
            events => Some(Events::of_half_window(events / 2)),
        }
    }

    /// For events that take so many seconds, of which the step has so many.
    fn of_step(seconds: f64, most: u64) -> Self {
        let instructions = seconds * PER_SECOND;
        let events = if instructions > PER_WINDOW {
            LEAST_OF_LONG
        } else {
            // Doubled from the least on, so that a busier machine, or the next run, mostly finds the same.
            let times = PER_WINDOW / instructions.max(1.0) / LEAST as f64;
            (LEAST << times.max(1.0).log2().round().min(32.0) as u32).min(MOST)
        };
        // Seven halves of a window make the longer session.
        Events::of_half_window(events.min(most * 2 / 7))
    }
}

/// Tries how long an event of a step takes at full speed.
///
/// # Errors
/// When the step fails, or the user wants to stop.
pub(super) fn tried(
    plan: &Plan,
    candidate: &Candidate,
    deployment: &mut LiveDeployment,
    step: usize,
    stop: &AtomicBool,
) -> Result<Events> {
    let step_plan = planned(plan, candidate, step)?;
    if step_plan.chunk == Some(Chunk::Whole) {
        return Ok(Events::WHOLE);
    }
    let class = plan.steps[step].facts.headline.class();
    prepare(deployment, &step_plan)?;
    let mut group = SerialGroup::assemble(step_plan, deployment.served.endpoint())?;
    let mut events = 0;
    // The fastest batch, because others may be at work on the machine.
    let mut seconds = f64::INFINITY;
    let begun = Instant::now();
    loop {
        let batch = Instant::now();
        let done = group.run(BATCH, class, stop)?.events;
        events += done;
        if done > 0 {
            seconds = seconds.min(batch.elapsed().as_secs_f64() / done as f64);
        }
        let has_ended = done < BATCH;
        if has_ended || begun.elapsed() > TRIED_FOR {
            let most = if has_ended { events } else { u64::MAX / 2 };
            return Ok(Events::of_step(seconds.min(1.0), most));
        }
    }
}

/// The statements of a step that begins with its image.
///
/// # Errors
/// When the step does not fit the candidate's dialect.
pub(super) fn planned(plan: &Plan, candidate: &Candidate, step: usize) -> Result<StepPlan> {
    let mut workload_state = candidate.workload_state(plan.workload.as_ref())?;
    if plan.workload.is_chain() {
        workload_state.resume(step, &basecase_model::State::default());
    }
    workload_state.plan(step, Purpose::Measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_enough_events_and_no_more_than_the_step() {
        let of = |microseconds: f64, most| {
            let Events { shorter, longer } = Events::of_step(microseconds * 1e-6, most);
            (shorter, longer)
        };
        assert_eq!(of(40.0, 1 << 40), (60, 140));
        assert_eq!(
            [of(30.0, 1 << 40), of(50.0, 1 << 40)],
            [of(40.0, 1 << 40); 2],
            "a machine that is a little busier"
        );
        assert_eq!(of(1_000.0, 1 << 40), (30, 70));
        assert_eq!(of(3_000.0, 1 << 40), (5, 11));
        assert_eq!(of(0.1, 1 << 40), (1_920, 4_480));
        let (_, longer) = of(40.0, 200);
        assert!(longer <= 200, "{longer}");
    }
}
