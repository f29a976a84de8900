//! Sessions with Postgres over its wire protocol, version 3.0
//! (<https://www.postgresql.org/docs/current/protocol.html>).
//!
//! Messages to the server are encoded by `postgres-protocol`. Replies are scanned here, because the loop over them is
//! the hot path: rows are counted where they lie in the buffer and never turned into values.

mod address;
mod backend;
mod login;
mod reply;
mod scan;
mod session;

pub use crate::address::{AddressError, Host, Password};
pub use address::Address;
pub use session::PostgresSession;
