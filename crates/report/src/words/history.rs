//! A history in words: what changed, since when, why, and what could not be compared.

use basecase_analysis::{Misfit, MisfitReason, VersionHistory};

use super::first;

/// Most experiments named that are left out for one reason.
const LEFT_OUT: usize = 3;

/// The experiments that could not be joined, with the reasons, e.g. `Left out: 3 with another base case, pg17.x10a (ids).`; `None` if all
/// could.
pub(crate) fn left_out(history: &VersionHistory<'_>, misfits: &[Misfit<'_>]) -> Option<String> {
    let mut sorted: Vec<&Misfit<'_>> = misfits.iter().collect();
    sorted.sort_by_key(|misfit| misfit.reason);
    let groups = sorted.chunk_by(|one, other| one.reason == other.reason).map(|alike| {
        let ids: Vec<String> = alike.iter().map(|misfit| misfit.experiment.id.clone()).collect();
        let reason = alike.first().map(|misfit| reason(history, misfit)).unwrap_or_default();
        format!("{} {reason} ({})", alike.len(), first(&ids, LEFT_OUT))
    });
    let groups: Vec<String> = groups.collect();
    (!groups.is_empty()).then(|| format!("Left out: {}.", groups.join("; ")))
}

fn reason(history: &VersionHistory<'_>, misfit: &Misfit<'_>) -> String {
    let is_known = |name: &str| {
        let base = history.versions.first().map(String::as_str);
        base.into_iter().chain(history.successors.iter().copied()).any(|known| known == name)
    };
    match misfit.reason {
        MisfitReason::Workload(name) => format!("of another workload, {name}"),
        MisfitReason::ProtocolRevision(revision) => {
            format!("of protocol revision {revision}, not {}", history.experiment.protocol_revision)
        }
        MisfitReason::Host(cpu) => format!("of another machine, {cpu}"),
        MisfitReason::Steps => "without any of the steps".to_owned(),
        MisfitReason::BaseCase(name) if is_known(name) => {
            format!("with another build, config or limit on memory of the base case {name}")
        }
        MisfitReason::BaseCase(name) => format!("with another base case, {name}"),
        MisfitReason::Unmeasured => "whose base case was not measured".to_owned(),
        MisfitReason::Parameters => "with another size or other options".to_owned(),
    }
}
