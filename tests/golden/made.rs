//! How the stores were made. One is made anew where it is missing, which is to be done only when it can no longer be what a test needs:
//!
//!     cargo test -p basecase-tests --test golden -- --ignored

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use basecase_model::{Cell, Experiment, HostFacts, Trial};
use basecase_store::Store;
use basecase_tests::Sandbox;
use flate2::Compression;
use flate2::write::GzEncoder;
use rusqlite::Connection;

use crate::{GOLDEN, Golden, STORE, stored};

/// A machine that nobody has.
fn host() -> HostFacts {
    HostFacts {
        id: "0123456789abcdef".into(),
        cpu_model: "Golden Processor 1".into(),
        cores: 2,
        memory_bytes: 24 << 30,
        kernel: "6.1.0".into(),
        os: "Debian GNU/Linux 12 (bookworm)".into(),
        filesystem: "ext4".into(),
        device: Some("vda".into()),
        details: BTreeMap::from([("smt".into(), "off".into())]),
    }
}

/// Measures it, and packs the store as if that machine had.
fn make(golden: &Golden) {
    let sandbox = Sandbox::new();
    let output = sandbox.output(&golden.compare());
    assert!(output.status.success(), "{}: {}", golden.name, String::from_utf8_lossy(&output.stderr));
    let path = sandbox.path().join(STORE);
    let store = Store::open_read_only(&path).unwrap();
    let measured = stored::experiment(&store);
    let cells: Vec<(String, Cell)> = stored::cells(&Connection::open(&path).unwrap(), &measured)
        .into_iter()
        .map(|(key, text)| (key, Cell { host: host().id, ..serde_json::from_str(&text).unwrap() }))
        .collect();
    let keys: Vec<String> = cells.iter().map(|(_, cell)| cell.key()).collect();
    let id = stored::experiment_id(keys.iter().map(String::as_str));
    let mut experiment = Experiment { id: id.clone(), host: host(), ..measured.clone() };
    for (name, value) in experiment.candidates.iter_mut().flat_map(|candidate| &mut candidate.running) {
        *value = match name.as_str() {
            "hostname" => "golden".into(),
            _ => value.replace(sandbox.path().to_str().unwrap(), "/golden"),
        };
    }
    let names = measured.candidates.iter().flat_map(|one| measured.steps.iter().map(|_| one.name.clone()));
    let moved = sandbox.path().join("moved.sqlite");
    let mut target = Store::create_or_open(&moved).unwrap();
    target.save_experiment(&experiment).unwrap();
    let named: Vec<_> = names.zip(cells.iter().map(|(_, cell)| cell.clone())).collect();
    target.save_cells(&id, &named).unwrap();
    for trial in store.trials(&measured.id).unwrap() {
        let (_, cell) = cells.iter().find(|(key, _)| *key == trial.cell).unwrap();
        let trial = Trial { cell: cell.key(), measured_by: id.clone(), ..trial };
        target.save_trial(&id, cell, &trial).unwrap();
    }
    drop(target);
    Connection::open(&moved).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM;").unwrap();
    let mut packed = GzEncoder::new(File::create(golden.packed()).unwrap(), Compression::best());
    io::copy(&mut File::open(&moved).unwrap(), &mut packed).unwrap();
    packed.finish().unwrap();
}

#[test]
#[ignore = "it makes the golden stores that are missing, which takes minutes for each"]
fn missing_stores_are_made() {
    GOLDEN.iter().filter(|golden| !golden.packed().exists()).for_each(make);
}
