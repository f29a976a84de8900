//! How many events the windows of a step have.

use anyhow::Result;
use basecase_model::{CountWindow, Operation};
use basecase_probe::CounterEvent;
use basecase_workload::insert_benchmark::Purpose;
use basecase_workload::{Chunk, Next, Script, StepPlan, Work};

use crate::plan::{Candidate, InstructionMeter, Plan};

/// The least events of half a window.
const LEAST: u64 = 20;
/// The same if one event takes more than [`LONG`].
const LEAST_OF_LONG: u64 = 3;
/// Instructions of a long event.
const LONG: f64 = 3e6;
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
    /// Of nanoseconds in the place of instructions, which only tests count: no length makes them precise.
    const OF_TIME: Length = Length { instructions: 20e6, most: 1_280 };

    fn of(meter: &InstructionMeter, writes: bool) -> Self {
        match meter {
            InstructionMeter::Callgrind(_) => Length::UNDER_CALLGRIND,
            InstructionMeter::Hardware(CounterEvent::TaskClock) => Length::OF_TIME,
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

    /// Those of a step whose events need so many instructions, found by `meter`: the same whenever that is about the same.
    ///
    /// # Errors
    /// When the step does not fit the candidate's dialect.
    pub(super) fn of_step(
        plan: &Plan,
        candidate: &Candidate,
        meter: &InstructionMeter,
        step: usize,
        instructions: f64,
    ) -> Result<Self> {
        let length = Length::of(meter, plan.steps[step].facts.writes);
        let most = most_of(planned(plan, candidate, step)?, 4 * length.most);
        Ok(Events::of_length(length, instructions, most))
    }

    /// For events that need so many instructions, of which the step has so many.
    fn of_length(length: Length, instructions: f64, most: u64) -> Self {
        let least = if instructions > LONG { LEAST_OF_LONG } else { LEAST };
        // Doubled from the least on, so that the next run finds the same, though its count is a little different.
        let times = length.instructions / instructions.max(1.0) / least as f64;
        let events = (least << times.max(1.0).log2().round().min(32.0) as u32).min(length.most);
        // Seven halves of a window make the longer session.
        Events::of_half_window(events.min(most * 2 / 7))
    }

    /// Whether a step is one piece of work.
    pub(super) fn of_whole(plan: &Plan, candidate: &Candidate, step: usize) -> Result<Option<Self>> {
        let chunk = planned(plan, candidate, step)?.chunk;
        Ok((chunk == Some(Chunk::Whole)).then_some(Events::WHOLE))
    }
}

/// The events of a step, as far as `limit`. Only steps of a certain number of rounds end by themselves.
fn most_of(step_plan: StepPlan, limit: u64) -> u64 {
    if !matches!(step_plan.chunk, Some(Chunk::Rounds(_))) {
        return limit;
    }
    let scripts = step_plan.roles.into_iter().filter_map(|role| match role.work {
        Work::Script(script) => Some(script),
        Work::Queue(_) => None,
    });
    scripts.map(|script| rounds_of(script, limit)).next().unwrap_or(limit)
}

/// The rounds of a script that needs no replies, as far as `limit`.
fn rounds_of(mut script: Box<dyn Script>, limit: u64) -> u64 {
    let (mut operation, mut rounds) = (Operation::default(), 0);
    while rounds < limit {
        operation.clear();
        match script.next(&mut operation) {
            Next::RoundEnd => rounds += 1,
            Next::Finish => break,
            Next::Send(_) | Next::Execute | Next::Aside(_) => {}
        }
    }
    rounds
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
        let with = |length, instructions: f64, most| {
            let Events { shorter, longer } = Events::of_length(length, instructions, most);
            (shorter, longer)
        };
        let of = |instructions, most| with(Length::UNDER_CALLGRIND, instructions, most);
        assert_eq!(of(240e3, 1 << 40), (60, 140));
        assert_eq!([of(200e3, 1 << 40), of(300e3, 1 << 40)], [of(240e3, 1 << 40); 2], "another run");
        assert_eq!([of(2e6, 1 << 40), of(4e6, 1 << 40)], [(30, 70), (5, 11)]);
        assert_eq!(of(18e6, 1 << 40), (5, 11));
        assert_eq!(of(600.0, 1 << 40), (1_920, 4_480));
        let (_, longer) = of(240e3, 100);
        assert!(longer <= 100, "{longer}");
        let fast = |instructions| with(Length::AT_FULL_SPEED, instructions, 1 << 40);
        assert_eq!(fast(240e3), (3_840, 8_960));
        assert_eq!(fast(180e6), (5, 11));
        assert_eq!(fast(600.0), (7_680, 17_920));
    }

    struct Rounds(u64);

    impl Script for Rounds {
        fn next(&mut self, _: &mut Operation) -> Next {
            self.0 -= 1;
            match self.0 {
                0 => Next::Finish,
                even if even % 2 == 0 => Next::RoundEnd,
                _ => Next::Send(0),
            }
        }

        fn answer(&mut self, _: &basecase_model::Reply) {}
    }

    #[test]
    fn the_rounds_of_a_step_are_counted_without_a_server() {
        assert_eq!([rounds_of(Box::new(Rounds(11)), 99), rounds_of(Box::new(Rounds(11)), 3)], [5, 3]);
    }
}
