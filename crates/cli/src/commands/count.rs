//! `count`: the instructions that operations take.

use anyhow::{Result, bail};
use basecase_lab::{Protocol, RunOptions};

use super::experiment::request;
use super::perform::perform;
use crate::Outcome;
use crate::arguments::{Compare, option_of_times};
use crate::reporter::Reporter;

/// Rows of each table, unless the user says otherwise: callgrind is slow, and a larger table has the same work but for its depth.
const ROWS: u64 = 20_000;

pub(crate) fn run(arguments: &Compare, reporter: &Reporter) -> Result<Outcome> {
    if let Some(option) = option_of_times(arguments) {
        bail!(
            "{option} is for times, and basecase count takes none\nhint: leave it out, or use basecase compare with --counts for both"
        );
    }
    let mut arguments = arguments.clone();
    arguments.sizes.rows.get_or_insert(ROWS);
    let mut request = request(&arguments)?;
    request.protocol = Protocol::Counts;
    perform(&request, &arguments.places, RunOptions::default(), reporter)
}
