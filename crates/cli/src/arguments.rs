//! The command line as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use basecase_analysis::Preset as Thresholds;
use basecase_builds::{BuildRequest, Setup, SourceOrder};
use basecase_lab::{
    CandidateSpec, PinRequest, Scale, Sizes, Slowdown, Timing, Verify, read_change, read_settle_limit,
    read_time,
};
use basecase_model::ProfileKind;
use basecase_report::{FORMATS, Format};
use basecase_server::{Settle, SettleLimit, Transport};
use basecase_workload::insert_benchmark::{self, Pace};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::value::{
    CandidateParser, ShellWords, dbms, engine, percentile, profile_kind, setting, shell_words,
};

/// Which version or configuration of a database got slower, on what work, by how much, and where did the time go?
#[derive(Parser)]
#[command(name = "basecase", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compare two SQLite configs in a minute, with nothing to install
    Demo(Demo),
    /// Compare candidates: the first is the base case that the others are divided by
    Compare(Box<Compare>),
    /// Run an experiment file, or go on with one that was cut short
    Run(Run),
    /// Compare in rounds, and end with exit code 3 when a regression is decided: for pipelines
    Gate(Box<Gate>),
    /// Find the candidate with which a step changed, among many in their order, without measuring all of them
    Bisect(Box<Bisect>),
    /// Find out what this machine can tell: plant slowdowns of known size in a server, and see what is found of them
    Calibrate(Box<Calibrate>),
    /// Render the report of a store again
    Report(Report),
    /// Say where the time went: what moved together with the speed of a step, likeliest cause first
    Explain(Explain),
    /// Say at which version a step changed: change points over candidates in their order
    History(History),
    /// Look into a store
    Store(Store),
    /// List and get builds of database servers
    Server(Server),
    /// List and show workloads
    Workload(Workload),
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Folder for the store and the report
    #[arg(long, value_name = "DIR", default_value = "basecase-demo")]
    pub(crate) out: PathBuf,
    /// How standard error tells of the run: lines for people, or events for programs, one JSON object a line
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ProgressArgument::Text)]
    pub(crate) progress: ProgressArgument,
}

#[derive(Args)]
pub(crate) struct Compare {
    /// BUILD, BUILD#ENGINE, BUILD@CONFIG: postgres:18.6, mysql:8.0.x@z12a, mariadb:10.11.18#rocksdb, postgres:18.6@my.conf,
    /// path:/opt/pg, sqlite@wal_normal, url:postgres://user:password@host:port/database, url:mysql://…
    #[arg(required = true, value_name = "CANDIDATE", value_parser = CandidateParser)]
    pub(crate) candidates: Vec<CandidateSpec>,
    /// Config of the candidates that name none: a name or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) config: Option<String>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArguments,
    #[command(flatten)]
    pub(crate) sizes: SizeArguments,
    /// Seed of every random stream
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How the background writers of the read-write steps keep their rate
    #[arg(long, value_enum, default_value_t = PaceArgument::Bursts)]
    pub(crate) pace: PaceArgument,
    /// How vacuum, checkpoint and write-back debt is settled before the read-write steps
    #[arg(long, value_enum, default_value_t = SettleArgument::Condition)]
    pub(crate) settle: SettleArgument,
    /// How long settling may take until it is at rest, e.g. 10m, or none; by default a minute and a second for each million rows
    #[arg(long, value_name = "TIME|none", value_parser = read_settle_limit)]
    pub(crate) settle_limit: Option<SettleLimit>,
    /// How tables are checked after each step: by counting rows, or without reading what would warm caches
    #[arg(long, value_enum, default_value_t = VerifyArgument::Auto)]
    pub(crate) verify: VerifyArgument,
    /// Processors of the client and of servers: client=0,server=1-3, auto or off; auto pins what has one connection
    #[arg(long, value_name = "PLACEMENT", default_value = "auto")]
    pub(crate) pin: PinRequest,
    /// Hard limit of each step in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) step_limit: Option<u64>,
    /// Measure in rounds until a change of so much is found or ruled out, e.g. 3%; by default 2% where a step reads, 3% where it writes
    #[arg(long, value_name = "PERCENT", value_parser = read_change)]
    pub(crate) detect: Option<f64>,
    /// Measure in rounds, at most so many
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// Length of the slices in which candidates take turns, e.g. 30ms; by default as short as a step's speed allows
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    pub(crate) slice: Option<Duration>,
    /// A setting for every server that basecase starts, on top of its config
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) places: PlaceArguments,
}

#[derive(Args)]
#[command(after_help = "\
Exit codes; where several hold, the highest counts:
  0  no regression is decided
  1  a candidate failed, the run was interrupted, or a file could not be written
  2  the command line could not be read
  3  a regression is decided
What becomes of standard output changes none of them.")]
pub(crate) struct Gate {
    #[command(flatten)]
    pub(crate) compare: Compare,
    /// Write the verdicts as JUnit test cases
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a summary in Markdown, as for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Bisect {
    /// Candidates in their order, the oldest first, and what is run, as of `basecase compare`
    #[command(flatten)]
    pub(crate) compare: Compare,
    /// Name or label of the step that is looked at; the only one by default
    #[arg(long)]
    pub(crate) step: Option<String>,
}

#[derive(Args)]
pub(crate) struct Calibrate {
    /// The build and config to plant in, and what is run, as of `basecase compare`
    #[command(flatten)]
    pub(crate) compare: Compare,
    /// Slowdowns: of every statement (3%), of one in a hundred a hundred times as much (3%:every=100), in three starts of ten (10%:starts=0.3)
    #[arg(long = "plant", value_name = "SLOWDOWN", value_delimiter = ',', default_value = "1%,2%,3%,5%")]
    pub(crate) slowdowns: Vec<Slowdown>,
    /// Candidates of each slowdown, and without one: how often is it found?
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) copies: u16,
    /// Run all of it so often, one time after the other and each with a seed of its own: a few candidates at once are told apart best
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Processes beside it that keep a processor busy each, as other work on the machine would
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) hogs: u16,
}

#[derive(Args)]
pub(crate) struct Run {
    /// The experiment file
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) file: PathBuf,
    /// Factor on the file's sizes, to run a study small: rows, writes and seconds, or rows per table and the seconds that it names
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub(crate) scale: Option<Scale>,
    /// Only this one of the file's sizes
    #[arg(long = "size", value_name = "NAME")]
    pub(crate) size: Option<String>,
    #[command(flatten)]
    pub(crate) places: PlaceArguments,
}

/// Which workload, and what it can be given.
#[derive(Args)]
pub(crate) struct WorkloadArguments {
    /// insert-benchmark, microbenchmarks, oltp_read_write …, or a workload file such as ./mine.toml; `basecase workload list`
    #[arg(long, value_name = "NAME|FILE", default_value = insert_benchmark::NAME)]
    pub(crate) workload: String,
    #[command(flatten)]
    pub(crate) choice: WorkloadChoice,
}

/// What a workload file can be given.
#[derive(Args)]
pub(crate) struct WorkloadChoice {
    /// Lists, groups, steps or labels of a workload file, e.g. 32 or random-points=10; its first list by default
    #[arg(long = "list", value_name = "WORD", value_delimiter = ',')]
    pub(crate) list: Vec<String>,
    /// An option of a workload file, e.g. skip-trx=on, rand-type=zipfian; `basecase workload show NAME` lists them
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) options: Vec<(String, String)>,
    /// Tables of a workload file
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) tables: Option<u32>,
    /// Threads of a workload file, each with a connection; several as in 8,16,32 run every step with each
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Seconds of each step of a workload file that writes; as long as one that reads by default
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) write_seconds: Option<f64>,
    /// Seconds before the window of a step of a workload file opens
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) warm_up_seconds: Option<f64>,
}

/// Sizes: a preset, and what differs from it.
#[derive(Args)]
pub(crate) struct SizeArguments {
    /// A named size; `basecase workload show insert-benchmark` lists them
    #[arg(long)]
    pub(crate) preset: Option<String>,
    /// Factor on the preset's rows, writes and seconds
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) scale: Option<f64>,
    /// Clients, each with a table of its own
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) clients: Option<u32>,
    /// Rows that the load puts into each table
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) rows: Option<u64>,
    /// Rows that each client inserts in l.i1 (4/5) and l.i2 (1/5)
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) writes: Option<u64>,
    /// Nominal seconds of each read-write step, or of each step of a workload file
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) seconds: Option<u64>,
}

impl From<&SizeArguments> for Sizes {
    fn from(arguments: &SizeArguments) -> Self {
        Sizes {
            preset: arguments.preset.clone(),
            scale: arguments.scale,
            clients: arguments.clients,
            rows: arguments.rows,
            writes: arguments.writes,
            seconds: arguments.seconds,
        }
    }
}

/// Where things are put, and how servers are reached.
#[derive(Args, Clone)]
pub(crate) struct PlaceArguments {
    /// The results file; a run that was cut short goes on from it
    #[arg(long, value_name = "FILE", default_value = "basecase.sqlite")]
    pub(crate) store: PathBuf,
    /// Folder for the report
    #[arg(long, value_name = "DIR", default_value = "basecase-report")]
    pub(crate) out: PathBuf,
    /// Folder for the servers' data; by default in basecase's home (BASECASE_HOME)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// How clients reach servers; by default as in published results, loopback for Postgres and the socket for MySQL and MariaDB
    #[arg(long, value_enum)]
    pub(crate) transport: Option<TransportArgument>,
    /// Warm-ups, slices, pauses and looks so much shorter, e.g. 1/50, to try a schedule: such results are marked and get no verdict
    #[arg(long, value_name = "1/N", default_value = "1/1", hide = true)]
    pub(crate) timing: Timing,
    /// How long connecting and logging in to a server may take; statements take as long as they take
    #[arg(long, value_name = "TIME", value_parser = read_time, default_value = "10s")]
    pub(crate) connect_timeout: Duration,
    /// Leave the data of finished candidates where it is
    #[arg(long)]
    pub(crate) keep_data: bool,
    /// Load the data again instead of going on with what an interrupted run left of it
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Measure in rounds, and begin none after so long, e.g. 60m; an experiment that is run again goes on
    #[arg(long, visible_alias = "more", value_name = "TIME", value_parser = read_time)]
    pub(crate) budget: Option<Duration>,
    /// Whether machine and server are looked at every second, or only at both ends of a step
    #[arg(long, value_enum, default_value_t = ProbeArgument::On)]
    pub(crate) probe: ProbeArgument,
    /// Run everything a second time and take the stacks of the servers meanwhile: cpu, offcpu or both
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "cpu", value_delimiter = ',', value_parser = profile_kind)]
    pub(crate) profile: Vec<ProfileKind>,
    /// Take the stacks in the run that is measured, and none a second time
    #[arg(long, requires = "profile")]
    pub(crate) profile_measured: bool,
    /// Print the report as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// How standard error tells of the run: lines for people, or events for programs, one JSON object a line
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ProgressArgument::Text)]
    pub(crate) progress: ProgressArgument,
}

#[derive(Args)]
pub(crate) struct Report {
    /// The results file
    pub(crate) store: PathBuf,
    /// Id or name of the experiment; the newest by default
    #[arg(long)]
    pub(crate) experiment: Option<String>,
    /// html is written to a folder, the others to standard output
    #[arg(long, default_value = "html", value_parser = format_parser())]
    pub(crate) format: Format,
    /// Folder for the pages
    #[arg(short, long, value_name = "DIR", default_value = "basecase-report")]
    pub(crate) out: PathBuf,
    /// From which relative throughput on a cell is coloured: report, posts-2024, posts-2025
    #[arg(long, default_value = "report")]
    pub(crate) thresholds: Thresholds,
    /// The percentile of the latency of events that tables of workload files show
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = percentile)]
    pub(crate) percentile: f64,
    /// Add every step's response times and metrics to text and Markdown
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// The results file
    pub(crate) store: PathBuf,
    /// STEP, CANDIDATE/STEP, e.g. my8033.z12a/l.i1, or the key of a cell as `store show` prints it; by default every cell that is
    /// beyond the thresholds
    #[arg(value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// Id or name of the experiment; the newest by default
    #[arg(long)]
    pub(crate) experiment: Option<String>,
    /// From which relative throughput on a cell is explained when none is named: report, posts-2024, posts-2025
    #[arg(long, default_value = "report")]
    pub(crate) thresholds: Thresholds,
    /// Print Markdown instead of text
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Args)]
pub(crate) struct History {
    /// The results file
    pub(crate) store: PathBuf,
    /// Name or label of a step; by default all steps, as one family
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Id or name of the experiment; the newest by default
    #[arg(long, value_name = "ID|NAME")]
    pub(crate) experiment: Option<String>,
    /// Take what all experiments of the store in rounds with the same base case, or one that it replaced, measured for the versions, in the
    /// order of their dates
    #[arg(long)]
    pub(crate) dates: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Subcommand)]
pub(crate) enum StoreCommand {
    /// List the experiments
    Ls {
        /// The results file
        store: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an experiment's facts and trials
    Show {
        /// The results file
        store: PathBuf,
        /// Id or name; the newest by default
        experiment: Option<String>,
    },
    /// Check that the file is whole and that its counts agree with each other
    Verify {
        /// The results file
        store: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct Server {
    #[command(subcommand)]
    pub(crate) command: ServerCommand,
}

#[derive(Subcommand)]
pub(crate) enum ServerCommand {
    /// List every version that the recipes can get, where from, and what it lacks here
    List {
        /// Only builds of this dbms, e.g. mysql
        #[arg(value_parser = dbms)]
        dbms: Option<basecase_model::Dbms>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Get and check builds, e.g. postgres:17.11 postgres:18.6:maven path:/opt/pg, or compile them
    Get {
        /// The builds
        #[arg(required = true, value_name = "BUILD")]
        builds: Vec<BuildRequest>,
        #[command(flatten)]
        compile: CompileArguments,
    },
}

/// How builds are compiled.
#[derive(Args)]
pub(crate) struct CompileArguments {
    /// Compile instead of downloading
    #[arg(long, value_enum)]
    pub(crate) from: Option<FromArgument>,
    /// The source: a folder, an archive or REPOSITORY@TAG; by default Debian's, for the versions that it has
    #[arg(long, requires = "from", value_name = "DIR|ARCHIVE|GIT@REF")]
    source: Option<String>,
    /// Build type as in published results: def, o2nofp, o3, o3_nofp, o3_native, o3_native_lto for Postgres; rel, rel_o2nofp,
    /// rel_withdbg, rel_native, rel_lto, rel_lessps for MySQL and MariaDB
    #[arg(long = "type", requires = "from", value_name = "NAME")]
    build_type: Option<String>,
    /// Compiler flags instead of a type's
    #[arg(long, requires = "from", conflicts_with = "build_type", allow_hyphen_values = true)]
    flags: Option<String>,
    /// Name of the build, as in postgres:17.6:NAME; by default made of type and commit
    #[arg(long, requires = "from", value_name = "NAME")]
    label: Option<String>,
    /// More arguments of configure or CMake
    #[arg(long, requires = "from", value_name = "ARGUMENTS", allow_hyphen_values = true, value_parser = shell_words)]
    configure: Option<ShellWords>,
    /// Compilers that run at once
    #[arg(long, requires = "from", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
}

/// Where builds come from other than by recipe.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FromArgument {
    Source,
}

impl CompileArguments {
    /// The order to compile `request`.
    pub(crate) fn order(&self, request: &BuildRequest) -> SourceOrder {
        SourceOrder {
            request: request.clone(),
            source: self.source.clone(),
            setup: match (&self.build_type, &self.flags) {
                (Some(name), _) => Setup::Type(name.clone()),
                (None, Some(flags)) => Setup::Flags(flags.clone()),
                (None, None) => Setup::Default,
            },
            label: self.label.clone(),
            configure: self.configure.as_ref().map(|words| words.0.clone()).unwrap_or_default(),
            jobs: self.jobs,
        }
    }
}

#[derive(Args)]
pub(crate) struct Workload {
    #[command(subcommand)]
    pub(crate) command: WorkloadCommand,
}

#[derive(Subcommand)]
pub(crate) enum WorkloadCommand {
    /// List the workloads
    List,
    /// Show a workload's steps and statements
    Show(Box<ShowWorkload>),
    /// Check a workload file: what is wrong, with line and column
    Check {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Which workload is shown, and as whom.
#[derive(Args)]
pub(crate) struct ShowWorkload {
    /// Its name, or a workload file such as ./mine.toml
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: String,
    /// Whose SQL is shown
    #[arg(long, default_value = "postgres", value_parser = dbms)]
    pub(crate) dbms: basecase_model::Dbms,
    /// Whose SQL is shown, where a dbms has several engines: innodb or rocksdb
    #[arg(long, value_parser = engine)]
    pub(crate) engine: Option<basecase_model::Engine>,
    #[command(flatten)]
    pub(crate) choice: WorkloadChoice,
    #[command(flatten)]
    pub(crate) sizes: SizeArguments,
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

/// How standard error tells of a run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArgument {
    Text,
    Json,
}

/// What is looked at while a step runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProbeArgument {
    On,
    Off,
}

/// Reads the name of a format.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = FORMATS.iter().map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| Format::named(&name).ok_or("there is no such format"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
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
