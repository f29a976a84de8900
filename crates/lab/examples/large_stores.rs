//! How long many stores take to become one, and how much memory; and how long it takes to find what is missing of an experiment as large as all
//! of them.
//!
//!     cargo run --release -p basecase-lab --example large_stores -- 100 1000
//!
//! makes so many stores of so many trials each, as nodes of a fleet deliver them, and merges them into a new one. Then it makes an experiment of
//! as many cells, and asks for each of them, as a command does that goes on.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

use std::time::Instant;

use anyhow::{Context, Result};
use basecase_analysis::fixture;
use basecase_model::{CandidateName, Cell, FleetNode, Trial};
use basecase_store::{Detail, Store};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u32| arguments.next().map_or(Ok(usual), |word| word.parse());
    let (stores, trials) = (number(100)?, number(1000)?);
    let folder = tempfile::tempdir()?;
    let path = |name: String| folder.path().join(name);
    for number in 1..=stores {
        let mut store = Store::create_or_open(&path(format!("node-{number}.sqlite")))?;
        let node = FleetNode { fleet: "f".to_owned(), number, of: stores };
        fill(&mut store, Some(node), trials)?;
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
    let large = path("large.sqlite".into());
    let cells = fill(&mut Store::create_or_open(&large)?, None, stores * trials)?;
    let began = Instant::now();
    let mut store = Store::create_or_open(&large)?;
    let experiment = store.experiments()?.pop().context("no experiment")?;
    store.save_cells(&experiment.id, &cells)?;
    let mut found = 0;
    for (_, cell) in &cells {
        found += usize::from(store.complete_trial(&cell.key(), 0, false, Detail::Brief)?.is_some());
    }
    println!("found {found} of {} cells in {:.1} s", cells.len(), began.elapsed().as_secs_f64());
    let began = Instant::now();
    let trials = store.trials(&experiment.id)?.len();
    println!("read {trials} trials in {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// Fills a store: with the rounds of a node, or with a trial for each cell. Returns the cells of the latter.
fn fill(store: &mut Store, node: Option<FleetNode>, trials: u32) -> Result<Vec<(CandidateName, Cell)>> {
    let (mut experiment, rounds) = fixture::in_rounds();
    let number = node.as_ref().map_or(0, |node| node.number);
    let in_rounds = node.is_some();
    experiment.id = format!("{number:012x}");
    experiment.node = node;
    store.save_experiment(&experiment)?;
    let mut cells = Vec::new();
    let templates: Vec<&Trial> = rounds.iter().filter(|trial| !trial.slices.is_empty()).collect();
    for place in 0..trials {
        let template = templates[place as usize % templates.len()];
        let cell = Cell {
            build: template.candidate.clone(),
            engine: None,
            config: "c".into(),
            workload: experiment.workload.clone(),
            step: template.step.clone(),
            parameters: serde_json::json!({ "node": number, "cell": if in_rounds { 0 } else { place } }),
            host: "h".into(),
            protocol_revision: 4,
        };
        let mut trial = Trial { cell: cell.key(), measured_by: experiment.id.clone(), ..template.clone() };
        trial.place.round = if in_rounds { place } else { 0 };
        store.save_trial(&experiment.id, &cell, &trial)?;
        if !in_rounds {
            cells.push((CandidateName(template.candidate.clone()), cell));
        }
    }
    Ok(cells)
}

/// The most memory that this process had, in MB.
fn peak_mb() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024 / 1_000_000)
}
