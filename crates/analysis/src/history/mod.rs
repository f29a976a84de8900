//! Changes over many versions: the candidates of an experiment in their order, or those of many experiments in the order of their dates.

mod anchors;
mod misfit;
mod ranking;
mod version;
mod work;

use anchors::Anchors;
use basecase_model::Experiment;
use basecase_stats::{
    AnalysisPlan, Change, History, HistoryError, Interval, change_points, divisive_change_points,
    usual_penalty,
};
pub use misfit::{Misfit, MisfitReason};
pub use ranking::RankedChange;
use rayon::prelude::*;
use version::{DatedVersion, versions};
pub use work::{WorkChange, WorkHistory};

use crate::counts::Counted;
use crate::effect::Effect;
use crate::error::Error;
use crate::explanation::{Explanation, known_steps};
use crate::results::Results;

/// One step over all versions.
pub struct StepHistory<'a> {
    /// The step, by number.
    pub step: usize,
    /// The step's name.
    pub label: &'a str,
    /// The largest number of rounds of any version, or the number that all versions share; 0 for single runs.
    pub rounds: usize,
    /// The relative throughput of each version, compared with the first base case.
    pub ratios: Vec<Option<Effect>>,
    /// Its changes, in the order of versions.
    pub changes: Vec<Shift<'a>>,
}

/// A change at a version.
pub struct Shift<'a> {
    /// Number of the last measured version with the old level.
    pub before: usize,
    /// Number of the first version with the new level.
    pub version: usize,
    /// Its size, and how certain it is.
    pub change: Change,
    /// What both cost, where their own rates show the change as well. They need not have been measured together.
    pub explanation: Option<Explanation<'a>>,
}

/// The other experiments of a store.
pub struct Joined<'a> {
    /// In how many of them the candidates are versions too.
    pub experiments: usize,
    /// Those that cannot be compared.
    pub left_out: Vec<Misfit<'a>>,
}

/// The findings about an experiment, or about all experiments that share its base case.
pub struct VersionHistory<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The versions' names; the first is the base case.
    pub versions: Vec<String>,
    /// Each step on which at least two versions were measured.
    pub steps: Vec<StepHistory<'a>>,
    /// Each step whose work was counted on at least two versions.
    pub work: Vec<WorkHistory<'a>>,
    /// When the first experiment with each version began, RFC 3339.
    pub since: Vec<&'a str>,
    /// The commit that each version was compiled from, as its full hash, if it was one.
    pub commits: Vec<Option<&'a str>>,
    /// The other experiments of the store; `None` if it is about one experiment.
    pub joined: Option<Joined<'a>>,
    /// Base cases that took the place of the first one, by name.
    pub successors: Vec<&'a str>,
}

impl<'a> VersionHistory<'a> {
    /// The changes of all compared steps, or of those that `wanted` names by name or label. They are one family. With `others`, the
    /// candidates of those experiments in rounds that share the chosen one's base case, or one whose place it took, are versions as well,
    /// in date order.
    ///
    /// # Errors
    /// An unknown step, one candidate alone, nothing that was measured on two of them, or dates of what is not in rounds.
    pub fn of(
        chosen: &Results<'a>,
        others: Option<&[Results<'a>]>,
        wanted: Option<&str>,
    ) -> Result<Self, Error> {
        let experiment = chosen.experiment;
        if others.is_some() && experiment.schedule.is_none() {
            return Err(Error::DatesOfSingleRuns);
        }
        let steps = match wanted {
            Some(wanted) => known_steps(chosen, wanted)?,
            None => chosen.compared_steps().map(|(step, _)| step).collect(),
        };
        let names: Vec<&str> = steps.iter().map(|step| experiment.steps[*step].name.as_str()).collect();
        let anchors = Anchors::of(chosen, others.unwrap_or_default(), &names);
        let is_shared =
            |other: &&Results<'_>| names.iter().any(|step| anchors.in_experiment(other, step).is_some());
        let (joined, left_out): (Vec<&Results<'a>>, Vec<_>) =
            others.unwrap_or_default().iter().partition(is_shared);
        if let Some(unjudged) = [chosen].into_iter().chain(joined.iter().copied()).find_map(refusal) {
            return Err(unjudged);
        }
        let misfit = |other: &&Results<'a>| Misfit::of(chosen, &anchors, &names, other);
        let left_out = left_out.iter().map(misfit).collect();
        let versions = versions(chosen, anchors.first, others.map(|_| joined.as_slice()));
        if versions.len() < 2 {
            return Err(Error::Alone);
        }
        let mut histories = if experiment.schedule.is_some() {
            in_rounds(experiment, &anchors, &versions, &steps)?
        } else {
            of_single_runs(chosen, &anchors, &versions, &steps)?
        };
        histories.retain(|history| history.ratios.iter().flatten().count() > 1);
        let work = match others {
            None => work::of_counts(chosen, &steps)?,
            Some(others) => {
                let margin = [chosen].into_iter().chain(others).find_map(|one| Some(one.counts?.margin));
                let margin = margin.unwrap_or(Counted::default().margin);
                work::over_dates(experiment, &anchors, &versions, &steps, margin)?
            }
        };
        if histories.is_empty() && work.is_empty() {
            return Err(Error::NoHistory);
        }
        let joined = others.map(|_| Joined { experiments: joined.len(), left_out });
        let since = versions.iter().map(|version| version.since).collect();
        let commits = versions.iter().map(DatedVersion::commit).collect();
        let versions = versions.into_iter().map(|version| version.label).collect();
        let successors = anchors.later_names().collect();
        Ok(VersionHistory {
            experiment,
            versions,
            since,
            commits,
            steps: histories,
            work,
            joined,
            successors,
        })
    }
}

/// Why an experiment's rounds have no effects.
fn refusal(results: &Results<'_>) -> Option<Error> {
    let Experiment { id, name, .. } = results.experiment;
    let reason = results.rounds?.refusal.clone()?;
    Some(Error::Unjudged { id: id.clone(), name: name.clone(), reason })
}

fn in_rounds<'a>(
    experiment: &'a Experiment,
    anchors: &Anchors<'_, 'a>,
    versions: &[DatedVersion<'_, 'a>],
    steps: &[usize],
) -> Result<Vec<StepHistory<'a>>, HistoryError> {
    let history = |step: &usize| {
        let facts = &experiment.steps[*step];
        let margin = experiment.schedule.as_ref().map_or(0.0, |schedule| schedule.margin(facts));
        let later = versions[1..].iter();
        let measured: Vec<_> = later.map(|version| version.measured(anchors, &facts.name)).collect();
        History::of_step(&measured, &anchors.handovers(&facts.name), (1.0 + margin).ln())
    };
    let histories: Vec<History> = steps.par_iter().map(history).collect::<Result<_, _>>()?;
    let penalty = |history: &History| usual_penalty(history.versions());
    let changes = change_points(&histories, penalty, AnalysisPlan::default().false_discovery_rate);
    let course = |((step, history), changes): ((&usize, &History), Vec<Change>)| {
        let name = &experiment.steps[*step].name;
        let ratios: Vec<Option<Effect>> =
            versions.iter().map(|version| version.effect(anchors, name)).collect();
        let shift = |change: Change| {
            // A version without rounds has the level of the next one, and shows nothing.
            let mut later = change.version..ratios.len();
            let version = later.find(|version| ratios[*version].is_some()).unwrap_or(change.version);
            let before = (0..change.version).rfind(|version| ratios[*version].is_some());
            Shift::of(change, (before.unwrap_or(0), version), anchors, versions, name)
        };
        let changes = changes.into_iter().map(shift).collect();
        let label = &experiment.steps[*step].label;
        StepHistory { step: *step, label, rounds: history.rounds(), ratios, changes }
    };
    Ok(steps.iter().zip(&histories).zip(changes).map(course).collect())
}

fn of_single_runs<'a>(
    results: &Results<'a>,
    anchors: &Anchors<'_, 'a>,
    versions: &[DatedVersion<'_, 'a>],
    steps: &[usize],
) -> Result<Vec<StepHistory<'a>>, HistoryError> {
    let experiment = results.experiment;
    let course = |step: &usize| {
        // Versions without a value are left out; each change is then mapped back to its version.
        let logarithm = |(version, _)| {
            let value = results.headline(*step, version).filter(|_| !results.missed_sla(*step, version))?;
            Some((version, value.ln())).filter(|(_, value)| value.is_finite())
        };
        let (places, values): (Vec<usize>, Vec<f64>) = results.candidates().filter_map(logarithm).unzip();
        let name = &experiment.steps[*step].name;
        let shift = |change: Change| {
            let place = |number: usize| places.get(number).copied().unwrap_or_default();
            let between = (place(change.version.saturating_sub(1)), place(change.version));
            Shift::of(change, between, anchors, versions, name)
        };
        let effect = |(version, _)| Some(Effect { ratio: results.relative(*step, version)?, interval: None });
        Ok(StepHistory {
            step: *step,
            label: &experiment.steps[*step].label,
            rounds: 0,
            ratios: results.candidates().map(effect).collect(),
            changes: divisive_change_points(&values)?.into_iter().map(shift).collect(),
        })
    };
    steps.iter().map(course).collect()
}

impl<'a> Shift<'a> {
    /// A change between two versions, by number, on the step of that name.
    fn of(
        change: Change,
        (before, version): (usize, usize),
        anchors: &Anchors<'_, 'a>,
        versions: &[DatedVersion<'_, 'a>],
        step: &str,
    ) -> Self {
        let both = versions.get(before).zip(versions.get(version));
        let explanation = both.and_then(|(earlier, later)| later.explained(anchors, earlier, step));
        let is_alike = |found: &Explanation<'_>| {
            found.quotient().is_some_and(|ratio| (ratio < 1.0) == (change.magnitude < 0.0))
        };
        Shift { before, version, change, explanation: explanation.filter(is_alike) }
    }

    /// The new level divided by the one before.
    pub fn effect(&self) -> Effect {
        let Interval { lower, upper } = self.change.interval;
        Effect { ratio: self.change.magnitude.exp(), interval: Some([lower.exp(), upper.exp()]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Rounds;
    use crate::{Stored, fixture};

    /// The versions at which changes began in a planted history, each with its step and whether it is slower.
    fn changes(levels: &[f64], seed: u64) -> Vec<(String, String, bool)> {
        let (experiment, trials) = fixture::history(levels, 8, 0.005, seed);
        let rounds = Rounds::of(&experiment, &trials);
        let found =
            VersionHistory::of(&Results::of(&experiment, &trials, rounds.as_ref()), None, None).unwrap();
        let changes = |step: &StepHistory<'_>| -> Vec<(String, String, bool)> {
            let change = |shift: &Shift<'_>| {
                let is_slower = shift.effect().ratio < 1.0;
                (step.label.to_owned(), found.versions[shift.version].clone(), is_slower)
            };
            step.changes.iter().map(change).collect()
        };
        found.steps.iter().flat_map(changes).collect()
    }

    #[test]
    fn the_version_where_a_change_began_is_named() {
        for version in 1..6 {
            let level = |number: usize| if number < version { 0.0 } else { -0.05 };
            let levels: Vec<f64> = (0..6).map(level).collect();
            let expected = ("l.i0".to_owned(), format!("pg18{version}.x10a"), true);
            assert_eq!(changes(&levels, version as u64), [expected]);
        }
        assert_eq!(changes(&[0.0, 0.05], 11).len(), 1, "of two candidates too");
    }

    #[test]
    fn versions_that_are_alike_have_no_change() {
        let shown = (1..=100).filter(|seed| !changes(&[0.0; 6], *seed).is_empty()).count();
        assert!(shown <= 5, "{shown} of 100");
        let shown = (1..=100).filter(|seed| !changes(&[0.0; 2], *seed).is_empty()).count();
        assert!(shown <= 5, "{shown} of 100 with two candidates");
    }

    #[test]
    fn an_experiment_that_cannot_be_judged_is_named() {
        let mut nights: Vec<Stored> = fixture::nights(3, 4).into_iter().map(|(stored, _)| stored).collect();
        let of_nights = |nights: &[Stored]| {
            let rounds: Vec<_> =
                nights.iter().map(|(experiment, trials)| Rounds::of(experiment, trials)).collect();
            let results: Vec<Results<'_>> = nights
                .iter()
                .zip(&rounds)
                .map(|((experiment, trials), rounds)| Results::of(experiment, trials, rounds.as_ref()))
                .collect();
            let (others, chosen) = results.split_at(2);
            VersionHistory::of(&chosen[0], Some(others), None).err().map(|error| error.to_string())
        };
        assert_eq!(of_nights(&nights), None);
        nights[1].0.schedule.as_mut().unwrap().interim_analyses = vec![8, 5];
        let said = of_nights(&nights).unwrap();
        assert!(said.starts_with("the rounds of experiment night1 (nightly) cannot be judged: "), "{said}");
    }

    #[test]
    fn a_version_that_always_failed_is_passed_over() {
        let (experiment, mut trials) = fixture::history(&[0.0, 0.0, 0.0, -0.1, -0.1], 8, 0.005, 3);
        trials.retain(|trial| trial.candidate != "pg183.x10a");
        // A version that failed once costs the others this round.
        trials.retain(|trial| trial.candidate != "pg182.x10a" || trial.place.round != 0);
        let stored = (experiment, trials);
        let rounds = Rounds::of(&stored.0, &stored.1);
        let found =
            VersionHistory::of(&Results::of(&stored.0, &stored.1, rounds.as_ref()), None, Some("l.i0"))
                .unwrap();
        let step = &found.steps[0];
        assert_eq!((step.rounds, step.ratios[3]), (7, None));
        assert_eq!(step.changes.len(), 1);
        assert_eq!(found.versions[step.changes[0].version], "pg184.x10a", "the first version that shows it");
    }
}
