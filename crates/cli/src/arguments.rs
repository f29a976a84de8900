//! The command line as it is typed.

mod compiling;
mod doctor;
mod examples;
mod fleet;
mod places;
mod results;
mod server;
mod times;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

use basecase_lab::{
    MemorySize, PinRequest, Scale, Slowdown, Verify, read_change, read_settle_limit, read_time,
};
use basecase_server::{Settle, SettleLimit};
use basecase_workload::insert_benchmark::Pace;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::compiling::CompilingArguments;
pub(crate) use self::doctor::Doctor;
pub(crate) use self::fleet::{Fleet, FleetArguments, FleetCommand, Manifest, ManifestKind};
pub(crate) use self::places::{CountsEngineArgument, PlaceArguments, ProbeArgument, ProgressArgument};
pub(crate) use self::results::{Explain, History, HistoryFormat, Report, Store, StoreCommand};
pub(crate) use self::server::{CompileArguments, FromArgument, Server, ServerCommand};
pub(crate) use self::times::option_of_times;
pub(crate) use self::workload::{
    ShowWorkload, SizeArguments, Workload, WorkloadArguments, WorkloadChoice, WorkloadCommand,
};
use crate::value::{CandidateArgument, CandidateParser, fix, setting};

/// The name by which the parser knows `history git:PATH A..B`, whose options are those of a search.
pub(crate) const COMMIT_HISTORY: &str = "history-of-commits";

/// Headings that options stand under in the help: the questions that they answer.
mod heading {
    pub(super) const WHAT: &str = "What is measured";
    pub(super) const HOW_LONG: &str = "How long";
    pub(super) const WHERE: &str = "Where";
    pub(super) const RESULTS: &str = "What is observed and shown";
    pub(super) const MACHINES: &str = "Several machines";
    pub(super) const COMMITS: &str = "Commits";
    pub(super) const TRY: &str = "Try a setting";
}

/// Find out which version or configuration of a database got slower, on what work, by how much, and where the time went
#[derive(Parser)]
#[command(name = "basecase", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Read no basecase.toml: options have their built-in defaults
    #[arg(long, global = true, hide_short_help = true, help_heading = heading::RESULTS)]
    pub(crate) no_config: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compare two versions of SQLite in rounds; takes two minutes and needs no server
    Demo(Demo),
    /// Compare builds or configs; the first candidate is the base case
    #[command(after_help = examples::COMPARE)]
    Compare(Box<Compare>),
    /// Count the instructions that operations take, which scatter little on any machine; the first candidate is the base case
    #[command(after_help = examples::COUNT, mut_args(times::hide))]
    Count(Box<Compare>),
    /// Run an experiment file, or resume one that was interrupted
    #[command(after_help = examples::RUN)]
    Run(Box<Run>),
    /// Compare in rounds, and exit with code 3 if a regression is found; for CI pipelines
    #[command(after_help = examples::GATE)]
    Gate(Box<Gate>),
    /// Find the candidates, in the order given, or the commits of a range, at which a step's speed or work changed, without measuring them all
    #[command(after_help = examples::BISECT, mut_arg("dry_run", without_dry_run))]
    Bisect(Box<Bisect>),
    /// Find out which changes this machine can detect, by planting slowdowns of known size in a server
    #[command(after_help = examples::CALIBRATE, mut_arg("dry_run", without_dry_run))]
    Calibrate(Box<Calibrate>),
    /// Render a report from a store
    #[command(after_help = examples::REPORT)]
    Report(Report),
    /// Show where the time went: what changed along with a step's speed, likeliest cause first
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Show at which versions of a store, or at which commits with git:PATH A..B, a step's speed or work changed
    #[command(after_help = examples::HISTORY)]
    History(History),
    /// Show at which commits of a range a step's speed or work changed
    #[command(name = COMMIT_HISTORY, hide = true, mut_arg("dry_run", without_dry_run))]
    CommitHistory(Box<CommitHistory>),
    /// Find out what on this machine disturbs or limits measurements, and what to do about it; takes less than half a minute
    Doctor(Doctor),
    /// Inspect a store
    Store(Store),
    /// Look at an experiment that runs on several machines, or write the files that run one
    Fleet(Fleet),
    /// List, download and compile builds of database servers
    Server(Server),
    /// List, show and check workloads
    Workload(Workload),
    /// Show the defaults that options have from basecase.toml, in this folder and in the user's config folder
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write the man pages of all commands
    Man {
        /// Folder for a page of each command
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the files and what they set, or all options of a command with their defaults
    Show {
        /// A command, such as compare
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Folder for the store and the report
    #[arg(long, value_name = "DIR", default_value = "basecase-demo")]
    pub(crate) out: PathBuf,
    /// Time for rounds, e.g. 5m: more rounds make intervals narrower [default: what compiling and counting leave of two minutes]
    ///
    /// Run the same command again to add rounds
    #[arg(long, visible_alias = "more", value_name = "TIME", value_parser = read_time)]
    pub(crate) budget: Option<Duration>,
    /// Print what would be measured and how long it takes, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Progress on standard error: text for people, or one JSON object per line for programs
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ProgressArgument::Text)]
    pub(crate) progress: ProgressArgument,
}

#[derive(Args, Clone)]
pub(crate) struct Compare {
    /// BUILD, BUILD#ENGINE or BUILD@CONFIG, such as postgres:18.6, mysql:8.0.x@z12a, sqlite@wal_normal or git:PATH@REF
    ///
    /// All forms: postgres:18.6, mysql:8.0.x@z12a, mariadb:10.11.18#rocksdb, postgres:18.6@my.conf,
    /// path:/opt/pg, sqlite@wal_normal, git:PATH@REF, git:PATH@REF+FILE.patch, git:PATH (its working tree),
    /// url:postgres://user:password@host:port/database, url:mysql://…
    #[arg(required = true, value_name = "CANDIDATE", value_parser = CandidateParser)]
    pub(crate) candidates: Vec<CandidateArgument>,
    /// Config for candidates that name none: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) config: Option<String>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArguments,
    #[command(flatten)]
    pub(crate) sizes: SizeArguments,
    /// Seed for all random streams
    #[arg(long, help_heading = heading::WHAT, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// How background writers keep their rate in read-write steps
    #[arg(long, help_heading = heading::WHAT, hide_short_help = true, value_enum, default_value_t = PaceArgument::Bursts)]
    pub(crate) pace: PaceArgument,
    /// Measure in rounds until a change of this size is found or ruled out
    ///
    /// E.g. 3% [default in rounds: 2% for steps that read, 3% for steps that write]
    #[arg(long, help_heading = heading::HOW_LONG, value_name = "PERCENT", value_parser = read_change)]
    pub(crate) detect: Option<f64>,
    /// Measure in rounds, at most this many
    #[arg(long, help_heading = heading::HOW_LONG, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Length of the slices in which candidates take turns, e.g. 30ms [default: as short as the step's speed allows]
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, display_order = LAST, value_name = "TIME", value_parser = read_time)]
    pub(crate) slice: Option<Duration>,
    /// How to settle vacuum, checkpoint and write-back debt before the read-write steps
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, value_enum, default_value_t = SettleArgument::Condition)]
    pub(crate) settle: SettleArgument,
    /// Time limit for settling, e.g. 10m, or none [default: one minute plus one second per million rows, at most 20 minutes]
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, value_name = "TIME|none", value_parser = read_settle_limit)]
    pub(crate) settle_limit: Option<SettleLimit>,
    /// Time limit for each step, in seconds
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) step_limit: Option<u64>,
    /// Processors of client and servers: client=0,server=1-3, auto or off; auto draws one for a single connection on a small machine
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true, value_name = "PLACEMENT", default_value = "auto")]
    pub(crate) pin: PinRequest,
    /// How to check tables after each step: full counts rows, bounds reads only the smallest and largest ids, auto chooses by table size
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, display_order = LAST, value_enum, default_value_t = VerifyArgument::Auto)]
    pub(crate) verify: VerifyArgument,
    /// Setting for every server that is started, in addition to its config
    #[arg(long = "set", help_heading = heading::WHAT, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) compiling: CompilingArguments,
    #[command(flatten)]
    pub(crate) places: PlaceArguments,
}

/// The commands that people see: without those that the program calls itself by.
pub(crate) fn shown(program: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    program.get_subcommands().filter(|command| !command.is_hide_set())
}

/// Hides an option from commands whose experiments depend on what the ones before them found.
fn without_dry_run(option: Arg) -> Arg {
    option.hide(true)
}

/// Puts an option before the others of its heading.
const FIRST: usize = 0;
/// Puts an option behind the others of its heading.
const LAST: usize = 900;

#[derive(Args)]
pub(crate) struct Gate {
    /// Write the verdicts as JUnit test cases
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a summary in Markdown, e.g. for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) compare: Compare,
}

#[derive(Args)]
pub(crate) struct Bisect {
    /// Name or label of the step to bisect; may be left out if there is only one
    #[arg(long)]
    pub(crate) step: Option<String>,
    #[command(flatten)]
    pub(crate) commits: CommitArguments,
    #[command(flatten)]
    pub(crate) compare: Compare,
}

#[derive(Args)]
#[command(override_usage = "basecase history git:PATH A..B [OPTIONS]")]
pub(crate) struct CommitHistory {
    /// How many commits are measured at least, evenly over the range; more where neighbours differ
    #[arg(long, help_heading = heading::COMMITS, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) builds: u16,
    #[command(flatten)]
    pub(crate) bisect: Bisect,
}

/// How commits are searched, after `git:PATH A..B`.
#[derive(Args, Clone)]
pub(crate) struct CommitArguments {
    /// Search only commits that touch these files and folders, as git names them (pathspecs) [default: what the server is made of]
    #[arg(long, help_heading = heading::COMMITS, value_name = "PATH", value_delimiter = ' ')]
    pub(crate) paths: Vec<String>,
    /// Commits that are known not to compile; may be given several times
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true, value_name = "A..B")]
    pub(crate) broken: Vec<String>,
    /// Patch that commits of a range need to compile; may be given several times
    #[arg(long = "fix", help_heading = heading::COMMITS, hide_short_help = true, value_name = "A..B=FILE.patch", value_parser = fix)]
    pub(crate) fixes: Vec<(String, PathBuf)>,
    /// Go on where both ends are equal
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true)]
    pub(crate) even_if_equal: bool,
    /// Compile each commit anew, and not only what differs from the one before
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true)]
    pub(crate) clean: bool,
    /// Most disk space of all builds of commits together, e.g. 10G; those that were used longest ago make room
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true, value_name = "SIZE", default_value = "10G")]
    pub(crate) keep_builds: MemorySize,
    /// End with what was found, and do not confirm it by parent and child
    #[arg(long, help_heading = heading::COMMITS)]
    pub(crate) no_confirmation: bool,
}

#[derive(Args)]
pub(crate) struct Calibrate {
    /// Slowdowns to plant: in every statement (3%), in one of a hundred statements a hundred times as much (3%:every=100), or in three
    /// of ten starts (10%:starts=0.3)
    #[arg(long = "plant", value_name = "SLOWDOWN", value_delimiter = ',', default_value = "1%,2%,3%,5%")]
    pub(crate) slowdowns: Vec<Slowdown>,
    /// Number of candidates with each slowdown, and without one, to see how often each is found
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) copies: u16,
    /// Plant nothing, and tell where noise comes from: how much passes, sessions, starts of the server and loads of the data add to the
    /// ratio of the candidate and itself, for each step; --rounds says how many rounds there are [default: 10]
    #[arg(long, conflicts_with_all = ["slowdowns", "copies", "repeat", "hogs"])]
    pub(crate) luck: bool,
    /// Run the whole calibration this many times, each with its own seed; this tells slowdowns apart better than more --copies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Number of processes that each keep one processor busy, to simulate other work on the machine
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) hogs: u16,
    #[command(flatten)]
    pub(crate) compare: Compare,
}

#[derive(Args)]
pub(crate) struct Run {
    /// Experiment file
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) file: PathBuf,
    /// Run only this one of the file's sizes
    #[arg(long = "size", help_heading = heading::WHAT, value_name = "NAME")]
    pub(crate) size: Option<String>,
    /// Multiply the file's sizes, e.g. by 0.01 for a small run: its rows, writes and seconds, or its rows per table and seconds
    #[arg(long, help_heading = heading::WHAT, value_name = "FACTOR", allow_negative_numbers = true)]
    pub(crate) scale: Option<Scale>,
    /// Run only these of the file's candidates, as it names them or by their builds; the first in the file's order is the base case
    #[arg(long, help_heading = heading::WHAT, value_name = "CANDIDATE", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Measure only these steps, by name or label; what they need of the steps before is executed and not measured
    #[arg(long, help_heading = heading::WHAT, value_name = "STEP", value_delimiter = ',')]
    pub(crate) steps: Vec<String>,
    #[command(flatten)]
    pub(crate) places: PlaceArguments,
}

/// Declares a command-line form of an enum of a lower room.
macro_rules! mirror {
    ($name:ident for $target:ident { $($variant:ident),* }) => {
        #[derive(Clone, Copy, ValueEnum)]
        pub(crate) enum $name { $($variant),* }

        impl From<$name> for $target {
            fn from(argument: $name) -> Self {
                match argument { $($name::$variant => $target::$variant),* }
            }
        }
    };
}

mirror!(PaceArgument for Pace { Bursts, Even });
mirror!(SettleArgument for Settle { Condition, Purged, Formula, Off });
mirror!(VerifyArgument for Verify { Auto, Full, Bounds });

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use basecase_builds::Setup;
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_stands_in_groups_that_are_read_at_a_glance() {
        let mut command = Arguments::command();
        command.build();
        for name in ["compare", "count", "run", "gate", "bisect", "calibrate", COMMIT_HISTORY] {
            let command = command.find_subcommand(name).unwrap();
            let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
            for option in command.get_opts().filter(|option| !option.is_hide_set()) {
                *groups.entry(option.get_help_heading().unwrap_or("Options")).or_default() += 1;
            }
            assert!(groups.len() > 3 && groups.values().all(|count| *count <= 15), "{name}: {groups:?}");
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        for (name, most) in [("compare", 46), ("run", 42), ("gate", 58), ("count", 42)] {
            let mut command = Arguments::command().term_width(100);
            command.build();
            let help = command.find_subcommand_mut(name).unwrap().render_help().to_string();
            assert!(help.lines().count() <= most, "{name}: {} lines\n{help}", help.lines().count());
            assert!(help.contains("--budget") || name == "count", "{help}");
            assert!(!help.contains("--settle-limit"), "{help}");
        }
    }

    #[test]
    fn an_order_to_compile_is_read() {
        let words =
            ["basecase", "server", "get", "postgres:17.6", "--from", "source", "--source", "/pg@REL_17_6"];
        let more = ["--flags", "-O2 -g", "--configure", "--with-lz4 'CC=gcc -m64'", "--jobs", "2"];
        let arguments = Arguments::try_parse_from(words.iter().chain(&more)).unwrap();
        let Command::Server(Server { command: ServerCommand::Get { builds, compile } }) = arguments.command
        else {
            panic!("it is another command");
        };
        let order = compile.order(&builds[0]);
        assert_eq!(order.setup, Setup::Flags("-O2 -g".into()));
        assert_eq!(order.configure, ["--with-lz4", "CC=gcc -m64"]);
        assert_eq!((order.source.as_deref(), order.jobs), (Some("/pg@REL_17_6"), Some(2)));
        let wrong = |more: &[&str]| Arguments::try_parse_from(words.iter().chain(more)).is_err();
        assert!(
            wrong(&["--flags", "-O2", "--type", "o3"])
                && wrong(&["--jobs", "0"])
                && wrong(&["--configure", "'"])
        );
        assert!(
            Arguments::try_parse_from(["basecase", "server", "get", "postgres:17.6", "--type", "o3"])
                .is_err()
        );
    }
}
