//! A connection that executes one point select again and again.

use std::os::fd::{AsFd, BorrowedFd};

use basecase_client::{Endpoint, Session};
use basecase_model::Operation;

use crate::floor::{Floor, Outcome};

/// A connection that executes one point select again and again.
pub(crate) trait Connection: Send + Sized {
    fn connect(endpoint: &Endpoint, sql: &str) -> Outcome<Self>;

    /// Says whether [`Connection::receive`] waits, as at first.
    fn set_blocking(&mut self, is_blocking: bool) -> Outcome<()>;

    fn socket(&self) -> Outcome<BorrowedFd<'_>>;

    fn send(&mut self) -> Outcome<()>;

    /// Whether the reply is whole.
    fn receive(&mut self) -> Outcome<bool>;
}

impl Connection for Floor {
    fn connect(endpoint: &Endpoint, sql: &str) -> Outcome<Self> {
        Floor::connect(endpoint, sql)
    }

    fn set_blocking(&mut self, is_blocking: bool) -> Outcome<()> {
        Ok(self.stream.set_nonblocking(!is_blocking)?)
    }

    fn socket(&self) -> Outcome<BorrowedFd<'_>> {
        Ok(self.stream.as_fd())
    }

    #[inline]
    fn send(&mut self) -> Outcome<()> {
        Ok(Floor::send(self)?)
    }

    #[inline]
    fn receive(&mut self) -> Outcome<bool> {
        Ok(Floor::receive(self)?)
    }
}

/// A session of basecase, used as a step uses it.
pub(crate) struct Prepared {
    session: Box<dyn Session>,
    operation: Operation,
}

impl Connection for Prepared {
    fn connect(endpoint: &Endpoint, sql: &str) -> Outcome<Self> {
        let mut session = endpoint.connect()?;
        let number = session.prepare(sql)?;
        let operation =
            Operation { prepared: Some(number), parameters: vec![500.into()], ..Operation::default() };
        Ok(Prepared { session, operation })
    }

    fn set_blocking(&mut self, is_blocking: bool) -> Outcome<()> {
        Ok(self.session.set_blocking(is_blocking)?)
    }

    fn socket(&self) -> Outcome<BorrowedFd<'_>> {
        Ok(self.session.socket().ok_or("an embedded dbms has no socket")?)
    }

    #[inline]
    fn send(&mut self) -> Outcome<()> {
        Ok(self.session.send(&self.operation)?)
    }

    #[inline]
    fn receive(&mut self) -> Outcome<bool> {
        match self.session.receive()? {
            None => Ok(false),
            Some(reply) if reply.fetched == 1 => Ok(true),
            Some(_) => Err("the point select found no row".into()),
        }
    }
}
