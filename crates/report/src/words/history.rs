//! A history in words: what changed, since when, why, and what could not be compared.

use std::collections::{BTreeMap, BTreeSet};

use basecase_analysis::{Misfit, MisfitReason, RankedChange, VersionHistory, WorkChange};

use super::{EffectWords as _, causes, first, mover_change};

/// Most functions named as the cause of a change, and most versions named at which steps changed.
const FUNCTIONS: usize = 3;
const PLACES: usize = 3;
/// Most experiments named that are left out for one reason.
const LEFT_OUT: usize = 3;

/// The answer in a sentence, e.g. `3 of 42 steps changed over 60 versions: 2 changes for the worse, 2 for the better.`
pub(crate) fn answer(history: &VersionHistory<'_>, ranked: &[RankedChange<'_, '_>]) -> String {
    let all = history.step_numbers().len();
    let versions = history.versions.len();
    let steps = if all == 1 { "step" } else { "steps" };
    if ranked.is_empty() {
        return format!("No change was found on {all} {steps} over {versions} versions.");
    }
    let mut changed: Vec<usize> = ranked.iter().map(|change| change.step).collect();
    changed.sort_unstable();
    changed.dedup();
    let worse = ranked.iter().filter(|change| change.is_worse()).count();
    let counted = |count: usize| if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
    let parts = match (worse, ranked.len() - worse) {
        (0, better) => format!("{} for the better", counted(better)),
        (worse, 0) => format!("{} for the worse", counted(worse)),
        (worse, better) => format!("{} for the worse, {better} for the better", counted(worse)),
    };
    format!("{} of {all} {steps} changed over {versions} versions: {parts}.", changed.len())
}

/// Where several steps changed at once, e.g. `Together: since dev 2026-11-04 5 steps.`; `None` if that was nowhere.
pub(crate) fn places(history: &VersionHistory<'_>, ranked: &[RankedChange<'_, '_>]) -> Option<String> {
    let mut steps: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for change in ranked {
        steps.entry(change.version).or_default().insert(change.step);
    }
    let mut counts: Vec<(usize, usize)> = steps
        .into_iter()
        .map(|(version, steps)| (version, steps.len()))
        .filter(|(_, count)| *count > 1)
        .collect();
    counts.sort_by_key(|(version, count)| (std::cmp::Reverse(*count), *version));
    let place =
        |(version, count): &(usize, usize)| format!("{count} steps since {}", name(history, *version));
    let places: Vec<String> = counts.iter().map(place).collect();
    (!places.is_empty()).then(|| format!("Several steps changed at once: {}.", first(&places, PLACES)))
}

fn name<'h>(history: &'h VersionHistory<'_>, version: usize) -> &'h str {
    history.versions.get(version).map_or("", String::as_str)
}

/// The sizes of a change with their intervals: in time and in work, what is known of them.
pub(crate) fn sizes(change: &RankedChange<'_, '_>) -> [Option<String>; 2] {
    [
        change.time.map(|shift| shift.effect().difference()),
        change.work.map(|change| change.effect().work_difference()),
    ]
}

/// Where a change is, e.g. `since pg186.x10a`.
pub(crate) fn since(history: &VersionHistory<'_>, change: &RankedChange<'_, '_>) -> String {
    match (change.time, change.work) {
        (None, Some(work)) => change_place(history, work),
        _ => format!("since {}", name(history, change.version)),
    }
}

/// Where a change of work is, e.g. `since pg186.x10a, after pg1711.x10a`.
pub(crate) fn change_place(history: &VersionHistory<'_>, change: &WorkChange<'_>) -> String {
    let (before, version) = (name(history, change.shift.before), name(history, change.shift.version));
    if change.shift.is_gradual {
        format!("from {before} to {version} in changes that are too small by themselves")
    } else if change.shift.before + 1 < change.shift.version {
        format!("since {version}, after {before}")
    } else {
        format!("since {version}")
    }
}

/// The cause in a few words: with counts the functions, e.g. `LockAcquireExtended +267`; otherwise the cost that moved most with the time.
/// `None` if nothing is known.
pub(crate) fn cause_of_change(change: &RankedChange<'_, '_>) -> Option<String> {
    let functions = change.work.and_then(|work| work.causes.as_ref()).map(|causes| {
        let forward = causes.movers.iter().filter(|mover| mover.change() * causes.change() > 0.0);
        first(&forward.map(mover_change).collect::<Vec<String>>(), FUNCTIONS)
    });
    let of_time = || causes(change.time?.explanation.as_ref()?).into_iter().next();
    functions.filter(|names| !names.is_empty()).or_else(of_time)
}

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

#[cfg(test)]
mod tests {
    use basecase_analysis::{Results, Rounds, Stored, fixture};

    use super::*;

    /// How an experiment differs, and the reason that is told.
    type Case<'c> = (&'c dyn Fn(&mut Stored), &'c str);

    /// What is said of others that are as the first of two nights, but for this.
    fn said(change: impl Fn(&mut Stored)) -> String {
        let mut nights: Vec<Stored> = fixture::nights(2, 4).into_iter().map(|(stored, _)| stored).collect();
        change(&mut nights[0]);
        let rounds: Vec<Option<Rounds<'_>>> =
            nights.iter().map(|(experiment, trials)| Rounds::of(experiment, trials)).collect();
        let results = nights.iter().zip(&rounds);
        let mut results: Vec<Results<'_>> = results
            .map(|((experiment, trials), rounds)| Results::of(experiment, trials, rounds.as_ref()))
            .collect();
        let chosen = results.pop().unwrap();
        let history = VersionHistory::of(&chosen, Some(&results), None).unwrap();
        left_out(&history, &history.joined.as_ref().unwrap().left_out).unwrap_or_default()
    }

    /// Gives all trials of an experiment other cells, as what differs does.
    fn other_cells((_, trials): &mut Stored) {
        trials.iter_mut().for_each(|trial| trial.cell.push_str(" other"));
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_reason() {
        assert_eq!(said(|_| {}), "");
        let differing = |change: &dyn Fn(&mut Stored)| {
            said(|stored| {
                other_cells(stored);
                change(stored);
            })
        };
        let cases: [Case<'_>; 7] = [
            (&|stored| stored.0.protocol_revision = 3, "of protocol revision 3, not 1"),
            (&|stored| stored.0.host.id = "h2".into(), "of another machine, Example 9000"),
            (&|stored| stored.0.workload = "oltp".into(), "of another workload, oltp"),
            (&|_| {}, "with another size or other options"),
            (
                &|stored| stored.0.candidates[0].build.sha256 = Some("rebuilt".into()),
                "with another build, config or limit on memory of the base case my8044.z12a",
            ),
            (&|stored| stored.1.clear(), "whose base case was not measured"),
            (
                &|stored| stored.0.steps.iter_mut().for_each(|step| step.name.push('2')),
                "without any of the steps",
            ),
        ];
        for (change, reason) in cases {
            assert_eq!(differing(change), format!("Left out: 1 {reason} (night0)."));
        }
        let other_base = differing(&|stored| {
            stored.0.candidates[0].build.sha256 = Some("57".into());
            stored.0.candidates[0].name.0 = "my57.z12a".into();
        });
        assert_eq!(other_base, "Left out: 1 with another base case, my57.z12a (night0).");
    }
}
