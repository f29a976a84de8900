//! Writes the pages of made-up nights, and measures that: `cargo run --release -p basecase-report --example history_pages -- DIRECTORY [NIGHTS] [STEPS]`.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use basecase_analysis::JudgedExperiment;
use basecase_report::{fixture, write_history};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name the directory to write to")?);
    let nights = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let steps = arguments.next().map_or(Ok(12), |text| text.parse())?;
    let mut judged: Vec<_> = fixture::nights(nights, steps).into_iter().map(JudgedExperiment::from).collect();
    let chosen = judged.pop().ok_or("there must be a night")?;
    let begun = Instant::now();
    write_history(&chosen, Some(&judged), None, &directory)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut bytes = 0;
    for folder in [&directory, &directory.join("assets")] {
        for file in fs::read_dir(folder)? {
            bytes += file?.metadata()?.len();
        }
    }
    println!("{nights} nights of {steps} steps: {seconds:.2} s, {:.2} MB", bytes as f64 / 1e6);
    Ok(())
}
