//! Why an experiment of the store is not part of a history.

use basecase_model::Experiment;

use super::anchors::Anchors;
use super::version::is_same;
use crate::results::Results;

/// An experiment that is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misfit<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Why it cannot be compared.
    pub reason: MisfitReason<'a>,
}

/// Why an experiment cannot be compared with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MisfitReason<'a> {
    /// It has another workload.
    Workload(&'a str),
    /// It was measured in another way, by this protocol revision.
    ProtocolRevision(u32),
    /// It was measured on another machine.
    Host(&'a str),
    /// It has none of the steps.
    Steps,
    /// It has another base case, of this name.
    BaseCase(&'a str),
    /// Its base case was not measured on any of the steps.
    Unmeasured,
    /// Sizes or options differ.
    Parameters,
}

impl<'a> Misfit<'a> {
    /// Why an experiment cannot be joined to the chosen one, on steps of these names.
    pub(super) fn of(
        chosen: &Results<'a>,
        anchors: &Anchors<'_, 'a>,
        steps: &[&str],
        other: &Results<'a>,
    ) -> Self {
        let (own, experiment) = (chosen.experiment, other.experiment);
        let known: Vec<usize> = steps.iter().filter_map(|step| other.step_named(step)).collect();
        let base = experiment.candidates.first();
        let is_anchor = base
            .is_some_and(|base| anchors.holders().filter_map(base_of).any(|anchor| is_same(anchor, base)));
        let reason = if own.workload != experiment.workload {
            MisfitReason::Workload(&experiment.workload)
        } else if own.protocol_revision != experiment.protocol_revision {
            MisfitReason::ProtocolRevision(experiment.protocol_revision)
        } else if own.host.id != experiment.host.id {
            MisfitReason::Host(&experiment.host.cpu_model)
        } else if known.is_empty() {
            MisfitReason::Steps
        } else if let Some(base) = base.filter(|_| !is_anchor) {
            MisfitReason::BaseCase(&base.name.0)
        } else if known.iter().all(|step| other.trial(*step, 0).is_none()) {
            MisfitReason::Unmeasured
        } else {
            MisfitReason::Parameters
        };
        Misfit { experiment, reason }
    }
}

fn base_of<'a>(results: &Results<'a>) -> Option<&'a basecase_model::CandidateFacts> {
    results.experiment.candidates.first()
}
