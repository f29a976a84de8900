//! Arguments of an experiment that runs on several machines.

use std::path::PathBuf;

use basecase_lab::Node;
use clap::{Args, ValueEnum};

use super::heading;
use crate::value::{ShellWords, shell_words};

/// Most nodes of one fleet.
const MOST_NODES: i64 = 10_000;

/// Which machines measure.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = heading::MACHINES)]
pub(crate) struct FleetArguments {
    /// Measure on several machines through this scheduler, and judge their rounds together
    ///
    /// The store gets what all of them measured. Ctrl-C leaves the job running, and the same command comes back to it
    #[arg(
        long = "fleet",
        value_enum,
        value_name = "SCHEDULER",
        hide_short_help = true,
        conflicts_with = "node"
    )]
    pub(crate) scheduler: Option<SchedulerArgument>,
    /// Number of machines; given larger later, more join
    #[arg(long, hide_short_help = true, value_name = "N", requires = "scheduler", value_parser = clap::value_parser!(u32).range(1..=MOST_NODES))]
    pub(crate) nodes: Option<u32>,
    /// Options for sbatch, e.g. '--partition=bench --exclusive --constraint=epyc'
    #[arg(long, hide_short_help = true, value_name = "OPTIONS", requires = "scheduler", allow_hyphen_values = true, value_parser = shell_words)]
    pub(crate) sbatch: Option<ShellWords>,
    /// End the job of this store's fleet, and report what it has measured
    #[arg(long, hide_short_help = true, requires = "scheduler")]
    pub(crate) cancel: bool,
    /// Measure what one of several machines has to measure, e.g. 3/8: rounds of its own, or its share of what is counted
    ///
    /// auto/8 takes the number from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX. It judges nothing: `basecase store merge` puts the stores of all
    /// nodes together, and `basecase report` judges them
    #[arg(long, hide_short_help = true, value_name = "NUMBER/NODES", value_parser = Node::read)]
    pub(crate) node: Option<Node>,
    /// Copy the store into this folder after each round, from where a coordinator takes it
    #[arg(long, hide = true, value_name = "DIR", requires = "node")]
    pub(crate) deliver: Option<PathBuf>,
    /// Steps that need no more rounds, as a coordinator writes them; read between rounds
    #[arg(long, hide = true, value_name = "FILE", requires = "node")]
    pub(crate) decided: Option<PathBuf>,
}

/// A scheduler that experiments are submitted to.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchedulerArgument {
    Slurm,
}

impl FleetArguments {
    /// The option that asks for several machines, as it is typed, if one does.
    pub(crate) fn asked(&self) -> Option<&'static str> {
        match self {
            FleetArguments { scheduler: Some(_), .. } => Some("--fleet"),
            FleetArguments { node: Some(_), .. } => Some("--node"),
            _ => None,
        }
    }
}

#[derive(Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(clap::Subcommand)]
pub(crate) enum FleetCommand {
    /// Show the nodes of a store's fleet: their states, their rounds, what is open
    Status {
        /// Results file of the coordinator
        store: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a manifest that runs the nodes of an experiment elsewhere
    Manifest(Manifest),
}

#[derive(Args)]
pub(crate) struct Manifest {
    /// What the nodes run on: an Indexed Job of Kubernetes, or a workflow of GitHub
    #[arg(value_enum)]
    pub(crate) of: ManifestKind,
    /// Number of nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_NODES))]
    pub(crate) nodes: u32,
    /// Image with basecase, for Kubernetes
    #[arg(long, value_name = "IMAGE", required_if_eq("of", "kubernetes"))]
    pub(crate) image: Option<String>,
    /// Claim of the volume that takes the nodes' stores, for Kubernetes
    #[arg(long, value_name = "CLAIM", required_if_eq("of", "kubernetes"))]
    pub(crate) claim: Option<String>,
    /// Name of the job or the workflow
    #[arg(long, default_value = "basecase")]
    pub(crate) name: String,
    /// Label of the runners, for GitHub
    #[arg(long, value_name = "LABEL", default_value = "ubuntu-latest")]
    pub(crate) runner: String,
    /// Shell command that installs basecase on a runner, for GitHub
    #[arg(long, value_name = "COMMAND", required_if_eq("of", "github"))]
    pub(crate) install: Option<String>,
    /// The command of every node, without `basecase`: compare, count or run with their options
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Where a manifest's nodes run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestKind {
    Kubernetes,
    Github,
}
