//! A store that basecase wrote and somebody changed: one change on each line.
//!
//! `role.samples[0] = x'0011'` sets a cell, `plain role.samples[0] 4 x'ff'` changes bytes of what is compressed in it, and
//! `raw role.service[0] 4 x'ff'` bytes of the blob itself; `json experiment.facts[1] /steps/0/name = 7` changes a value of JSON,
//! `delete trial[3]` a row, `file 4096 x'ff'` bytes of the file, `loose` takes the types of columns away, and anything else that
//! begins with `alter` or `drop` is executed as it stands.

mod edit;
mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use basecase_analysis::{JudgedExperiment, Stored};
use basecase_report::{Options, TextFormat};
use basecase_store::{Detail, Store};
use tempfile::TempDir;

use crate::{Marks, shape};

pub use sample::sample_store;

thread_local! {
    /// Of each thread, whose end removes it.
    static FOLDER: Rc<TempDir> = Rc::new(tempfile::Builder::new().prefix("bc-").tempdir().expect("a folder"));
}

/// Reads the sample with these changes, verifies it, and reports on what it still tells.
pub fn store(input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    let Ok(changes) = std::str::from_utf8(input) else { return marks };
    let folder = FOLDER.with(Rc::clone);
    let path = folder.path().join("sample.db");
    fs::write(&path, sample_store()).expect("a file");
    edit::apply(&path, changes);
    look(&path, Some(input.len()), &mut marks);
    match Store::create_or_open(&path) {
        Ok(store) => {
            marks.insert("opened for writing".into());
            drop(store);
            look(&path, None, &mut Marks::new());
        }
        Err(error) => note("writing", &error.to_string(), &path, &mut marks),
    }
    for beside in ["", "-wal", "-shm"] {
        let mut file = path.clone().into_os_string();
        file.push(beside);
        // Most of the time there is none.
        let _ = fs::remove_file(PathBuf::from(file));
    }
    marks
}

/// Notes a refusal, which names the file and says what to do.
fn note(stage: &str, refusal: &str, path: &Path, marks: &mut Marks) {
    let name = path.display().to_string();
    assert!(refusal.contains(&name), "which store? {refusal}");
    assert!(refusal.contains("\nhint: "), "no hint: {refusal}");
    marks.insert(format!("{stage} refused: {}", shape(&refusal.replace(&name, "FILE"))));
}

/// Opens, verifies and reads a store, and reports on it in one of the ways.
fn look(path: &Path, way: Option<usize>, marks: &mut Marks) {
    let store = match Store::open_read_only(path) {
        Ok(store) => store,
        Err(error) => return note("opening", &error.to_string(), path, marks),
    };
    let problems = store.verify();
    match &problems {
        Ok(problems) => {
            for problem in problems {
                assert!(!problem.contains('\n'), "two lines: {problem}");
                marks.insert(format!("found: {}", shape_of_problem(problem)));
            }
        }
        Err(error) => note("verifying", &error.to_string(), path, marks),
    }
    let is_whole = problems.is_ok_and(|problems| problems.is_empty());
    if let Err(error) = read(&store, way, marks) {
        assert!(!is_whole, "verify finds nothing, and yet {error}");
        note("reading", &error.to_string(), path, marks);
    } else if is_whole {
        marks.insert("whole".into());
    }
}

/// What a problem has in common with others of its kind: keys and names stand before it.
fn shape_of_problem(problem: &str) -> String {
    let kind = problem.rsplit_once(": ").map_or(problem, |(_, kind)| kind);
    let subject: String = problem.split_whitespace().take(1).collect();
    shape(&format!("{subject}: {kind}"))
}

fn read(store: &Store, way: Option<usize>, marks: &mut Marks) -> Result<(), basecase_store::StoreError> {
    store.in_flight()?;
    let mut all: Vec<Stored> = Vec::new();
    for experiment in store.experiments()? {
        let trials = store.trials(&experiment.id)?;
        store.counts(&experiment.id)?;
        let keys: Vec<String> = trials.iter().map(|trial| trial.cell.clone()).collect();
        store.trials_for_cells(&keys)?;
        if let Some(trial) = trials.first() {
            store.complete_trial(&trial.cell, trial.place.round, false, Detail::Whole)?;
        }
        marks.insert("read".into());
        all.push((experiment, trials));
    }
    // What is decided in rounds takes a hundred times as long.
    let is_chosen = |stored: &&Stored, way: usize| stored.0.schedule.is_none() || way.is_multiple_of(11);
    if let Some(way) = way {
        all.iter().filter(|stored| is_chosen(stored, way)).for_each(|stored| report(stored, way, marks));
    }
    Ok(())
}

fn report(stored: &Stored, way: usize, marks: &mut Marks) {
    const FORMATS: [&str; 4] = ["text", "json", "csv", "blog"];
    let (experiment, trials) = stored;
    let options = Options { steps: true, ..Options::default() };
    let way = way % (FORMATS.len() + 2);
    if let Some(format) = FORMATS.get(way).and_then(|name| TextFormat::named(name)) {
        let text = basecase_report::render(experiment, trials, format, &options);
        if format.name == "json" {
            serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
        }
    } else if way == FORMATS.len() {
        // There may be nothing to explain.
        let _ = basecase_report::explain(experiment, trials, None, options.thresholds, &options.counted)
            .map(|document| document.text(false));
    } else {
        let chosen = JudgedExperiment::of(stored.clone()).counting(options.counted.clone());
        let _ = basecase_report::history(&chosen, None, None).map(|answer| answer.document.text(false));
    }
    marks.insert(format!("reported in way {way}"));
}
