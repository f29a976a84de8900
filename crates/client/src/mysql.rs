//! Sessions with MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.8 over their wire protocol
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>, <https://mariadb.com/kb/en/clientserver-protocol/>).
//!
//! The login is encoded and decoded by `mysql_common`. Everything after it is written and scanned here, because it is the
//! hot path: rows are counted where they lie in the buffer and never turned into values.
//!
//! A connection sends no statement: character set (utf8mb4) and database are part of the login, and the server's
//! `sql_mode`, time zone, isolation and autocommit stay as its config says. Rows affected by an update are those that
//! changed, not those that matched, because the client does not ask for `CLIENT_FOUND_ROWS`.
//!
//! In the server's counters, as read from MySQL 5.5 to 9.7 and MariaDB 10.11: connecting adds nothing, ending a session one
//! to `Questions`, preparing one to `Com_stmt_prepare` and none to `Questions`, and an execution one to `Questions` and to
//! its kind (`Com_select` …) in either form, with one more to `Com_stmt_execute` when it is prepared.

mod address;
mod command;
mod error;
mod login;
mod packet;
mod reply;
mod scan;
mod session;

pub use crate::address::{AddressError, Host, Password};
pub use address::Address;
pub use session::MysqlSession;
