//! Arguments of `doctor`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub(crate) struct Doctor {
    /// Folder for servers' data, whose disk is looked at [default: in basecase's home, BASECASE_HOME]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
