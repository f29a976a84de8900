//! The life of a dbms: write its config, initialise, start, ready, settle, stop, collect logs.
//!
//! The way through: a [`Config`] is found by name and sized from the [`Host`]; [`check`] asks a build whether it accepts the config;
//! an [`Instance`] is one private server of both; [`Served`] is a dbms that is ready for sessions, whoever started it.

mod check;
mod config;
mod config_error;
mod config_file;
mod disk;
mod host;
mod image;
mod instance;
mod instance_error;
mod life;
mod mysql_server;
mod plant;
mod postgres_server;
mod secret;
mod served;
mod setting_rules;
mod settings;
mod settle;
mod shortage;
mod side_by_side;
mod sizing;
mod sqlite_server;
mod start;
mod table_name;
mod telemetry;
mod versions;

pub use check::{CheckError, check};
pub use config::{Config, Setting};
pub use config_error::ConfigError;
pub use config_file::ConfigFile;
pub use disk::{directory_bytes, free_bytes};
pub use host::Host;
pub use image::{Copied, copy_data, keep_data, move_data, remove_data, take_data};
pub use instance::{Instance, InstanceError, InstanceSpec, SUPERUSER, Stopped, Transport};
pub use mysql_server::MysqlServer;
pub use plant::{Plant, PlantError, Planted};
pub use postgres_server::PostgresServer;
pub use served::{Debt, Depth, Look, SelfReport, Served, of_instance, of_url};
pub use settings::SyntaxError;
pub use settle::{LOOK_EVERY, Patience, Settle, SettleLimit, Settled, Settling, debt, drain, settle};
pub use shortage::KilledForMemory;
pub use sqlite_server::SqliteServer;
pub use telemetry::Telemetry;
