//! The page of one step of a history: levels of time and of work, and each change with its cause.

use basecase_analysis::{Causes, RankedChange, VersionHistory};
use basecase_model::StepFacts;
use maud::{Markup, html};

use super::{anchor, levels, shell};
use crate::formats::html::{table, work};
use crate::tables::{self, Column, Highlight, MISSING, Row, Table, TableCell};
use crate::words::{
    EffectWords as _, cause_of_change, causes, instructions, merged_note, operation_word, since, sizes,
    work_error, work_percent,
};

/// Changes whose functions or costs are told, the largest.
const TOLD: usize = 12;

pub(super) fn page(history: &VersionHistory<'_>, step: usize, facts: &StepFacts) -> Markup {
    let changes = history.changes_of(step);
    let times = history.steps.iter().find(|course| course.step == step);
    let counts = history.work.iter().find(|course| course.step == step);
    let content = html! {
        p.answer { strong { (answer(history, &changes)) } }
        @if let Some(chart) = times.and_then(|course| levels::of_time(history, course, &changes)) { (chart) }
        @if let Some(chart) = counts.and_then(|course| levels::of_work(history, course, &changes)) { (chart) }
        p.small { (READING) }
        @if !changes.is_empty() {
            section #changes {
                h2 { "Changes" }
                (table::of_experiment(history.experiment, &list(history, &changes)))
            }
            (sections(history, &changes))
        }
        section #versions {
            h2 { "Versions" }
            details {
                summary { "All " (history.versions.len()) " versions" }
                (table::of_experiment(history.experiment, &versions(history, step)))
            }
        }
    };
    shell(history, &facts.label, Some(facts), &content)
}

const READING: &str = "Each point is a version with its 95 % interval, if it has one. A band is a change: it lies between the last version without \
                       it and the first with it, blue where an operation became faster or needs less work, orange where it became slower or needs \
                       more.";

/// E.g. `2 changes; the largest is 5.8 % slower (5.7–5.9 %) since dev 2026-11-04.`
fn answer(history: &VersionHistory<'_>, changes: &[RankedChange<'_, '_>]) -> String {
    let largest = changes.iter().max_by(|one, other| one.size().total_cmp(&other.size()));
    let Some(largest) = largest else {
        return format!("No change was found over {} versions.", history.versions.len());
    };
    let size = sizes(largest).into_iter().flatten().collect::<Vec<_>>().join(", ");
    let line = format!("{size} {}", since(history, largest));
    match changes.len() {
        1 => format!("{line}."),
        count => format!("{count} changes; the largest is {line}."),
    }
}

/// A row for each change.
fn list(history: &VersionHistory<'_>, changes: &[RankedChange<'_, '_>]) -> Table {
    let has_time = changes.iter().any(|change| change.time.is_some());
    let has_work = changes.iter().any(|change| change.work.is_some());
    let row = |(number, change): (usize, &RankedChange<'_, '_>)| {
        let mark = if change.is_worse() { Highlight::Worse } else { Highlight::Better };
        let [time, work] = sizes(change)
            .map(|size| size.map_or_else(|| TableCell::plain(MISSING), |size| TableCell::marked(size, mark)));
        let mut cells = vec![TableCell::plain(since(history, change))];
        cells.extend([time].into_iter().filter(|_| has_time));
        cells.extend([work].into_iter().filter(|_| has_work));
        cells.push(TableCell::plain(cause_of_change(change).unwrap_or_else(|| "not known".to_owned())));
        Row::new(number.to_string(), cells)
    };
    let mut columns = vec![Column::words("where")];
    columns.extend([Column::words("time")].into_iter().filter(|_| has_time));
    columns.extend([Column::words("work")].into_iter().filter(|_| has_work));
    columns.push(Column::words("cause"));
    Table {
        caption: "In the order of versions".into(),
        corner: "change",
        columns,
        rows: (1..).zip(changes).map(row).collect(),
        ..Table::default()
    }
}

/// The largest changes, in the order of versions, with their numbers: those whose causes are told.
pub(super) fn told<'c, 'h, 'a>(
    changes: &'c [RankedChange<'h, 'a>],
) -> Vec<(usize, &'c RankedChange<'h, 'a>)> {
    let mut sizes: Vec<f64> = changes.iter().map(RankedChange::size).collect();
    sizes.sort_by(|one, other| other.total_cmp(one));
    let least = sizes.get(TOLD - 1).copied().unwrap_or(0.0);
    (1..).zip(changes).filter(|(_, change)| change.size() >= least).collect()
}

/// Their causes.
fn sections(history: &VersionHistory<'_>, changes: &[RankedChange<'_, '_>]) -> Markup {
    html! {
        @for (number, change) in told(changes) {
            section.change-facts id=(anchor(number)) {
                h2 { (number) ": " (since(history, change)) }
                p { (sizes(change).into_iter().flatten().collect::<Vec<_>>().join(", ")) "." }
                @if let Some(causes) = change.work.and_then(|work| work.causes.as_ref()) {
                    (functions(history, causes, change))
                }
                (costs(change))
            }
        }
    }
}

/// The functions behind a change of work.
fn functions(history: &VersionHistory<'_>, causes: &Causes<'_>, change: &RankedChange<'_, '_>) -> Markup {
    let [before, version] = [change.work.map_or(change.before, |work| work.shift.before), change.version]
        .map(|version| history.versions.get(version).map_or("", String::as_str));
    let caption = format!("Functions whose work changed from {before} to {version}");
    html! {
        (work::drawing(causes))
        @if let Some(found) = tables::work::movers(causes, caption, operation_word(None)) {
            (table::of_experiment(history.experiment, &found))
        }
        @if let Some(note) = merged_note(causes) { p { (note) } }
    }
}

/// The costs that moved with the time.
fn costs(change: &RankedChange<'_, '_>) -> Markup {
    let lines = change.time.and_then(|shift| shift.explanation.as_ref()).map(causes).unwrap_or_default();
    html! {
        @if !lines.is_empty() {
            p { "What moved with the time, the likeliest cause first:" }
            ul { @for line in &lines { li { (line) } } }
        }
    }
}

/// The levels of all versions.
fn versions(history: &VersionHistory<'_>, step: usize) -> Table {
    let times = history.steps.iter().find(|course| course.step == step);
    let counts = history.work.iter().find(|course| course.step == step);
    let missing = || TableCell::plain(MISSING);
    let row = |(version, name): (usize, &String)| {
        let mut cells = Vec::new();
        if let Some(course) = times {
            let effect = course.ratios.get(version).copied().flatten();
            cells.push(effect.map_or_else(missing, |effect| {
                let interval = effect.interval.map(|_| effect.percent_interval()).unwrap_or_default();
                TableCell { small: interval, ..TableCell::plain(effect.percent_text()) }
            }));
        }
        if let Some(course) = counts {
            let count = course.instructions.get(version).copied().flatten();
            let effect = course.ratios.get(version).copied().flatten();
            cells.push(count.map_or_else(missing, |count| TableCell::plain(instructions(count))));
            cells.push(effect.map_or_else(missing, |effect| {
                let error = effect.interval.map(|_| work_error(&effect)).unwrap_or_default();
                TableCell { small: error, ..TableCell::plain(work_percent(&effect)) }
            }));
        }
        Row { reference: version == 0, ..Row::new(name, cells) }
    };
    let mut columns = Vec::new();
    columns.extend(times.map(|_| Column::numbers("throughput %", "difference from the first version")));
    columns.extend(counts.map(|_| Column::numbers("instructions", "per operation")));
    columns.extend(counts.map(|_| Column::numbers("work %", "difference from the first version")));
    Table {
        caption: "Levels relative to the first version".into(),
        corner: "version",
        columns,
        rows: history.versions.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}
