//! Arguments that every run takes: where results go, how servers are reached, what is observed.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use basecase_analysis::{Counted, Thresholds};
use basecase_lab::{CountsEngine, LOADS, MemoryRequest, Timing, read_change_of_work, read_time};
use basecase_model::ProfileKind;
use basecase_server::Transport;
use clap::{Args, ValueEnum};

use super::{FIRST, FleetArguments, heading};
use crate::value::{link, profile_kind};

/// The default of `--counts-detect`, as it is typed.
static COUNTS_DETECT: LazyLock<String> = LazyLock::new(|| format!("{}%", 100.0 * Counted::DETECT));

/// Where things are put, and how servers are reached.
#[derive(Args, Clone)]
pub(crate) struct PlaceArguments {
    /// Print what would be measured and how long it takes, and start nothing
    ///
    /// Builds that are not here are named, and not got
    #[arg(long, help_heading = heading::HOW_LONG)]
    pub(crate) dry_run: bool,
    /// Load the data of each candidate at least this many times over the rounds, so that a verdict does not rest on one load
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, value_name = "N", default_value_t = LOADS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) loads: u32,
    /// Measure in rounds, and start none after this time, e.g. 60m
    ///
    /// Run the same command again to add rounds
    #[arg(long, help_heading = heading::HOW_LONG, display_order = FIRST, visible_alias = "more", value_name = "TIME", value_parser = read_time)]
    pub(crate) budget: Option<Duration>,
    /// Results file, from which runs resume
    ///
    /// What it holds already is not measured again
    #[arg(long, help_heading = heading::WHERE, value_name = "FILE", default_value = "basecase.sqlite")]
    pub(crate) store: PathBuf,
    /// Folder for the report
    #[arg(long, help_heading = heading::WHERE, value_name = "DIR", default_value = "basecase-report")]
    pub(crate) out: PathBuf,
    /// Where the pages of `history --out` are, as the report's pages see it: a folder such as ../history, or a URL; steps link to their own
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_name = "URL", value_parser = link)]
    pub(crate) history: Option<String>,
    /// Print the report as JSON instead of text
    #[arg(long, help_heading = heading::RESULTS)]
    pub(crate) json: bool,
    /// Relative throughput from which on the report colours cells: report (0.95, 1.05, rounded), posts-2024 (0.95, 1.05), posts-2025
    /// (0.97, 1.03), or two ratios such as 0.9,1.1
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_name = "LOW,HIGH|NAME", default_value = "report")]
    pub(crate) thresholds: Thresholds,
    /// Print the whole report, not only the answer
    #[arg(long, help_heading = heading::RESULTS, conflicts_with = "json")]
    pub(crate) full: bool,
    /// Progress on standard error: text for people, or one JSON object per line for programs
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_enum, value_name = "FORM", default_value_t = ProgressArgument::Text)]
    pub(crate) progress: ProgressArgument,
    /// Sample the servers' stacks in a second run of everything
    ///
    /// cpu, offcpu or cpu,offcpu [default with --profile: cpu]
    #[arg(long, help_heading = heading::RESULTS, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "cpu", value_delimiter = ',', value_parser = profile_kind)]
    pub(crate) profile: Vec<ProfileKind>,
    /// Sample stacks in the measured run instead of a second one
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, requires = "profile")]
    pub(crate) profile_measured: bool,
    /// Sample machine and server every second (on), or only at both ends of a step (off)
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_enum, default_value_t = ProbeArgument::On)]
    pub(crate) probe: ProbeArgument,
    /// Count the instructions of each step as well
    ///
    /// They scatter little on any machine
    #[arg(long, help_heading = heading::RESULTS)]
    pub(crate) counts: bool,
    /// What counts instructions: callgrind, which knows functions; hardware, the processor's counter, at full speed; auto takes hardware where
    /// the machine has that counter
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_enum, value_name = "ENGINE", default_value_t = CountsEngineArgument::Auto)]
    pub(crate) counts_engine: CountsEngineArgument,
    /// Smallest relative change of the instructions of an operation that counts as one
    #[arg(long, help_heading = heading::RESULTS, hide_short_help = true, value_name = "PERCENT", value_parser = read_change_of_work, default_value = COUNTS_DETECT.as_str())]
    pub(crate) counts_detect: f64,
    /// Shorten warm-ups, slices, pauses and polls by this factor, e.g. 1/50, to try a schedule; such results are marked and get no verdict
    #[arg(long, value_name = "1/N", default_value = "1/1", hide = true)]
    pub(crate) timing: Timing,
    /// Folder for the servers' data [default: in basecase's home, BASECASE_HOME]
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keep the data of finished candidates
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true)]
    pub(crate) keep_data: bool,
    /// Discard data left by an interrupted run, and load it again
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true)]
    pub(crate) rebuild: bool,
    /// How clients connect to servers [default, as in published results: loopback for Postgres, socket for MySQL and MariaDB]
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true, value_enum)]
    pub(crate) transport: Option<TransportArgument>,
    /// Limit on the memory of each server with its page cache, e.g. 400M
    ///
    /// It is set by a control group of its own; auto keeps the ratio of database to memory that an experiment file was published with
    #[arg(long, help_heading = heading::WHERE, value_name = "SIZE|auto")]
    pub(crate) memory: Option<MemoryRequest>,
    /// Time limit for connecting and logging in to a server; statements have none
    #[arg(long, help_heading = heading::WHERE, hide_short_help = true, value_name = "TIME", value_parser = read_time, default_value = "10s")]
    pub(crate) connect_timeout: Duration,
    #[command(flatten)]
    pub(crate) fleet: FleetArguments,
}

/// How clients reach a server.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TransportArgument {
    Loopback,
    Socket,
}

impl From<TransportArgument> for Transport {
    fn from(argument: TransportArgument) -> Self {
        match argument {
            TransportArgument::Loopback => Transport::Loopback,
            TransportArgument::Socket => Transport::UnixSocket,
        }
    }
}

/// What counts instructions.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountsEngineArgument {
    Auto,
    Callgrind,
    Hardware,
}

impl From<CountsEngineArgument> for CountsEngine {
    fn from(argument: CountsEngineArgument) -> Self {
        match argument {
            CountsEngineArgument::Auto => CountsEngine::Auto,
            CountsEngineArgument::Callgrind => CountsEngine::Callgrind,
            CountsEngineArgument::Hardware => CountsEngine::Hardware,
        }
    }
}

/// The form of progress on standard error.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArgument {
    Text,
    Json,
}

/// Whether machine and server are sampled while a step runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProbeArgument {
    On,
    Off,
}
