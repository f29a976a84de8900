//! Changes over many versions: the candidates of an experiment in their order.

use basecase_model::{Experiment, Trial};
use basecase_stats::{
    Change, History, HistoryError, Plan, change_points, divisive_change_points, usual_penalty,
};
use serde::Serialize;

use crate::document::Block;
use crate::error::Error;
use crate::explanation::known_steps;
use crate::results::Results;
use crate::tables::{self, Cell, Column, Mark, Row, Table};

/// One step over all versions.
struct Course<'a> {
    /// Number of the step.
    step: usize,
    label: &'a str,
    /// Rounds that all versions have; 0 of single runs.
    rounds: usize,
    /// Throughput of each version divided by the base case's.
    ratios: Vec<Option<f64>>,
    changes: Vec<Shift<'a>>,
}

/// A change at a version.
struct Shift<'a> {
    /// Number of the first version with the new level.
    version: usize,
    since: &'a str,
    change: Change,
}

/// What was found of an experiment.
pub(crate) struct Report<'a> {
    experiment: &'a Experiment,
    courses: Vec<Course<'a>>,
}

impl<'a> Report<'a> {
    /// The changes of all steps that are compared, or of those that `wanted` names by name or label. They are one family.
    ///
    /// # Errors
    /// An unknown step, one candidate alone, or nothing that was measured on two of them.
    pub(crate) fn of(
        experiment: &'a Experiment,
        trials: &'a [Trial],
        wanted: Option<&str>,
    ) -> Result<Self, Error> {
        if experiment.candidates.len() < 2 {
            return Err(Error::Alone);
        }
        let results = Results::new(experiment, trials);
        let steps = match wanted {
            Some(wanted) => known_steps(&results, wanted)?,
            None => results.steps().filter(|(_, facts)| facts.is_compared()).map(|(step, _)| step).collect(),
        };
        let mut courses = if experiment.schedule.is_some() {
            in_rounds(experiment, trials, &steps)?
        } else {
            of_single_runs(&results, &steps)?
        };
        courses.retain(|course| course.ratios.iter().flatten().count() > 1);
        if courses.is_empty() {
            return Err(Error::NoHistory);
        }
        Ok(Report { experiment, courses })
    }

    fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.experiment.candidates.iter().map(|facts| facts.name.0.as_str())
    }

    /// The report as it is read from top to bottom.
    pub(crate) fn compose(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Title(format!("History: {}", self.experiment.name))];
        blocks.push(match self.experiment.schedule {
            Some(_) => Block::Paragraph(IN_ROUNDS.into()),
            None => Block::Note(SINGLE_RUNS.into()),
        });
        blocks.push(Block::Table(self.table()));
        blocks.push(Block::Heading("Change points".into()));
        let lines: Vec<String> = self
            .courses
            .iter()
            .flat_map(|course| course.changes.iter().map(|shift| shift.line(course.label)))
            .collect();
        blocks.push(if lines.is_empty() { Block::Paragraph("None.".into()) } else { Block::List(lines) });
        blocks
    }

    fn table(&self) -> Table {
        let is_in_rounds = self.experiment.schedule.is_some();
        let row = |course: &Course<'_>| {
            let ratio = |(version, ratio): (usize, &Option<f64>)| {
                let text = ratio.map_or(tables::MISSING.to_owned(), |ratio| format!("{ratio:.3}"));
                let shift = course.changes.iter().find(|shift| shift.version == version);
                Cell::marked(text, shift.map_or(Mark::None, Shift::mark))
            };
            let rounds = is_in_rounds.then(|| Cell::plain(course.rounds.to_string()));
            let cells = course.ratios.iter().enumerate().map(ratio).chain(rounds).collect();
            Row { step: Some(course.step), ..Row::new(course.label, cells) }
        };
        let rounds = is_in_rounds.then(|| Column::numbers("rounds", "that all versions have"));
        let meanings = [(Mark::Worse, "a slower level begins"), (Mark::Better, "a faster level begins")];
        let shifts = || self.courses.iter().flat_map(|course| &course.changes);
        Table {
            caption: format!("Throughput relative to {}", self.names().next().unwrap_or_default()),
            corner: "step",
            columns: self.names().map(|name| Column::numbers(name, "")).chain(rounds).collect(),
            rows: self.courses.iter().map(row).collect(),
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
            ratios: course.ratios.clone(),
            changes: course.changes.iter().map(Point::of).collect(),
        };
        let versions: Vec<&str> = self.names().collect();
        let object = Object {
            experiment: &self.experiment.name,
            id: &self.experiment.id,
            in_rounds: self.experiment.schedule.is_some(),
            base: versions.first().copied(),
            versions,
            steps: self.courses.iter().map(step).collect(),
        };
        // Serialising plain strings and numbers cannot fail.
        let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
        text.push('\n');
        text
    }
}

const IN_ROUNDS: &str = "Every version was measured in the same rounds as the base case. A change is named by the version with which the new \
                         level begins; its size is against the level before, with its 95 % interval. Of all changes that are named 5 % at \
                         most are false on average, and none is smaller than half of the step's margin.";

const SINGLE_RUNS: &str = "Each version was measured once. Single runs carry no verdict: how much of a difference is noise cannot be told from \
                           them. Change points are those of the compatibility mode, by energy statistic and t-test as in Apache Otava, with \
                           intervals of 99.9 %. It corrects nothing for the places that it looks at, and with fewer than four versions \
                           on a side it says nothing. Measure in rounds (--rounds, --budget) for more.";

fn in_rounds<'a>(
    experiment: &'a Experiment,
    trials: &[Trial],
    steps: &[usize],
) -> Result<Vec<Course<'a>>, HistoryError> {
    let histories: Vec<History> =
        steps.iter().map(|step| History::of_step(experiment, trials, *step)).collect::<Result<_, _>>()?;
    let penalty = |history: &History| usual_penalty(history.versions());
    let changes = change_points(&histories, penalty, Plan::default().false_discovery_rate);
    let course = |((step, history), changes): ((&usize, &History), Vec<Change>)| {
        let ratios: Vec<Option<f64>> = history.means().map(|mean| mean.map(f64::exp)).collect();
        let shift = |change: Change| {
            // A version without rounds has the level of the next one, and shows nothing.
            let measured = (change.version..ratios.len()).find(|version| ratios[*version].is_some());
            Shift::new(experiment, measured.unwrap_or(change.version), change)
        };
        let changes = changes.into_iter().map(shift).collect();
        Course {
            step: *step,
            label: &experiment.steps[*step].label,
            rounds: history.rounds(),
            ratios,
            changes,
        }
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
        let (versions, values): (Vec<usize>, Vec<f64>) = results.candidates().filter_map(logarithm).unzip();
        let shift = |change: Change| Shift::new(experiment, versions[change.version], change);
        Ok(Course {
            step: *step,
            label: &experiment.steps[*step].label,
            rounds: 0,
            ratios: results.candidates().map(|(version, _)| results.relative(*step, version)).collect(),
            changes: divisive_change_points(&values)?.into_iter().map(shift).collect(),
        })
    };
    steps.iter().map(course).collect()
}

impl<'a> Shift<'a> {
    fn new(experiment: &'a Experiment, version: usize, change: Change) -> Self {
        Shift { version, since: &experiment.candidates[version].name.0, change }
    }

    fn mark(&self) -> Mark {
        if self.change.magnitude < 0.0 { Mark::Worse } else { Mark::Better }
    }

    /// E.g. `point-query: 4.8 % slower (4.1–5.5 %) since pg180.x10a`.
    fn line(&self, step: &str) -> String {
        let Change { magnitude, interval, .. } = self.change;
        let (sign, word) = if magnitude < 0.0 { (-1.0, "slower") } else { (1.0, "faster") };
        let percent = |logarithm: f64| sign * 100.0 * logarithm.exp_m1();
        let (one, other) = (percent(interval.lower), percent(interval.upper));
        format!(
            "{step}: {:.1} % {word} ({:.1}–{:.1} %) since {}",
            percent(magnitude),
            one.min(other),
            one.max(other),
            self.since
        )
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

impl<'a> Point<'a> {
    fn of(shift: &Shift<'a>) -> Self {
        let Change { magnitude, interval, p, adjusted_p, .. } = shift.change;
        Point {
            since: shift.since,
            ratio: magnitude.exp(),
            interval: [interval.lower.exp(), interval.upper.exp()],
            p,
            adjusted_p,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Format, Options};
    use crate::{fixture, history};

    /// Lines of changes that a planted history comes to, as `l.i0: … since pg183.x10a`.
    fn changes(levels: &[f64], seed: u64) -> Vec<String> {
        let (experiment, trials) = fixture::history(levels, 8, 0.005, seed);
        let report = Report::of(&experiment, &trials, None).unwrap();
        let lines = |course: &Course<'_>| -> Vec<String> {
            course.changes.iter().map(|shift| shift.line(course.label)).collect()
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
        let (experiment, trials) = fixture::history(&levels, 8, 0.005, 3);
        let print = |format| history(&experiment, &trials, None, format, &Options::default()).unwrap();
        insta::assert_snapshot!(print(Format::Text));
        insta::assert_snapshot!(print(Format::Json));
    }

    #[test]
    fn a_version_that_always_failed_is_passed_over() {
        let (experiment, mut trials) = fixture::history(&[0.0, 0.0, 0.0, -0.1, -0.1], 8, 0.005, 3);
        trials.retain(|trial| trial.candidate != "pg183.x10a");
        // One that failed once costs the others this round.
        trials.retain(|trial| trial.candidate != "pg182.x10a" || trial.place.round != 0);
        let report = Report::of(&experiment, &trials, Some("l.i0")).unwrap();
        let course = &report.courses[0];
        assert_eq!((course.rounds, course.ratios[3]), (7, None));
        assert_eq!(course.changes.len(), 1);
        assert_eq!(course.changes[0].since, "pg184.x10a", "the first version that shows it");
    }

    #[test]
    fn single_runs_are_read_in_the_compatibility_mode() {
        let levels: Vec<f64> = (0..20).map(|number| if number < 12 { 0.0 } else { -0.1 }).collect();
        let (mut experiment, trials) = fixture::history(&levels, 1, 0.0005, 5);
        experiment.schedule = None;
        let text = history(&experiment, &trials, Some("l.i0"), Format::Text, &Options::default()).unwrap();
        assert!(
            text.contains("NOTE: Each version was measured once. Single runs carry no verdict"),
            "{text}"
        );
        assert!(text.contains("since pg1812.x10a"), "{text}");
    }

    #[test]
    fn what_has_no_history_is_refused() {
        let (experiment, trials) = fixture::history(&[0.0, 0.0], 5, 0.005, 1);
        let refuse = |wanted: Option<&str>, trials: &[Trial]| {
            Report::of(&experiment, trials, wanted).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refuse(Some("l.i2"), &trials).contains("no step `l.i2`\nhint: did you mean `l.i"));
        assert!(refuse(None, &[]).contains("no step was measured on two candidates"));
        let (alone, trials) = fixture::history(&[0.0], 5, 0.005, 1);
        assert!(matches!(Report::of(&alone, &trials, None), Err(Error::Alone)));
    }
}
