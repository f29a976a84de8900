//! The store that is changed.

use std::fs;
use std::sync::OnceLock;

use basecase_model::{
    CandidateName, Cell, Experiment, PROTOCOL_REVISION, Profile, ProfileKind, StatementPlan, Trial,
};
use basecase_report::fixture;
use basecase_store::Store;

/// Rounds that are kept of the experiment in rounds, and its steps: enough for a verdict.
const ROUNDS: u32 = 5;
const STEPS: usize = 1;

/// A small store with a chain of steps and an experiment in rounds, as basecase writes it.
///
/// # Panics
/// When it cannot be written.
pub fn sample_store() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sample.db");
        let mut store = Store::create_or_open(&path).expect("a store");
        for (experiment, trials) in [chain(), rounds()] {
            save(&mut store, &experiment, trials);
        }
        drop(store);
        let connection = rusqlite::Connection::open(&path).expect("the store");
        connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).expect("one file");
        connection.execute_batch("VACUUM").expect("small");
        drop(connection);
        fs::read(&path).expect("the store")
    })
}

fn chain() -> (Experiment, Vec<Trial>) {
    let shape = fixture::Shape { candidates: 2, steps: &["l.i0", "qr100"], seconds: 2, clients: 1 };
    let (experiment, mut trials) = fixture::synthetic(shape);
    for trial in &mut trials {
        trial.plans =
            vec![StatementPlan { statement: "a".into(), sql: "select 1".into(), text: "Result".into() }];
        trial.profiles = vec![Profile {
            kind: ProfileKind::Cpu,
            frequency_hz: 99,
            samples: 3,
            lost: 0,
            stacks: "postgres;main;exec 2\npostgres;main 1\n".into(),
            modules: vec![("postgres".into(), Some("ab12".into()))],
        }];
    }
    (experiment, trials)
}

fn rounds() -> (Experiment, Vec<Trial>) {
    let (mut experiment, mut trials) = fixture::in_rounds();
    "in-rounds".clone_into(&mut experiment.id);
    experiment.candidates.truncate(2);
    experiment.steps.retain(|step| step.name != "load");
    experiment.steps.truncate(STEPS);
    let is_kept = |trial: &Trial| {
        trial.place.round < ROUNDS
            && experiment.steps.iter().any(|step| step.name == trial.step)
            && experiment.candidates.iter().any(|candidate| candidate.name.0 == trial.candidate)
    };
    trials.retain(is_kept);
    (experiment, trials)
}

fn save(store: &mut Store, experiment: &Experiment, trials: Vec<Trial>) {
    store.save_experiment(experiment).expect("an experiment");
    for (number, mut trial) in trials.into_iter().enumerate() {
        let cell = Cell {
            build: trial.candidate.clone(),
            engine: None,
            config: "c".into(),
            workload: experiment.workload.clone(),
            step: trial.step.clone(),
            parameters: serde_json::json!({ "rows": 1000, "of": experiment.id }),
            host: "h".into(),
            protocol_revision: PROTOCOL_REVISION,
        };
        trial.cell = cell.key();
        agree(&mut trial);
        trial.started_at = format!("2026-01-02T03:{:02}:{:02}Z", number / 60, number % 60);
        store
            .save_cells(&experiment.id, &[(CandidateName(trial.candidate.clone()), cell.clone())])
            .expect("a cell");
        store.save_trial(&experiment.id, &cell, &trial).expect("a trial");
    }
}

/// Makes the counts of an invented trial agree, so that there is nothing to find in the sample.
fn agree(trial: &mut Trial) {
    for role in &mut trial.roles {
        role.events = role.service.count();
        if !role.series.samples.is_empty() {
            role.items = role.series.samples.iter().map(|sample| u64::from(sample.items)).sum();
        }
    }
    let Some(class) = trial.roles.first().map(|role| role.class) else { return };
    let items: u64 = trial.roles.iter().filter(|role| role.class == class).map(|role| role.items).sum();
    let slices = trial.slices.len() as u64;
    for (number, slice) in (0..).zip(&mut trial.slices) {
        slice.operations = items / slices + u64::from(number < items % slices);
    }
}
