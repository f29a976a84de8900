//! What a bisection found as a bug report that can be posted as it stands.

use std::collections::BTreeSet;

use basecase_analysis::{Bisected, Effect, Found};
use basecase_model::{BuildFacts, Experiment};
use basecase_stats::{BisectedChange, BisectionEnd, ChangeKind};

use super::bisection::{Skipped, changes, line, reading, sentence, skipped, state};
use super::commit_change::{facts, functions, heading, operation};
use crate::documents::Block;
use crate::tables::bisection::table;
use crate::tables::{Column, Table, TableCell};
use crate::words::{EffectWords as _, brief_reason, operation_word, percent_text, repetition, short_name};

/// The report. `experiment` is one of those that the search measured.
pub(crate) fn compose(bisected: &Bisected<'_>, experiment: &Experiment) -> Vec<Block> {
    let found = bisected.bisection.changes();
    let mut blocks = vec![Block::Title(title(bisected)), Block::Paragraph(sentence(bisected))];
    let lines = changes(bisected);
    if lines.len() > 1 {
        blocks.push(Block::List(lines));
    }
    blocks.extend(unexplained(bisected).map(Block::Paragraph));
    for (number, change) in found.iter().enumerate() {
        blocks.extend(change_blocks(bisected, number, change));
    }
    blocks.push(Block::Heading("Builds and machine".into()));
    blocks.push(Block::List(vec![builds(experiment), machine(experiment)]));
    blocks.push(Block::Heading("To repeat it".into()));
    blocks.push(Block::Log(commands(bisected, experiment).join("\n")));
    blocks.push(Block::Heading("How it was searched".into()));
    blocks.extend(state(bisected).map(Block::Paragraph));
    blocks.push(Block::Paragraph(reading(bisected)));
    let reasons: Vec<String> = skipped(bisected)
        .iter()
        .map(|Skipped { names, reason }| format!("skipped {names}: {}", brief_reason(reason)))
        .collect();
    if !reasons.is_empty() {
        blocks.push(Block::List(reasons));
    }
    blocks.push(Block::Table(table(bisected)));
    blocks
}

/// E.g. `2.46 % more work per query in range-covered-pk since 5a0e1f33`.
fn title(bisected: &Bisected<'_>) -> String {
    let label = bisected.label;
    let last = bisected.candidates.len().saturating_sub(1);
    let [from, to] = [0, last].map(|candidate| short_name(bisected, candidate));
    match bisected.bisection.changes() {
        [change] => {
            let [before, since] = [change.before, change.since].map(|number| short_name(bisected, number));
            let place = match change.kind {
                ChangeKind::Began => format!("since {since}"),
                ChangeKind::Unbuilt | ChangeKind::Undecided(_) => format!("between {before} and {since}"),
            };
            let size = bisected.effect(change).map(|effect| size(bisected, &effect)).unwrap_or_default();
            format!("{size} in {label} {place}")
        }
        [] => match (bisected.bisection.end(), bisected.bisection.whole().and_then(|_| bisected.level(last)))
        {
            (None, Some(whole)) => format!("{} in {label} from {from} to {to}", size(bisected, &whole)),
            (Some(BisectionEnd::Unchanged | BisectionEnd::Found), _) => {
                format!("No change in {label} from {from} to {to}")
            }
            _ => format!("Undecided: {label} from {from} to {to}"),
        },
        several => {
            let whole = bisected.level(last).map(|effect| format!(", in all {}", size(bisected, &effect)));
            let whole = whole.unwrap_or_default();
            format!("{} changes in {label} from {from} to {to}{whole}", several.len())
        }
    }
}

/// The size of a change, e.g. `2.46 % more work per query`.
fn size(bisected: &Bisected<'_>, effect: &Effect) -> String {
    match bisected.found {
        Found::Throughput(_) => effect.size(),
        Found::Work(_) => format!("{} per {}", effect.work_size(), operation_word(operation(bisected))),
    }
}

/// What the changes do not account for of the difference of first and last; `None` if no change was found.
pub(crate) fn unexplained(bisected: &Bisected<'_>) -> Option<String> {
    let found = bisected.bisection.changes();
    let last = bisected.candidates.len().saturating_sub(1);
    let whole = bisected.level(last).filter(|_| !found.is_empty())?.ratio;
    let explained: f64 = found
        .iter()
        .map(|change| bisected.effect(change))
        .map(|effect| effect.map(|one| one.ratio))
        .product::<Option<f64>>()?;
    let [all, by_changes, rest] = [whole, explained, whole / explained].map(|ratio| percent_text(ratio, 2));
    let what = if found.len() == 1 { "the change" } else { "the changes together" };
    let [from, to] = [0, last].map(|candidate| short_name(bisected, candidate));
    let measure = match bisected.found {
        Found::Throughput(_) => "throughput",
        Found::Work(_) => "work",
    };
    Some(format!(
        "From {from} to {to} the {measure} differs by {all} %: {what} {by_changes} %, unexplained {rest} %."
    ))
}

/// The facts of a change and its functions.
fn change_blocks(bisected: &Bisected<'_>, number: usize, change: &BisectedChange) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(heading(bisected, change))];
    let facts = facts(bisected, number, change);
    blocks.push(match facts.is_empty() {
        true => Block::Paragraph(format!("{}.", line(bisected, change))),
        false => Block::List(facts),
    });
    let empty = BTreeSet::new();
    let touched = bisected.confirmations.get(&number).map_or(&empty, |confirmation| &confirmation.touched);
    blocks.extend(functions(bisected, number, change).map(|table| Block::Table(short(table, touched))));
    blocks
}

/// The table without the columns that are for a page, and with the functions that the commit touches.
fn short(mut table: Table, touched: &BTreeSet<String>) -> Table {
    let aside: Vec<bool> = table.columns.iter().map(|column| column.aside && column.name != "note").collect();
    for row in &mut table.rows {
        let mut places = aside.iter();
        row.cells.retain(|_| places.next() == Some(&false));
        if !touched.is_empty() {
            row.cells.push(TableCell::plain(if touched.contains(&row.name) { "yes" } else { "" }));
        }
    }
    table.columns.retain(|column| !column.aside || column.name == "note");
    if !touched.is_empty() {
        table.columns.push(Column::words("touched by the commit"));
    }
    table
}

/// What was measured, and how it was compiled.
pub(crate) fn builds(experiment: &Experiment) -> String {
    let each = |of: &dyn Fn(&BuildFacts) -> String| {
        let mut told: Vec<String> = Vec::new();
        for candidate in &experiment.candidates {
            let text = of(&candidate.build);
            if !told.contains(&text) {
                told.push(text);
            }
        }
        told.join(" and ")
    };
    let versions = each(&|build| format!("{} {}", build.dbms, build.version));
    let compiled = each(&|build| {
        let compiler = build.compiler.as_deref().unwrap_or("unknown compiler");
        format!("{compiler} {}", build.flags.as_deref().unwrap_or("with unknown flags"))
    });
    let config = experiment.candidates.first().map_or("", |candidate| &candidate.config.name);
    format!("{versions}, compiled by {compiled}, config {config}")
}

/// The machine.
pub(crate) fn machine(experiment: &Experiment) -> String {
    let host = &experiment.host;
    let gib = host.memory_bytes as f64 / (1_u64 << 30) as f64;
    format!(
        "{}, {} processors, {gib:.1} GiB, {}, kernel {}, basecase {}",
        host.cpu_model, host.cores, host.os, host.kernel, experiment.basecase_version
    )
}

/// The search, and each change's two candidates again.
pub(crate) fn commands(bisected: &Bisected<'_>, experiment: &Experiment) -> Vec<String> {
    // Another command may have begun the experiment.
    let search = Some(&experiment.command).filter(|command| command.starts_with("basecase bisect "));
    let mut commands: Vec<String> = search.cloned().into_iter().collect();
    for change in bisected.bisection.changes() {
        commands.extend(repetition(bisected, &experiment.command, [change.before, change.since]));
    }
    commands
}

#[cfg(test)]
mod tests {
    use crate::formats;
    use crate::invented::{InventedRounds, InventedWork, STEP};

    use super::*;

    fn by_work(search: &InventedWork) -> String {
        formats::markdown(&compose(&search.bisected(), search.last_probe().0))
    }

    fn title_of(search: &InventedWork) -> String {
        by_work(search).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn two_changes_with_a_commit_that_does_not_compile() {
        let search = InventedWork::of_commits(&[0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2], &[6], 100);
        insta::assert_snapshot!(by_work(&search));
    }

    #[test]
    fn titles_say_what_is_known() {
        let of_commits = |broken: &[usize], most| InventedWork::of_commits(&[0, 0, 0, 1, 1, 1], broken, most);
        let titles = [
            title_of(&of_commits(&[], 100)),
            title_of(&of_commits(&[2, 3], 100)),
            title_of(&of_commits(&[], 1)),
            title_of(&of_commits(&[], 0)),
            title_of(&InventedWork::search(STEP, &[0, 1, 0], &[], 100)),
        ];
        insta::assert_snapshot!(titles.join("\n"));
    }

    #[test]
    fn a_change_of_throughput_among_candidates_that_are_no_commits() {
        let search = InventedRounds::search(&[0.0, 0.0, -0.06, -0.06]);
        insta::assert_snapshot!(formats::markdown(&compose(&search.bisected(), &search.last_probe().0)));
    }
}
