//! Arguments of the commands that read a store.

use std::path::PathBuf;
use std::time::Duration;

use basecase_analysis::Thresholds;
use basecase_lab::{AskedSetting, read_change, read_change_of_work, read_time};
use basecase_report::{FORMATS, Format};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{ProgressArgument, heading};
use crate::value::{link, percentile, tried_setting};

#[derive(Args)]
pub(crate) struct Report {
    /// Results file
    pub(crate) store: PathBuf,
    /// Id or name of the experiment [default: the newest]
    #[arg(long)]
    pub(crate) experiment: Option<String>,
    /// Format; html writes a folder, all others print to standard output
    #[arg(long, default_value = "html", value_parser = format_parser())]
    pub(crate) format: Format,
    /// Folder for the HTML pages
    #[arg(short, long, value_name = "DIR", default_value = "basecase-report")]
    pub(crate) out: PathBuf,
    /// Also write what was counted in each step, the levels at its end, all that the server reported before and after it, and the servers' settings into this folder, as lines of name and value
    #[arg(long, value_name = "DIR")]
    pub(crate) raw: Option<PathBuf>,
    /// Where the pages of `history --out` are, as the report's pages see it: a folder such as ../history, or a URL; steps link to their own
    #[arg(long, value_name = "URL", value_parser = link)]
    pub(crate) history: Option<String>,
    /// Relative throughput from which on cells are coloured: report (0.95, 1.05, rounded), posts-2024 (0.95, 1.05), posts-2025 (0.97, 1.03),
    /// or two ratios such as 0.9,1.1
    #[arg(long, value_name = "LOW,HIGH|NAME", default_value = "report")]
    pub(crate) thresholds: Thresholds,
    /// Percentile of event latency to show for workload files
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = percentile)]
    pub(crate) percentile: f64,
    /// Include response times and metrics of every step, in text and Markdown
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// Results file
    pub(crate) store: PathBuf,
    /// STEP, CANDIDATE/STEP such as my8033.z12a/l.i1, or a cell key as printed by `store show` [default: every cell beyond the
    /// thresholds]
    #[arg(value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// Id or name of the experiment [default: the newest]
    #[arg(long)]
    pub(crate) experiment: Option<String>,
    /// Relative throughput from which on cells are explained if no CELL is given: report, posts-2024, posts-2025, or two ratios such as
    /// 0.9,1.1
    #[arg(long, value_name = "LOW,HIGH|NAME", default_value = "report")]
    pub(crate) thresholds: Thresholds,
    /// Print Markdown instead of text
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Measure a setting that is suspected: the candidate again with this one setting as the base case has it, or with this value, in rounds
    /// with both, and tell what is left of the change
    #[arg(long = "try", help_heading = heading::TRY, value_name = "SETTING[=VALUE]", value_parser = tried_setting)]
    pub(crate) tried: Option<AskedSetting>,
    /// Smallest change that matters, e.g. 3% [default: that of the experiment, or 2% for steps that read, 3% for steps that write]
    #[arg(long, help_heading = heading::TRY, value_name = "PERCENT", value_parser = read_change, requires = "tried")]
    pub(crate) detect: Option<f64>,
    /// Start no round after this time, e.g. 60m; run the same command again to add rounds
    #[arg(long, help_heading = heading::TRY, visible_alias = "more", value_name = "TIME", value_parser = read_time, requires = "tried")]
    pub(crate) budget: Option<Duration>,
    /// Progress on standard error: text for people, or one JSON object per line for programs
    #[arg(long, help_heading = heading::TRY, value_enum, value_name = "FORM", default_value_t = ProgressArgument::Text)]
    pub(crate) progress: ProgressArgument,
}

#[derive(Args)]
pub(crate) struct History {
    /// Results file
    pub(crate) store: PathBuf,
    /// Name or label of a step [default: all steps, judged as one family]
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Id or name of the experiment [default: the newest]
    #[arg(long, value_name = "ID|NAME")]
    pub(crate) experiment: Option<String>,
    /// Include all experiments in rounds with the same base case, or one that it replaced, and order versions by date
    #[arg(long)]
    pub(crate) dates: bool,
    /// Smallest relative change of the instructions of an operation that counts as one [default: as it was counted with]
    #[arg(long, value_name = "PERCENT", value_parser = read_change_of_work)]
    pub(crate) counts_detect: Option<f64>,
    /// Also write pages into this folder: all changes, the largest first, and a page with charts for each step. It must be new, empty, or one
    /// that a report or history was written to
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Format; otava is CSV for Apache Otava, with a row for each version
    #[arg(long, value_enum, default_value_t = HistoryFormat::Text)]
    pub(crate) format: HistoryFormat,
    /// Print JSON, as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

/// How a history is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    Text,
    Json,
    Otava,
}

impl History {
    /// How it is printed.
    pub(crate) fn format(&self) -> HistoryFormat {
        if self.json { HistoryFormat::Json } else { self.format }
    }
}

#[derive(Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Subcommand)]
pub(crate) enum StoreCommand {
    /// List experiments
    Ls {
        /// Results file
        store: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an experiment's facts and trials
    Show {
        /// Results file
        store: PathBuf,
        /// Id or name of the experiment [default: the newest]
        experiment: Option<String>,
    },
    /// Add what other stores hold to a store, which is made if it is not there
    ///
    /// The order of stores does not matter, and what is there already is not added again. Stores that both measured the same round are
    /// refused
    Merge {
        /// Results file that gets everything
        store: PathBuf,
        /// Results files that are read
        #[arg(required = true)]
        from: Vec<PathBuf>,
    },
    /// Check that the file is intact and its counts agree with each other
    Verify {
        /// Results file
        store: PathBuf,
    },
}

/// Reads the name of a format.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = FORMATS.iter().map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| Format::named(&name).ok_or("there is no such format"))
}
