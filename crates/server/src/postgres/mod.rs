//! Postgres: its servers, and what they tell of themselves.

mod check;
mod life;
mod rules;
mod server;
mod telemetry;

pub(crate) use life::Postgres;
pub(crate) use rules::RULES;
pub use server::PostgresServer;
