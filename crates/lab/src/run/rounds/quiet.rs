//! Holds back long slices until no other work uses the machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use basecase_load::{SliceEnd, SliceResult, SliceSpec};
use basecase_probe::OthersTime;
use basecase_stats::NOISY_CORES;
use basecase_stop::pause;

use super::slice_scheduler::LONG;
use crate::request::Timing;

/// How long one poll of the machine lasts.
const POLL: Duration = Duration::from_secs(1);
/// The most polls of a step in a round. The first finds most machines quiet.
pub(crate) const MOST_POLLS: u32 = 60;

/// The waiting of one step in one round.
pub(crate) struct Quiet<'a> {
    stop: &'a AtomicBool,
    timing: Timing,
    /// The polls that this step has left.
    polls: u32,
    /// The polls of a step. There are fewer as long as the machine is never quiet.
    patience: &'a mut u32,
    /// A poll of this length: whether other work uses little.
    poll: fn(Duration) -> bool,
}

impl<'a> Quiet<'a> {
    /// With the patience that earlier steps left.
    pub(crate) fn new(stop: &'a AtomicBool, timing: Timing, patience: &'a mut u32) -> Self {
        Quiet { stop, timing, polls: *patience, patience, poll: is_quiet }
    }

    /// Waits before a pass of long slices if other work disturbed the slice before it, or if that is unknown.
    pub(crate) fn wait_before(&mut self, spec: &SliceSpec, result: Option<&SliceResult>) {
        let begins_pass = spec.pass.is_some() && result.is_none_or(|result| result.spec.pass != spec.pass);
        let is_long = matches!(spec.end, SliceEnd::After(time) if time >= self.timing.of(LONG));
        if !begins_pass || !is_long || result.is_some_and(|result| was_quiet(result, self.timing)) {
            return;
        }
        let polls = self.polls;
        while self.polls > 0 && !self.stop.load(Ordering::Relaxed) {
            self.polls -= 1;
            if (self.poll)(self.timing.of(POLL)) {
                *self.patience = MOST_POLLS;
                return;
            }
        }
        if polls > 0 {
            *self.patience = (*self.patience / 2).max(1);
        }
    }
}

/// Whether other work used little during a slice that was long enough to tell.
fn was_quiet(result: &SliceResult, timing: Timing) -> bool {
    let time_us = result.time.as_secs_f64() * 1e6;
    result.time >= timing.of(LONG)
        && result.others_cpu_us.is_some_and(|others_us| others_us <= NOISY_CORES * time_us)
}

/// Whether other work uses little now, or the kernel does not say.
fn is_quiet(poll: Duration) -> bool {
    let Some(before) = OthersTime::now() else { return true };
    pause(poll);
    OthersTime::now().is_none_or(|now| is_little(now.since(before), poll))
}

/// Whether other work used little in so long a time.
fn is_little(others: OthersTime, time: Duration) -> bool {
    others.busy_us + others.steal_us <= NOISY_CORES * time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(pass: Option<u32>) -> SliceSpec {
        SliceSpec { runner: 0, session: 0, pass, settle: Duration::ZERO, end: SliceEnd::After(LONG) }
    }

    /// A slice of the first pass, during which other work used so much of the processors.
    fn result(others_cpu_us: f64) -> SliceResult {
        SliceResult {
            spec: spec(Some(0)),
            operations: 50,
            events: 0,
            time: LONG,
            others_cpu_us: Some(others_cpu_us),
            is_last: false,
        }
    }

    /// How many polls are left, and how patient the next step is, after the wait before a pass of a step of this patience.
    fn waited(patience: u32, poll: fn(Duration) -> bool) -> (u32, u32) {
        let (stop, mut patience) = (AtomicBool::new(false), patience);
        let mut quiet = Quiet { poll, ..Quiet::new(&stop, Timing::ORDINARY, &mut patience) };
        quiet.wait_before(&spec(Some(1)), Some(&result(0.4e6)));
        (quiet.polls, patience)
    }

    #[test]
    fn a_slice_is_quiet_by_the_share_of_its_time() {
        let is_quiet = |result: &SliceResult| was_quiet(result, Timing::ORDINARY);
        assert!(is_quiet(&result(0.2e6)) && !is_quiet(&result(0.4e6)));
        assert!(is_quiet(&SliceResult { time: 2 * LONG, ..result(0.4e6) }));
        assert!(!is_quiet(&SliceResult { time: LONG / 2, ..result(0.0) }), "too short to tell");
        assert!(!is_quiet(&SliceResult { others_cpu_us: None, ..result(0.0) }), "nobody knows");
    }

    #[test]
    fn other_work_is_little_by_what_it_used_and_what_was_stolen() {
        let is_little = |busy_us, steal_us| is_little(OthersTime { busy_us, steal_us }, 2 * POLL);
        assert!(is_little(0.4e6, 0.1e6) && is_little(0.1e6, 0.4e6));
        assert!(!is_little(0.4e6, 0.3e6) && !is_little(0.0, 0.7e6) && !is_little(0.7e6, 0.0));
    }

    #[test]
    fn a_slice_that_was_quiet_needs_no_look_and_a_stopped_run_none_at_all() {
        let stop = AtomicBool::new(true);
        let mut patience = MOST_POLLS;
        let mut quiet = Quiet { poll: |_| false, ..Quiet::new(&stop, Timing::ORDINARY, &mut patience) };
        quiet.wait_before(&spec(Some(1)), Some(&result(0.4e6)));
        assert_eq!(quiet.polls, MOST_POLLS);
        stop.store(false, Ordering::Relaxed);
        quiet.wait_before(&spec(Some(0)), Some(&result(0.4e6)));
        quiet.wait_before(&spec(None), Some(&result(0.4e6)));
        quiet.wait_before(&spec(Some(1)), Some(&result(0.1e6)));
        assert_eq!(quiet.polls, MOST_POLLS, "nothing to wait for");
        quiet.wait_before(&spec(Some(1)), Some(&result(0.4e6)));
        assert_eq!(quiet.polls, 0);
    }

    #[test]
    fn a_machine_that_is_never_quiet_is_waited_for_half_as_long_in_the_next_step() {
        assert_eq!(waited(8, |_| false), (0, 4));
        assert_eq!(waited(1, |_| false), (0, 1));
        assert_eq!(waited(8, |_| true), (7, MOST_POLLS), "and for as long as ever once it is");
        assert_eq!(waited(0, |_| false), (0, 0), "what was not waited for says nothing");
    }
}
