//! Experiments whose cells are computed by today's code, from the arguments with which they were measured.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use basecase_model::{Cell, Dbms, Experiment, Trial};
use basecase_store::Store;
use basecase_tests::Sandbox;
use rusqlite::Connection;

use crate::{Golden, STORE, each, stored};

/// The arguments with which it was measured, but for the profile that not every user may take.
fn arguments(golden: &Golden) -> Vec<&'static str> {
    let mut words: Vec<_> = golden.compare().into_iter().filter(|word| *word != "--profile").collect();
    if !words.contains(&"--pin") {
        // It was measured before a processor was drawn.
        words.extend(["--pin", "off"]);
    }
    words
}

/// Starts to measure it anew, and ends that as soon as the store has its cells.
fn begin(golden: &Golden) -> (Sandbox, Experiment, Vec<Cell>) {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join(STORE);
    let mut run =
        sandbox.command(&arguments(golden)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(300);
    let count = "SELECT count(*) FROM experiment_cell";
    let has_cells = || {
        let store = Connection::open(&path).ok().filter(|_| path.exists());
        store.is_some_and(|store| {
            store.query_row(count, [], |row| row.get(0)).is_ok_and(|cells: u32| cells > 0)
        })
    };
    while !has_cells() {
        assert!(run.try_wait().unwrap().is_none(), "{}: the run ended without any cell", golden.name);
        assert!(Instant::now() < until, "{}: no cell is stored", golden.name);
        std::thread::sleep(Duration::from_millis(10));
    }
    // As Ctrl-C does: servers are ended before the sandbox goes.
    let pid = run.id().to_string();
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {pid}")]).status().unwrap().success());
    run.wait().unwrap();
    // On a busy machine it has measured something by then.
    let forget = "PRAGMA foreign_keys = OFF; DELETE FROM trial";
    Connection::open(&path).unwrap().execute_batch(forget).unwrap();
    let experiment = stored::experiment(&Store::open_read_only(&path).unwrap());
    let cells = stored::cells(&Connection::open(&path).unwrap(), &experiment);
    let cells = cells.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
    (sandbox, experiment, cells)
}

/// Without what depends on the machine, on what is compiled in and on how steps are measured today.
fn comparable(cell: &Cell, experiment: &Experiment, sizes_differ: bool) -> Cell {
    let is_embedded = experiment.candidates[0].build.dbms == Dbms::Sqlite;
    Cell {
        host: String::new(),
        protocol_revision: 0,
        build: if is_embedded { String::new() } else { cell.build.clone() },
        config: if sizes_differ { String::new() } else { cell.config.clone() },
        ..cell.clone()
    }
}

#[test]
fn the_same_arguments_have_the_same_cells_and_what_is_stored_is_not_measured_again() {
    each(|golden| {
        let (sandbox, begun, begun_cells) = begin(golden);
        let (_old_sandbox, old) = golden.unpack();
        let old_experiment = stored::experiment(&Store::open_read_only(&old).unwrap());
        let old_cells = stored::cells(&Connection::open(&old).unwrap(), &old_experiment);
        assert_eq!(begun_cells.len(), old_cells.len(), "{}", golden.name);
        // Configs of servers are sized by the machine.
        let settings = |experiment: &Experiment| -> Vec<Vec<(String, String)>> {
            experiment.candidates.iter().map(|candidate| candidate.config.settings.clone()).collect()
        };
        let sizes_differ = settings(&begun) != settings(&old_experiment);
        for (begun_cell, (_, text)) in begun_cells.iter().zip(&old_cells) {
            let old_cell: Cell = serde_json::from_str(text).unwrap();
            let old_cell = comparable(&old_cell, &old_experiment, sizes_differ);
            assert_eq!(comparable(begun_cell, &begun, sizes_differ), old_cell, "{}", golden.name);
        }
        let id = stored::experiment_id(
            begun_cells.iter().map(Cell::key).collect::<Vec<_>>().iter().map(String::as_str),
        );
        assert_eq!(begun.id, id, "{}", golden.name);

        // As if this machine had measured it.
        let trials = Store::open_read_only(&old).unwrap().trials(&old_experiment.id).unwrap();
        let mut store = Store::create_or_open(&sandbox.path().join(STORE)).unwrap();
        for trial in &trials {
            let place = old_cells.iter().position(|(key, _)| *key == trial.cell).unwrap();
            let cell = &begun_cells[place];
            let moved = Trial { cell: cell.key(), measured_by: begun.id.clone(), ..trial.clone() };
            store.save_trial(&begun.id, cell, &moved).unwrap();
        }
        drop(store);
        let output = sandbox.output(&arguments(golden));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", golden.name);
        let store = Store::open_read_only(&sandbox.path().join(STORE)).unwrap();
        assert_eq!(stored::experiment(&store).id, begun.id, "{}", golden.name);
        assert_eq!(store.trials(&begun.id).unwrap().len(), trials.len(), "{}: {said}", golden.name);
    });
}
