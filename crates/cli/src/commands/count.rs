//! `count`: the instructions that operations take.

use anyhow::{Result, bail};
use basecase_lab::{Protocol, Request, RunOptions};

use super::experiment::request;
use super::perform::perform;
use crate::Outcome;
use crate::arguments::Compare;
use crate::reporter::Reporter;

/// Rows of each table, unless the user says otherwise: callgrind is slow, and a larger table has the same work but for its depth.
const ROWS: u64 = 20_000;

pub(crate) fn run(arguments: &Compare, reporter: &Reporter) -> Result<Outcome> {
    let hint = "leave it out, or use basecase compare with --counts for both";
    let request = request_of_counts(arguments, "basecase count", hint)?;
    perform(&request, &arguments.places, RunOptions::default(), reporter)
}

/// The request of a command that only counts. `hint` says what to do about an option that it does not take.
///
/// # Errors
/// When an option is for times, or the request is impossible.
pub(crate) fn request_of_counts(arguments: &Compare, command: &str, hint: &str) -> Result<Request> {
    refuse_times(arguments, command, hint)?;
    let mut arguments = arguments.clone();
    arguments.sizes.rows.get_or_insert(ROWS);
    Ok(Request { protocol: Protocol::Counts, ..request(&arguments)? })
}

/// Refuses options that only times have.
fn refuse_times(arguments: &Compare, command: &str, hint: &str) -> Result<()> {
    let given = [
        ("detect", arguments.detect.is_some()),
        ("rounds", arguments.rounds.is_some()),
        ("slice", arguments.slice.is_some()),
        ("budget", arguments.places.budget.is_some()),
        ("memory", arguments.places.memory.is_some()),
        ("profile", !arguments.places.profile.is_empty()),
    ];
    if let Some((word, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        bail!("--{word} is for times, and {command} takes none\nhint: {hint}");
    }
    Ok(())
}
