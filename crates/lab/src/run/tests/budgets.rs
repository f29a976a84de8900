//! What a budget of time changes in rounds.

use std::time::Duration;

use super::super::bench::Bench as _;
use super::super::fake::Mishap;
use super::super::rounds::slice_scheduler::WORK;
use super::*;

/// Rounds that no number of them decides, in a budget of so many seconds.
fn within(budget_s: f64) -> Scenario {
    let mut scenario = in_rounds(40);
    scenario.options.budget = Some(Duration::from_secs_f64(budget_s));
    scenario
}

/// Half way between a change and none, with so much noise in the step that reads and in the one that writes.
fn undecided(noise_of_reads: f64, noise_of_writes: f64) -> Fake {
    Fake::new(move |candidate, step, round, _| {
        let share = if candidate.contains("rollback") { 0.02 } else { 0.0 };
        let luck = if step == READ { noise_of_reads } else { noise_of_writes };
        1000.0 * (1.0 - share) * (1.0 + luck * noise(&format!("{candidate} {step}"), round, 0))
    })
}

/// How much work the turns of the first round were allowed.
fn first_work(calls: &[Call]) -> Duration {
    work_in(calls, 0)
}

/// The same of another round.
fn work_in(calls: &[Call], wanted: u32) -> Duration {
    let of_turns = |call: &Call| match call {
        Call::Turns { round, most_work, .. } if *round == wanted => Some(*most_work),
        _ => None,
    };
    calls.iter().find_map(of_turns).unwrap()
}

#[test]
fn the_calendar_is_kept_after_each_round() {
    let scenario = within(1000.0);
    let mut whole = undecided(0.2, 0.2);
    Laboratory::new().run(&scenario, &mut whole).unwrap();
    let is_third = |call: &Call| matches!(call, Call::Turns { round: 3, .. });
    let at = whole.calls().iter().position(is_third).unwrap();
    let laboratory = Laboratory::new();
    assert!(laboratory.run(&scenario, &mut undecided(0.2, 0.2).with(at, Mishap::Kill)).is_none());
    let passed_seconds = laboratory.experiment(&scenario).calendar_time.unwrap().passed_seconds;
    assert_eq!(passed_seconds, 2.0 + 3.0 * 4.0, "the load and three rounds of two steps");
}

#[test]
fn a_budget_that_ends_counts_whole_in_each_run() {
    // After a load of 2 s and twelve rounds of 4 s.
    let scenario = within(51.0);
    let laboratory = Laboratory::new();
    for runs in 1..=2 {
        laboratory.run(&scenario, &mut undecided(0.2, 0.2)).unwrap();
        let passed_seconds = laboratory.experiment(&scenario).calendar_time.unwrap().passed_seconds;
        assert_eq!(passed_seconds, 51.0 * f64::from(runs));
    }
}

#[test]
fn a_budget_that_has_passed_buys_one_round_more_each_time() {
    let laboratory = Laboratory::new();
    // Not even the round of the first verdict begins then.
    for round in 0..6 {
        let mut fake = undecided(0.2, 0.2);
        laboratory.run(&within(0.001), &mut fake).unwrap();
        assert!(turns(&fake.calls()).iter().all(|(_, measured)| *measured == round), "{round}");
    }
}

/// How many seconds a run with one step that reads takes, and how many rounds it has.
fn time_and_rounds(fake: &mut Fake, scenario: &Scenario) -> (f64, u32) {
    let scenario = Scenario { workload: steps_of(&["point-query"]), ..scenario.clone() };
    let began = fake.now();
    Laboratory::new().run(&scenario, fake).unwrap();
    let rounds = turns(&fake.calls()).iter().map(|(_, round)| round + 1).max().unwrap();
    ((fake.now() - began).as_secs_f64(), rounds)
}

#[test]
fn no_round_begins_that_would_end_after_the_budget_with_the_load_before_it() {
    for tenths in 160..180 {
        let budget_s = f64::from(tenths) / 10.0;
        let mut fake = undecided(0.2, 0.2);
        // Cheap enough to come again in each second round.
        fake.unmeasured_seconds = 0.2;
        let (took, rounds) = time_and_rounds(&mut fake, &within(budget_s));
        // The round of the first verdict may.
        assert!(rounds == 5 || took <= budget_s + 1e-6, "{took} s of {budget_s} s for {rounds} rounds");
    }
}

#[test]
fn what_a_round_takes_beside_its_turns_is_expected_of_the_next() {
    for budget_s in [40.0, 40.5, 41.0, 41.5, 42.0, 42.5, 43.0, 43.5] {
        let mut fake = undecided(0.2, 0.2);
        fake.opening_seconds = 1.0;
        let mut scenario = within(budget_s);
        scenario.options.loads = Some(1);
        let (took, rounds) = time_and_rounds(&mut fake, &scenario);
        assert!(rounds > 5 && took <= budget_s + 1e-6, "{took} s of {budget_s} s for {rounds} rounds");
    }
}

#[test]
fn a_short_budget_shortens_work_before_it_costs_the_first_verdict() {
    let work = |budget_s: f64| {
        let mut fake = undecided(0.2, 0.2);
        Laboratory::new().run(&within(budget_s), &mut fake).unwrap();
        first_work(&fake.calls())
    };
    assert!(work(400.0) > WORK, "a long one has room for more: {:?}", work(400.0));
    assert_eq!(work(200.0), Duration::from_secs(5), "half of it, in four turns of each of five rounds");
    let short = work(65.0);
    assert!(short < WORK && short > WORK / 5, "{short:?}");
}

#[test]
fn what_was_no_work_in_a_round_is_expected_of_the_next() {
    let mut fake = undecided(0.2, 0.2);
    // Rounds of 16 s after loads of 8 s. Work and warm-up of both steps usually take 18.2 s.
    fake.seconds = 4.0;
    Laboratory::new().run(&within(100.0), &mut fake).unwrap();
    let share_in = |round| work_in(&fake.calls(), round).as_secs_f64() / WORK.as_secs_f64();
    // Each of five rounds has 20 s. As long as nothing is known, a quarter is taken to be no work.
    assert!((share_in(0) - 15.0 / 18.2).abs() < 1e-6, "{}", share_in(0));
    // Each of the four others has 19 s, and 1 s was no work.
    assert!((share_in(1) - 18.0 / 18.2).abs() < 1e-6, "{}", share_in(1));
}

#[test]
fn where_time_binds_only_steps_that_are_near_a_verdict_are_measured() {
    // By how many rounds the step that is near is ahead of the other, at most.
    let lead = |budget_s: f64| {
        let mut fake = undecided(0.06, 1.0);
        Laboratory::new().run(&within(budget_s), &mut fake).unwrap();
        let leads = turns(&fake.calls()).into_iter().scan(0, |lead, (step, _)| {
            *lead += if step == READ { 1 } else { -1 };
            Some(*lead)
        });
        leads.max().unwrap()
    };
    assert!(lead(40.0) > 2, "{}", lead(40.0));
    assert_eq!(lead(10_000.0), 1, "there is time for both");
}
