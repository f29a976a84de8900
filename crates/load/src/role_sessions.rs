//! The sessions that a role has, one after the other.

use basecase_client::{Error, Session};

use crate::opening::{Interrupters, Opening};

/// The sessions of a role.
pub(crate) struct RoleSessions {
    /// The one that executes the role's operations.
    pub(crate) present: Box<dyn Session>,
    /// Its number.
    number: u32,
    /// Those before. They stay open, because the counts of a server process are lost when it exits.
    past: Vec<Box<dyn Session>>,
    opening: Opening,
    interrupters: Interrupters,
    /// The number of the role among the interrupters.
    role: usize,
}

impl RoleSessions {
    /// Begins with an open session.
    pub(crate) fn beginning(
        session: Box<dyn Session>,
        opening: Opening,
        interrupters: Interrupters,
        role: usize,
    ) -> Self {
        RoleSessions { present: session, number: 0, past: Vec::new(), opening, interrupters, role }
    }

    /// Goes over to the session of this number, which is opened unless it is the present one. Where the server lets no more in, those
    /// before are closed first.
    pub(crate) fn go_to(&mut self, number: u32) -> Result<(), Error> {
        if number == self.number {
            return Ok(());
        }
        let session = match self.opening.try_open(number) {
            Err(_) if !self.past.is_empty() => {
                self.past.clear();
                self.opening.try_open(number)?
            }
            opened => opened?,
        };
        self.interrupters.replace(self.role, session.interrupter()?);
        self.past.push(std::mem::replace(&mut self.present, session));
        self.number = number;
        Ok(())
    }

    /// All that are open.
    pub(crate) fn into_open(self) -> Vec<Box<dyn Session>> {
        let mut open = self.past;
        open.push(self.present);
        open
    }
}
