//! Worker groups that run a step to its end in turns, on two embedded databases.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use basecase_client::{Endpoint, sqlite};
use basecase_load::{Limits, Runner, SliceEnd, SliceSpec, WorkerGroup, interleave};
use basecase_model::OperationClass;
use basecase_probe::{Target, Watch};
use basecase_workload::insert_benchmark::{
    InsertBenchmark, InsertBenchmarkParameters, InsertBenchmarkStep, PRESETS, Purpose, StepKind,
};
use basecase_workload::{Chunk, Dialect};

const MS: Duration = Duration::from_millis(1);

/// The Insert Benchmark on both databases, in chunks, each as if it were alone.
#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end")]
fn a_step_with_an_end_is_done_in_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let endpoints = ["a", "b"].map(|name| {
        Endpoint::Sqlite(sqlite::File {
            library: sqlite::Library::bundled(),
            path: folder.path().join(name),
            pragmas: vec![("journal_mode".into(), "wal".into()), ("synchronous".into(), "off".into())],
        })
    });
    let watch = Watch::new(Target::default());
    let parameters = InsertBenchmarkParameters {
        clients: 2,
        rows: 20_000,
        writes: 8_000,
        li1_rows: None,
        seconds: 2,
        ..PRESETS[0].parameters()
    };
    let benchmark = InsertBenchmark { parameters, dialect: Dialect::Sqlite };
    for step in InsertBenchmarkStep::all(&benchmark.parameters).into_iter().take(5) {
        let plan = || benchmark.plan(&step, Purpose::Measure);
        let is_query = step.rate.is_some();
        let class = if is_query { OperationClass::Query } else { OperationClass::Insert };
        let end = match plan().chunk.unwrap() {
            Chunk::Whole => SliceEnd::Cut(MS),
            Chunk::Rounds(rounds) => SliceEnd::Events(rounds),
            Chunk::Time => SliceEnd::After(250 * MS),
        };
        let runners = endpoints.iter().map(|endpoint| {
            let plan = plan();
            let mut control = endpoint.connect().unwrap();
            plan.before.iter().for_each(|statement| drop(control.query(&statement.to_string()).unwrap()));
            let group = WorkerGroup::assemble(plan, endpoint, None).unwrap();
            Runner { group, chunks_of: Some(class), stands_still: true, watch: &watch, server: None }
        });
        let mut open = vec![0, 1];
        let (mut pass, mut turn) = (0, 0);
        let outcomes =
            interleave(runners.collect(), &Limits { stop: &AtomicBool::new(false), time: None }, |result| {
                if let Some(result) = result.filter(|result| result.is_last) {
                    open.retain(|runner| *runner != result.spec.runner);
                }
                turn += 1;
                pass += u32::from(turn % 2 == 0);
                let runner = *open.get(turn % open.len().max(1))?;
                Some(SliceSpec { runner, session: 0, pass: Some(pass), settle: Duration::ZERO, end })
            });
        assert_eq!(outcomes.len(), 2);
        for outcome in &outcomes {
            assert!(outcome.failure.is_none(), "{}: {:?}", step.name, outcome.failure);
            for role in outcome.roles.iter().filter(|role| role.class == OperationClass::Insert) {
                assert_eq!(role.affected, step.inserted_rows(), "{} {role:?}", step.name);
            }
            let counted: u64 = outcome.slices.iter().map(|slice| slice.operations).sum();
            let items: u64 =
                outcome.roles.iter().filter(|role| role.class == class).map(|role| role.items).sum();
            assert_eq!(counted, items, "{}", step.name);
            if step.kind == StepKind::Index {
                assert_eq!(outcome.slices.len(), 1);
                continue;
            }
            // The clock of a worker group stands still while it is not its turn, and goes on while it waits for its rate.
            let worked = outcome.slices.iter().map(|slice| slice.length_us).sum::<f64>() / 1e6;
            assert!(
                (worked - outcome.seconds).abs() < 0.1 * worked + 0.02,
                "{} {worked} {outcome:?}",
                step.name
            );
            if is_query {
                // Meanwhile twice as much time passed.
                assert!((1.9..3.5).contains(&outcome.seconds), "{} {}", step.name, outcome.seconds);
                assert!((4..=14).contains(&outcome.slices.len()), "{} {:?}", step.name, outcome.slices);
                let busy = outcome.slices.iter().filter(|slice| slice.operations > 10).count();
                assert!(busy >= 3, "{:?}", outcome.slices);
            } else {
                assert!(outcome.slices.len() >= 20, "{} {}", step.name, outcome.slices.len());
            }
        }
    }
}
