//! The cost of making the statements that inserter, deleter and querier execute.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use basecase_model::{Operation, Reply};
use basecase_workload::insert_benchmark::{InsertBenchmark, InsertBenchmarkStep, PRESETS, Purpose};
use basecase_workload::{Dialect, Next, Script, Work, Workload};
use divan::{Bencher, counter::ItemsCount};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// The script of one role of a step, told that ids reach a million.
fn script(step: &str, role: &str) -> Box<dyn Script> {
    let mut parameters = PRESETS[0].parameters();
    parameters.rows = 1_000_000_000_000;
    parameters.seconds = 1_000_000;
    let steps = InsertBenchmarkStep::all(&parameters);
    let benchmark = InsertBenchmark { parameters, dialect: Dialect::Postgres };
    let step = steps.iter().find(|candidate| candidate.name == step).unwrap();
    let plan = benchmark.plan(step, Purpose::Measure);
    let role = plan.roles.into_iter().find(|candidate| candidate.name == role).unwrap();
    let Work::Script(script) = role.work else { unreachable!() };
    script
}

/// Asks for operations until one is to be executed.
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

/// The script of a thread of a step of a workload file.
fn thread_of(workload: &str, step: &str) -> Box<dyn Script> {
    let workload = Workload::builtin(workload).unwrap().unwrap();
    let sizes = [("tables", "8"), ("rows", "10_000_000"), ("table_size", "10_000_000")];
    let known = |(name, _): &(&str, &str)| workload.options.iter().any(|option| option.name == *name);
    let parameters = workload.options(&sizes.into_iter().filter(known).collect::<Vec<_>>()).unwrap();
    let steps = workload.steps(&parameters, &[step]).unwrap();
    let plan = workload.plan(&parameters, &steps[0], Dialect::Postgres).unwrap();
    let Work::Script(script) = plan.roles.into_iter().next().unwrap().work else { unreachable!() };
    script
}

#[divan::bench(args = [
    "point-query", "random-points=100", "range-covered-pk", "read-write=100", "update-nonindex", "update-zipf", "insert",
])]
fn operation_of(bencher: Bencher<'_, '_>, step: &str) {
    let mut script = thread_of("microbenchmarks", step);
    let mut operation = Operation::default();
    (0..100).for_each(|_| made(&mut *script, &mut operation));
    bencher.counter(ItemsCount::new(1usize)).bench_local(|| made(&mut *script, &mut operation));
}

#[divan::bench]
fn load_of_512_kib(bencher: Bencher<'_, '_>) {
    let workload = Workload::builtin("microbenchmarks").unwrap().unwrap();
    let parameters = workload.options(&[("rows", "100_000_000")]).unwrap();
    let steps = workload.steps(&parameters, &["point-query"]).unwrap();
    let plan = workload.load_plan(&parameters, &steps, Dialect::Postgres, 1).unwrap();
    let Work::Script(mut script) = plan.roles.into_iter().next().unwrap().work else { unreachable!() };
    let mut operation = Operation::default();
    made(&mut *script, &mut operation);
    bencher
        .counter(ItemsCount::new(operation.items as usize))
        .bench_local(|| made(&mut *script, &mut operation));
}
