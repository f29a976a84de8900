//! Every table of a report as values: the text and mark of each cell.

pub(crate) mod answer;
pub(crate) mod bisection;
pub(crate) mod builds;
pub(crate) mod compaction;
pub(crate) mod conduct;
pub(crate) mod configs;
pub(crate) mod connections;
pub(crate) mod debt;
pub(crate) mod dry_run;
pub(crate) mod events;
pub(crate) mod explanation;
pub(crate) mod fleet;
pub(crate) mod groups;
pub(crate) mod latency_ratio;
pub(crate) mod lines;
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod noise_floor;
pub(crate) mod purge_lag;
pub(crate) mod relative;
pub(crate) mod resources;
pub(crate) mod response_time;
pub(crate) mod roles;
pub(crate) mod run_noise;
pub(crate) mod running;
pub(crate) mod statements;
pub(crate) mod summary;
pub(crate) mod sweeps;
pub(crate) mod verdicts;
pub(crate) mod work;

use std::borrow::Cow;

use basecase_analysis::{Effect, Results};

use crate::words::EffectWords as _;
pub(crate) use crate::words::{NOT_AVAILABLE, grouped, number};

/// Shown if there is no value to compare.
pub(crate) const MISSING: &str = "–";
/// Shown for a failed trial.
pub(crate) const FAILED: &str = "failed";

/// The mark of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Highlight {
    /// No mark.
    #[default]
    None,
    /// In the best quarter of the column's range.
    TopQuarter,
    /// In the worst quarter of the column's range.
    BottomQuarter,
    /// Not to be compared, because the background writers missed their rate.
    Ignored,
    /// Better than the base case by more than the threshold.
    Better,
    /// Worse than the base case by more than the threshold.
    Worse,
    /// The background writers missed their rate.
    SlaFailed,
    /// Differs from the base case's value, though no config sets it.
    DefaultChanged,
    /// A step that waits for storage.
    IoBound,
}

impl Table {
    /// The table with `change` applied to the texts of headings and cells.
    pub(crate) fn map_text(&self, change: &dyn Fn(&str) -> String) -> Table {
        let columns = self.columns.iter().map(|column| Column {
            name: change(&column.name),
            meaning: change(&column.meaning),
            ..*column
        });
        let cells = |row: &Row| -> Vec<TableCell> {
            let cells = row.cells.iter();
            cells
                .map(|cell| TableCell { text: change(&cell.text), small: change(&cell.small), ..*cell })
                .collect()
        };
        let rows = self.rows.iter().map(|row| Row { name: change(&row.name), cells: cells(row), ..*row });
        Table {
            caption: change(&self.caption),
            reading: self.reading.clone(),
            key: self.key.iter().map(|line| change(line)).collect(),
            legend: self.legend.clone(),
            corner: self.corner,
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }
}

impl Highlight {
    /// The sign beside the number, so that no meaning depends on colour alone.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Highlight::None => "",
            Highlight::TopQuarter | Highlight::Better => "+",
            Highlight::BottomQuarter | Highlight::Worse => "-",
            Highlight::Ignored | Highlight::SlaFailed => "!",
            Highlight::DefaultChanged | Highlight::IoBound => "*",
        }
    }
}

/// One table. The first column, the name of each row, is not among `columns`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// What it shows, in one line.
    pub(crate) caption: String,
    /// How to read it, in a sentence or two; may be empty.
    pub(crate) reading: String,
    /// The meaning of columns with short headings, one line each.
    pub(crate) key: Vec<String>,
    /// The meaning of its marks.
    pub(crate) legend: Vec<(Highlight, String)>,
    /// Heading of the column of names.
    pub(crate) corner: &'static str,
    /// The other columns.
    pub(crate) columns: Vec<Column>,
    /// The rows.
    pub(crate) rows: Vec<Row>,
}

/// Heading of one column.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Column {
    /// The heading.
    pub(crate) name: String,
    /// What it means, unless the heading says so.
    pub(crate) meaning: String,
    /// Number of the step that the column shows.
    pub(crate) step: Option<usize>,
    /// Whether it contains words instead of numbers.
    pub(crate) words: bool,
    /// Whether it is left out where there is no room for it.
    pub(crate) aside: bool,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// One cell per column.
    pub(crate) cells: Vec<TableCell>,
    /// Number of the step that the row shows.
    pub(crate) step: Option<usize>,
    /// Whether it is a reference to compare with rather than a candidate.
    pub(crate) reference: bool,
}

impl Row {
    /// A candidate's or a fact's row.
    pub(crate) fn new(name: impl Into<String>, cells: Vec<TableCell>) -> Self {
        Row { name: name.into(), cells, ..Row::default() }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TableCell {
    /// What is printed.
    pub(crate) text: String,
    /// Small print beside it.
    pub(crate) small: String,
    /// Its mark.
    pub(crate) mark: Highlight,
    /// Its share of the row, 0 to 1, if shown as a shade.
    pub(crate) share: Option<f64>,
    /// Numbers of step and candidate of the trial whose throughput it is, if its sparkline is shown beside it.
    pub(crate) trial: Option<(usize, usize)>,
}

impl Column {
    /// A column of numbers.
    pub(crate) fn numbers(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Column { name: name.into(), meaning: meaning.into(), ..Column::default() }
    }

    /// A column of words.
    pub(crate) fn words(name: impl Into<String>) -> Self {
        Column { name: name.into(), words: true, ..Column::default() }
    }
}

impl TableCell {
    /// A cell without a mark.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        TableCell { text: text.into(), ..TableCell::default() }
    }

    /// The cell of a ratio with its interval.
    pub(crate) fn ratio(effect: &Effect) -> Self {
        TableCell { small: effect.ratio_interval(), ..TableCell::plain(effect.ratio_text()) }
    }

    /// The cell of an effect in per cent with its interval.
    pub(crate) fn percent(effect: Option<Effect>) -> Self {
        match effect {
            Some(effect) => {
                TableCell { small: effect.percent_interval(), ..TableCell::plain(effect.percent_text()) }
            }
            None => TableCell::plain(MISSING),
        }
    }

    /// A cell with a mark.
    pub(crate) fn marked(text: impl Into<String>, mark: Highlight) -> Self {
        TableCell { text: text.into(), mark, ..TableCell::default() }
    }

    /// Everything that is printed.
    pub(crate) fn line(&self) -> Cow<'_, str> {
        match self.small.as_str() {
            "" => Cow::Borrowed(&self.text),
            small => Cow::Owned(format!("{} {small}", self.text)),
        }
    }

    /// The same cell as the throughput of a trial.
    pub(crate) fn of_trial(self, step: usize, candidate: usize) -> Self {
        TableCell { trial: Some((step, candidate)), ..self }
    }
}

/// Names the candidate that a table is relative to.
pub(crate) fn relative_to(results: &Results<'_>) -> String {
    let base = results.experiment.candidates.first();
    base.map(|base| format!("Relative to: {}", base.name)).unwrap_or_default()
}

/// The cell of a trial that failed or is missing, or has no base case to compare with.
pub(crate) fn absent(results: &Results<'_>, step: usize, candidate: usize) -> TableCell {
    match results.trial(step, candidate) {
        Some(trial) if !trial.is_complete() => TableCell::plain(FAILED),
        _ => TableCell::plain(MISSING),
    }
}

/// The place of a candidate's explanation on the page of a step.
pub(crate) fn anchor(candidate: usize) -> String {
    format!("candidate-{candidate}")
}
