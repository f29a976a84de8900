//! How long the pages of a large experiment take.

use basecase_report::{Options, fixture, write_pages};
use divan::Bencher;

fn main() {
    divan::main();
}

/// Ten steps of 1800 s on twenty candidates with one client: to stay under one second.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn pages_of_ten_steps_and_twenty_candidates(bencher: Bencher<'_, '_>) {
    let shape = fixture::Shape { candidates: 20, steps: &fixture::STEPS, seconds: 1800, clients: 1 };
    let (experiment, trials) = fixture::synthetic(shape);
    let directory = std::env::temp_dir().join(format!("basecase-report-bench-{}", std::process::id()));
    bencher.bench(|| write_pages(&experiment, &trials, &Options::default(), &directory));
    // A directory that stays behind disturbs nothing.
    let _ = std::fs::remove_dir_all(directory);
}
