//! The binary `basecase`: arguments, progress, exit codes.

mod arguments;
mod commands;
mod configuration;
#[cfg(test)]
mod documented;
mod event_observer;
mod events;
mod node;
mod output;
mod reporter;
mod round_line;
mod screen;
mod ticker;
mod value;
mod workload;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::arguments::{Arguments, COMMIT_HISTORY, Command, ProgressArgument};
use crate::configuration::{Configuration, LEFT_OUT};
use crate::reporter::Reporter;

/// Exit code for a regression.
const REGRESSION: u8 = 3;

/// How a command ended, apart from usage errors, which clap reports. Of two outcomes, the greater one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    CouldNotRun,
    /// `gate` found a regression.
    Regression,
}

impl Outcome {
    fn exit_code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::CouldNotRun => 1,
            Outcome::Regression => REGRESSION,
        }
    }

    /// Its name for programs.
    fn id(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::CouldNotRun => "could_not_run",
            Outcome::Regression => "regression",
        }
    }
}

/// The words of the command line. `history` of commits has other options than `history` of a store, and so another name for the parser.
fn typed_words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_of_commits = words.get(2).is_some_and(|word| word.to_string_lossy().starts_with("git:"));
    if let Some(command) = words.get_mut(1).filter(|word| is_of_commits && *word == "history") {
        *command = COMMIT_HISTORY.into();
    }
    words
}

/// The form of a command's progress.
fn progress_of(command: &Command) -> ProgressArgument {
    match command {
        Command::Demo(command) => command.progress,
        Command::Compare(command) => command.places.progress,
        Command::Count(command) => command.places.progress,
        Command::Run(command) => command.places.progress,
        Command::Gate(command) => command.compare.places.progress,
        Command::Bisect(command) => command.compare.places.progress,
        Command::CommitHistory(command) => command.bisect.compare.places.progress,
        Command::Calibrate(command) => command.compare.places.progress,
        Command::Explain(command) => command.progress,
        _ => ProgressArgument::Text,
    }
}

/// The commands with the defaults of the user's files, unless these are to be left out.
fn configured(words: &[OsString]) -> anyhow::Result<(clap::Command, Configuration)> {
    let is_left_out = words.iter().any(|word| word == LEFT_OUT);
    let configuration = if is_left_out { Configuration::default() } else { Configuration::read()? };
    Ok((configuration.apply(Arguments::command())?, configuration))
}

/// The arguments. What files say in place of words is told wherever the command line is.
fn parsed(
    mut program: clap::Command,
    configuration: &Configuration,
    words: Vec<OsString>,
) -> Result<Arguments, clap::Error> {
    let matches = program.try_get_matches_from_mut(words)?;
    if let Some((name, of_command)) = matches.subcommand()
        && let Some(command) = program.find_subcommand(name)
    {
        output::configured(configuration.words(command, of_command));
    }
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program))
}

fn main() -> ExitCode {
    // Not a command for people: basecase runs itself where sessions with SQLite are counted.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == basecase_lab::SQLITE_SESSION) {
        let served = basecase_lab::serve_sqlite_session(words);
        if let Err(error) = &served {
            Reporter::new(ProgressArgument::Text).error(error);
        }
        return ExitCode::from(u8::from(served.is_err()));
    }
    let words = typed_words();
    let configured = configured(&words);
    let (program, configuration) = match configured {
        Ok(configured) => configured,
        Err(error) => {
            Reporter::Text.error(&error);
            return Outcome::CouldNotRun.exit_code().into();
        }
    };
    let arguments = match parsed(program, &configuration, words) {
        Ok(arguments) => arguments,
        Err(error) => return output::print_usage_error(&error),
    };
    let reporter = Reporter::new(progress_of(&arguments.command));
    let result = match arguments.command {
        Command::Demo(command) => commands::demo::demo(&command, &reporter),
        Command::Compare(command) => commands::experiment::compare(&command, &reporter),
        Command::Count(command) => commands::count::run(&command, &reporter),
        Command::Gate(command) => commands::gate::run(&command, &reporter),
        Command::Bisect(command) => commands::bisect::run(&command, &reporter),
        Command::CommitHistory(command) => commands::bisect::run_history(&command, &reporter),
        Command::Calibrate(command) => commands::calibrate::run(&command, &reporter),
        Command::Run(command) => commands::experiment::run(&command, &reporter),
        Command::Report(command) => commands::report::run(&command).map(|()| Outcome::Done),
        Command::Explain(command) => commands::explain::run(&command, &reporter),
        Command::History(command) => commands::history::run(&command).map(|()| Outcome::Done),
        Command::Doctor(command) => commands::doctor::run(&command, &reporter).map(|()| Outcome::Done),
        Command::Store(command) => commands::store::run(&command).map(|()| Outcome::Done),
        Command::Fleet(command) => commands::fleet::run(&command).map(|()| Outcome::Done),
        Command::Server(command) => commands::server::run(&command).map(|()| Outcome::Done),
        Command::Workload(command) => commands::workload::run(&command).map(|()| Outcome::Done),
        Command::Config(command) => commands::config::run(&command, &configuration).map(|()| Outcome::Done),
        Command::Completions { shell } => commands::shell::completions(shell).map(|()| Outcome::Done),
        Command::Man { out } => commands::shell::man(out.as_deref()).map(|()| Outcome::Done),
    };
    let outcome = result.unwrap_or_else(|error| {
        // Whatever failed, it failed because it was interrupted.
        if basecase_stop::is_asked() {
            reporter.interrupted();
        } else {
            reporter.error(&error);
        }
        Outcome::CouldNotRun
    });
    reporter.end(outcome);
    outcome.exit_code().into()
}
