//! MySQL and MariaDB: their servers, and what these report.

mod adapter;
mod check;
mod innodb;
mod option_file;
mod plan;
mod rocksdb;
mod rules;
mod server;
mod status;
mod telemetry;

pub(crate) use adapter::Mysql;
pub(crate) use rules::RULES;
pub use server::MysqlServer;
