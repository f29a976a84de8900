//! Worker groups that take turns on two embedded databases: what counts in which slice, and how it ends.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../process/tests/common/standing.rs"]
mod standing;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use basecase_client::{Endpoint, Session, sqlite};
use basecase_load::{
    Failure, Limits, Runner, SessionHistories, SliceEnd, SliceSpec, StepOutcome, WorkerGroup, interleave,
};
use basecase_model::{Operation, Reply, Slice};
use basecase_probe::{Target, Watch};
use basecase_workload::{Dialect, Next, Script, StepPlan, Work, Workload};
use standing::is_stopped;

const MS: Duration = Duration::from_millis(1);

/// Two databases with the same rows.
struct Pair {
    _folder: tempfile::TempDir,
    endpoints: [Endpoint; 2],
    threads: &'static str,
    watch: Watch,
}

impl Pair {
    fn new(threads: &'static str) -> Pair {
        let folder = tempfile::tempdir().unwrap();
        let endpoints = ["a", "b"].map(|name| {
            Endpoint::Sqlite(sqlite::File {
                library: sqlite::Library::bundled(),
                path: folder.path().join(name),
                pragmas: vec![("journal_mode".into(), "wal".into()), ("synchronous".into(), "off".into())],
            })
        });
        let pair = Pair { _folder: folder, endpoints, threads, watch: Watch::new(Target::default()) };
        for endpoint in &pair.endpoints {
            let load = pair.plan(None);
            let mut control = endpoint.connect().unwrap();
            load.before.iter().for_each(|statement| drop(control.query(&statement.to_string()).unwrap()));
            let go = AtomicBool::new(false);
            let outcome = WorkerGroup::assemble(load, endpoint, None)
                .unwrap()
                .run(&pair.watch, &Limits { stop: &go, time: None });
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        }
        pair
    }

    /// The load, or the named step.
    fn plan(&self, step: Option<&str>) -> StepPlan {
        let workload = Workload::builtin("microbenchmarks").unwrap().unwrap();
        let options =
            [("tables", "1"), ("rows", "5000"), ("threads", self.threads), ("warm_up_seconds", "0")];
        let parameters = workload.options(&options).unwrap();
        let steps = workload.steps(&parameters, &["point-query", "update-index"]).unwrap();
        match step {
            None => workload.load_plan(&parameters, &steps, Dialect::Sqlite, 1).unwrap(),
            Some(name) => {
                let step = steps.iter().find(|step| step.label.starts_with(name)).unwrap();
                workload.plan(&parameters, step, Dialect::Sqlite).unwrap()
            }
        }
    }

    fn run(&self, step: &str, stop: &AtomicBool, specs: Vec<SliceSpec>) -> Vec<StepOutcome> {
        let mut specs = specs.into_iter();
        interleave(self.runners(step, [None; 2]), &Limits { stop, time: None }, |_| specs.next())
    }

    /// Runners for both, with processes that are suspended while others have their turns.
    fn runners(&self, step: &str, servers: [Option<u32>; 2]) -> Vec<Runner<'_>> {
        self.runners_after(None, step, servers)
    }

    /// The same with sessions that have these histories.
    fn runners_after(
        &self,
        histories: Option<SessionHistories>,
        step: &str,
        servers: [Option<u32>; 2],
    ) -> Vec<Runner<'_>> {
        let runner = |(endpoint, server): (&Endpoint, Option<u32>)| {
            let plan = self.plan(Some(step));
            assert!(plan.can_take_turns());
            let group = WorkerGroup::assemble(plan, endpoint, histories).unwrap();
            Runner { group, chunks_of: None, stands_still: true, watch: &self.watch, server }
        };
        self.endpoints.iter().zip(servers).map(runner).collect()
    }
}

/// A warm-up slice for each, then this many passes in both directions.
fn specs(passes: u32, settle: Duration, end: SliceEnd) -> Vec<SliceSpec> {
    let warm_up = [0, 1].map(|runner| SliceSpec {
        runner,
        session: 0,
        pass: None,
        settle,
        end: SliceEnd::After(20 * MS),
    });
    let pass =
        |pass| [0, 1, 1, 0].map(|runner| SliceSpec { runner, session: 0, pass: Some(pass), settle, end });
    warm_up.into_iter().chain((0..passes).flat_map(pass)).collect()
}

fn check(outcome: &StepOutcome) {
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let in_slices: u64 = outcome.slices.iter().map(|slice| slice.operations).sum();
    let items: u64 = outcome.roles.iter().map(|role| role.items).sum();
    assert_eq!(in_slices, items);
    let executed: u64 = outcome.statements.iter().map(|record| record.window.executed).sum();
    assert_eq!(executed, outcome.roles.iter().map(|role| role.statements).sum::<u64>());
    for role in &outcome.roles {
        assert_eq!(role.service.count(), role.events);
        assert_eq!(role.mismatches, 0);
        let sampled: u64 = role.series.samples.iter().map(|sample| u64::from(sample.items)).sum();
        assert_eq!(sampled, role.items);
    }
}

#[test]
fn slices_of_time_alternate_and_only_they_count() {
    for threads in ["1", "2"] {
        let pair = Pair::new(threads);
        let begun = Instant::now();
        let settle = 2 * MS;
        let outcomes =
            pair.run("point-query", &AtomicBool::new(false), specs(5, settle, SliceEnd::After(10 * MS)));
        let wall_us = begun.elapsed().as_micros() as f64;
        let places = |outcome: &StepOutcome| -> Vec<(u32, u32)> {
            outcome.slices.iter().map(|slice| (slice.pass, slice.position)).collect()
        };
        assert_eq!(places(&outcomes[0])[..4], [(0, 0), (0, 3), (1, 4), (1, 7)]);
        assert_eq!(places(&outcomes[1])[..4], [(0, 1), (0, 2), (1, 5), (1, 6)]);
        for outcome in &outcomes {
            check(outcome);
            assert_eq!(outcome.slices.len(), 10);
            // The warm-up slices, and what follows each switch.
            assert!(
                outcome.warm_up_events > outcome.slices.iter().map(|slice| slice.warm_up_operations).sum()
            );
            for (slice, other) in outcome.slices.iter().zip(&outcomes[0].slices) {
                assert!(slice.canary_ns.is_some_and(|canary_ns| canary_ns > 0.0));
                assert_eq!(slice.canary_ns, other.canary_ns, "one for the pass");
            }
            let worked_us: f64 = outcome.slices.iter().map(|slice| slice.length_us).sum();
            assert!(outcome.slices.iter().all(|slice| slice.length_us > 0.0 && slice.operations > 0));
            // A slice in which other work holds the processor may be shorter.
            let usual = outcome.slices.iter().filter(|slice| slice.length_us >= 5e3 && slice.operations > 10);
            assert!(usual.count() > outcome.slices.len() / 2, "{:?}", outcome.slices);
            assert!(worked_us < wall_us / 2.0, "{worked_us} of {wall_us}");
            // The clock of a role stands still while it is not its turn.
            for role in &outcome.roles {
                let clock_us = (role.ended_us - role.started_us) as f64;
                assert!(clock_us <= worked_us + 10.0, "{clock_us} of {worked_us}");
                assert!(role.client_cpu_us > 0.0 && role.client_cpu_us < worked_us * 1.2, "{role:?}");
            }
            // Roles add up by the time that each works, which is shorter where one waits for a processor.
            let mean = |slice: &Slice| slice.operations as f64 / slice.length_us * 1e6;
            let ratios: Vec<f64> = outcome.slices.iter().map(|slice| slice.rate / mean(slice)).collect();
            assert!(ratios.iter().all(|ratio| *ratio >= 0.999), "{ratios:?}");
            let is_mean = |ratio: &f64| *ratio <= 1.001;
            assert!(threads != "1" || ratios.iter().all(is_mean), "one role has the whole time: {ratios:?}");
        }
    }
}

#[test]
fn sessions_are_opened_anew_and_every_pass_is_one_of_theirs() {
    let pair = Pair::new("2");
    let histories = SessionHistories::new(7, Dialect::Sqlite, 2);
    let of_session = |session: u32| {
        let end = SliceEnd::Events(6);
        let warm_up = [1, 0].map(|runner| (runner, None));
        let passes =
            (3 * session..3 * session + 3).flat_map(|pass| [0, 1, 1, 0].map(|runner| (runner, Some(pass))));
        warm_up
            .into_iter()
            .chain(passes)
            .map(move |(runner, pass)| SliceSpec { runner, session, pass, settle: Duration::ZERO, end })
            .collect::<Vec<_>>()
    };
    for step in ["point-query", "update-index"] {
        let mut specs = (0..3).flat_map(of_session);
        let stop = AtomicBool::new(false);
        let runners = pair.runners_after(Some(histories), step, [None; 2]);
        let outcomes = interleave(runners, &Limits { stop: &stop, time: None }, |_| specs.next());
        for outcome in &outcomes {
            check(outcome);
            assert_eq!(outcome.connections, 2 * 3, "two threads with three sessions each");
            let records = outcome.sessions.iter();
            let records: Vec<_> = records
                .map(|session| (session.number, session.first_pass, session.passes, session.seed))
                .collect();
            let seed = |session| histories.seed_of(session);
            assert_eq!(records, [(0, 0, 3, seed(0)), (1, 3, 3, seed(1)), (2, 6, 3, seed(2))]);
            let statements: u64 = outcome.statements.iter().map(|record| record.window.executed).sum();
            assert_eq!(outcome.sessions.iter().map(|session| session.operations).sum::<u64>(), statements);
        }
    }
}

#[test]
fn slices_of_events_leave_both_at_the_same_age() {
    let pair = Pair::new("2");
    let counted = specs(3, Duration::ZERO, SliceEnd::Events(100)).split_off(2);
    for outcome in pair.run("update-index", &AtomicBool::new(false), counted) {
        check(&outcome);
        assert_eq!(outcome.warm_up_events, 0);
        assert!(outcome.slices.iter().all(|slice| slice.operations == 100), "{:?}", outcome.slices);
    }
}

#[test]
fn a_relay_ends_when_it_is_told_to() {
    let pair = Pair::new("1");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(100 * MS);
            stop.store(true, Ordering::Relaxed);
        });
        let outcomes =
            pair.run("point-query", &stop, specs(1, Duration::ZERO, SliceEnd::After(600_000 * MS)));
        assert!(outcomes.iter().any(|outcome| matches!(outcome.failure, Some(Failure::Interrupted))));
    });
}

/// Locks that keep others from writing to the databases.
fn locked<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> Vec<Box<dyn Session>> {
    let lock = |endpoint: &Endpoint| {
        let mut session = endpoint.connect().unwrap();
        session.query("begin immediate").unwrap();
        session
    };
    endpoints.into_iter().map(lock).collect()
}

/// Lets the first work briefly, interrupted if it has a process, then the second for a minute, while the databases are locked. The locks
/// are released later than running operations are interrupted.
fn past_the_limit(pair: &Pair, locks: Vec<Box<dyn Session>>, servers: [Option<u32>; 2]) -> Vec<StepOutcome> {
    let ends = [
        servers[0].map_or(SliceEnd::After(20 * MS), |_| SliceEnd::Cut(50 * MS)),
        SliceEnd::After(60_000 * MS),
    ];
    let spec = |(runner, end)| SliceSpec { runner, session: 0, pass: Some(0), settle: Duration::ZERO, end };
    let mut specs = ends.into_iter().enumerate().map(spec);
    let limits = Limits { stop: &AtomicBool::new(false), time: Some(1_100 * MS) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(3_600 * MS);
            drop(locks);
        });
        interleave(pair.runners("update-index", servers), &limits, |_| specs.next())
    })
}

#[test]
fn defect_11_a_time_limit_fails_the_candidate_whose_session_does_not_answer() {
    let pair = Pair::new("1");
    let outcomes = past_the_limit(&pair, locked(&pair.endpoints[1..]), [None; 2]);
    assert!(outcomes[0].failure.is_none(), "it had its turn: {:?}", outcomes[0].failure);
    let told = outcomes[1].failure.as_ref().unwrap().to_string();
    assert!(
        told.starts_with(
            "the step was stopped at its time limit of 1 s: client of client 1 has finished nothing for 1."
        ),
        "{told}"
    );
    assert!(told.contains("\nhint: see what the server waits for"), "{told}");
}

#[test]
fn defect_11_what_is_broken_off_for_the_failure_of_another_has_not_failed() {
    let pair = Pair::new("1");
    let mut server = Command::new("sleep").arg("60").spawn().unwrap();
    let outcomes = past_the_limit(&pair, locked(&pair.endpoints), [Some(server.id()), None]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(outcomes[0].failure.is_none(), "it was in the midst of a statement: {:?}", outcomes[0].failure);
    assert!(matches!(outcomes[1].failure, Some(Failure::TimeLimit { .. })), "{:?}", outcomes[1].failure);
}

#[test]
fn defect_11_each_candidate_has_the_whole_limit_for_itself() {
    let pair = Pair::new("1");
    let mut specs = specs(2, Duration::ZERO, SliceEnd::After(150 * MS)).into_iter();
    let limits = Limits { stop: &AtomicBool::new(false), time: Some(1_000 * MS) };
    let outcomes = interleave(pair.runners("point-query", [None; 2]), &limits, |_| specs.next());
    outcomes.iter().for_each(check);
}

/// A script that panics.
struct Panics;

impl Script for Panics {
    fn next(&mut self, _: &mut Operation) -> Next {
        panic!("nothing to say")
    }

    fn answer(&mut self, _: &Reply) {}
}

#[test]
fn defect_20_a_panic_of_a_role_fails_its_candidate_with_its_message() {
    let pair = Pair::new("2");
    let group = || {
        let mut plan = pair.plan(Some("point-query"));
        plan.roles[1].work = Work::Script(Box::new(Panics));
        WorkerGroup::assemble(plan, &pair.endpoints[1], None).unwrap()
    };
    let told = "a thread of basecase panicked: nothing to say\nhint: this is a defect";
    let is_told = |outcome: &StepOutcome| {
        outcome.failure.as_ref().is_some_and(|failure| failure.to_string().starts_with(told))
    };
    let limits = Limits { stop: &AtomicBool::new(false), time: Some(60_000 * MS) };
    let alone = group().run(&pair.watch, &limits);
    assert!(is_told(&alone), "{:?}", alone.failure);
    let mut runners = pair.runners("point-query", [None; 2]);
    runners[1].group = group();
    let mut specs = specs(2, Duration::ZERO, SliceEnd::After(10 * MS)).into_iter();
    let outcomes = interleave(runners, &limits, |_| specs.next());
    assert!(outcomes[0].failure.is_none() && is_told(&outcomes[1]), "{:?}", outcomes[1].failure);
}

#[test]
fn servers_without_a_turn_stand_still() {
    let pair = Pair::new("1");
    let mut servers = [0, 1].map(|_| Command::new("sleep").arg("60").spawn().unwrap());
    let runners = pair.runners("update-index", servers.each_ref().map(|server| Some(server.id())));
    let mut specs = specs(2, Duration::ZERO, SliceEnd::Events(100)).into_iter();
    let (stop, mut stood) = (AtomicBool::new(false), 0);
    let outcomes = interleave(runners, &Limits { stop: &stop, time: None }, |_| {
        stood += servers.iter().filter(|server| is_stopped(server.id(), true)).count();
        specs.next()
    });
    outcomes.iter().for_each(check);
    assert_eq!(stood, 2 * (2 + 2 * 4 + 1), "between all turns");
    for server in &mut servers {
        assert!(!is_stopped(server.id(), false), "it goes on when the step is over");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

#[test]
fn a_panic_of_who_gives_the_turns_is_passed_on_and_leaves_nobody_waiting() {
    let (sender, ended) = channel();
    thread::spawn(move || {
        let pair = Pair::new("2");
        let mut specs = specs(1, MS, SliceEnd::After(MS)).into_iter().take(3);
        let go = AtomicBool::new(false);
        let limits = Limits { stop: &go, time: None };
        let runners = pair.runners("point-query", [None; 2]);
        let next = |_: Option<&_>| Some(specs.next().expect("a turn after the last"));
        sender.send(catch_unwind(AssertUnwindSafe(|| interleave(runners, &limits, next))).is_err()).unwrap();
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
}
