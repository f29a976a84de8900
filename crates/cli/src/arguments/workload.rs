//! Arguments that choose a workload, and those of `workload`.

use std::path::PathBuf;

use basecase_lab::Sizes;
use basecase_workload::insert_benchmark;
use clap::{Args, Subcommand};

use super::{LAST, examples, heading};
use crate::value::{dbms, engine, setting};

/// The workload, and the options of workload files.
#[derive(Args, Clone)]
pub(crate) struct WorkloadArguments {
    /// Name of a workload, or a file such as ./mine.toml
    ///
    /// E.g. insert-benchmark, microbenchmarks or oltp_read_write; `basecase workload list` lists them
    #[arg(long, value_name = "NAME|FILE", default_value = insert_benchmark::NAME)]
    pub(crate) workload: String,
    #[command(flatten)]
    pub(crate) choice: WorkloadChoice,
}

/// Options of workload files. The Insert Benchmark is none.
#[derive(Args, Clone)]
#[command(next_help_heading = heading::WHAT)]
pub(crate) struct WorkloadChoice {
    /// Lists, groups, steps or labels of a workload file to run
    ///
    /// E.g. 32 or random-points=10 [default: its first list]
    #[arg(long = "list", value_name = "WORD", value_delimiter = ',')]
    pub(crate) list: Vec<String>,
    /// Number of threads in a workload file, each with one connection
    ///
    /// Given several, e.g. 8,16,32, every step runs with each
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Number of tables in a workload file
    #[arg(long, allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) tables: Option<u32>,
    /// Option of a workload file, e.g. skip-trx=on or rand-type=zipfian; `basecase workload show NAME` lists them
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = setting, hide_short_help = true)]
    pub(crate) options: Vec<(String, String)>,
    /// Seconds for each step of a workload file that writes [default: as for steps that read]
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, display_order = LAST, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) write_seconds: Option<f64>,
    /// Seconds of warm-up before each step of a workload file is measured
    #[arg(long, help_heading = heading::HOW_LONG, hide_short_help = true, display_order = LAST, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) warm_up_seconds: Option<f64>,
}

/// Sizes: a preset, and what differs from it.
#[derive(Args, Clone)]
#[command(next_help_heading = heading::WHAT)]
pub(crate) struct SizeArguments {
    /// Rows to load into each table
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) rows: Option<u64>,
    /// Nominal seconds for each step that is limited by time
    ///
    /// These are the read-write steps of the Insert Benchmark, and all steps of a workload file
    #[arg(long, help_heading = heading::HOW_LONG, allow_negative_numbers = true)]
    pub(crate) seconds: Option<u64>,
    /// Named size of the Insert Benchmark
    ///
    /// `basecase workload show insert-benchmark` lists them
    #[arg(long)]
    pub(crate) preset: Option<String>,
    /// Multiply the preset's rows, writes and seconds
    #[arg(long, allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) scale: Option<f64>,
    /// Number of clients in the Insert Benchmark, each with its own table
    #[arg(long, allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) clients: Option<u32>,
    /// Rows that each client inserts in l.i1 (4/5) and l.i2 (1/5) of the Insert Benchmark
    #[arg(long, allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) writes: Option<u64>,
    /// Rows that each client inserts in l.i1, in place of 4/5 of the writes
    #[arg(long, value_name = "ROWS", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) li1_rows: Option<u64>,
    /// Rows that each client inserts in l.i2, in place of 1/5 of the writes
    #[arg(long, value_name = "ROWS", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) li2_rows: Option<u64>,
}

impl From<&SizeArguments> for Sizes {
    fn from(arguments: &SizeArguments) -> Self {
        Sizes {
            preset: arguments.preset.clone(),
            scale: arguments.scale,
            clients: arguments.clients,
            rows: arguments.rows,
            writes: arguments.writes,
            li1_rows: arguments.li1_rows,
            li2_rows: arguments.li2_rows,
            seconds: arguments.seconds,
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
    /// Show a workload's options, steps and statements
    #[command(after_help = examples::SHOW_WORKLOAD)]
    Show(Box<ShowWorkload>),
    /// Check a workload file, and report mistakes by line and column
    Check {
        /// Workload file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Which workload is shown, in whose SQL.
#[derive(Args)]
pub(crate) struct ShowWorkload {
    /// Name of a workload, or a workload file such as ./mine.toml
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: String,
    /// Show the SQL for this dbms
    #[arg(long, default_value = "postgres", value_parser = dbms)]
    pub(crate) dbms: basecase_model::Dbms,
    /// Show the SQL for this engine, if the dbms has several: innodb or rocksdb
    #[arg(long, value_parser = engine)]
    pub(crate) engine: Option<basecase_model::Engine>,
    #[command(flatten)]
    pub(crate) choice: WorkloadChoice,
    #[command(flatten)]
    pub(crate) sizes: SizeArguments,
}
