//! How many events the windows of a step have.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::SerialGroup;
use basecase_model::CountWindow;
use basecase_workload::insert_benchmark::Purpose;
use basecase_workload::{Chunk, StepPlan};

use crate::plan::{Candidate, InstructionMeter, Plan};
use crate::run::deployment::LiveDeployment;
use crate::run::measure::prepare;

/// Instructions that an event is taken to need for each second that it takes at full speed, client and kernel included. Scans come to twice
/// as many on a fast processor.
const PER_SECOND: f64 = 6e9;
/// The least events of half a window.
const LEAST: u64 = 20;
/// The same if one event takes more than [`LONG`].
const LEAST_OF_LONG: u64 = 3;
/// Instructions of a long event.
const LONG: f64 = 10e6;
/// Events between two looks at the clock.
const BATCH: u64 = 4;
/// How long the speed of a step is tried.
const TRIED_FOR: Duration = Duration::from_millis(200);

/// How long half a window is to be.
#[derive(Debug, Clone, Copy)]
struct Length {
    /// Instructions that it is to have, about.
    instructions: f64,
    /// The most events.
    most: u64,
}

impl Length {
    /// Some fifty times slower than at full speed.
    const UNDER_CALLGRIND: Length = Length { instructions: 10e6, most: 1_280 };
    /// At full speed: a second or two for the longer session, since statements wait for a server that sleeps.
    const AT_FULL_SPEED: Length = Length { instructions: 600e6, most: 5_120 };

    fn of(meter: &InstructionMeter, writes: bool) -> Self {
        match meter {
            InstructionMeter::Callgrind(_) => Length::UNDER_CALLGRIND,
            // More would leave another table than it found.
            InstructionMeter::Hardware(_) if writes => {
                Length { most: Length::UNDER_CALLGRIND.most, ..Length::AT_FULL_SPEED }
            }
            InstructionMeter::Hardware(_) => Length::AT_FULL_SPEED,
        }
    }
}

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
    fn of_step(length: Length, seconds: f64, most: u64) -> Self {
        let instructions = seconds * PER_SECOND;
        let least = if instructions > LONG { LEAST_OF_LONG } else { LEAST };
        // Doubled from the least on, so that a busier machine, or the next run, mostly finds the same.
        let times = length.instructions / instructions.max(1.0) / least as f64;
        let events = (least << times.max(1.0).log2().round().min(32.0) as u32).min(length.most);
        // Seven halves of a window make the longer session.
        Events::of_half_window(events.min(most * 2 / 7))
    }
}

/// Tries how long an event of a step takes at full speed, and whether the step has as many as its sessions are to have.
///
/// # Errors
/// When the step fails, or the user wants to stop.
pub(super) fn tried(
    plan: &Plan,
    candidate: &Candidate,
    meter: &InstructionMeter,
    deployment: &mut LiveDeployment,
    step: usize,
    stop: &AtomicBool,
) -> Result<Events> {
    let step_plan = planned(plan, candidate, step)?;
    if step_plan.chunk == Some(Chunk::Whole) {
        return Ok(Events::WHOLE);
    }
    let facts = &plan.steps[step].facts;
    let (class, length) = (facts.headline.class(), Length::of(meter, facts.writes));
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
        if has_ended {
            return Ok(Events::of_step(length, seconds.min(1.0), events));
        }
        if begun.elapsed() > TRIED_FOR {
            let found = Events::of_step(length, seconds.min(1.0), u64::MAX / 2);
            if events >= found.longer {
                return Ok(found);
            }
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
        let with = |length, microseconds: f64, most| {
            let Events { shorter, longer } = Events::of_step(length, microseconds * 1e-6, most);
            (shorter, longer)
        };
        let of = |microseconds, most| with(Length::UNDER_CALLGRIND, microseconds, most);
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
        let fast = |microseconds| with(Length::AT_FULL_SPEED, microseconds, 1 << 40);
        assert_eq!(fast(40.0), (3_840, 8_960));
        assert_eq!(fast(30_000.0), (5, 11));
        assert_eq!(fast(0.1), (7_680, 17_920));
    }
}
