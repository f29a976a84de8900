//! The changes of all steps of a history, the largest first.

use std::collections::BTreeSet;

use super::{Shift, VersionHistory, WorkChange};

/// A change of a step at a version: of its time, of its work, or of both at the same version.
#[derive(Clone, Copy)]
pub struct RankedChange<'h, 'a> {
    /// The step, by number.
    pub step: usize,
    /// The step's name.
    pub label: &'a str,
    /// Number of the last version without it.
    pub before: usize,
    /// Number of the first version with it.
    pub version: usize,
    /// The change of throughput.
    pub time: Option<&'h Shift<'a>>,
    /// The change of work.
    pub work: Option<&'h WorkChange<'a>>,
}

impl RankedChange<'_, '_> {
    /// How large it is: the logarithm of the ratio, of time or of work, whichever changed more.
    pub fn size(&self) -> f64 {
        let time = self.time.map_or(0.0, |shift| shift.change.magnitude.abs());
        time.max(self.work.map_or(0.0, |change| change.effect().ratio.ln().abs()))
    }

    /// Whether the new level is slower; where time did not change, whether it takes more work.
    pub fn is_worse(&self) -> bool {
        match (self.time, self.work) {
            (Some(shift), _) => shift.change.magnitude < 0.0,
            (None, Some(change)) => change.effect().ratio > 1.0,
            (None, None) => false,
        }
    }
}

impl<'a> VersionHistory<'a> {
    /// The steps that have a course of time or of work, by number, in their order.
    pub fn step_numbers(&self) -> Vec<usize> {
        let of_times = self.steps.iter().map(|step| step.step);
        let all: BTreeSet<usize> = of_times.chain(self.work.iter().map(|step| step.step)).collect();
        all.into_iter().collect()
    }

    /// The changes of one step, in the order of versions.
    pub fn changes_of(&self, step: usize) -> Vec<RankedChange<'_, 'a>> {
        let times = self.steps.iter().find(|history| history.step == step);
        let work = self.work.iter().find(|history| history.step == step);
        let Some(label) = times.map(|own| own.label).or(work.map(|own| own.label)) else { return Vec::new() };
        let of_time = times.into_iter().flat_map(|history| &history.changes).map(|shift| RankedChange {
            step,
            label,
            before: shift.before,
            version: shift.version,
            time: Some(shift),
            work: None,
        });
        let mut changes: Vec<RankedChange<'_, 'a>> = of_time.collect();
        for change in work.into_iter().flat_map(|history| &history.changes) {
            let (before, version) = (change.shift.before, change.shift.version);
            let same = changes.iter_mut().find(|known| known.version == version && known.work.is_none());
            match same.filter(|_| !change.shift.is_gradual) {
                Some(known) => known.work = Some(change),
                None => changes.push(RankedChange {
                    step,
                    label,
                    before,
                    version,
                    time: None,
                    work: Some(change),
                }),
            }
        }
        changes.sort_by_key(|change| (change.version, change.before));
        changes
    }

    /// The changes of all steps, the largest first.
    pub fn ranked(&self) -> Vec<RankedChange<'_, 'a>> {
        let steps = self.step_numbers();
        let mut ranked: Vec<RankedChange<'_, 'a>> =
            steps.into_iter().flat_map(|step| self.changes_of(step)).collect();
        ranked.sort_by(|one, other| other.size().total_cmp(&one.size()));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::results::Results;
    use crate::rounds::Rounds;
    use crate::{Counts, VersionHistory};

    #[test]
    fn changes_of_time_and_work_at_one_version_are_one_and_the_largest_is_first() {
        let nights = fixture::nights(40, 6);
        let known: Vec<_> = nights
            .iter()
            .map(|((experiment, trials), counted)| {
                (Rounds::of(experiment, trials), Counts::of(experiment, counted))
            })
            .collect();
        let mut results: Vec<Results<'_>> = nights
            .iter()
            .zip(&known)
            .map(|(((experiment, trials), _), (rounds, counts))| {
                Results::of(experiment, trials, rounds.as_ref()).counting(counts.as_ref())
            })
            .collect();
        let chosen = results.pop().unwrap();
        let history = VersionHistory::of(&chosen, Some(&results), None).unwrap();
        let ranked = history.ranked();
        let told: Vec<(usize, &str, bool, bool)> = ranked
            .iter()
            .map(|change| {
                let since = history.since[change.version].get(..10).unwrap();
                (change.step, since, change.is_worse(), change.work.is_some())
            })
            .collect();
        let expected = [
            (2, "2025-08-02", true, false),
            (4, "2025-07-19", false, false),
            (2, "2025-07-13", true, false),
            (3, "2025-07-25", true, true),
        ];
        assert_eq!(told, expected);
        assert!(ranked.iter().all(|change| change.before + 1 == change.version));
        // Night 7 measured the build of night 6 again.
        assert_eq!((history.versions.len(), history.step_numbers()), (40, vec![0, 1, 2, 3, 4, 5]));
        let costs = ranked[2].time.and_then(|shift| shift.explanation.as_ref()).unwrap().causes().len();
        assert!(costs > 0, "page faults were planted");
        assert!(history.changes_of(5).is_empty() && history.changes_of(99).is_empty());
    }
}
