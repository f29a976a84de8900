//! Changes over many versions: the candidates of an experiment in their order, or those of many experiments in the order of their dates.

mod anchors;
mod version;

use basecase_model::Experiment;
use basecase_stats::{
    Change, History, HistoryError, Interval, Plan, change_points, divisive_change_points, usual_penalty,
};
use serde::Serialize;

use crate::document::Block;
use crate::effect::Effect;
use crate::error::Error;
use crate::explanation::known_steps;
use crate::json;
use crate::results::Results;
use crate::tables::{self, Cell, Column, Mark, Row, Table};
use anchors::Anchors;
use version::{Version, versions};

/// One step over all versions.
struct Course<'a> {
    label: &'a str,
    /// Rounds of the version with most of them, or that all versions have; 0 of single runs.
    rounds: usize,
    /// Throughput of each version divided by that of the first base case.
    ratios: Vec<Option<Effect>>,
    changes: Vec<Shift>,
}

/// A change at a version.
struct Shift {
    /// Number of the first version with the new level.
    version: usize,
    change: Change,
}

/// What was found of an experiment, or of all that have its base case.
pub(crate) struct Report<'a> {
    experiment: &'a Experiment,
    /// What the versions are called; the first is the base case.
    versions: Vec<String>,
    courses: Vec<Course<'a>>,
    /// Of how many other experiments of the store the candidates are versions too, and how many could not be joined; `None` when it is
    /// about one experiment.
    joined: Option<(usize, usize)>,
    /// Base cases that took the place of the first one, by name.
    successors: Vec<&'a str>,
}

impl<'a> Report<'a> {
    /// The changes of all steps that are compared, or of those that `wanted` names by name or label. They are one family. With `others`,
    /// the candidates of those experiments in rounds that have the base case of the chosen one, or one whose place it took, are versions
    /// as well, in the order of dates.
    ///
    /// # Errors
    /// An unknown step, one candidate alone, nothing that was measured on two of them, or dates of what is not in rounds.
    pub(crate) fn of(
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
            None => chosen.steps().filter(|(_, facts)| facts.is_compared()).map(|(step, _)| step).collect(),
        };
        let names: Vec<&str> = steps.iter().map(|step| experiment.steps[*step].name.as_str()).collect();
        let anchors = Anchors::of(chosen, others.unwrap_or_default(), &names);
        let is_shared =
            |other: &&Results<'_>| names.iter().any(|step| anchors.in_experiment(other, step).is_some());
        let joined: Option<Vec<_>> = others.map(|others| others.iter().filter(is_shared).collect());
        let versions = versions(chosen, anchors.first, joined.as_deref());
        if versions.len() < 2 {
            return Err(Error::Alone);
        }
        let mut courses = if experiment.schedule.is_some() {
            in_rounds(experiment, &anchors, &versions, &steps)?
        } else {
            of_single_runs(chosen, &steps)?
        };
        courses.retain(|course| course.ratios.iter().flatten().count() > 1);
        if courses.is_empty() {
            return Err(Error::NoHistory);
        }
        let joined = joined.zip(others).map(|(joined, others)| (joined.len(), others.len() - joined.len()));
        let versions = versions.into_iter().map(|version| version.label).collect();
        let successors = anchors.later_names().collect();
        Ok(Report { experiment, versions, courses, joined, successors })
    }

    /// The report as it is read from top to bottom.
    pub(crate) fn compose(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Title(format!("History: {}", self.experiment.name))];
        blocks.push(match (&self.experiment.schedule, self.joined) {
            (None, _) => Block::Note(SINGLE_RUNS.into()),
            (Some(_), None) => Block::Paragraph(IN_ROUNDS.into()),
            (Some(_), Some((joined, left_out))) => {
                Block::Paragraph(over_dates(joined, left_out, &self.successors))
            }
        });
        blocks.push(Block::Table(self.table()));
        blocks.push(Block::Heading("Change points".into()));
        let lines = |course: &Course<'_>| -> Vec<String> {
            course.changes.iter().map(|shift| self.line(course, shift)).collect()
        };
        let lines: Vec<String> = self.courses.iter().flat_map(lines).collect();
        blocks.push(if lines.is_empty() { Block::Paragraph("None.".into()) } else { Block::List(lines) });
        blocks
    }

    /// E.g. `point-query: 4.8 % slower (4.1–5.5 %) since pg180.x10a`.
    fn line(&self, course: &Course<'_>, shift: &Shift) -> String {
        format!("{}: {} since {}", course.label, shift.effect().difference(), self.versions[shift.version])
    }

    /// A row for each step or for each version, whichever are more.
    fn table(&self) -> Table {
        let is_in_rounds = self.experiment.schedule.is_some();
        let ratio = |course: &Course<'_>, version: usize| {
            let shift = course.changes.iter().find(|shift| shift.version == version);
            let mark = shift.map_or(Mark::None, Shift::mark);
            match course.ratios[version] {
                Some(effect) if version > 0 && is_in_rounds => Cell { mark, ..Cell::ratio(&effect) },
                Some(effect) => Cell::marked(format!("{:.3}", effect.ratio), mark),
                None => Cell::marked(tables::MISSING, mark),
            }
        };
        let cells = |course: &Course<'_>| -> Vec<Cell> {
            let rounds = is_in_rounds.then(|| Cell::plain(course.rounds.to_string()));
            (0..self.versions.len()).map(|version| ratio(course, version)).chain(rounds).collect()
        };
        let cells: Vec<Vec<Cell>> = self.courses.iter().map(cells).collect();
        let versions = self.versions.iter().map(String::as_str).chain(is_in_rounds.then_some("rounds"));
        let steps = self.courses.iter().map(|course| course.label);
        let (corner, columns, rows) = if self.versions.len() > self.courses.len() {
            let column = |place: usize| cells.iter().map(|cells| cells[place].clone()).collect();
            let rows = versions.enumerate().map(|(place, name)| Row::new(name, column(place)));
            ("version", steps.collect::<Vec<_>>(), rows.collect())
        } else {
            let rows = steps.zip(cells).map(|(name, cells)| Row::new(name, cells));
            ("step", versions.collect(), rows.collect())
        };
        let meanings = [(Mark::Worse, "a slower level begins"), (Mark::Better, "a faster level begins")];
        let shifts = || self.courses.iter().flat_map(|course| &course.changes);
        Table {
            caption: format!("Throughput relative to {}", self.versions[0]),
            corner,
            columns: columns.into_iter().map(|name| Column::numbers(name, "")).collect(),
            rows,
            legend: meanings
                .into_iter()
                .filter(|(mark, _)| shifts().any(|shift| shift.mark() == *mark))
                .map(|(mark, meaning)| (mark, meaning.to_owned()))
                .collect(),
            ..Table::default()
        }
    }

    /// The report as one JSON object with a newline at its end.
    pub(crate) fn json(&self) -> String {
        let step = |course: &Course<'a>| Step {
            step: course.label,
            rounds: self.experiment.schedule.is_some().then_some(course.rounds),
            ratios: course.ratios.iter().map(|effect| effect.map(|effect| effect.ratio)).collect(),
            intervals: course.ratios.iter().map(|effect| effect.and_then(|effect| effect.interval)).collect(),
            changes: course.changes.iter().map(|shift| self.point(shift)).collect(),
        };
        let object = Object {
            experiment: &self.experiment.name,
            id: &self.experiment.id,
            in_rounds: self.experiment.schedule.is_some(),
            base: self.versions.first().map(String::as_str),
            versions: self.versions.iter().map(String::as_str).collect(),
            steps: self.courses.iter().map(step).collect(),
        };
        json::written(&object)
    }

    fn point(&self, shift: &Shift) -> Point<'_> {
        let Change { magnitude, interval, p, adjusted_p, .. } = shift.change;
        Point {
            since: &self.versions[shift.version],
            ratio: magnitude.exp(),
            interval: [interval.lower.exp(), interval.upper.exp()],
            p,
            adjusted_p,
        }
    }
}

const IN_ROUNDS: &str = "Every version was measured in the same rounds as the base case. A change is named by the version with which the new \
                         level begins; its size is against the level before, with its 95 % interval. Of all changes that are named 5 % at \
                         most are false on average, and none is smaller than half of the step's margin.";

const SINGLE_RUNS: &str = "Each version was measured once. Single runs carry no verdict: how much of a difference is noise cannot be told from \
                           them. Change points are those of the compatibility mode, by energy statistic and t-test as in Apache Otava, with \
                           intervals of 99.9 %. It corrects nothing for the places that it looks at, and with fewer than four versions \
                           on a side it says nothing. Measure in rounds (--rounds, --budget) for more.";

/// How to read versions of several experiments.
fn over_dates(joined: usize, left_out: usize, successors: &[&str]) -> String {
    let successors = match successors.join(", ") {
        names if names.is_empty() => names,
        names => format!(
            " Later base cases: {names}. Each was measured beside the one before it; what that leaves open is a part of the intervals of all \
             that was measured with it, and of changes between before and after."
        ),
    };
    let left_out = match left_out {
        0 => String::new(),
        count => format!(" Left out: {count}, of another base case, workload, size, host or protocol."),
    };
    format!(
        "Versions are those of this experiment and of {joined} more of the store, in the order in which they were first measured. Each was \
         measured in rounds with the base case, and not with all of the others. A change is named by the version with which the new level \
         begins; its size is against the level before, with its 95 % interval. Whether the first version differs from the base case is for \
         its verdict to say. Of all changes that are named 5 % at most are false on average, and none is smaller than half of the step's \
         margin.{successors}{left_out}"
    )
}

fn in_rounds<'a>(
    experiment: &'a Experiment,
    anchors: &Anchors<'_, 'a>,
    versions: &[Version<'_, 'a>],
    steps: &[usize],
) -> Result<Vec<Course<'a>>, HistoryError> {
    let handovers = anchors.handovers();
    let history = |step: &usize| {
        let facts = &experiment.steps[*step];
        let margin = experiment.schedule.as_ref().map_or(0.0, |schedule| schedule.margin(facts));
        let later = versions[1..].iter();
        let measured: Vec<_> = later.map(|version| version.measured(anchors, &facts.name)).collect();
        History::of_step(&measured, &handovers, &facts.name, (1.0 + margin).ln())
    };
    let histories: Vec<History> = steps.iter().map(history).collect::<Result<_, _>>()?;
    let penalty = |history: &History| usual_penalty(history.versions());
    let changes = change_points(&histories, penalty, Plan::default().false_discovery_rate);
    let course = |((step, history), changes): ((&usize, &History), Vec<Change>)| {
        let name = &experiment.steps[*step].name;
        let ratios: Vec<Option<Effect>> =
            versions.iter().map(|version| version.effect(anchors, name)).collect();
        let shift = |change: Change| {
            // A version without rounds has the level of the next one, and shows nothing.
            let measured = (change.version..ratios.len()).find(|version| ratios[*version].is_some());
            Shift { version: measured.unwrap_or(change.version), change }
        };
        let changes = changes.into_iter().map(shift).collect();
        Course { label: &experiment.steps[*step].label, rounds: history.rounds(), ratios, changes }
    };
    Ok(steps.iter().zip(&histories).zip(changes).map(course).collect())
}

fn of_single_runs<'a>(results: &Results<'a>, steps: &[usize]) -> Result<Vec<Course<'a>>, HistoryError> {
    let experiment = results.experiment;
    let course = |step: &usize| {
        // What has no value is left out; each change is then brought back to its version.
        let logarithm = |(version, _)| {
            let value = results.headline(*step, version).filter(|_| !results.missed_sla(*step, version))?;
            Some((version, value.ln())).filter(|(_, value)| value.is_finite())
        };
        let (places, values): (Vec<usize>, Vec<f64>) = results.candidates().filter_map(logarithm).unzip();
        let shift = |change: Change| Shift { version: places[change.version], change };
        let effect = |(version, _)| Some(Effect { ratio: results.relative(*step, version)?, interval: None });
        Ok(Course {
            label: &experiment.steps[*step].label,
            rounds: 0,
            ratios: results.candidates().map(effect).collect(),
            changes: divisive_change_points(&values)?.into_iter().map(shift).collect(),
        })
    };
    steps.iter().map(course).collect()
}

impl Shift {
    fn mark(&self) -> Mark {
        if self.change.magnitude < 0.0 { Mark::Worse } else { Mark::Better }
    }

    /// The new level divided by the one before.
    fn effect(&self) -> Effect {
        let Interval { lower, upper } = self.change.interval;
        Effect { ratio: self.change.magnitude.exp(), interval: Some([lower.exp(), upper.exp()]) }
    }
}

#[derive(Serialize)]
struct Object<'a> {
    experiment: &'a str,
    id: &'a str,
    in_rounds: bool,
    base: Option<&'a str>,
    versions: Vec<&'a str>,
    steps: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    step: &'a str,
    rounds: Option<usize>,
    ratios: Vec<Option<f64>>,
    intervals: Vec<Option<[f64; 2]>>,
    changes: Vec<Point<'a>>,
}

#[derive(Serialize)]
struct Point<'a> {
    since: &'a str,
    ratio: f64,
    interval: [f64; 2],
    p: f64,
    adjusted_p: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Format, Options};
    use crate::rounds::Rounds;
    use crate::{Stored, fixture, history};

    /// Lines of changes that a planted history comes to, as `l.i0: … since pg183.x10a`.
    fn changes(levels: &[f64], seed: u64) -> Vec<String> {
        let stored = fixture::history(levels, 8, 0.005, seed);
        let rounds = Rounds::of(&stored.0, &stored.1);
        lines(&Report::of(&Results::of(&stored.0, &stored.1, rounds.as_ref()), None, None).unwrap())
    }

    fn lines(report: &Report<'_>) -> Vec<String> {
        let lines = |course: &Course<'_>| -> Vec<String> {
            course.changes.iter().map(|shift| report.line(course, shift)).collect()
        };
        report.courses.iter().flat_map(lines).collect()
    }

    #[test]
    fn the_version_where_a_change_began_is_named() {
        for version in 1..6 {
            let level = |number: usize| if number < version { 0.0 } else { -0.05 };
            let levels: Vec<f64> = (0..6).map(level).collect();
            let found = changes(&levels, version as u64);
            let end = format!("since pg18{version}.x10a");
            assert!(found.len() == 1 && found[0].ends_with(&end), "{found:?}");
            assert!(found[0].starts_with("l.i0: ") && found[0].contains(" % slower ("), "{found:?}");
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
    fn rounds_as_text_and_json() {
        let levels = [0.0, 0.0, -0.05, -0.05, 0.01, 0.01];
        let stored = fixture::history(&levels, 8, 0.005, 3);
        let print = |format| history(&stored, None, None, format, &Options::default()).unwrap();
        insta::assert_snapshot!(print(Format::Text));
        insta::assert_snapshot!(print(Format::Json));
    }

    #[test]
    fn a_version_that_always_failed_is_passed_over() {
        let (experiment, mut trials) = fixture::history(&[0.0, 0.0, 0.0, -0.1, -0.1], 8, 0.005, 3);
        trials.retain(|trial| trial.candidate != "pg183.x10a");
        // One that failed once costs the others this round.
        trials.retain(|trial| trial.candidate != "pg182.x10a" || trial.place.round != 0);
        let stored = (experiment, trials);
        let rounds = Rounds::of(&stored.0, &stored.1);
        let report =
            Report::of(&Results::of(&stored.0, &stored.1, rounds.as_ref()), None, Some("l.i0")).unwrap();
        let course = &report.courses[0];
        assert_eq!((course.rounds, course.ratios[3]), (7, None));
        assert_eq!(course.changes.len(), 1);
        assert_eq!(
            report.versions[course.changes[0].version], "pg184.x10a",
            "the first version that shows it"
        );
    }

    /// A night on which a base case and others were measured: their names, their builds and their levels.
    fn night(number: usize, measured: &[(&str, &str, f64)]) -> Stored {
        let levels: Vec<f64> = measured.iter().map(|(_, _, level)| *level).collect();
        let (mut experiment, mut trials) = fixture::history(&levels, 8, 0.005, 40 + number as u64);
        experiment.id = format!("night{number}");
        experiment.created_at = format!("2026-11-{:02}T03:00:00Z", number + 1);
        let names: Vec<String> =
            experiment.candidates.iter().map(|candidate| candidate.name.0.clone()).collect();
        for trial in &mut trials {
            let place = names.iter().position(|name| *name == trial.candidate).unwrap();
            trial.measured_by.clone_from(&experiment.id);
            trial.cell = format!("{} {}", measured[place].1, trial.step);
            trial.candidate = measured[place].0.to_owned();
        }
        // Builds of one checksum are one build only if nothing else tells them apart.
        let one = experiment.candidates[0].clone();
        for (candidate, (name, build, _)) in experiment.candidates.iter_mut().zip(measured) {
            *candidate = one.clone();
            candidate.name.0 = (*name).to_owned();
            candidate.build.sha256 = Some((*build).to_owned());
        }
        (experiment, trials)
    }

    /// Nights on each of which one build is measured against the anchor, in a store.
    fn nights(levels: &[f64]) -> Vec<Stored> {
        let of_level = |(number, level): (usize, &f64)| {
            let build = format!("night{number}");
            night(number, &[("pg180.x10a", "anchor", 0.0), ("pg181.x10a", &build, *level)])
        };
        levels.iter().enumerate().map(of_level).collect()
    }

    /// Three nights against 17; one with 18 as well, in that order or the other; and three against 18, of which the last two are slower.
    fn nights_with_two_anchors(is_reversed: bool) -> Vec<Stored> {
        let (old, new) = (("pg17.x10a", "17"), ("pg18.x10a", "18"));
        let of_number = |number: usize| {
            let build = format!("dev{number}");
            let with = |anchors: &[((&str, &str), f64)], level: f64| {
                let anchors = anchors.iter().map(|((name, build), level)| (*name, *build, *level));
                night(number, &anchors.chain([("dev.x10a", build.as_str(), level)]).collect::<Vec<_>>())
            };
            match number {
                0..3 => with(&[(old, 0.0)], 0.02),
                3 if is_reversed => with(&[(new, 0.0), (old, -0.03)], -0.01),
                3 => with(&[(old, 0.0), (new, 0.03)], 0.02),
                4 => with(&[(new, 0.0)], -0.01),
                _ => with(&[(new, 0.0)], -0.07),
            }
        };
        (0..7).map(of_number).collect()
    }

    #[test]
    fn a_base_case_that_takes_the_place_of_another_continues_the_history() {
        let print = |is_reversed: bool, format| {
            let mut nights = nights_with_two_anchors(is_reversed);
            let chosen = nights.remove(6);
            history(&chosen, Some(&nights), Some("l.i0"), format, &Options::default()).unwrap()
        };
        insta::assert_snapshot!(print(false, Format::Text));
        for is_reversed in [false, true] {
            let text = print(is_reversed, Format::Text);
            assert_eq!(text.matches(" since ").count(), 1, "{text}");
            assert!(text.contains("slower (") && text.contains("since dev.x10a 2026-11-06"), "{text}");
            assert!(print(is_reversed, Format::Json).contains("\"base\": \"pg17.x10a\""));
        }
    }

    #[test]
    fn base_cases_that_were_not_measured_beside_each_other_have_histories_of_their_own() {
        let mut nights = nights_with_two_anchors(false);
        nights.remove(3);
        let chosen = nights.remove(5);
        let text = history(&chosen, Some(&nights), Some("l.i0"), Format::Text, &Options::default()).unwrap();
        assert!(text.contains("relative to pg18.x10a") && text.contains("Left out: 3,"), "{text}");
    }

    #[test]
    fn nights_become_versions() {
        let mut nights = nights(&[0.0, 0.0, 0.0, -0.05, -0.05, -0.05]);
        // The base case against itself, another base case, and the same build once more on the last night.
        let again = nights[0].0.candidates[0].clone();
        nights[0].0.candidates.push(again);
        nights[1].1.iter_mut().for_each(|trial| trial.cell.push_str(" elsewhere"));
        let again = nights[4].0.candidates[1].build.clone();
        nights[5].0.candidates[1].build = again;
        let chosen = nights.remove(5);
        let text = history(&chosen, Some(&nights), None, Format::Text, &Options::default()).unwrap();
        insta::assert_snapshot!(text);
        let json = history(&chosen, Some(&nights), Some("l.i0"), Format::Json, &Options::default()).unwrap();
        assert!(json.contains("\"since\": \"pg181.x10a 2026-11-04\""), "{json}");
    }

    #[test]
    fn two_of_one_night_are_told_apart() {
        let mut nights = nights(&[0.0, 0.0, 0.0]);
        nights[1].0.created_at = "2026-11-01T15:30:00Z".into();
        let chosen = nights.remove(2);
        let text = history(&chosen, Some(&nights), Some("l.i0"), Format::Text, &Options::default()).unwrap();
        assert!(text.contains("pg181.x10a 2026-11-01 03:00") && text.contains("2026-11-01 15:30"), "{text}");
    }

    #[test]
    fn single_runs_are_read_in_the_compatibility_mode() {
        let levels: Vec<f64> = (0..20).map(|number| if number < 12 { 0.0 } else { -0.1 }).collect();
        let (mut experiment, trials) = fixture::history(&levels, 1, 0.0005, 5);
        experiment.schedule = None;
        let stored = (experiment, trials);
        let text = history(&stored, None, Some("l.i0"), Format::Text, &Options::default()).unwrap();
        assert!(
            text.contains("NOTE: Each version was measured once. Single runs carry no verdict"),
            "{text}"
        );
        assert!(text.contains("since pg1812.x10a"), "{text}");
    }

    #[test]
    fn what_has_no_history_is_refused() {
        let stored = fixture::history(&[0.0, 0.0], 5, 0.005, 1);
        let refuse = |stored: &Stored, others: Option<&[Stored]>, wanted: Option<&str>| {
            let text = history(stored, others, wanted, Format::Text, &Options::default());
            text.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let said = refuse(&stored, None, Some("l.i2"));
        assert!(said.contains("no step `l.i2`\nhint: did you mean `l.i"), "{said}");
        let said = refuse(&(stored.0.clone(), vec![]), None, None);
        assert!(said.contains("no step was measured on two candidates"), "{said}");
        let alone = refuse(&fixture::history(&[0.0], 5, 0.005, 1), None, None);
        assert!(alone.starts_with("the experiment has one candidate only"), "{alone}");
        let once = Experiment { schedule: None, ..stored.0 };
        let said = refuse(&(once, stored.1), Some(&[]), None);
        assert!(said.starts_with("dates tell something of experiments in rounds only"), "{said}");
    }
}
