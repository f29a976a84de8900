//! How to talk to a dbms: one session type per protocol behind one trait.
//!
//! A session belongs to one thread, which waits for each reply, or drives many sessions and waits on all of their
//! sockets. What is said comes from above as [`Operation`]s.

mod address;
mod bounds;
mod breaker;
mod buffer;
mod connecting;
mod connection;
mod endpoint;
mod error;
pub mod mysql;
pub mod postgres;
mod request;
pub mod sqlite;
mod value;

use std::os::fd::BorrowedFd;

use basecase_model::{Operation, ParameterType, Reply, Value};

pub use address::{AddressError, Host, Password};
pub use connecting::{CONNECT_PATIENCE, set_connect_patience};
pub use endpoint::Endpoint;
pub use error::{Error, Kind};

/// Breaks off whatever a session is waiting for, from another thread.
pub type Interrupter = Box<dyn Fn() + Send>;

/// One connection to a dbms, used by one role.
///
/// Preparing and [`Session::query`] fail once the user wants to stop, and whatever a session waits for then is broken off: see
/// [`basecase_stop`].
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
    /// key that is there already, else fatal. Also fatal in a session that does not block.
    #[inline]
    fn execute(&mut self, operation: &Operation) -> Result<Reply, Error> {
        self.send(operation)?;
        self.receive()?.ok_or_else(Error::not_blocking)
    }

    /// Sends one operation without waiting for its reply, which must be received before anything else is sent.
    ///
    /// A session that does not block keeps what the socket does not take: [`Session::has_unsent`] tells. An embedded
    /// dbms executes the operation here, and keeps the reply or the error for [`Session::receive`].
    ///
    /// # Errors
    /// When the operation cannot be encoded, the reply to the last one is still to come, or the connection is lost.
    fn send(&mut self, operation: &Operation) -> Result<(), Error>;

    /// Sends what is left of the operation, and takes in what has come of its reply: `None` when more is to come.
    ///
    /// A session that blocks waits for the whole reply instead. One that does not may also be asked when no reply is
    /// awaited, and tells then whether the server has ended the session.
    ///
    /// # Errors
    /// As [`Session::execute`]. After an error that is not [`Kind::Disconnected`], the next operation can be sent.
    fn receive(&mut self) -> Result<Option<Reply>, Error>;

    /// Whether a part of the operation is left to send: [`Session::receive`] is then also to be called when the socket
    /// can be written.
    fn has_unsent(&self) -> bool;

    /// What to wait on for a reply; none for an embedded dbms, whose reply is there when the operation is sent.
    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// Says whether the session waits for its server, as it does at first. One that does not only sends and receives:
    /// preparing, [`Session::execute`] and [`Session::query`] fail in it.
    ///
    /// # Errors
    /// When the operating system refuses it.
    fn set_blocking(&mut self, is_blocking: bool) -> Result<(), Error>;

    /// Executes text and returns its rows. For control statements, off the hot path.
    ///
    /// # Errors
    /// When the dbms refuses the statement or the connection is lost.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error>;

    /// Process id of the server's process for this session, where there is one on this host and its start and command fit.
    fn server_pid(&self) -> Option<u32>;

    /// A handle that breaks off a running operation; the operation then returns a fatal error.
    ///
    /// # Errors
    /// When the operating system refuses a second handle on the connection.
    fn interrupter(&self) -> Result<Interrupter, Error>;
}
