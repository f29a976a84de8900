//! Why a server cannot have a control group.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a server cannot have a control group that limits its memory.
#[derive(Debug, Error)]
pub enum ControlGroupError {
    /// The kernel has no controller for memory.
    #[error(
        "this kernel has no control groups that limit memory\nhint: boot with cgroup_enable=memory, or run without --memory"
    )]
    NoController,
    /// There is no way to make one.
    #[error(
        "a limit on memory needs a control group for each server, and none can be made:\n  {reasons}\nhint: run as root, or in a session of systemd that may use the memory controller, or in a container that may write to its hierarchy; or leave out --memory"
    )]
    Unusable {
        /// What was tried, with the reason why it failed, one a line.
        reasons: String,
    },
    /// The group's processes could use swap.
    #[error(
        "swap is on, and this kernel cannot keep a control group from it, so a limit on memory would only move servers to swap\nhint: turn it off with swapoff -a, or boot with swapaccount=1"
    )]
    Swap,
    /// The kernel refused a change.
    #[error("cannot use the control group {}: {source}\nhint: check that this user may write there", path.display())]
    Group {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl ControlGroupError {
    /// The reason in a few words.
    pub(super) fn reason(&self) -> String {
        match self {
            ControlGroupError::Group { source, .. } => source.to_string(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }
}
