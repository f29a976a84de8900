//! The sessions that a role has, one after the other.

use basecase_client::{Error, Session};
use basecase_model::PlanUses;

use crate::opening::{Interrupters, Opening};

/// The sessions of a role.
pub(crate) struct RoleSessions {
    /// The one that executes the role's operations.
    pub(crate) present: Box<dyn Session>,
    /// Its number.
    number: u32,
    /// Those before. They stay open, because the counts of a server process are lost when it exits.
    past: Vec<NumberedSession>,
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
        let past = std::mem::replace(&mut self.present, session);
        self.past.push(NumberedSession { number: self.number, session: past });
        self.number = number;
        Ok(())
    }

    /// All that are open.
    pub(crate) fn into_open(self) -> Vec<NumberedSession> {
        let mut open = self.past;
        open.push(NumberedSession { number: self.number, session: self.present });
        open
    }
}

/// A session of a role that has executed its last operation.
pub(crate) struct NumberedSession {
    /// Its number in the role.
    pub(crate) number: u32,
    pub(crate) session: Box<dyn Session>,
}

impl NumberedSession {
    /// What it tells of the plans of its prepared statements; nothing if it cannot be asked.
    pub(crate) fn plan_uses(&mut self) -> Vec<(String, PlanUses)> {
        let told = self.session.set_blocking(true).and_then(|()| self.session.plan_uses());
        told.unwrap_or_default()
    }
}
