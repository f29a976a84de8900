//! Counts of servers at full speed. Few machines of tests have the processor's counter, so what is counted here in place of instructions is
//! the time that sessions run: that is opened, read and told by the same code.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use basecase_builds::default_home;
use basecase_lab::{
    CountsEngine, Event, Observer, Places, Plan, Protocol, RunOptions, Timing, check_counts_engine,
    experiment_file, run,
};
use basecase_model::{CountEngine, StepCount};
use basecase_store::Store;
use basecase_tests::{Sandbox, program};

#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn notice(&mut self, event: Event<'_>) {
        if let Event::Note(note) = event {
            self.0.push(note.to_owned());
        }
    }
}

/// Candidates and steps of microbenchmarks.
struct Planned<'a> {
    candidates: &'a [&'a str],
    steps: &'a [&'a str],
    rows: u32,
}

impl Planned<'_> {
    fn plan(&self, sandbox: &Sandbox, engine: CountsEngine) -> Plan {
        let Planned { candidates, steps, rows } = self;
        let file = sandbox.path().join("e.toml");
        let options = format!("[schedule]\nsettle_limit = \"50ms\"\n[options]\ntables = 1\nrows = {rows}\n");
        let text = format!(
            "workload = \"microbenchmarks\"\ncandidates = {candidates:?}\nlist = {steps:?}\n{options}"
        );
        sandbox.write("e.toml", &text);
        let mut request = experiment_file::read(&file, None, None).unwrap().remove(0).request;
        request.protocol = Protocol::Counts(engine);
        let places = Places {
            home: default_home().unwrap(),
            data: sandbox.path().join("data"),
            transport: None,
            timing: Timing::ORDINARY,
            program: program().to_path_buf(),
        };
        Plan::prepare(&request, &places, "basecase count", &mut |_| {}).unwrap()
    }
}

fn counts(store: &Path, plan: &Plan) -> Vec<StepCount> {
    Store::open_read_only(store).unwrap().counts(&plan.experiment.id).unwrap()
}

/// Whether this machine lets tests count anything.
fn can_count() -> bool {
    match check_counts_engine(CountsEngine::TaskClock) {
        Ok(()) => true,
        Err(refusal) => {
            println!("skipped: {refusal}");
            false
        }
    }
}

/// Counts, looks at what is stored, and counts again, which finds all.
fn is_counted(sandbox: &Sandbox, planned: &Planned<'_>) {
    let path = sandbox.path().join("s.sqlite");
    let mut store = Store::create_or_open(&path).unwrap();
    let mut notes = Notes::default();
    let mut count = |plan: &Plan| {
        run(plan, &mut store, RunOptions::default(), &AtomicBool::new(false), &mut notes).unwrap()
    };
    let plan = planned.plan(sandbox, CountsEngine::TaskClock);
    assert_eq!(count(&plan).failed, Vec::<String>::new());
    let all = counts(&path, &plan);
    let mut of_steps: BTreeMap<(&str, &str), Vec<&StepCount>> = BTreeMap::new();
    for count in &all {
        of_steps.entry((&count.candidate, &count.step)).or_default().push(count);
    }
    assert_eq!(of_steps.len(), planned.candidates.len() * planned.steps.len());
    for starts in of_steps.values() {
        assert!(starts.len() >= 2, "{starts:?}");
        let mut operations_ns = Vec::new();
        for count in starts {
            assert_eq!(count.engine, CountEngine::Hardware);
            assert!(count.engine_version.ends_with(", nanoseconds instead of instructions"), "{count:?}");
            assert_eq!((count.functions.len(), count.warnings.len()), (0, 0));
            assert_eq!(count.windows.len(), if count.step.starts_with("update") { 1 } else { 2 });
            assert!(count.windows.iter().all(|window| window.operations >= 6), "{count:?}");
            operations_ns.extend(count.per_operation());
        }
        // Times scatter on a busy machine, but an operation takes more than a tenth of a microsecond, and less than a tenth of a second.
        operations_ns.sort_by(f64::total_cmp);
        assert!((1e2..1e8).contains(&operations_ns[operations_ns.len() / 2]), "{starts:?}");
    }
    drop(plan);

    let again = planned.plan(sandbox, CountsEngine::TaskClock);
    let summary = count(&again);
    assert_eq!((summary.measured, summary.found), (0, all.len()));
    assert!(notes.0.iter().any(|note| note.contains("--counts-engine callgrind")), "{:?}", notes.0);
    let id = again.experiment.id.clone();
    drop(again);
    if check_counts_engine(CountsEngine::Callgrind).is_ok() {
        let other = planned.plan(sandbox, CountsEngine::Callgrind);
        assert_ne!(other.experiment.id, id);
        assert_eq!(counts(&path, &other).len(), 0, "what another engine counted is not found");
    }
}

#[test]
fn sessions_that_are_processes_and_threads_of_servers_are_counted() {
    if can_count() {
        let sandbox = Sandbox::new();
        // Each session that writes begins with a copy of the data, and of the log.
        sandbox.write("small.cnf", "innodb_log_file_size = 8M\n");
        let candidates = ["postgres:17.11", "mysql:5.7.22@./small.cnf"];
        // The longer an event, the fewer a window has.
        let steps = ["scan", "update-nonindex"];
        is_counted(&sandbox, &Planned { candidates: &candidates, steps: &steps, rows: 20_000 });
    }
}

#[test]
fn sessions_with_sqlite_count_themselves() {
    if !can_count() {
        return;
    }
    let sandbox = Sandbox::new();
    // Without optimisation it is compiled in a tenth of the time.
    let get = sandbox.output(&["server", "get", "sqlite:3.17.0", "--from", "source", "--flags=-O0"]);
    assert!(get.status.success(), "{get:?}");
    is_counted(
        &sandbox,
        &Planned { candidates: &["sqlite:3.17.0:o0"], steps: &["point-query", "update-inlist"], rows: 1_000 },
    );
}
