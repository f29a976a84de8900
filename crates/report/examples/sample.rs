//! Writes the pages of made-up experiments: `cargo run --example sample -- DIRECTORY [SECONDS] [CLIENTS]`.
//!
//! The Insert Benchmark is in the directory itself, and each workload file in a folder of its own.

use std::error::Error;
use std::path::PathBuf;

use basecase_report::{Options, fixture, write_pages};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name the directory to write to")?);
    let seconds = arguments.next().map_or(Ok(300), |text| text.parse())?;
    let clients = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let threads = [1, 2, 4, 8, 12, 16, 24, 28, 30, 40, 50, 64];
    let samples = [
        ("", fixture::sample_of(seconds, clients)),
        ("microbenchmarks", fixture::microbenchmarks(3, &fixture::LIST, seconds.min(60))),
        ("two", fixture::microbenchmarks(2, &fixture::LIST, seconds.min(60))),
        ("many", fixture::microbenchmarks(12, &fixture::LIST, seconds.min(60))),
        ("rounds", fixture::in_rounds()),
        ("sweep", fixture::sweep(4, &threads, seconds.min(60))),
    ];
    for (folder, (experiment, trials)) in samples {
        write_pages(&experiment, &trials, &Options::default(), &directory.join(folder))?;
    }
    let (alone, counted) = fixture::counted();
    write_pages(&alone, &[], &Options { counted, ..Options::default() }, &directory.join("counts"))?;
    let (experiment, trials, counted) = fixture::counted_in_rounds();
    let options = Options { counted, ..Options::default() };
    write_pages(&experiment, &trials, &options, &directory.join("counts-and-rounds"))?;
    Ok(())
}
