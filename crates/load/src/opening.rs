//! Opens the session of a role.

use basecase_client::{Endpoint, Error, Session};
use basecase_workload::{RolePlan, SetUp};

use crate::outcome::AssembleError;

/// Opens a session for a role and sets it up.
pub(crate) fn open(role: &RolePlan, endpoint: &Endpoint) -> Result<Box<dyn Session>, AssembleError> {
    let open = || -> Result<Box<dyn Session>, Error> {
        let mut session = endpoint.connect()?;
        for set_up in &role.set_up {
            match set_up {
                SetUp::Text(sql) => session.query(sql).map(drop)?,
                SetUp::Prepare { sql, types } => session.prepare_with_types(sql, types).map(drop)?,
            }
        }
        Ok(session)
    };
    open().map_err(|source| AssembleError { client: role.client, role: role.name, source })
}
