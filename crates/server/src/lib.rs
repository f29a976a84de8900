//! The life of a dbms: configure, initialise, start, wait until it is ready, settle, stop, collect logs.
//!
//! A [`Config`] is found by name and sized for the [`Host`]. [`check`] asks a build whether it accepts the config. An
//! [`Instance`] is a private server made of both. [`Served`] is a dbms that is ready for sessions, whoever started it.

mod check;
mod config;
mod dbms;
mod disk;
mod instance;
mod mysql;
mod postgres;
mod served;
mod sqlite;

pub use check::{CheckError, NoServer};
pub use config::{Config, ConfigError, ConfigFile, ConnectionLimit, Host, Setting, SyntaxError};
pub use dbms::{check, connection_limit, memory_needed, of_instance, of_url, tried_name};
pub use disk::{directory_bytes, free_bytes};
pub use instance::{
    Callgrind, Copied, Instance, InstanceError, InstanceSpec, KilledForMemory, NoCallgrind, Plant,
    PlantError, Planted, SUPERUSER, ServerEnd, Transport, callgrind_file_of, callgrind_files,
    callgrind_folder, copy_data, copy_data_sparsely, keep_data, move_data, remove_data, take_data,
};
pub use mysql::{MysqlServer, is_command, is_mark};
pub use postgres::PostgresServer;
pub use served::{
    Debt, Depth, POLL_INTERVAL, Patience, SelfReport, Served, Settle, SettleLimit, Settled, Settling,
    TableCheck, Telemetry, debt, drain, settle,
};
pub use sqlite::SqliteServer;
