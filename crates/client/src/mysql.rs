//! Sessions with MySQL and MariaDB.

mod address;
mod session;

pub use address::{Address, Host};
pub use session::MysqlSession;
