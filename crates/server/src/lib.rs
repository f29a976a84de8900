//! The life of a dbms: obtain a build, write its config, initialise, start, ready, stop, collect logs.
//!
//! The way through: a [`Library`] resolves what the user asked for into [`Source`]s and turns each into a [`Build`]; a
//! [`Config`] is found by name and sized from the [`Host`]; [`check`] asks the build whether it accepts the config; an
//! [`Instance`] is one private server of both; [`Served`] is a dbms that is ready for sessions, whoever started it.

mod account;
mod archive;
mod binary;
mod build;
mod check;
mod client_tool;
mod config;
mod disk;
mod host;
mod instance;
mod instance_error;
mod keeper;
mod library;
mod loader;
mod lock;
mod log;
mod postgres_server;
mod process;
mod recipe;
mod secret;
mod served;
mod settings;
mod settle;
mod sizing;
mod source;
mod sqlite_server;
mod start;
mod suggestion;
mod version;

pub use account::{Account, AccountError};
pub use build::{Build, BuildError};
pub use check::{CheckError, check};
pub use config::{Config, ConfigError, Setting};
pub use disk::{directory_bytes, free_bytes};
pub use host::Host;
pub use instance::{Instance, InstanceError, InstanceSpec, SUPERUSER, Stopped, Transport};
pub use library::{Artifact, Library, Listing, ObtainError, default_home};
pub use lock::{FolderHold, LockError, Owner};
pub use postgres_server::PostgresServer;
pub use recipe::{BuildRequest, Catalogue, Provider, Recipe, RecipeError, Source, Unpack};
pub use secret::without_credentials;
pub use served::{Debt, Depth, SelfReport, Served};
pub use settings::SyntaxError;
pub use settle::{Settle, Settled, settle};
pub use source::{CompileError, Setup, SourceBuild, SourceOrder, StepError};
pub use sqlite_server::SqliteServer;
pub use version::Version;
