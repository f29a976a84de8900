//! A series of versions as Apache Otava reads it from CSV: a row for each version, and a column for each metric of a step.
//!
//! <https://github.com/apache/otava/blob/master/docs/CSV.md> tells how it is read. Otava refuses a metric that is not a number in some row, and takes changes at
//! the same second for one.

use basecase_analysis::{Results, VersionHistory};
use jiff::Timestamp;

use super::ExportFormat;
use super::csv::{number, quoted};
use crate::error::Error;
use crate::export::Export;
use crate::words::first;

/// The candidates of an experiment, in their order, as a series.
pub(super) const FORMAT: ExportFormat =
    ExportFormat { name: "otava", render: |results| of_results(results).export() };

/// A column is left out if more than one in so many versions lack it.
const MOST_LACK: usize = 10;
/// How many columns or rows that were left out are named.
const NAMED: usize = 5;

/// Versions in their order, and their metrics.
struct Series<'a> {
    versions: Vec<Version<'a>>,
    columns: Vec<Column>,
}

struct Version<'a> {
    /// RFC 3339.
    began: &'a str,
    candidate: &'a str,
    commit: Option<&'a str>,
}

/// A metric of a step, with the value of each version.
struct Column {
    name: String,
    values: Vec<Option<f64>>,
}

/// A history as a series. Without the base case if experiments of many dates are joined, because it stands for none of them.
pub(crate) fn render_history(history: &VersionHistory<'_>) -> Result<Export, Error> {
    let first = usize::from(history.joined.is_some());
    let version = |((candidate, began), commit)| Version { began, candidate, commit };
    let names = history.versions.iter().map(String::as_str);
    let versions = names.zip(history.since.iter().copied()).zip(history.commits.iter().copied());
    let name = |step: usize, metric: &str| {
        let facts = history.experiment.steps.get(step);
        format!("{}.{metric}", facts.map_or("", |facts| facts.name.as_str()))
    };
    let throughput = history.steps.iter().map(|step| Column {
        name: name(step.step, "relative_throughput"),
        values: step.ratios.iter().skip(first).map(|effect| effect.map(|effect| effect.ratio)).collect(),
    });
    let instructions = history.work.iter().map(|step| Column {
        name: name(step.step, "instructions"),
        values: step.instructions.iter().skip(first).copied().collect(),
    });
    Series {
        versions: versions.map(version).skip(first).collect(),
        columns: throughput.chain(instructions).collect(),
    }
    .export()
}

fn of_results<'a>(results: &Results<'a>) -> Series<'a> {
    let candidates = || results.candidates().map(|(candidate, _)| candidate);
    let column = |step: usize, metric: &str, value: &dyn Fn(usize) -> Option<f64>| Column {
        name: format!("{}.{metric}", results.experiment.steps[step].name),
        values: candidates().map(value).collect(),
    };
    let throughput = |(step, _)| {
        let value =
            |candidate| results.headline(step, candidate).filter(|_| !results.missed_sla(step, candidate));
        column(step, "throughput", &value)
    };
    let instructions = |(step, _)| {
        column(step, "instructions", &|candidate| results.counts?.cell(step, candidate)?.instructions())
    };
    let version = |(_, facts): (usize, &'a basecase_model::CandidateFacts)| Version {
        began: &results.experiment.created_at,
        candidate: &facts.name.0,
        commit: facts.build.commit(),
    };
    let timed: Vec<Column> = results.compared_steps().map(throughput).collect();
    // Counts need no times.
    let has_times = timed.iter().any(Column::is_known);
    let counted = results.compared_steps().map(instructions).filter(Column::is_known);
    Series {
        versions: results.candidates().map(version).collect(),
        columns: timed.into_iter().filter(|_| has_times).chain(counted).collect(),
    }
}

impl Series<'_> {
    /// As CSV in which each row has each metric: without columns that many versions lack, then without versions that lack one of the rest.
    fn export(self) -> Result<Export, Error> {
        let versions = self.versions.len();
        let is_usual = |column: &Column| MOST_LACK * (versions - column.known().count()) <= versions;
        let (columns, rare): (Vec<Column>, Vec<Column>) = self.columns.into_iter().partition(is_usual);
        let is_whole = |row: &usize| columns.iter().all(|column| column.value(*row).is_some());
        let (rows, broken): (Vec<usize>, Vec<usize>) = (0..versions).partition(is_whole);
        if columns.is_empty() || rows.is_empty() {
            return Err(Error::NothingToExport);
        }
        let rare: Vec<String> = rare.into_iter().map(|column| column.name).collect();
        let broken: Vec<&str> = broken.into_iter().map(|row| self.versions[row].candidate).collect();
        let header = ["time", "candidate", "commit"].map(str::to_owned).into_iter();
        let mut text = line(header.chain(columns.iter().map(|column| column.name.clone())));
        let times = times(rows.iter().map(|row| self.versions[*row].began));
        for (row, time) in rows.iter().zip(times) {
            let Version { candidate, commit, .. } = self.versions[*row];
            let attributes = [time, candidate.to_owned(), commit.unwrap_or_default().to_owned()];
            text.push_str(&line(
                attributes.into_iter().chain(columns.iter().map(|column| number(column.value(*row)))),
            ));
        }
        let left_out = [
            ("columns that more than a tenth of the versions have no value of", first(&rare, NAMED)),
            ("versions that have no value of some column", first(&broken, NAMED)),
        ];
        let notes = left_out.into_iter().filter(|(_, names)| !names.is_empty());
        let note = |(what, names): (&str, String)| {
            format!(
                "left out: {what}: {names}\nhint: Otava needs a number in every field; --format json has all that is known"
            )
        };
        Ok(Export { text, notes: notes.map(note).collect() })
    }
}

impl Column {
    fn value(&self, row: usize) -> Option<f64> {
        self.values.get(row).copied().flatten().filter(|value| value.is_finite())
    }

    /// Whether some version has a value.
    fn is_known(&self) -> bool {
        self.known().next().is_some()
    }

    fn known(&self) -> impl Iterator<Item = f64> {
        (0..self.values.len()).filter_map(|row| self.value(row))
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field).into_owned()).collect();
    format!("{}\r\n", fields.join(","))
}

/// When versions began in whole seconds, each after the one before it.
fn times<'a>(began: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut last = i64::MIN;
    let time = |began: &str| {
        let second = began.parse::<Timestamp>().map_or(0, Timestamp::as_second);
        last = second.max(last.saturating_add(1));
        Timestamp::from_second(last).map(|time| time.to_string()).unwrap_or_default()
    };
    began.map(time).collect()
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counts, JudgedExperiment, Rounds, fixture};

    use super::*;

    /// The rows of a series, the header first.
    fn rows(export: &Export) -> Vec<Vec<&str>> {
        export.text.split_terminator("\r\n").map(|row| row.split(',').collect()).collect()
    }

    #[test]
    fn candidates_are_rows_in_their_order_a_second_apart() {
        let (mut experiment, trials, counted) = fixture::counted_in_rounds();
        let hash = "5a0e1f3c".repeat(5);
        experiment.candidates[1].build.artifact = format!("postgres@{hash}");
        let (rounds, counts) = (Rounds::of(&experiment, &trials), Counts::of(&experiment, &counted));
        let results = Results::of(&experiment, &trials, rounds.as_ref()).counting(counts.as_ref());
        let export = of_results(&results).export().unwrap();
        let rows = rows(&export);
        let step = &experiment.steps[1].name;
        assert_eq!(rows[0][..3], ["time", "candidate", "commit"]);
        let column = rows[0].iter().position(|name| *name == format!("{step}.throughput")).unwrap();
        assert!(rows[0].contains(&format!("{step}.instructions").as_str()), "{:?}", rows[0]);
        assert_eq!(
            rows[1..].iter().map(|row| row[1]).collect::<Vec<_>>(),
            experiment.candidates.iter().map(|one| one.name.0.as_str()).collect::<Vec<_>>()
        );
        assert_eq!((rows[1][2], rows[2][2]), ("", hash.as_str()));
        assert_eq!(rows[2][column].parse(), Ok(results.headline(1, 1).unwrap()));
        assert!(rows.windows(2).skip(1).all(|pair| pair[0][0] < pair[1][0]), "{rows:?}");
    }

    #[test]
    fn nights_are_rows_and_the_base_case_is_none() {
        let nights = fixture::nights(12, 4).into_iter();
        let mut nights: Vec<JudgedExperiment> = nights.map(JudgedExperiment::from).collect();
        let chosen = nights.pop().unwrap();
        let export = crate::export_history(&chosen, Some(&nights), None).unwrap();
        let rows = rows(&export);
        // One night had the build of the one before.
        assert_eq!(rows.len(), 1 + 11, "{}", export.text);
        assert_eq!(rows[1][..2], ["2025-07-01T03:00:00Z", "dev.z12a 2025-07-01"]);
        assert!(
            rows[0][3].ends_with(".relative_throughput")
                && rows[0].last().unwrap().ends_with(".instructions")
        );
    }

    #[test]
    fn every_field_has_a_number_and_what_is_left_out_is_told() {
        let names = ["v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"];
        let column = |name: &str, value: &dyn Fn(usize) -> Option<f64>| Column {
            name: name.into(),
            values: (0..names.len()).map(value).collect(),
        };
        let version = |candidate| Version { began: "2026-01-01T00:00:00.5Z", candidate, commit: None };
        let series = |columns| Series { versions: names.map(version).into(), columns };
        let export = series(vec![
            column("x", &|version| Some(version as f64 / 2.0).filter(|_| version != 1)),
            column("y", &|version| Some(version as f64)),
            column("rare", &|version| Some(if version < 2 { f64::NAN } else { 9.0 })),
            column("none", &|_| None),
        ])
        .export()
        .unwrap();
        let rows = rows(&export);
        assert_eq!(rows[0], ["time", "candidate", "commit", "x", "y"]);
        assert_eq!(rows[1], ["2026-01-01T00:00:00Z", "v0", "", "0", "0"]);
        assert_eq!(rows[2], ["2026-01-01T00:00:01Z", "v2", "", "1", "2"]);
        assert_eq!((rows.len(), export.notes.len()), (10, 2));
        assert!(export.notes[0].contains("no value of: rare, none\nhint: "), "{:?}", export.notes);
        assert!(export.notes[1].contains("some column: v1\n"), "{:?}", export.notes);
        assert!(matches!(series(Vec::new()).export(), Err(Error::NothingToExport)));
    }
}
