//! Opens the sessions of a role, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use basecase_client::{Endpoint, Error, Interrupter, Session};
use basecase_workload::{RolePlan, SetUp};

use crate::outcome::AssembleError;
use crate::session_history::SessionHistories;

/// How the sessions of a role are opened.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    endpoint: Endpoint,
    client: u32,
    role: &'static str,
    set_up: Vec<SetUp>,
    histories: Option<SessionHistories>,
    connections: Connections,
}

/// How many connections all roles of a step have made so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections(Arc<AtomicU64>);

impl Connections {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Opening {
    pub(crate) fn of(
        role: &RolePlan,
        endpoint: &Endpoint,
        histories: Option<SessionHistories>,
        connections: &Connections,
    ) -> Self {
        let (endpoint, set_up, connections) = (endpoint.clone(), role.set_up.clone(), connections.clone());
        Opening { endpoint, client: role.client, role: role.name, set_up, histories, connections }
    }

    fn connect(&self) -> Result<Box<dyn Session>, Error> {
        let session = self.endpoint.connect()?;
        self.connections.0.fetch_add(1, Ordering::Relaxed);
        Ok(session)
    }

    /// Opens the role's session of this number and sets it up.
    pub(crate) fn open(&self, session: u32) -> Result<Box<dyn Session>, AssembleError> {
        self.try_open(session).map_err(|source| self.failed(source))
    }

    /// What it means that a session of the role failed before the clock started.
    pub(crate) fn failed(&self, source: Error) -> AssembleError {
        AssembleError { client: self.client, role: self.role, source }
    }

    /// The same, without saying whose it is.
    pub(crate) fn try_open(&self, session: u32) -> Result<Box<dyn Session>, Error> {
        let Some(histories) = self.histories else {
            let mut session = self.connect()?;
            set_up(session.as_mut(), self.set_up.iter())?;
            return Ok(session);
        };
        let mut history = histories.history(session, self.client, self.role);
        let mut guests = Vec::new();
        for guest in &history.guests {
            // A server that lets nobody else in has fewer guests.
            let Ok(mut opened) = self.connect() else { continue };
            set_up(opened.as_mut(), guest.set_up.iter())?;
            guests.extend(Some(opened).filter(|_| guest.stays));
        }
        let mut session = self.connect()?;
        let unrelated = set_up(session.as_mut(), history.set_up.iter())?;
        let is_prepared = |set_up: &SetUp| matches!(set_up, SetUp::Prepare { .. });
        // Texts may be what statements depend on, so they keep their place before all of them.
        set_up(session.as_mut(), self.set_up.iter().filter(|set_up| !is_prepared(set_up)))?;
        let own: Vec<&SetUp> = self.set_up.iter().filter(|set_up| is_prepared(set_up)).collect();
        let order = history.order(own.len());
        set_up(session.as_mut(), order.iter().filter_map(|number| own.get(*number).copied()))?;
        session.arrange(&numbers(&order, unrelated));
        Ok(session)
    }
}

/// Executes and prepares these. Returns how many were prepared.
fn set_up<'s>(session: &mut dyn Session, all: impl Iterator<Item = &'s SetUp>) -> Result<usize, Error> {
    let mut prepared = 0;
    for set_up in all {
        match set_up {
            SetUp::Text(sql) => session.query(sql).map(drop)?,
            SetUp::Prepare { sql, types } => {
                session.prepare_with_types(sql, types)?;
                prepared += 1;
            }
        }
    }
    Ok(prepared)
}

/// The number of each statement, when they were prepared in this order and behind so many others.
fn numbers(order: &[usize], others: usize) -> Vec<usize> {
    let mut numbers = vec![0; order.len()];
    for (place, statement) in order.iter().enumerate() {
        numbers[*statement] = others + place;
    }
    numbers
}

/// What breaks off the operation of each role's present session.
#[derive(Clone, Default)]
pub(crate) struct Interrupters(Arc<Mutex<Vec<Interrupter>>>);

impl Interrupters {
    /// Adds the next role's.
    pub(crate) fn add(&self, interrupter: Interrupter) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(interrupter);
    }

    /// Replaces that of a role, which has a new session.
    pub(crate) fn replace(&self, role: usize, interrupter: Interrupter) {
        if let Some(own) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(role) {
            *own = interrupter;
        }
    }

    /// Breaks off all.
    pub(crate) fn interrupt(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|interrupt| interrupt());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_in_whatever_order_they_were_prepared() {
        assert_eq!(numbers(&[2, 0, 1], 5), [6, 7, 5]);
        assert_eq!(numbers(&[], 5), Vec::<usize>::new());
    }
}
