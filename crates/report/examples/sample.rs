//! Writes the pages of a made-up experiment: `cargo run --example sample -- DIRECTORY [SECONDS] [CLIENTS]`.

use std::error::Error;
use std::path::PathBuf;

use basecase_report::{Options, fixture, write_pages};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name the directory to write to")?);
    let seconds = arguments.next().map_or(Ok(300), |text| text.parse())?;
    let clients = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let (experiment, trials) = fixture::sample_of(seconds, clients);
    write_pages(&experiment, &trials, &Options::default(), &directory)?;
    Ok(())
}
