//! Postgres: its servers, and what these report.

mod adapter;
mod check;
mod rules;
mod server;
mod telemetry;

pub(crate) use adapter::Postgres;
pub(crate) use rules::RULES;
pub use server::PostgresServer;
