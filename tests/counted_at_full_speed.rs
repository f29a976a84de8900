//! Counts of servers at full speed. Few machines of tests have the processor's counter, so what is counted here in place of instructions is
//! the time that sessions run: that is opened, read and told by the same code.

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

/// Sessions that are processes, threads, and processes that count themselves.
const EXPERIMENT: &str = r#"
    workload = "microbenchmarks"
    candidates = ["postgres:17.11", "mysql:5.7.22", "mariadb:10.11.18", "sqlite:3.17.0:o0"]
    list = ["point-query", "update-inlist"]

    [options]
    tables = 1
    rows = 2000
"#;
const CANDIDATES: usize = 4;

#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn notice(&mut self, event: Event<'_>) {
        if let Event::Note(note) = event {
            self.0.push(note.to_owned());
        }
    }
}

fn plan(sandbox: &Sandbox, engine: CountsEngine) -> Plan {
    sandbox.write("e.toml", EXPERIMENT);
    let file = sandbox.path().join("e.toml");
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

fn counts(store: &Path, plan: &Plan) -> Vec<StepCount> {
    Store::open_read_only(store).unwrap().counts(&plan.experiment.id).unwrap()
}

#[test]
fn sessions_of_each_dbms_are_counted_at_full_speed() {
    if let Err(refusal) = check_counts_engine(CountsEngine::TaskClock) {
        return println!("skipped: {refusal}");
    }
    let sandbox = Sandbox::new();
    let get = sandbox.output(&["server", "get", "sqlite:3.17.0", "--from", "source", "--flags=-O0"]);
    assert!(get.status.success(), "{get:?}");
    let path = sandbox.path().join("s.sqlite");
    let mut store = Store::create_or_open(&path).unwrap();
    let count = |plan: &Plan, store: &mut Store, notes: &mut Notes| {
        run(plan, store, RunOptions::default(), &AtomicBool::new(false), notes).unwrap()
    };
    let mut notes = Notes::default();
    let planned = plan(&sandbox, CountsEngine::TaskClock);
    let summary = count(&planned, &mut store, &mut notes);
    assert_eq!(summary.failed, [String::new(); 0]);
    assert!(notes.0.iter().any(|note| note.contains("--counts-engine callgrind")), "{:?}", notes.0);
    let all = counts(&path, &planned);
    assert!(all.len() >= CANDIDATES * 2 * 2, "two steps in two starts each: {}", all.len());
    for count in &all {
        assert_eq!(count.failure, None);
        assert_eq!(count.engine, CountEngine::Hardware);
        assert!(count.engine_version.ends_with(", nanoseconds instead of instructions"), "{count:?}");
        assert_eq!((count.functions.len(), count.warnings.len()), (0, 0));
        let windows = if count.step.starts_with("point-query") { 2 } else { 1 };
        assert_eq!(count.windows.len(), windows, "{}", count.step);
        for window in &count.windows {
            assert!(window.operations >= 40 && window.instructions > 0, "{count:?}");
            // An operation takes more than a tenth of a microsecond, and less than a tenth of a second.
            let operation_ns = window.per_operation();
            assert!((1e2..1e8).contains(&operation_ns), "{count:?}");
        }
    }
    drop(planned);

    let again = plan(&sandbox, CountsEngine::TaskClock);
    let summary = count(&again, &mut store, &mut notes);
    assert_eq!((summary.measured, summary.found), (0, all.len()));
    let id = again.experiment.id.clone();
    drop(again);
    if check_counts_engine(CountsEngine::Callgrind).is_ok() {
        let other = plan(&sandbox, CountsEngine::Callgrind);
        assert_ne!(other.experiment.id, id);
        assert_eq!(counts(&path, &other).len(), 0, "what another engine counted is not found");
    }
}
