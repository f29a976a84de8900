//! How candidates are compiled that are commits.

use basecase_builds::Setup;
use basecase_lab::Compiling;
use clap::Args;

use super::heading;
use crate::value::{ShellWords, shell_words};

/// How candidates that are commits or working trees (git:PATH@REF) are compiled.
#[derive(Args, Clone, Default)]
pub(crate) struct CompilingArguments {
    /// Build type of candidates that are commits, as in `server get --type`
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true, value_name = "NAME")]
    build_type: Option<String>,
    /// Compiler flags of candidates that are commits, instead of those of a build type
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true, value_name = "FLAGS", conflicts_with = "build_type", allow_hyphen_values = true)]
    build_flags: Option<String>,
    /// Additional arguments for configure or CMake for candidates that are commits
    #[arg(long, help_heading = heading::COMMITS, hide_short_help = true, value_name = "ARGUMENTS", allow_hyphen_values = true, value_parser = shell_words)]
    configure: Option<ShellWords>,
}

impl CompilingArguments {
    /// The same for the lab.
    pub(crate) fn compiling(&self) -> Compiling {
        Compiling {
            setup: Setup::asked(self.build_type.as_deref(), self.build_flags.as_deref()),
            configure: self.configure.as_ref().map(|words| words.0.clone()).unwrap_or_default(),
        }
    }

    /// Whether something is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.build_type.is_some() || self.build_flags.is_some() || self.configure.is_some()
    }
}
