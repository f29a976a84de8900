//! How long many stores take to become one, and how much memory.
//!
//!     cargo run --release -p basecase-lab --example merged_stores -- 100 1000
//!
//! makes so many stores of so many trials each, as nodes of a fleet deliver them, and merges them into a new one.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

use std::time::Instant;

use anyhow::{Context, Result};
use basecase_analysis::fixture;
use basecase_model::{Cell, FleetNode, Trial};
use basecase_store::Store;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u32| arguments.next().map_or(Ok(usual), |word| word.parse());
    let (stores, trials) = (number(100)?, number(1000)?);
    let folder = tempfile::tempdir()?;
    let path = |name: String| folder.path().join(name);
    for number in 1..=stores {
        fill(&mut Store::create_or_open(&path(format!("node-{number}.sqlite")))?, number, stores, trials)?;
    }
    let bytes: u64 =
        std::fs::read_dir(folder.path())?.map(|entry| Ok(entry?.metadata()?.len())).sum::<Result<_>>()?;
    println!("{stores} stores of {trials} trials, {} MB", bytes / 1_000_000);
    let before = peak_mb()?;
    let began = Instant::now();
    let mut all = Store::create_or_open(&path("all.sqlite".into()))?;
    let open = |number| Store::open_read_only(&path(format!("node-{number}.sqlite")));
    let others: Vec<Store> = (1..=stores).map(open).collect::<Result<_, _>>()?;
    let added: usize = all.merge_all(&others)?.iter().map(|added| added.trials).sum();
    println!(
        "merged {added} trials in {:.1} s; peak memory {} MB, {before} MB before",
        began.elapsed().as_secs_f64(),
        peak_mb()?
    );
    Ok(())
}

/// Fills the store of one node with rounds.
fn fill(store: &mut Store, number: u32, of: u32, trials: u32) -> Result<()> {
    let (mut experiment, rounds) = fixture::in_rounds();
    experiment.id = format!("{number:012x}");
    experiment.node = Some(FleetNode { fleet: "f".to_owned(), number, of });
    store.save_experiment(&experiment)?;
    let templates: Vec<&Trial> = rounds.iter().filter(|trial| !trial.slices.is_empty()).collect();
    for place in 0..trials {
        let template = templates[place as usize % templates.len()];
        let cell = Cell {
            build: template.candidate.clone(),
            engine: None,
            config: "c".into(),
            workload: experiment.workload.clone(),
            step: template.step.clone(),
            parameters: serde_json::json!({ "node": number }),
            host: "h".into(),
            protocol_revision: 4,
        };
        let mut trial = Trial { cell: cell.key(), measured_by: experiment.id.clone(), ..template.clone() };
        trial.place.round = place;
        store.save_trial(&experiment.id, &cell, &trial)?;
    }
    Ok(())
}

/// The most memory that this process had, in MB.
fn peak_mb() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024 / 1_000_000)
}
