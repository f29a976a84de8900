//! `history`: at which versions a step changed.

use anyhow::Result;
use basecase_analysis::Stored;
use basecase_model::Experiment;
use basecase_store::Store;

use super::store::{counted, load_all, load_from, tries_setting};
use crate::arguments::History;
use crate::output;
use crate::reporter::Reporter;

pub(crate) fn run(arguments: &History) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let chosen = load_from(&store, arguments.experiment.as_deref())?;
    // A version with a setting that was tried is no version of its own.
    let is_other =
        |other: &Experiment| other.schedule.is_some() && other.id != chosen.0.id && !tries_setting(other);
    let others = arguments.dates.then(|| load_all(&store, is_other)).transpose()?;
    let with_counts = |other: Stored| counted(&store, &other.0).map(|counted| (other, counted));
    let others: Option<Vec<_>> =
        others.map(|others| others.into_iter().map(with_counts).collect::<Result<_>>()).transpose()?;
    let counted = counted(&store, &chosen.0)?.judged_by(arguments.counts_detect);
    let (others, step) = (others.as_deref(), arguments.step.as_deref());
    let Some(out) = &arguments.out else {
        let found = basecase_report::history(&chosen, &counted, others, step)?;
        return output::print_answer(found, arguments.json);
    };
    let (found, page) = basecase_report::write_history(&chosen, &counted, others, step, out)?;
    output::print_answer(found, arguments.json)?;
    Reporter::Text.page_written(&page);
    Ok(())
}
