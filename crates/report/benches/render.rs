//! Rendering the pages of large experiments.

use basecase_model::{Experiment, Trial};
use basecase_report::{Options, fixture, write_pages};
use divan::Bencher;

fn main() {
    divan::main();
}

/// Ten steps of 1800 s on twenty candidates with one client: to stay under one second.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn pages_of_ten_steps_and_twenty_candidates(bencher: Bencher<'_, '_>) {
    let shape = fixture::Shape { candidates: 20, steps: &fixture::STEPS, seconds: 1800, clients: 1 };
    write(bencher, &fixture::synthetic(shape));
}

/// 42 steps of 900 s on twelve candidates, with 20 tracks for each trial: to stay under three seconds.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn pages_of_42_steps_and_twelve_candidates(bencher: Bencher<'_, '_>) {
    write(bencher, &fixture::microbenchmarks(12, &fixture::longest_list(), 900));
}

fn write(bencher: Bencher<'_, '_>, (experiment, trials): &(Experiment, Vec<Trial>)) {
    let directory = std::env::temp_dir().join(format!("basecase-report-bench-{}", std::process::id()));
    bencher.bench(|| write_pages(experiment, trials, &Options::default(), &directory));
    // A leftover directory does no harm.
    let _ = std::fs::remove_dir_all(directory);
}
