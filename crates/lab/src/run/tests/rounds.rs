//! Which rounds there are, of which steps, and in which order.

use std::time::Duration;

use basecase_model::{CalendarTime, Cell, CountEngine, CountWindow, OperationClass, StepCount, Trial, names};
use basecase_stats::{JudgedMetric, Judgement};

use super::super::bench::Bench as _;
use super::super::fake::Mishap;
use super::super::rounds::slice_scheduler::Experience;
use super::*;
use crate::observer::Standing;

#[test]
fn a_clear_change_is_decided_at_the_first_look_and_no_change_takes_more() {
    let laboratory = Laboratory::new();
    let scenario = in_rounds(40);
    let mut fake = slower_by(0.5);
    let summary = laboratory.run(&scenario, &mut fake).unwrap();
    assert!(summary.failed.is_empty() && !summary.interrupted);
    let rounds = laboratory.rounds(&scenario);
    let counts = |step: &str| -> Vec<usize> {
        rounds.iter().filter(|((name, _), _)| name == step).map(|(_, rounds)| rounds.len()).collect()
    };
    assert_eq!(counts(READ), [5, 5]);
    assert_eq!(counts(WRITE), [5, 5]);
    assert_eq!(counts("load"), [1, 1]);
    assert_eq!(laboratory.left(), Vec::<PathBuf>::new());
    assert_eq!(fake.up(), 0);
    // What is decided is not measured again.
    let mut again = slower_by(0.5);
    laboratory.run(&scenario, &mut again).unwrap();
    assert_eq!(again.calls(), []);

    // One step has changed by about its margin, which takes more rounds, and the other does not wait for it.
    let laboratory = Laboratory::new();
    let mut fake = Fake::new(|candidate, step, round, slice| {
        let share = if candidate.contains("rollback") && step == READ { 0.021 } else { 0.0 };
        let luck = 0.01 * noise(&format!("{candidate} {step}"), round, 0);
        1000.0 * (1.0 - share) * (1.0 + luck + 0.005 * noise(candidate, round, slice))
    });
    laboratory.run(&scenario, &mut fake).unwrap();
    let rounds = laboratory.rounds(&scenario);
    let most = |step: &str| {
        rounds.iter().filter(|((name, _), _)| name == step).map(|(_, rounds)| rounds.len()).max()
    };
    assert!(most(READ) > most(WRITE), "{rounds:?}");
    assert!(most(READ) <= Some(40));
}

/// Takes down where rounds stand: before each, and after each.
#[derive(Default)]
struct Standings {
    begun: Vec<Standing>,
    ended: Vec<Standing>,
    /// Steps that are decided after each round, and those that are open.
    decided: Vec<(usize, usize)>,
}

impl Observer for Standings {
    fn notice(&mut self, event: Event<'_>) {
        match event {
            Event::RoundBegins { standing, .. } => self.begun.push(standing),
            Event::RoundEnds { standing, decided, open, .. } => {
                self.ended.push(standing);
                self.decided.push((decided, open));
            }
            _ => {}
        }
    }
}

#[test]
fn verdicts_and_what_is_left_are_told_with_each_round() {
    let laboratory = Laboratory::new();
    let mut scenario = in_rounds(40);
    scenario.options.budget = Some(Duration::from_secs(1000));
    let plan = laboratory.plan(&scenario);
    let mut store = laboratory.store();
    let mut told = Standings::default();
    let mut fake = slower_by(0.5);
    let stop = fake.stop();
    run_on(&mut fake, &plan, &mut store, scenario.options.clone(), &stop, &mut told).unwrap();
    // Both steps are decided at the first interim analysis, after five rounds.
    assert_eq!((told.begun.len(), told.ended.len()), (5, 5));
    assert_eq!(told.decided, [(0, 2), (0, 2), (0, 2), (0, 2), (2, 0)]);
    let (first, last) = (told.begun[0], told.ended[4]);
    let nothing = Standing { open: 2, seconds_left: first.seconds_left, ..Standing::default() };
    assert_eq!(first, nothing);
    assert!(first.seconds_left.is_some_and(|left| (990.0..=1000.0).contains(&left)), "the budget: {first:?}");
    let decided = Standing { slower: 2, rounds: Some(5), seconds_left: Some(0.0), ..Standing::default() };
    assert_eq!(last, decided);
    for (done, standing) in told.ended[..4].iter().enumerate() {
        assert_eq!(standing.open, 2, "{standing:?}");
        assert!(standing.rounds.is_none_or(|all| all > done as u32 + 1), "{standing:?}");
        assert!(standing.seconds_left.is_some_and(|left| left > 0.0 && left < 1000.0), "{standing:?}");
    }
    let ends = told.ended[..4]
        .iter()
        .zip(1..)
        .filter_map(|(standing, done)| Some((standing.rounds? - done, standing)));
    let ends: Vec<(u32, &Standing)> = ends.collect();
    assert!(!ends.is_empty(), "{:?}", told.ended);
    for (rounds, standing) in ends {
        assert_eq!(
            standing.seconds_left,
            Some(f64::from(rounds) * 4.0),
            "two steps of two seconds: {standing:?}"
        );
    }
}

#[test]
fn what_is_faster_and_what_is_equal_are_told_as_that() {
    for (slower, faster, unchanged) in [(-0.5, 2, 0), (0.0, 0, 2)] {
        let laboratory = Laboratory::new();
        let scenario = in_rounds(40);
        let plan = laboratory.plan(&scenario);
        let mut told = Standings::default();
        let mut fake = slower_by(slower);
        let (stop, mut store) = (fake.stop(), laboratory.store());
        run_on(&mut fake, &plan, &mut store, scenario.options.clone(), &stop, &mut told).unwrap();
        let last = told.ended.last().unwrap();
        assert_eq!(
            (last.faster, last.unchanged, last.slower, last.open),
            (faster, unchanged, 0, 0),
            "{last:?}"
        );
    }
}

#[test]
fn candidates_are_started_in_other_places_each_round_and_steps_that_read_share_a_start() {
    let laboratory = Laboratory::new();
    let scenario = Scenario {
        workload: steps_of(&["point-query", "range-covered-pk", "insert", "delete"]),
        ..in_rounds(5)
    };
    let mut fake = slower_by(0.5);
    let summary = laboratory.run(&scenario, &mut fake).unwrap();
    assert_eq!(summary.failed, Vec::<String>::new());
    let calls = fake.calls();
    let mut first_places = Vec::new();
    let mut starts = 0;
    for window in calls.windows(2) {
        // All of a server run are forgotten before any of it starts.
        if let [Call::Open { .. }, Call::Forget { .. }] = window {
            panic!("a program is forgotten while another candidate runs it: {calls:#?}");
        }
    }
    for call in &calls {
        match call {
            Call::Open { is_fresh: false, directory, candidate } => {
                starts += 1;
                if candidate.contains("wal") {
                    first_places.push(directory.clone());
                }
            }
            Call::Turns { step, is_first, .. } => {
                let reads = step.starts_with("point") || step.starts_with("range");
                assert!(reads || *is_first, "each step that writes has its own start");
            }
            _ => {}
        }
    }
    let forgotten = calls.iter().filter(|call| matches!(call, Call::Forget { .. })).count();
    assert_eq!(forgotten, starts, "each start reads its program anew");
    // One start for both steps that read, one for each that writes, of two candidates in five rounds.
    assert_eq!(starts, 3 * 2 * 5, "{:?}", turns(&calls));
    assert!(first_places.iter().any(|place| place == "0") && first_places.iter().any(|place| place == "1"));
    let order = |round: u32| -> Vec<String> {
        turns(&calls).into_iter().filter(|turn| turn.1 == round).map(|turn| turn.0).collect()
    };
    assert!((1..5).any(|round| order(round) != order(0)), "steps are shuffled: {:?}", turns(&calls));
    assert!((0..5).all(|round| order(round).len() == 4));
}

#[test]
fn a_budget_ends_before_a_round_that_does_not_fit_and_one_there_is_in_any_case() {
    for (budget_s, least, most) in [(1, 1, 1), (30, 1, 15), (1000, 40, 40)] {
        let laboratory = Laboratory::new();
        let mut scenario = in_rounds(40);
        scenario.options.budget = Some(Duration::from_secs(budget_s));
        // Half way between a change and none: no number of rounds decides it.
        let mut fake = Fake::new(|candidate, step, round, _| {
            let share = if candidate.contains("rollback") { 0.02 } else { 0.0 };
            1000.0 * (1.0 - share) * (1.0 + 0.2 * noise(&format!("{candidate} {step}"), round, 0))
        });
        let began = fake.now();
        laboratory.run(&scenario, &mut fake).unwrap();
        let rounds = laboratory.rounds(&scenario);
        let count = rounds[&(READ.to_owned(), "sqlite3541.wal_normal".to_owned())].len();
        assert!((least..=most).contains(&count), "{count} rounds in {budget_s} s");
        let took = fake.now() - began;
        let load_and_round = Duration::from_secs(6);
        assert!(took <= Duration::from_secs(budget_s) + load_and_round, "{took:?} of {budget_s} s");
        if budget_s == 1 {
            let is_short = |call: &Call| match call {
                Call::Turns { most_work, .. } => *most_work < Duration::from_millis(100),
                _ => true,
            };
            assert!(fake.calls().iter().all(is_short), "no more work than the budget has room for");
            // It is known by now that nothing fits.
            laboratory.run(&scenario, &mut fake).unwrap();
            let mut rounds = laboratory.rounds(&scenario);
            rounds.retain(|(step, _), _| step != "load");
            assert!(rounds.values().all(|rounds| rounds.len() == 2), "another one of each step: {rounds:?}");
        }
    }
}

#[test]
fn the_round_of_the_first_verdict_may_end_after_the_budget() {
    let rounds_in = |budget: Duration| {
        let laboratory = Laboratory::new();
        let mut scenario = in_rounds(40);
        scenario.options.budget = Some(budget);
        let mut fake = Fake::new(|candidate, step, round, _| {
            1000.0 * (1.0 + 0.2 * noise(&format!("{candidate} {step}"), round, 0))
        });
        laboratory.run(&scenario, &mut fake).unwrap();
        laboratory.rounds(&scenario)[&(READ.to_owned(), "sqlite3541.wal_normal".to_owned())].len()
    };
    let counts: Vec<usize> = (1..60).map(|half| rounds_in(Duration::from_millis(500 * half + 137))).collect();
    assert!(counts.contains(&3) && counts.contains(&5), "{counts:?}");
    assert!(!counts.contains(&4), "where four rounds fit, the fifth is measured as well: {counts:?}");
}

#[test]
fn error_is_spent_by_the_time_of_the_budget_that_an_experiment_began_with() {
    let laboratory = Laboratory::new();
    let mut scenario = in_rounds(40);
    // A step takes 1.5 s of two candidates: the budget holds seven rounds of two steps.
    let mut run = |budget_s: Option<u64>| {
        scenario.options.budget = budget_s.map(Duration::from_secs);
        let mut fake = Fake::new(|candidate, step, round, _| {
            1000.0 * (1.0 + 0.05 * noise(&format!("{candidate} {step}"), round, 0))
        });
        laboratory.run(&scenario, &mut fake).unwrap();
        let experiment = laboratory.experiment(&scenario);
        let judgement = Judgement::of(&experiment, &laboratory.trials(&scenario)).unwrap();
        let read = experiment.steps.iter().position(|step| step.name == READ).unwrap();
        let decision = judgement.decision(JudgedMetric::Throughput, read, 1).unwrap();
        (experiment.calendar_time, decision.rounds, decision.level.unwrap())
    };
    let (calendar_time, rounds, level) = run(Some(24));
    let CalendarTime { budget_seconds, passed_seconds } = calendar_time.unwrap();
    assert_eq!((budget_seconds, passed_seconds), (24.0, 24.0), "nothing more fits, so all of it has passed");
    assert!((5..10).contains(&rounds), "{rounds}");
    // By the rounds alone, nine of 40 would have spent 0.011.
    assert!((0.015..0.045).contains(&level), "{level} after {rounds} rounds");

    // More time spends from what was kept back, whatever budget it is given.
    let (calendar_time, more, level) = run(Some(12));
    let CalendarTime { budget_seconds, passed_seconds } = calendar_time.unwrap();
    assert_eq!((budget_seconds, passed_seconds), (24.0, 36.0));
    assert!(more > rounds && level < 0.05, "{level} after {more} rounds");
    let (calendar_time, ..) = run(None);
    assert_eq!(calendar_time.unwrap().budget_seconds, 24.0, "and so does a run without one");
}

#[test]
fn chains_of_one_candidate_after_the_other_keep_their_budget_as_well() {
    let laboratory = Laboratory::new();
    let scenario = in_chains(5);
    let mut plan = laboratory.plan(&scenario);
    plan.fits_together = false;
    let mut store = Store::create_or_open(&laboratory.folder.path().join("s.sqlite")).unwrap();
    let mut run = |budget_s| {
        let mut fake = slower_by(0.5);
        let stop = fake.stop();
        let budget = Some(Duration::from_secs(budget_s));
        let options = RunOptions { budget, most_rounds: Some(2), ..RunOptions::default() };
        let summary = run_on(&mut fake, &plan, &mut store, options, &stop, &mut Nobody).unwrap();
        summary.experiment.calendar_time.unwrap()
    };
    let first = run(3000);
    assert_eq!(first.budget_seconds, 3000.0);
    assert!(first.passed_seconds > 0.0 && first.passed_seconds < 3000.0, "{first:?}");
    let again = run(60);
    assert_eq!(again.budget_seconds, 3000.0);
    assert!(again.passed_seconds >= first.passed_seconds, "{again:?}");
    let trials = store.trials(&plan.experiment.id).unwrap();
    let dates: Vec<f64> =
        trials.iter().filter_map(|trial| trial.gauges.get(names::CALENDAR_SECONDS)).collect();
    assert_eq!(dates.len(), trials.len(), "each trial says when it was");
}

#[test]
fn chains_of_one_candidate_after_the_other_end_with_one_that_fails_or_a_stop() {
    let run = |mishap: Option<(usize, Mishap)>| {
        let laboratory = Laboratory::new();
        let mut plan = laboratory.plan(&in_chains(5));
        plan.fits_together = false;
        let mut fake = slower_by(0.5);
        if let Some((at, mishap)) = mishap {
            fake = fake.with(at, mishap);
        }
        let options = RunOptions { most_rounds: Some(2), ..RunOptions::default() };
        let (stop, mut store) = (fake.stop(), laboratory.store());
        let summary = run_on(&mut fake, &plan, &mut store, options, &stop, &mut Nobody).unwrap();
        (summary, fake.calls())
    };
    let opened = |calls: &[Call]| calls.iter().filter(|call| matches!(call, Call::Open { .. })).count();
    let (summary, calls) = run(None);
    let steps = summary.experiment.steps.len();
    assert_eq!((summary.all, opened(&calls)), (2 * 2 * steps, 2 * 2));
    // In the first chain of the candidate that comes second; the base case has nobody to be compared with from then on.
    let of_second =
        |call: &Call| matches!(call, Call::Measure { candidate, .. } if candidate.contains("rollback"));
    let at = calls.iter().position(of_second).unwrap();
    let (summary, calls) = run(Some((at, Mishap::Failure)));
    assert!(!summary.failed.is_empty() && opened(&calls) <= 2, "{calls:?}");
    let first = calls.iter().position(|call| matches!(call, Call::Measure { .. })).unwrap();
    let (summary, calls) = run(Some((first, Mishap::Interrupt)));
    assert!(summary.interrupted && opened(&calls) == 1, "{calls:?}");
}

#[test]
fn who_fails_a_step_of_a_chain_breaks_it_off_and_the_others_begin_anew() {
    let mut scenario = in_chains(5);
    scenario.candidates.push("sqlite@default");
    scenario.options.most_rounds = Some(2);
    let of_turns = |call: Call| match call {
        Call::Turns { step, candidates, .. } => Some((step, candidates.len())),
        _ => None,
    };
    let mut whole = slower_by(0.5);
    Laboratory::new().run(&scenario, &mut whole).unwrap();
    let calls = whole.calls();
    let at: Vec<usize> = (0..calls.len()).filter(|at| of_turns(calls[*at].clone()).is_some()).collect();
    let mut fake = slower_by(0.5).with(at[2], Mishap::Failure);
    let summary = Laboratory::new().run(&scenario, &mut fake).unwrap();
    assert_eq!(summary.failed.len(), 1);
    let told: Vec<(String, usize)> = fake.calls().into_iter().filter_map(of_turns).collect();
    let steps: Vec<&str> = summary.experiment.steps.iter().map(|step| step.name.as_str()).collect();
    let of = |steps: &[&str], candidates: usize| -> Vec<(String, usize)> {
        steps.iter().map(|step| ((*step).to_owned(), candidates)).collect()
    };
    assert_eq!(told, [of(&steps[..3], 3), of(&steps, 2), of(&steps, 2)].concat());
}

#[test]
fn rounds_without_a_budget_have_no_calendar() {
    let laboratory = Laboratory::new();
    let scenario = in_rounds(5);
    laboratory.run(&scenario, &mut slower_by(0.5)).unwrap();
    assert_eq!(laboratory.experiment(&scenario).calendar_time, None);
    let has_date = |trial: &Trial| trial.gauges.get(names::CALENDAR_SECONDS).is_some();
    assert!(!laboratory.trials(&scenario).iter().any(has_date));
}

#[test]
fn from_the_third_round_on_steps_that_read_are_divided_by_what_scattered() {
    let laboratory = Laboratory::new();
    let mut fake = Fake::new(|candidate, step, round, slice| {
        let start = 0.02 * noise(&format!("{candidate} {step}"), round, 0);
        1000.0 * (1.0 + start + 0.01 * noise(&format!("{candidate} {step} {round}"), slice, 0))
    });
    laboratory.run(&in_rounds(6), &mut fake).unwrap();
    for call in fake.calls() {
        let Call::Turns { round, step, experience, .. } = call else { continue };
        assert_eq!(experience.is_some(), step == READ && round >= 2, "{step} in round {round}");
        let Some(Experience { variances, fixed_time }) = experience else { continue };
        assert!(variances.start > variances.pass / 6.0 && variances.pass > 0.0, "{variances:?}");
        // Four turns of a second, of which slices are 0.36 s.
        assert!((fixed_time.as_secs_f64() - 0.64).abs() < 1e-6, "{fixed_time:?}");
    }
}

#[test]
fn rounds_that_were_begun_otherwise_are_refused_and_only_the_wanted_step_is_measured() {
    let laboratory = Laboratory::new();
    let mut scenario = in_rounds(40);
    scenario.options.only_step = Some(READ.to_owned());
    scenario.options.most_rounds = Some(2);
    let mut fake = slower_by(0.5);
    laboratory.run(&scenario, &mut fake).unwrap();
    assert!(turns(&fake.calls()).iter().all(|(step, round)| step == READ && *round < 2));
    assert_eq!(turns(&fake.calls()).len(), 2);
    // The same rounds go on, and what was left out catches up from the first round.
    let scenario = in_rounds(40);
    let mut fake = slower_by(0.5);
    laboratory.run(&scenario, &mut fake).unwrap();
    assert_eq!(turns(&fake.calls())[0], (WRITE.to_owned(), 0));
    let loads = laboratory.trials(&scenario).into_iter().filter(|trial| trial.step == "load");
    assert!(loads.into_iter().all(|load| load.warnings[0].starts_with("the data was loaded again")));
    let rounds = laboratory.rounds(&scenario);
    assert!(
        rounds.iter().filter(|((step, _), _)| step != "load").all(|(_, rounds)| *rounds == [0, 1, 2, 3, 4])
    );

    let other = Scenario {
        protocol: Protocol::Rounds(Rounds { detect: Some(0.05), most: Some(40), slice: None }),
        ..scenario
    };
    let plan = laboratory.plan(&other);
    let mut store = Store::create_or_open(&laboratory.folder.path().join("s.sqlite")).unwrap();
    let mut fake = slower_by(0.5);
    let stop = fake.stop();
    let refused = run_on(&mut fake, &plan, &mut store, RunOptions::default(), &stop, &mut Nobody);
    assert!(refused.unwrap_err().to_string().contains("these are fixed before the first round"));
    assert_eq!(fake.calls(), []);
}

#[test]
fn the_margin_of_work_is_fixed_before_the_first_count() {
    let laboratory = Laboratory::new();
    let counting = |work_margin, keeps_margins| Scenario {
        options: RunOptions { work_margin, keeps_margins, ..RunOptions::default() },
        ..in_rounds(5)
    };
    let run = |work_margin, keeps_margins| {
        let scenario = counting(work_margin, keeps_margins);
        let mut store = Store::create_or_open(&laboratory.folder.path().join("s.sqlite")).unwrap();
        let mut fake = slower_by(0.5);
        let stop = fake.stop();
        let plan = laboratory.plan(&scenario);
        run_on(&mut fake, &plan, &mut store, scenario.options, &stop, &mut Nobody)
    };
    let agreed = |work_margin, keeps_margins| run(work_margin, keeps_margins).unwrap().experiment.work_margin;
    assert_eq!(agreed(None, false), None, "nothing is counted");
    assert_eq!(agreed(Some(0.01), false), Some(0.01));
    assert_eq!(agreed(Some(0.002), false), Some(0.002), "nothing was counted yet");
    assert_eq!(agreed(None, false), Some(0.002), "times alone leave it as it is");

    let scenario = counting(None, false);
    let plan = laboratory.plan(&scenario);
    let cell = &plan.candidates[0].cells[1];
    let mut store = Store::create_or_open(&laboratory.folder.path().join("s.sqlite")).unwrap();
    store.save_counts(&plan.experiment.id, &[(cell, &step_count(cell))]).unwrap();
    drop((store, plan));
    let refused = run(Some(0.01), false).unwrap_err().to_string();
    assert!(refused.starts_with("these counts began with a margin of 0.200 %"), "{refused}");
    assert!(refused.contains("\nhint: give the same --counts-detect as before"), "{refused}");
    assert_eq!(laboratory.experiment(&scenario).work_margin, Some(0.002));
    assert_eq!(agreed(Some(0.002), false), Some(0.002));
    assert_eq!(agreed(Some(0.01), true), Some(0.002), "kept");
}

/// A count of a cell.
fn step_count(cell: &Cell) -> StepCount {
    StepCount {
        cell: cell.key(),
        step: cell.step.clone(),
        candidate: "c".into(),
        start: 0,
        started_at: "2026-11-25T10:00:00Z".into(),
        engine: CountEngine::Callgrind,
        engine_version: "valgrind-3.19.0".into(),
        failure: None,
        operation: OperationClass::Query,
        windows: vec![CountWindow { operations: 1, events: 1, instructions: 1 }],
        functions: Vec::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn a_chain_is_loaded_and_measured_anew_in_each_round() {
    let laboratory = Laboratory::new();
    let scenario = in_chains(5);
    let mut fake = slower_by(0.5);
    let summary = laboratory.run(&scenario, &mut fake).unwrap();
    assert!(summary.failed.is_empty(), "{:?}", summary.failed);
    let rounds = laboratory.rounds(&scenario);
    assert_eq!(rounds.len(), 2 * 10);
    assert!(rounds.values().all(|rounds| *rounds == [0, 1, 2, 3, 4]), "{rounds:?}");
    let fresh = fake.calls().iter().filter(|call| matches!(call, Call::Open { is_fresh: true, .. })).count();
    assert_eq!(fresh, 2 * 5);
    assert_eq!(laboratory.left(), Vec::<PathBuf>::new());
}

#[test]
fn a_step_has_the_time_that_the_user_gave_it() {
    let laboratory = Laboratory::new();
    let scenario = Scenario { step_limit_seconds: Some(7), ..classic() };
    let mut fake = slower_by(0.0);
    laboratory.run(&scenario, &mut fake).unwrap();
    let limits = |calls: &[Call]| -> Vec<Option<Duration>> {
        let limit = |call: &Call| match call {
            Call::Measure { limit, .. } => Some(*limit),
            _ => None,
        };
        calls.iter().filter_map(limit).collect()
    };
    assert_eq!(limits(&fake.calls()), [Some(Duration::from_secs(7)); 20]);
    let mut fake = slower_by(0.0);
    Laboratory::new().run(&classic(), &mut fake).unwrap();
    let usual = Some(Duration::from_secs(605));
    assert_eq!(
        limits(&fake.calls())[..10],
        [None, None, None, None, usual, usual, usual, usual, usual, usual]
    );
}

#[test]
fn data_is_loaded_anew_within_the_rounds_and_trials_say_for_which() {
    let laboratory = Laboratory::new();
    let loads = |calls: &[Call]| -> Vec<u32> {
        let mut round = 0;
        let mut loaded = Vec::new();
        for call in calls {
            match call {
                Call::Turns { round: begun, .. } => round = begun + 1,
                Call::Open { is_fresh: true, candidate, .. } if candidate.contains("wal") => {
                    loaded.push(round);
                }
                _ => {}
            }
        }
        loaded
    };
    let mut fake = slower_by(0.5);
    laboratory.run(&in_rounds(5), &mut fake).unwrap();
    assert_eq!(loads(&fake.calls()), [0, 2, 3, 4], "the first load is a trial, which takes longer");
    let of_round: Vec<Option<f64>> = laboratory
        .trials(&in_rounds(5))
        .iter()
        .filter(|trial| trial.step == READ && trial.candidate.contains("wal"))
        .map(|trial| trial.gauges.get(names::IMAGE_ROUND))
        .collect();
    assert_eq!(of_round, [0.0, 0.0, 2.0, 3.0, 4.0].map(Some));

    let laboratory = Laboratory::new();
    let mut scenario = in_rounds(5);
    scenario.options.loads = Some(1);
    let mut fake = slower_by(0.5);
    laboratory.run(&scenario, &mut fake).unwrap();
    assert_eq!(loads(&fake.calls()), [0], "one, because the user wants one");
}

#[test]
fn data_is_loaded_once_more_if_it_is_to_be_and_its_trial_says_so() {
    let laboratory = Laboratory::new();
    let mut scenario = in_rounds(40);
    scenario.options.keep_data = true;
    scenario.options.loads = Some(1);
    for (most_rounds, rebuilds, loads) in [(1, false, 0), (2, false, 0), (4, true, 2)] {
        scenario.options.most_rounds = Some(most_rounds);
        scenario.options.rebuilds = rebuilds;
        let mut fake = slower_by(0.5);
        laboratory.run(&scenario, &mut fake).unwrap();
        let is_load = |call: &&Call| matches!(call, Call::Execute { .. });
        assert_eq!(
            fake.calls().iter().filter(is_load).count(),
            loads,
            "each candidate's in {most_rounds} rounds"
        );
        let trials = laboratory.trials(&scenario).into_iter().filter(|trial| trial.step == "load");
        assert!(trials.into_iter().all(|load| load.warnings.is_empty() != rebuilds), "{most_rounds} rounds");
    }
}

#[test]
fn data_is_deleted_at_the_end_unless_it_is_to_be_kept_or_the_run_was_stopped() {
    for make in [in_rounds, in_chains] {
        let leaves_data = |keep_data: bool, stops: bool| {
            let (laboratory, mut scenario) = (Laboratory::new(), make(5));
            scenario.options.keep_data = keep_data;
            scenario.options.most_rounds = Some(2);
            let mut fake = slower_by(0.5);
            if stops {
                fake = fake.with(20, Mishap::Interrupt);
            }
            laboratory.run(&scenario, &mut fake);
            laboratory.plan(&scenario).folder.join("slots").exists()
        };
        assert!(!leaves_data(false, false) && leaves_data(true, false) && leaves_data(false, true));
    }
}

#[test]
fn what_a_step_left_is_paid_before_the_next_of_its_chain() {
    let laboratory = Laboratory::new();
    let mut scenario = in_chains(5);
    scenario.options.most_rounds = Some(1);
    let mut fake = slower_by(0.5);
    laboratory.run(&scenario, &mut fake).unwrap();
    // After the turns of each step, whether both candidates settled before those of the next.
    let calls = fake.calls();
    let of_steps = calls.split(|call| matches!(call, Call::Turns { .. })).skip(1);
    let settles = |calls: &[Call]| calls.iter().filter(|call| matches!(call, Call::Settle { .. })).count();
    let settled: Vec<usize> = of_steps.map(settles).collect();
    let steps = laboratory.plan(&scenario).steps;
    let mut wanted: Vec<usize> = steps.iter().map(|step| if step.settles_after { 2 } else { 0 }).collect();
    *wanted.last_mut().unwrap() = 0;
    assert!(wanted.contains(&0) && wanted.contains(&2));
    assert_eq!(settled, wanted);
    let firsts = calls.iter().filter_map(|call| match call {
        Call::Turns { is_first, .. } => Some(*is_first),
        _ => None,
    });
    assert!(firsts.eq((0..steps.len()).map(|number| number == 0)), "the servers have just been started");
}
