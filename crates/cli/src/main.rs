//! The binary `basecase`: arguments, progress, exit codes.

mod arguments;
mod commands;
mod output;
mod screen;
mod task;
mod value;

use std::process::ExitCode;

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
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return output::tell_mistake(&error),
    };
    let result = match arguments.command {
        Command::Demo(command) => commands::experiment::demo(&command),
        Command::Compare(command) => commands::experiment::compare(&command),
        Command::Gate(command) => commands::gate::run(&command),
        Command::Bisect(command) => commands::bisect::run(&command),
        Command::Calibrate(command) => commands::calibrate::run(&command),
        Command::Run(command) => commands::experiment::run(&command),
        Command::Report(command) => commands::report::run(&command).map(|()| Outcome::Done),
        Command::Explain(command) => commands::explain::run(&command).map(|()| Outcome::Done),
        Command::History(command) => commands::history::run(&command).map(|()| Outcome::Done),
        Command::Store(command) => commands::store::run(&command).map(|()| Outcome::Done),
        Command::Server(command) => commands::server::run(&command).map(|()| Outcome::Done),
        Command::Workload(command) => commands::workload::run(&command).map(|()| Outcome::Done),
    };
    match result {
        Ok(outcome) => outcome.into(),
        // Whatever failed, it was broken off.
        Err(_) if basecase_stop::is_asked() => {
            output::complain(output::INTERRUPTED);
            Outcome::CouldNotRun.into()
        }
        Err(error) => {
            output::complain_of(&error);
            Outcome::CouldNotRun.into()
        }
    }
}
