//! How long settling may take, as it is asked for.

use basecase_server::SettleLimit;

use super::protocol::read_time;

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
