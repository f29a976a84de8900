//! With which kinds of plans Postgres executed prepared statements, as the measured sessions tell.

use basecase_model::{PlanUses, StatementPlan, Trial};
use basecase_tests::Sandbox;
use basecase_tests::running::{HARDLY_SETTLES, MICROBENCHMARKS, ONE_ROUND, PLACES, SMALL, trials};

/// The executions of a statement that a session plans one by one, before it may take a generic plan.
const CUSTOM_FIRST: u64 = 5;

/// Times in which a session executes far more than that on a busy machine too.
const LONG_ENOUGH: [&str; 2] = ["--timing", "1/5"];

/// What a run of these arguments leaves in its store.
fn measured(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Trial> {
    let output = sandbox.output(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    trials(&sandbox.path().join("s.sqlite"))
}

/// Standard output of a command, with lines that went on below made whole.
fn said(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.output(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sessions_in_rounds_tell_generic_from_custom_plans() {
    let sandbox = Sandbox::new();
    sandbox.write("plain.conf", "autovacuum = off\n");
    sandbox.write("custom.conf", "autovacuum = off\nplan_cache_mode = force_custom_plan\n");
    let candidates = ["postgres:17.11@plain.conf", "postgres:17.11@custom.conf", "postgres:15.19@plain.conf"];
    let arguments = [
        &["compare"],
        &candidates[..],
        &MICROBENCHMARKS,
        &["point-query", "--threads"],
        &["1"],
        &ONE_ROUND,
        &LONG_ENOUGH,
        &HARDLY_SETTLES,
        &PLACES,
    ]
    .concat();
    let trials = measured(&sandbox, &arguments);
    let of = |name: &str| {
        let is_its = |trial: &&Trial| trial.candidate.contains(name) && !trial.slices.is_empty();
        trials.iter().find(is_its).unwrap_or_else(|| panic!("no trial of {name}"))
    };
    for (name, is_custom) in [("1711.plain", false), ("1711.custom", true), ("1519.plain", false)] {
        let trial = of(name);
        let all = PlanUses::all(&trial.counters);
        let [(statement, sum)] = all[..] else { panic!("{name}: {all:?}") };
        // The sessions count one by one.
        let by_session: Vec<PlanUses> = trial
            .sessions
            .iter()
            .map(|session| PlanUses::of(&session.counters, statement).unwrap())
            .collect();
        assert!(!by_session.is_empty(), "{name}");
        let added = by_session.iter().fold(PlanUses::default(), |sum, one| PlanUses {
            generic: sum.generic + one.generic,
            custom: sum.custom + one.custom,
        });
        assert!(added.generic <= sum.generic && added.custom <= sum.custom, "{name}: {added:?} of {sum:?}");
        for (session, uses) in trial.sessions.iter().zip(&by_session) {
            // With its warm-up and the slices that do not count.
            assert!(uses.generic + uses.custom >= session.operations, "{name}: {uses:?} of {session:?}");
            if is_custom {
                assert_eq!(uses.generic, 0, "{name}");
            } else {
                assert_eq!(uses.custom, CUSTOM_FIRST.min(uses.generic + uses.custom), "{name}");
            }
        }
        // The plan that is shown is of the kind that was executed.
        let plan = &trial.plans[0];
        assert_eq!(plan.counted_as(), statement);
        assert_eq!(plan.text.contains("$1"), !is_custom, "{name}: {}", plan.text);
        assert!(!plan.sql.contains('$'), "its values are shown: {}", plan.sql);
    }
    let explained = said(&sandbox, &["explain", "s.sqlite", "pg1711.custom/point-query"]);
    let cause = "different kind of plan for point: executed ";
    assert!(explained.contains(cause), "{explained}");
    assert!(explained.contains("plan_cache_mode auto → force_custom_plan"), "{explained}");
    for plan in ["pg1711.plain: executed ", "pg1711.custom: executed ", " times with custom plans"] {
        assert!(explained.contains(plan), "{plan}: {explained}");
    }
    let alike = said(&sandbox, &["explain", "s.sqlite", "pg1519.plain/point-query"]);
    assert!(!alike.contains("different kind of plan"), "{alike}");
    assert!(alike.contains("Plans of prepared statements as they were executed"), "{alike}");
}

#[test]
fn statements_that_sql_prepared_are_told_by_their_names_and_sqlite_tells_nothing() {
    let sandbox = Sandbox::new();
    let arguments = [
        &["compare", "postgres:17.11", "sqlite", "--config", "default"],
        &SMALL[..],
        &HARDLY_SETTLES,
        &PLACES,
    ]
    .concat();
    let trials = measured(&sandbox, &arguments);
    let queried = |dbms: &str| {
        let is_its = |trial: &&Trial| trial.candidate.starts_with(dbms) && trial.step.starts_with("qr100");
        trials.iter().find(is_its).unwrap_or_else(|| panic!("no trial of {dbms}"))
    };
    let of_postgres = queried("pg");
    let told = PlanUses::all(&of_postgres.counters);
    let names: Vec<&str> = told.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["market", "pdc", "register"]);
    assert!(told.iter().all(|(_, uses)| uses.custom >= CUSTOM_FIRST), "{told:?}");
    let planned: Vec<&str> = of_postgres.plans.iter().map(StatementPlan::counted_as).collect();
    assert!(names.iter().all(|name| planned.contains(name)), "{planned:?}");
    assert_eq!(PlanUses::all(&queried("sqlite").counters), []);
}
