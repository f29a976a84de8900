//! The life of a dbms: obtain a build, write its config, initialise, start, ready, stop, collect logs.
//!
//! The way through: a [`Library`] resolves what the user asked for into [`Source`]s and turns each into a [`Build`]; a
//! [`Config`] is found by name and sized from the [`Host`]; [`check`] asks the build whether it accepts the config; an
//! [`Instance`] is one private server of both; [`Served`] is a dbms that is ready for sessions, whoever started it.

mod account;
mod apt;
mod archive;
mod binary;
mod build;
mod catalogue;
mod check;
mod client_tool;
mod config;
mod config_error;
mod config_file;
mod disk;
mod fetch;
mod form;
mod host;
mod instance;
mod instance_error;
mod keeper;
mod library;
mod life;
mod loader;
mod lock;
mod log;
mod mark;
mod mysql_server;
mod obtain_error;
mod pattern;
mod postgres_server;
mod private_tree;
mod process;
mod recipe;
mod secret;
mod served;
mod server_version;
mod setting_rules;
mod settings;
mod settle;
mod sizing;
mod source;
mod sqlite_server;
mod start;
mod suggestion;
mod supply;
mod tree;
mod turn;
mod version;
mod versions;

pub use account::{Account, AccountError};
pub use build::{Build, BuildError};
pub use catalogue::Catalogue;
pub use check::{CheckError, check};
pub use config::{Config, Setting};
pub use config_error::ConfigError;
pub use config_file::ConfigFile;
pub use disk::{directory_bytes, free_bytes};
pub use form::{Form, Links, Part};
pub use host::Host;
pub use instance::{Instance, InstanceError, InstanceSpec, SUPERUSER, Stopped, Transport};
pub use library::{Library, Listing, default_home};
pub use lock::{FolderHold, LockError, Owner};
pub use mysql_server::MysqlServer;
pub use obtain_error::{Artifact, ObtainError};
pub use postgres_server::PostgresServer;
pub use recipe::{BuildRequest, Packages, Provider, Recipe, RecipeError, Source};
pub use secret::without_credentials;
pub use served::{Debt, Depth, Look, SelfReport, Served, of_instance, of_url};
pub use settings::SyntaxError;
pub use settle::{Patience, Settle, Settled, settle};
pub use source::{CompileError, Setup, SourceBuild, SourceOrder, StepError};
pub use sqlite_server::SqliteServer;
pub use version::Version;
