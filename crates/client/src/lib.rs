//! How to talk to a dbms: one session type for each protocol, behind one trait.
//!
//! A session belongs to one thread. The thread waits for each reply, or drives many sessions and waits on all of their
//! sockets. What to execute comes from higher crates as [`Operation`]s.

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

use basecase_model::{Operation, ParameterType, PlanUses, Reply, Value};

pub use address::{AddressError, Host, Password};
pub use connecting::{CONNECT_PATIENCE, set_connect_patience};
pub use endpoint::Endpoint;
pub use error::{Error, Kind};

/// Breaks off whatever a session is waiting for, from another thread.
pub type Interrupter = Box<dyn Fn() + Send>;

/// These items, in the order of `numbers`; those that are not among them follow. Numbers that no item has are left out.
fn arranged<T>(items: Vec<T>, numbers: &[usize]) -> Vec<T> {
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let mut arranged: Vec<T> =
        numbers.iter().filter_map(|number| items.get_mut(*number).and_then(Option::take)).collect();
    arranged.extend(items.into_iter().flatten());
    arranged
}

/// One connection to a dbms, used by one role.
///
/// Once the user wants to stop, preparing and [`Session::query`] fail, and any wait of a session is broken off: see
/// [`basecase_stop`].
pub trait Session: Send {
    /// Prepares a statement and returns its number, counted from 0 in the order of preparation.
    ///
    /// # Errors
    /// If the dbms refuses the statement or the connection is lost.
    fn prepare(&mut self, sql: &str) -> Result<usize, Error> {
        self.prepare_with_types(sql, &[])
    }

    /// Prepares a statement whose parameters have these types, if the dbms lets them be declared: in Postgres, integers are
    /// `int8` and texts are `varchar`. An empty list leaves them to the dbms.
    ///
    /// # Errors
    /// If the dbms refuses the statement or the connection is lost.
    fn prepare_with_types(&mut self, sql: &str, types: &[ParameterType]) -> Result<usize, Error>;

    /// From now on statement `n` is the one that was prepared as number `numbers[n]`. Those that are not among them follow.
    fn arrange(&mut self, numbers: &[usize]);

    /// Executes one operation and fetches every row. The hot path: allocates nothing once its buffers have grown.
    ///
    /// # Errors
    /// [`Kind::Retryable`] if the same operation may succeed when it is retried, [`Kind::Duplicate`] if it inserts a key
    /// that exists already, otherwise fatal. Also fatal in a session that does not block.
    #[inline]
    fn execute(&mut self, operation: &Operation) -> Result<Reply, Error> {
        self.send(operation)?;
        self.receive()?.ok_or_else(Error::not_blocking)
    }

    /// Sends one operation without waiting for its reply, which must be received before anything else is sent.
    ///
    /// A session that does not block keeps what the socket does not take; see [`Session::has_unsent`]. An embedded dbms
    /// executes the operation here, and keeps the reply or the error for [`Session::receive`].
    ///
    /// # Errors
    /// If the operation cannot be encoded, the reply to the last one is still to come, or the connection is lost.
    fn send(&mut self, operation: &Operation) -> Result<(), Error>;

    /// Sends what is left of the operation, and reads what has arrived of its reply; `None` if more is to come.
    ///
    /// A session that blocks waits for the whole reply instead. For one that does not block, this may also be called when no
    /// reply is awaited, and then tells whether the server has ended the session.
    ///
    /// # Errors
    /// As [`Session::execute`]. After an error that is not [`Kind::Disconnected`], the next operation can be sent.
    fn receive(&mut self) -> Result<Option<Reply>, Error>;

    /// Whether part of the operation is left to send. If so, [`Session::receive`] must also be called when the socket can be
    /// written.
    fn has_unsent(&self) -> bool;

    /// The socket to wait on for a reply; `None` for an embedded dbms, whose reply is ready once the operation is sent.
    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// Sets whether the session waits for its server, as it does by default. One that does not can only send and receive:
    /// preparing, [`Session::execute`] and [`Session::query`] fail.
    ///
    /// # Errors
    /// If the operating system refuses it.
    fn set_blocking(&mut self, is_blocking: bool) -> Result<(), Error>;

    /// Executes text and returns its rows. For control statements, off the hot path.
    ///
    /// # Errors
    /// If the dbms refuses the statement or the connection is lost.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error>;

    /// How often each prepared statement of this session was executed with which kind of plan, by the statement's text, or by its name if it
    /// was prepared by SQL. Those that were never executed are left out; nothing where the dbms knows no such kinds or does not tell.
    ///
    /// # Errors
    /// If the connection is lost, or the session does not block.
    fn plan_uses(&mut self) -> Result<Vec<(String, PlanUses)>, Error> {
        Ok(Vec::new())
    }

    /// The text that executes the prepared statement of this number with these literals; `None` if the dbms has none.
    fn execution_text(&self, _number: usize, _literals: &[String]) -> Option<String> {
        None
    }

    /// The process id of the server process for this session, if it is on this host and its start time and command match.
    fn server_pid(&self) -> Option<u32>;

    /// A handle that breaks off a running operation; the operation then returns a fatal error.
    ///
    /// # Errors
    /// If the operating system refuses a second handle on the connection.
    fn interrupter(&self) -> Result<Interrupter, Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arranged_items_come_first_and_none_is_lost() {
        assert_eq!(arranged(vec!['a', 'b', 'c', 'd'], &[3, 1]), ['d', 'b', 'a', 'c']);
        assert_eq!(arranged(vec!['a', 'b'], &[]), ['a', 'b']);
        assert_eq!(arranged(vec!['a', 'b'], &[7, 1, 1]), ['b', 'a']);
    }
}
