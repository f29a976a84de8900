//! Prints the stacks of a running process tree in folded form, and on standard error the cost of sampling them.
//!
//! `cargo run -p basecase-probe --example profile -- PID SECONDS cpu|offcpu [SAMPLES PER SECOND]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for the terminal")]

use std::error::Error;
use std::time::{Duration, Instant};

use basecase_model::ProfileKind;
use basecase_probe::{Profiler, process_cpu_ns};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pid, seconds, kind, rest @ ..] = words.as_slice() else {
        return Err("usage: profile PID SECONDS cpu|offcpu [SAMPLES PER SECOND]".into());
    };
    let kind: ProfileKind = kind.parse().map_err(|()| "the kind is cpu or offcpu")?;
    let frequency_hz = rest.first().map_or(Ok(Profiler::USUAL_FREQUENCY_HZ), |word| word.parse())?;
    let profiler = Profiler::start(pid.parse()?, &[kind], frequency_hz)?;
    let events = profiler.events().to_vec();
    let before_ns = process_cpu_ns(std::process::id());
    std::thread::sleep(Duration::from_secs_f64(seconds.parse()?));
    let after_ns = process_cpu_ns(std::process::id());
    let start = Instant::now();
    let profiles = profiler.finish()?;
    let naming = start.elapsed();
    for profile in profiles {
        print!("{}", profile.stacks);
        eprintln!("{} samples, {} lost, of {events:?}", profile.samples, profile.lost);
        profile.modules.iter().for_each(|(name, id)| eprintln!("{name} {}", id.as_deref().unwrap_or("-")));
    }
    let used_ms = after_ns.zip(before_ns).map(|(after, before)| (after - before) as f64 / 1e6);
    eprintln!("reading took {used_ms:?} ms of CPU time, names {naming:?}");
    Ok(())
}
