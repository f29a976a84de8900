//! SQLite: a database in a folder, without a server.

mod rules;
mod server;

pub(crate) use rules::RULES;
pub use server::SqliteServer;
