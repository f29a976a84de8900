//! `history`: at which versions a step changed.

use std::mem;

use anyhow::Result;
use basecase_analysis::JudgedExperiment;
use basecase_model::Experiment;
use basecase_store::Store;

use super::store::{counted as counts, find, load_judged, load_with_counts, tries_setting};
use crate::arguments::{History, HistoryFormat};
use crate::output;
use crate::reporter::Reporter;

pub(crate) fn run(arguments: &History) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let (mut chosen, others) = if arguments.dates {
        let (chosen, others) = over_dates(&store, arguments.experiment.as_deref())?;
        (chosen, Some(others))
    } else {
        (load_with_counts(&store, arguments.experiment.as_deref())?.into(), None)
    };
    chosen.counted = mem::take(&mut chosen.counted).judged_by(arguments.counts_detect);
    let (others, step) = (others.as_deref(), arguments.step.as_deref());
    let format = arguments.format();
    if format == HistoryFormat::Otava {
        output::print_export(&basecase_report::export_history(&chosen, others, step)?)?;
    }
    let print = |found| match format {
        HistoryFormat::Otava => Ok(()),
        HistoryFormat::Text | HistoryFormat::Json => {
            output::print_answer(found, format == HistoryFormat::Json)
        }
    };
    match &arguments.out {
        Some(out) => {
            let (found, page) = basecase_report::write_history(&chosen, others, step, out)?;
            print(found)?;
            Reporter::Text.page_written(&page);
            Ok(())
        }
        None if format == HistoryFormat::Otava => Ok(()),
        None => print(basecase_report::history(&chosen, others, step)?),
    }
}

/// The experiment with this id or name, or the newest, and all others in rounds.
fn over_dates(store: &Store, wanted: Option<&str>) -> Result<(JudgedExperiment, Vec<JudgedExperiment>)> {
    let chosen = find(store, wanted)?;
    // A version with a setting that was tried is no version of its own.
    let is_other =
        |other: &Experiment| other.schedule.is_some() && other.id != chosen.id && !tries_setting(other);
    let others = store.experiments()?.into_iter().filter(is_other);
    let all: Vec<Experiment> = std::iter::once(chosen.clone()).chain(others).collect();
    let with_counts = |judged: JudgedExperiment| -> Result<JudgedExperiment> {
        let counted = counts(store, &judged.experiment)?;
        Ok(judged.counting(counted))
    };
    let mut all: Vec<JudgedExperiment> =
        load_judged(store, &all)?.into_iter().map(with_counts).collect::<Result<_>>()?;
    let chosen = all.remove(0);
    Ok((chosen, all))
}
