//! The load engine on a real embedded database: coupling of roles, counting, limits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use basecase_client::{Endpoint, sqlite};
use basecase_load::{Failure, Limits, StepOutcome, WorkerGroup};
use basecase_model::OperationClass;
use basecase_probe::{Target, Watch};
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::{
    InsertBenchmark, InsertBenchmarkParameters, InsertBenchmarkStep, PRESETS, Purpose,
};

struct Bench {
    _folder: tempfile::TempDir,
    endpoint: Endpoint,
    benchmark: InsertBenchmark,
}

impl Bench {
    fn new(parameters: InsertBenchmarkParameters) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let pragmas = [("journal_mode", "wal"), ("synchronous", "off")];
        let endpoint = Endpoint::Sqlite(sqlite::File {
            library: sqlite::Library::bundled(),
            path: folder.path().join("ib.sqlite"),
            pragmas: pragmas.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        });
        Bench {
            _folder: folder,
            endpoint,
            benchmark: InsertBenchmark { parameters, dialect: Dialect::Sqlite },
        }
    }

    fn run(&self, name: &str, stop: &AtomicBool, time: Option<Duration>) -> StepOutcome {
        let step = *InsertBenchmarkStep::all(&self.benchmark.parameters)
            .iter()
            .find(|step| step.name == name)
            .unwrap();
        let plan = self.benchmark.plan(&step, Purpose::Measure);
        let mut control = self.endpoint.connect().unwrap();
        for statement in &plan.before {
            control.query(&statement.to_string()).unwrap();
        }
        let group = WorkerGroup::assemble(plan, &self.endpoint, None).unwrap();
        group.run(&Watch::new(Target::default()), &Limits { stop, time })
    }
}

fn parameters() -> InsertBenchmarkParameters {
    InsertBenchmarkParameters {
        clients: 2,
        rows: 2_000,
        writes: 1_000,
        li1_rows: None,
        seconds: 1,
        ..PRESETS[0].parameters()
    }
}

#[test]
fn every_role_does_its_share() {
    let bench = Bench::new(parameters());
    let go = AtomicBool::new(false);
    for (step, inserted, deleted) in
        [("l.i0", 4_000, 0), ("l.x", 200, 0), ("l.i1", 1_600, 1_600), ("l.i2", 400, 400)]
    {
        let outcome = bench.run(step, &go, None);
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        let sum = |class, count: fn(&basecase_model::RoleRecord) -> u64| -> u64 {
            outcome.roles.iter().filter(|role| role.class == class).map(count).sum()
        };
        assert_eq!(sum(OperationClass::Insert, |role| role.affected), inserted, "{step}");
        assert_eq!(sum(OperationClass::Delete, |role| role.affected), deleted, "{step}");
        assert_eq!(sum(OperationClass::Insert, |role| role.mismatches), 0);
        for role in &outcome.roles {
            assert_eq!(role.service.count(), role.statements);
            let sampled: u64 = role.series.samples.iter().map(|sample| u64::from(sample.items)).sum();
            assert_eq!(sampled, role.items);
        }
    }
    let outcome = bench.run("qr100", &go, None);
    let querier = outcome.roles.iter().find(|role| role.class == OperationClass::Query).unwrap();
    assert!(querier.items > 100, "{}", querier.items);
    let inserter = outcome.roles.iter().find(|role| role.class == OperationClass::Insert).unwrap();
    assert_eq!(inserter.response.as_deref().map(basecase_model::Histogram::count), Some(inserter.statements));
    // Two rounds: at 0 s and at 1 s.
    assert!((1.0..1.5).contains(&outcome.seconds), "{}", outcome.seconds);
}

#[test]
fn limits_end_a_step_early() {
    let bench = Bench::new(InsertBenchmarkParameters { seconds: 60, ..parameters() });
    let go = AtomicBool::new(false);
    assert!(bench.run("l.i0", &go, None).failure.is_none());
    assert!(bench.run("l.x", &go, None).failure.is_none());
    let outcome = bench.run("qr100", &go, Some(Duration::from_millis(300)));
    assert!(matches!(outcome.failure, Some(Failure::TimeLimit { .. })), "{:?}", outcome.failure);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let outcome = bench.run("qp100", &stop, None);
        assert!(matches!(outcome.failure, Some(Failure::Interrupted)), "{:?}", outcome.failure);
    });
}

#[test]
fn a_failing_session_ends_the_step_with_its_reason() {
    let bench = Bench::new(parameters());
    let go = AtomicBool::new(false);
    assert!(bench.run("l.i0", &go, None).failure.is_none());
    bench.endpoint.connect().unwrap().query("drop table pi2").unwrap();
    let outcome = bench.run("l.i1", &go, None);
    let text = outcome.failure.map(|failure| failure.to_string()).unwrap_or_default();
    assert!(text.contains("of client 2 failed") && text.contains("no such table: pi2"), "{text}");
}
