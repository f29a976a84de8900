//! What it costs to make the statements that inserter, deleter and querier execute.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use basecase_model::{Operation, Reply};
use basecase_workload::insert_benchmark::{InsertBenchmark, PRESETS, Purpose, Step};
use basecase_workload::{Dialect, Next, Script, Work};
use divan::{Bencher, counter::ItemsCount};

fn main() {
    divan::main();
}

/// The script of one role of a step, told that ids reach a million.
fn script(step: &str, role: &str) -> Box<dyn Script> {
    let mut parameters = PRESETS[0].parameters();
    parameters.rows = 1_000_000_000_000;
    parameters.seconds = 1_000_000;
    let steps = Step::all(&parameters);
    let benchmark = InsertBenchmark { parameters, dialect: Dialect::Postgres };
    let step = steps.iter().find(|candidate| candidate.name == step).unwrap();
    let plan = benchmark.plan(step, Purpose::Measure);
    let role = plan.roles.into_iter().find(|candidate| candidate.name == role).unwrap();
    let Work::Script(script) = role.work else { unreachable!() };
    script
}

/// Asks for statements until one is made for execution.
fn made(script: &mut dyn Script, operation: &mut Operation) {
    loop {
        operation.clear();
        match script.next(operation) {
            Next::Execute | Next::Send(_) => return,
            Next::Aside(_) => script.answer(&Reply { first: Some(1_000_000), ..Reply::default() }),
            Next::RoundEnd | Next::Finish => {}
        }
    }
}

#[divan::bench]
fn insert_of_100_rows(bencher: Bencher<'_, '_>) {
    let mut script = script("l.i0", "builder");
    let mut operation = Operation::default();
    bencher.counter(ItemsCount::new(100u32)).bench_local(move || made(script.as_mut(), &mut operation));
}

#[divan::bench]
fn range_query(bencher: Bencher<'_, '_>) {
    let mut script = script("qr100", "querier");
    let mut operation = Operation::default();
    bencher.bench_local(move || made(script.as_mut(), &mut operation));
}

#[divan::bench]
fn point_query_of_10_ids(bencher: Bencher<'_, '_>) {
    let mut script = script("qp100", "querier");
    let mut operation = Operation::default();
    bencher.bench_local(move || made(script.as_mut(), &mut operation));
}
