//! How long settling may take, as it is asked for.

use anyhow::{Result, bail};
use basecase_server::{Settle, SettleLimit};

use crate::plan::Request;
use crate::protocol::read_time;

/// Reads how long settling may take: a time, or `none`.
///
/// # Errors
/// In words, when it is neither.
pub fn read_settle_limit(text: &str) -> Result<SettleLimit, String> {
    if text.trim() == "none" {
        return Ok(SettleLimit::Endless);
    }
    read_time(text).map(SettleLimit::Time).map_err(|wanted| format!("{wanted}, or none"))
}

impl Request {
    /// Refuses what does not go together.
    ///
    /// # Errors
    /// With what to leave away.
    pub fn check(&self) -> Result<()> {
        if self.settle_limit.is_some() && matches!(self.settle, Settle::Formula | Settle::Off) {
            bail!(
                "a limit of settling goes with the settle modes condition and purged, and this is {}\nhint: leave the limit away, or choose another mode",
                format!("{:?}", self.settle).to_lowercase()
            );
        }
        self.protocol.check(self)
    }
}
