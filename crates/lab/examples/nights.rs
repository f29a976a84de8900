//! A store of invented nights, each with a build of its own beside one base case, for how long a history of it takes.
//!
//!     cargo run --release -p basecase-lab --example nights -- nights.sqlite 500 42
//!     basecase history nights.sqlite --dates --out nights
//!
//! Each night has five rounds with 50 slices for each step and candidate, as a run has.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

use std::path::PathBuf;

use anyhow::{Context, Result};
use basecase_analysis::fixture;
use basecase_model::{Cell, Slice, Trial};
use basecase_store::Store;

/// Passes of a step in a round; each has two slices of every candidate.
const PASSES: u32 = 25;
/// Length of a slice, µs.
const SLICE_US: u64 = 30_000;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().context("which file?")?);
    let mut number = |usual: usize| arguments.next().map_or(Ok(usual), |word| word.parse());
    let (nights, steps) = (number(500)?, number(42)?);
    let mut store = Store::create_or_open(&path)?;
    let mut count = 0;
    for ((experiment, trials), _) in fixture::nights(nights, steps) {
        store.save_experiment(&experiment)?;
        let measured: Vec<(Cell, Trial)> =
            trials.iter().map(|trial| with_slices(trial, &experiment.workload)).collect();
        count += measured.len();
        store.save_together(
            &experiment.id,
            &measured.iter().map(|(cell, trial)| (cell, trial)).collect::<Vec<_>>(),
        )?;
    }
    println!("{count} trials of {nights} nights on {steps} steps in {}", path.display());
    Ok(())
}

/// A trial with slices at its rate, and its cell.
fn with_slices(trial: &Trial, workload: &str) -> (Cell, Trial) {
    let cell = Cell {
        build: trial.cell.clone(),
        engine: None,
        config: "c".into(),
        workload: workload.into(),
        step: trial.step.clone(),
        parameters: serde_json::json!({}),
        host: "h".into(),
        protocol_revision: 4,
    };
    let per_second: u64 = trial.roles.iter().map(|role| role.items).sum();
    let slice = |number: u32| {
        let (pass, turn) = (number / 2, number % 2);
        let first = trial.place.position;
        let position = 4 * pass + if turn == 0 { first } else { 3 - first };
        // A few per cent of scatter, the same for both candidates.
        let operations = per_second * SLICE_US / 1_000_000 * u64::from(97 + number % 7) / 100;
        Slice {
            pass,
            position,
            opened_us: u64::from(position) * SLICE_US,
            length_us: SLICE_US as f64,
            operations,
            rate: operations as f64 * 1e6 / SLICE_US as f64,
            warm_up_operations: 2,
            server_cpu_us: Some(0.9 * SLICE_US as f64),
            others_cpu_us: Some(100.0),
            steal_us: Some(0.0),
            canary_ns: Some(1.7),
        }
    };
    let slices = (0..2 * PASSES).map(slice).collect();
    (cell.clone(), Trial { cell: cell.key(), slices, ..trial.clone() })
}
