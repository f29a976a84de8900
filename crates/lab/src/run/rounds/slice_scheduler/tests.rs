//! Which slices a step has, at every speed and scatter.

use std::collections::BTreeSet;

use super::*;

/// The slices of a step whose two candidates do so many operations per second.
fn specs(writes: bool, rate: f64) -> Vec<SliceSpec> {
    specs_of(writes, rate, 1, Duration::ZERO)
}

/// With so many connections, whose last answers come so long after the end.
fn specs_of(writes: bool, rate: f64, threads: u32, ending: Duration) -> Vec<SliceSpec> {
    specs_among(2, writes, rate, threads, ending)
}

/// Of so many candidates, the second of which is the base case.
fn specs_among(candidates: usize, writes: bool, rate: f64, threads: u32, ending: Duration) -> Vec<SliceSpec> {
    let step = StepFacts { writes, threads: Some(threads), ..StepFacts::EMPTY };
    let settings = SliceSettings { base: 1, ..SETTINGS };
    let scheduler = SliceScheduler::new(Orders::new(7), "step".into(), candidates, &step, false, settings);
    specs_at(scheduler, |_| rate, ending)
}

const SETTINGS: SliceSettings = SliceSettings {
    base: 0,
    slice: None,
    experience: None,
    most_work: MOST_WORK,
    most_sessions: 1,
    timing: Timing::ORDINARY,
};

/// Of two candidates whose sessions are opened anew.
fn specs_of_sessions(writes: bool, rate: f64) -> Vec<SliceSpec> {
    specs_of_at_most(24, writes, rate)
}

/// The same with at most so many sessions.
fn specs_of_at_most(most_sessions: u32, writes: bool, rate: f64) -> Vec<SliceSpec> {
    let step = StepFacts { writes, threads: Some(1), ..StepFacts::EMPTY };
    let settings = SliceSettings { most_sessions, ..SETTINGS };
    let scheduler = SliceScheduler::new(Orders::new(7), "step".into(), 2, &step, false, settings);
    specs_at(scheduler, |_| rate, Duration::ZERO)
}

#[test]
fn a_short_budget_shortens_work_and_warm_up_alike() {
    let step = StepFacts { writes: true, ..StepFacts::EMPTY };
    let [usual, short, least] = [MOST_WORK, WORK / 3, Duration::ZERO].map(|most_work| {
        let settings = SliceSettings { most_work, ..SETTINGS };
        let scheduler = SliceScheduler::new(Orders::new(7), "step".into(), 2, &step, false, settings);
        (scheduler.share, specs_at(scheduler, |_| 1000.0, Duration::ZERO).len())
    });
    assert!(usual.0 == 1.0 && short.0 < 0.4 && least.0 == LEAST_SHARE);
    assert!(short.1 < usual.1 / 2 && short.1 >= least.1 && least.1 >= 24, "{usual:?} {short:?} {least:?}");
}

#[test]
fn a_round_has_several_sessions_each_of_which_warms_up_first() {
    for writes in [false, true] {
        let specs = specs_of_sessions(writes, 50_000.0);
        let sessions: Vec<&[SliceSpec]> = specs.chunk_by(|one, next| one.session == next.session).collect();
        assert_eq!(sessions.len(), if writes { 8 } else { 5 });
        for session in &sessions[1..] {
            let warm_up = session.iter().take_while(|spec| spec.pass.is_none()).map(|spec| spec.runner);
            let mut warm_up: Vec<usize> = warm_up.collect();
            warm_up.sort_unstable();
            assert_eq!(warm_up, [0, 1]);
            assert!(session[2..].iter().all(|spec| spec.pass.is_some()));
            assert_eq!(session[2..].len() % 4, 0, "whole passes");
        }
        let passes = specs.iter().filter_map(|spec| spec.pass).max();
        assert_eq!(passes, Some(if writes { WRITING_PASSES - 1 } else { 24 }), "as many as with one session");
    }
}

#[test]
fn no_connection_has_more_sessions_than_it_may_have() {
    for most in 1..=4 {
        let specs = specs_of_at_most(most, false, 50_000.0);
        let sessions: BTreeSet<u32> = specs.iter().map(|spec| spec.session).collect();
        assert!(sessions.into_iter().eq(0..most), "{most}");
        assert_eq!(
            specs.iter().filter_map(|spec| spec.pass).max(),
            Some(24),
            "the last has the other passes"
        );
    }
}

#[test]
fn slow_steps_have_one_session() {
    assert!(specs_of_sessions(false, 20.0).iter().all(|spec| spec.session == 0));
    assert!(specs_of_sessions(false, 40.0).iter().any(|spec| spec.session > 0));
}

/// Of candidates that do `rate` operations per second in each slice.
fn specs_at(
    mut scheduler: SliceScheduler,
    mut rate: impl FnMut(&SliceSpec) -> f64,
    ending: Duration,
) -> Vec<SliceSpec> {
    let mut specs = Vec::new();
    let mut result = None;
    while let Some(spec) = scheduler.next(result.as_ref()) {
        let rate = rate(&spec);
        let time = match spec.end {
            SliceEnd::After(time) => time + ending,
            // It waits for the answer to what is in progress.
            SliceEnd::Counted(time) => (time + ending).max(Duration::from_secs_f64(1.0 / rate)),
            SliceEnd::Events(events) => Duration::from_secs_f64(events as f64 / rate),
            SliceEnd::Cut(_) => unreachable!("its steps have no end"),
        };
        let operations = (time.as_secs_f64() * rate) as u64;
        specs.push(spec);
        result = Some(SliceResult {
            spec,
            operations,
            events: operations,
            time,
            others_cpu_us: None,
            is_last: false,
        });
    }
    specs
}

#[test]
fn a_pass_goes_there_and_back() {
    let specs = specs(false, 50_000.0);
    let (warm_up, kept): (Vec<SliceSpec>, Vec<SliceSpec>) =
        specs.into_iter().partition(|spec| spec.pass.is_none());
    assert_eq!(warm_up.len(), 4);
    assert_eq!(kept.len(), 25 * 4);
    for (number, pass) in kept.chunks(4).enumerate() {
        assert!(pass.iter().all(|spec| spec.pass == Some(number as u32)));
        let runners: Vec<usize> = pass.iter().map(|spec| spec.runner).collect();
        assert!(runners == [0, 1, 1, 0] || runners == [1, 0, 0, 1], "{runners:?}");
        assert_eq!(runners, Orders::new(7).pass("step", number, 2), "by the number of the pass");
    }
    assert!(kept.iter().all(|spec| spec.end == SliceEnd::After(30 * MS) && spec.settle == SETTLE));
}

#[test]
fn a_base_case_of_many_has_two_slices_each_way() {
    let counts = |candidates: usize, writes: bool| -> Vec<Vec<usize>> {
        let specs = specs_among(candidates, writes, 50_000.0, 1, Duration::ZERO);
        let kept: Vec<SliceSpec> = specs.into_iter().filter(|spec| spec.pass.is_some()).collect();
        let ways =
            kept.chunk_by(|one, next| one.pass == next.pass).flat_map(|pass| pass.chunks(pass.len() / 2));
        let count = |way: &[SliceSpec]| {
            (0..candidates).map(|runner| way.iter().filter(|spec| spec.runner == runner).count()).collect()
        };
        ways.map(count).collect()
    };
    assert!(counts(5, false).iter().all(|way| way == &[1, 2, 1, 1, 1]));
    assert!(counts(4, false).iter().all(|way| way == &[1, 1, 1, 1]));
    assert!(counts(5, true).iter().all(|way| way == &[1, 1, 1, 1, 1]));
}

/// Passes and sessions of a step that scatters like this: standard deviations of passes, sessions and starts.
fn allocation(sds: [f64; 3], most_sessions: u32, most_work: Duration) -> (u32, u32) {
    let experience = Some(experience(sds));
    allocation_by(SliceSettings { experience, most_work, most_sessions, ..SETTINGS })
}

fn experience(sds: [f64; 3]) -> Experience {
    let [pass, session, start] = sds.map(|sd| sd * sd);
    let variances = StepVariances { pass, session, start };
    Experience { variances, fixed_time: Duration::from_secs(3) }
}

fn allocation_by(settings: SliceSettings) -> (u32, u32) {
    let step = StepFacts { threads: Some(1), ..StepFacts::EMPTY };
    let scheduler = SliceScheduler::new(Orders::new(7), "step".into(), 2, &step, false, settings);
    let specs = specs_at(scheduler, |_| 1e6, Duration::ZERO);
    let passes = specs.iter().filter_map(|spec| spec.pass).max().map_or(0, |last| last + 1);
    (passes, specs.last().map_or(0, |spec| spec.session + 1))
}

#[test]
fn a_round_is_divided_by_what_scatters() {
    assert_eq!(allocation([0.02, 0.0, 0.02], 1, MOST_WORK), (8, 1), "starts scatter: go on to the next");
    assert_eq!(allocation([0.2, 0.0, 0.02], 1, MOST_WORK), (71, 1), "passes scatter: 10 times as many");
    assert_eq!(allocation([0.2, 0.0, 0.0], 1, MOST_WORK), (100, 1), "as far as there is time");
    assert_eq!(allocation([0.2, 0.0, 0.0], 1, MS), (6, 1), "and as few as are typical in any case");
    assert_eq!(allocation([0.001, 0.0, 0.02], 1, MOST_WORK), (6, 1), "until it is known what is typical");
    let (passes, sessions) = allocation([0.01, 0.04, 0.01], 24, MOST_WORK);
    assert!(sessions >= 15 && passes == 2 * sessions, "sessions scatter: {passes} passes of {sessions}");
    let (passes, sessions) = allocation([0.1, 0.001, 0.01], 24, MOST_WORK);
    assert!(passes >= 10 * (sessions - 1), "passes scatter: {passes} of {sessions}");
    assert_eq!(allocation([0.01, 0.01, 0.5], 24, MOST_WORK).1, 3, "fewest passes, in sessions of two");
}

#[test]
fn slices_that_wait_for_a_quiet_machine_have_few_passes_whatever_scatters() {
    let passes = |slice, experience| {
        let settings = SliceSettings { slice: Some(slice), experience, ..SETTINGS };
        allocation_by(settings).0
    };
    let scattered = Some(experience([0.2, 0.0, 0.0]));
    assert_eq!(passes(LONG, scattered), passes(LONG, None));
    assert!(passes(LONG, scattered) < passes(LONG - MS, scattered));
}

#[test]
fn slices_are_as_short_as_their_events_allow() {
    let lengths = [1e6, 340.0, 100.0, 50.0, 20.0, 8.0, 1.0, 0.1, 0.0]
        .map(|rate| length_at(rate, MS, Timing::ORDINARY).as_millis());
    assert_eq!(lengths, [30, 30, 30, 40, 100, 250, 2_000, 3_000, 3_000]);
}

#[test]
fn slices_of_several_connections_are_long_against_their_endings() {
    let last =
        |writes, threads| specs_of(writes, 1_000.0, threads, 4 * MS).pop().map(|spec| (spec.end, spec.pass));
    assert_eq!(last(false, 1), Some((SliceEnd::After(30 * MS), Some(24))));
    assert_eq!(last(false, 8), Some((SliceEnd::After(200 * MS), Some(5))));
    assert_eq!(last(true, 1), Some((SliceEnd::Events(50), Some(23))));
    assert_eq!(last(true, 8), Some((SliceEnd::Events(200), Some(5))));
}

#[test]
fn slow_steps_have_passes_enough_to_tell_what_is_typical() {
    let passes = |rate: f64| specs(false, rate).last().and_then(|spec| spec.pass).map(|last| last + 1);
    assert_eq!([1e6, 50.0, 20.0, 8.0, 2.0, 1.0].map(passes), [25, 19, 8, 6, 2, 2].map(Some));
}

#[test]
fn tables_that_are_written_grow_old_together() {
    let specs = specs(true, 1_000.0);
    let ends_of = |runner: usize| -> Vec<SliceEnd> {
        specs.iter().filter(|spec| spec.runner == runner).map(|spec| spec.end).collect()
    };
    let first = specs[0].runner;
    assert_eq!(specs[0].end, SliceEnd::Counted(PROBE));
    assert_eq!(ends_of(1 - first)[0], SliceEnd::Events(50), "as many as the first had in its time");
    assert_eq!(ends_of(first)[1..], ends_of(1 - first)[1..]);
    assert_eq!(ends_of(first)[1], SliceEnd::Events(300));
    assert_eq!(ends_of(first).last(), Some(&SliceEnd::Events(50)));
    assert_eq!(ends_of(first).len(), 2 + 2 * WRITING_PASSES as usize);
}
