//! One session with a MySQL or MariaDB server.

use basecase_model::{Operation, Reply, Value};

use super::Address;
use crate::{Error, Interrupter, Kind, Session};

/// A session with one MySQL or MariaDB server.
pub struct MysqlSession;

impl MysqlSession {
    /// Connects and logs in.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login.
    pub fn connect(_address: &Address) -> Result<Self, Error> {
        Err(Error::new(Kind::Refused, "the MySQL protocol comes with the next commit"))
    }
}

impl Session for MysqlSession {
    fn prepare(&mut self, _sql: &str) -> Result<usize, Error> {
        Err(Error::new(Kind::Refused, "no session"))
    }
    fn execute(&mut self, _operation: &Operation) -> Result<Reply, Error> {
        Err(Error::new(Kind::Refused, "no session"))
    }
    fn query(&mut self, _sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        Err(Error::new(Kind::Refused, "no session"))
    }
    fn server_pid(&self) -> Option<u32> {
        None
    }
    fn interrupter(&self) -> Result<Interrupter, Error> {
        Err(Error::new(Kind::Refused, "no session"))
    }
}
