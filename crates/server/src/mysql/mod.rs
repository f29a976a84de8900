//! MySQL and MariaDB: their servers, and what these report.

mod adapter;
mod check;
mod counting;
mod innodb;
mod option_file;
mod plan;
mod rocksdb;
mod rules;
mod server;
mod status;
mod telemetry;

pub(crate) use adapter::Mysql;
pub use counting::{is_command, is_mark};
pub(crate) use rules::RULES;
pub use server::MysqlServer;
