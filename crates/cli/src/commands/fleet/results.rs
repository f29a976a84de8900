//! What the nodes of a fleet have measured or counted, out of one store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use basecase_analysis::{Counted, Fleet, Stored, fleet_of};
use basecase_model::Experiment;
use basecase_report::{Format, Options, TextFormat, Written};
use basecase_store::Store;

use crate::arguments::{PlaceArguments, Report};
use crate::commands::perform::{absolute, report_options, text_format};
use crate::commands::store::{counts_of_fleet, load_all};
use crate::output;
use crate::reporter::Reporter;

/// What the nodes of one fleet have stored.
pub(super) enum Delivered {
    /// Rounds, an experiment for each node.
    Rounds(Vec<Stored>),
    /// Counts of which each node has a share, as one experiment; `None` of nothing.
    Counts(Option<Box<(Experiment, Counted)>>),
}

impl Delivered {
    /// Out of the store that takes what all nodes deliver.
    pub(super) fn of(store: &Store, fleet: &str) -> Result<Self> {
        let is_own = |experiment: &Experiment| fleet_of(experiment) == Some(fleet);
        let nodes = load_all(store, is_own)?;
        if nodes.iter().any(|(experiment, _)| experiment.schedule.is_some()) {
            return Ok(Delivered::Rounds(nodes));
        }
        Ok(Delivered::Counts(counts_of_fleet(store, fleet)?.map(Box::new)))
    }

    /// What it says.
    pub(super) fn results(&self) -> Results<'_> {
        match self {
            Delivered::Rounds(nodes) => Results::Rounds(Fleet::of(nodes)),
            Delivered::Counts(counted) => Results::Counts(counted.as_deref()),
        }
    }
}

/// What the nodes of one fleet have found.
pub(super) enum Results<'a> {
    /// The decisions of their rounds.
    Rounds(Fleet<'a>),
    /// What they counted, as one experiment; `None` of nothing.
    Counts(Option<&'a (Experiment, Counted)>),
}

impl Results<'_> {
    /// The steps that need no more rounds.
    pub(super) fn decided(&self) -> BTreeSet<String> {
        match self {
            Results::Rounds(fleet) => fleet.decided(),
            Results::Counts(_) => BTreeSet::new(),
        }
    }

    /// How many rounds each node has measured.
    pub(super) fn rounds(&self) -> BTreeMap<u32, u32> {
        let Results::Rounds(fleet) = self else { return BTreeMap::new() };
        let members = fleet.kinds.iter().flat_map(|kind| &kind.members);
        members.map(|member| (member.number, member.rounds() as u32)).collect()
    }

    /// What the nodes of each kind of machine found, in sentences; empty of counts.
    pub(super) fn sentences(&self) -> Vec<String> {
        match self {
            Results::Rounds(fleet) => basecase_report::fleet_sentences(fleet),
            Results::Counts(_) => Vec::new(),
        }
    }

    /// Prints what a run ends with.
    pub(super) fn print(&self, arguments: &PlaceArguments) -> Result<()> {
        match self {
            Results::Rounds(fleet) => output::print_answer(basecase_report::fleet(fleet), arguments.json),
            Results::Counts(Some(counted)) => {
                let (experiment, options) = with_counts(counted, report_options(arguments));
                let text = basecase_report::render(experiment, &[], text_format(arguments), &options);
                output::print_report(&text)
            }
            Results::Counts(None) => output::print("No node has delivered anything yet.\n"),
        }
    }

    /// Writes the pages of the report and prints their location.
    pub(super) fn write_pages(&self, arguments: &PlaceArguments, reporter: &Reporter) -> Result<()> {
        let options = report_options(arguments);
        let page = match self {
            Results::Rounds(fleet) => basecase_report::write_fleet(fleet, &options, &arguments.out)?,
            Results::Counts(Some(counted)) => {
                let (experiment, options) = with_counts(counted, options);
                basecase_report::write_pages(experiment, &[], &options, &arguments.out)?
            }
            Results::Counts(None) => return Ok(()),
        };
        reporter.page_written(&absolute(&page));
        Ok(())
    }
}

/// The experiment of counts, with options that have them.
fn with_counts((experiment, counted): &(Experiment, Counted), options: Options) -> (&Experiment, Options) {
    (experiment, Options { counted: counted.clone(), ..options })
}

/// `report` of what several nodes measured.
pub(crate) fn report(store: &Store, fleet: &str, arguments: &Report, options: Options) -> Result<()> {
    let delivered = Delivered::of(store, fleet)?;
    let fleet = match delivered.results() {
        Results::Rounds(fleet) => fleet,
        Results::Counts(counted) => {
            let counted = counted.context("the store has nothing that was counted")?;
            let (experiment, options) = with_counts(counted, options);
            return output::print_written(basecase_report::write(
                experiment,
                &[],
                arguments.format,
                &options,
                &arguments.out,
            )?);
        }
    };
    if let Format::Pages(_) = arguments.format {
        let page = basecase_report::write_fleet(&fleet, &options, &arguments.out)?;
        return output::print_written(Written::Page(page));
    }
    let answer = basecase_report::fleet(&fleet);
    match arguments.format.name() {
        name if name == TextFormat::JSON.name => output::print_report(&answer.json),
        name if name == TextFormat::TEXT.name || name == TextFormat::ANSWER.name => {
            output::print_report(&answer.document.text(options.ansi))
        }
        name if name == TextFormat::MARKDOWN.name => output::print_report(&answer.document.markdown()),
        name => {
            let members = fleet.kinds.iter().flat_map(|kind| &kind.members);
            let ids: Vec<&str> = members.map(|member| member.experiment.id.as_str()).collect();
            bail!(
                "{name} is a format for one machine, and this store has {} nodes of one experiment\nhint: name one of them with --experiment: {}; or use html, text, md or json",
                ids.len(),
                ids.join(", ")
            )
        }
    }
}
