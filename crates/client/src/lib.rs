//! How to talk to a dbms: one session type per protocol behind one trait.
//!
//! A session is blocking and belongs to one thread. What is said comes from above as [`Operation`]s.

mod address;
mod buffer;
mod endpoint;
mod error;
pub mod mysql;
pub mod postgres;
pub mod sqlite;
mod transport;
mod value;

use basecase_model::{Operation, ParameterType, Reply, Value};

pub use address::{AddressError, Host, Password};
pub use endpoint::Endpoint;
pub use error::{Error, Kind};

/// Breaks off whatever a session is waiting for, from another thread.
pub type Interrupter = Box<dyn Fn() + Send>;

/// One connection to a dbms, used by one role.
pub trait Session: Send {
    /// Makes a prepared statement and returns its number, counted from 0 in the order of preparation.
    ///
    /// # Errors
    /// When the dbms refuses the statement or the connection is lost.
    fn prepare(&mut self, sql: &str) -> Result<usize, Error> {
        self.prepare_with_types(sql, &[])
    }

    /// Makes a prepared statement whose parameters have these types, for a dbms that lets them be declared: Postgres
    /// takes integers as `int8` and texts as `varchar`. None leaves them to the dbms.
    ///
    /// # Errors
    /// When the dbms refuses the statement or the connection is lost.
    fn prepare_with_types(&mut self, sql: &str, types: &[ParameterType]) -> Result<usize, Error>;

    /// Executes one operation and fetches every row. The hot path: allocates nothing once its buffers have grown.
    ///
    /// # Errors
    /// [`Kind::Retryable`] when the same operation may succeed if it is repeated, [`Kind::Duplicate`] when it inserts a
    /// key that is there already, else fatal.
    fn execute(&mut self, operation: &Operation) -> Result<Reply, Error>;

    /// Executes text and returns its rows. For control statements, off the hot path.
    ///
    /// # Errors
    /// When the dbms refuses the statement or the connection is lost.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error>;

    /// Process id of the server's process for this session, where there is one on this host.
    fn server_pid(&self) -> Option<u32>;

    /// A handle that breaks off a running operation; the operation then returns a fatal error.
    ///
    /// # Errors
    /// When the operating system refuses a second handle on the connection.
    fn interrupter(&self) -> Result<Interrupter, Error>;
}
