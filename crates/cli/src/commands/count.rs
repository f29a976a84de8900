//! `count`: the instructions that operations take.

use anyhow::{Result, bail};
use basecase_lab::{Protocol, Request, RunOptions};

use super::experiment::request;
use super::perform::perform;
use crate::Outcome;
use crate::arguments::{Compare, option_of_times};
use crate::reporter::Reporter;

/// Rows of each table, unless the user says otherwise: callgrind is slow, and a larger table has the same work but for its depth. The same
/// of all engines, so that one can explain what another found.
const ROWS: u64 = 20_000;

pub(crate) fn run(arguments: &Compare, reporter: &Reporter) -> Result<Outcome> {
    let hint = "leave it out, or use basecase compare with --counts for both";
    let request = request_of_counts(arguments, "basecase count", hint, &[])?;
    perform(&request, &arguments.places, RunOptions::default(), reporter)
}

/// The request of a command that counts. `hint` says what to do about an option of times, of which it takes `taken` alone.
///
/// # Errors
/// When an option is for times, or the request is impossible.
pub(crate) fn request_of_counts(
    arguments: &Compare,
    command: &str,
    hint: &str,
    taken: &[&str],
) -> Result<Request> {
    if let Some(option) = option_of_times(arguments, taken) {
        bail!("{option} is for times, and {command} takes none\nhint: {hint}");
    }
    let mut arguments = arguments.clone();
    arguments.sizes.rows.get_or_insert(ROWS);
    let protocol = Protocol::Counts(arguments.places.counts_engine.into());
    Ok(Request { protocol, ..request(&arguments)? })
}
