//! The limit of settling, as the user writes it.

use basecase_server::SettleLimit;

use super::protocol::read_time;

/// Reads how long settling may take: a time, or `none`.
///
/// # Errors
/// A message for people, if it is neither.
pub fn read_settle_limit(text: &str) -> Result<SettleLimit, String> {
    if text.trim() == "none" {
        return Ok(SettleLimit::Endless);
    }
    read_time(text).map(SettleLimit::Time).map_err(|wanted| format!("{wanted}, or none"))
}
