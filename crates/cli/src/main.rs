//! The binary `basecase`: arguments, progress, exit codes.

mod arguments;
mod commands;
mod output;
mod screen;
mod task;
mod value;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};

/// Exit code of a decided regression.
const REGRESSION: u8 = 3;

/// Exit codes besides those of usage errors, which are clap's. Of two outcomes the later one here is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    CouldNotRun,
    /// A regression is decided, and that was asked for.
    Regression,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::CouldNotRun => ExitCode::FAILURE,
            Outcome::Regression => ExitCode::from(REGRESSION),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            output::complain(&format!("cannot watch for signals: {error}"));
            return ExitCode::FAILURE;
        }
    }
    let result = match arguments.command {
        Command::Demo(command) => commands::experiment::demo(&command, &stop),
        Command::Compare(command) => commands::experiment::compare(&command, &stop),
        Command::Gate(command) => commands::gate::run(&command, &stop),
        Command::Bisect(command) => commands::bisect::run(&command, &stop),
        Command::Calibrate(command) => commands::calibrate::run(&command, &stop),
        Command::Run(command) => commands::experiment::run(&command, &stop),
        Command::Report(command) => commands::report::run(&command).map(|()| Outcome::Done),
        Command::Explain(command) => commands::explain::run(&command).map(|()| Outcome::Done),
        Command::History(command) => commands::history::run(&command).map(|()| Outcome::Done),
        Command::Store(command) => commands::store::run(&command).map(|()| Outcome::Done),
        Command::Server(command) => commands::server::run(&command).map(|()| Outcome::Done),
        Command::Workload(command) => commands::workload::run(&command).map(|()| Outcome::Done),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            output::complain_of(&error);
            Outcome::CouldNotRun.into()
        }
    }
}
