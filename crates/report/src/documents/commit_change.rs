//! A change that began with a commit: what it is, what it costs, and why.

use basecase_analysis::{Bisected, Causes, Confirmation, Found, Reversal};
use basecase_model::{Commit, OperationClass};
use basecase_stats::{BisectedChange, ChangeKind, Verdict};

use crate::documents::Block;
use crate::tables::{self, Table};
use crate::words::{EffectWords as _, first, operation_word, short_name, size_of_change, verdict};

/// How many files of a commit are named.
const FILES: usize = 8;

/// What is known of a change beyond its line.
pub(crate) fn blocks(bisected: &Bisected<'_>, number: usize, change: &BisectedChange) -> Vec<Block> {
    let mut blocks = Vec::new();
    if commit(bisected, change).is_some() {
        blocks.push(Block::Heading(heading(bisected, change)));
        blocks.push(Block::List(facts(bisected, number, change)));
    }
    blocks.extend(functions(bisected, number, change).map(Block::Table));
    blocks
}

/// The commit with which a change began, if that is known.
fn commit<'a>(bisected: &Bisected<'a>, change: &BisectedChange) -> Option<&'a Commit> {
    bisected.commit(change.since).filter(|_| change.kind == ChangeKind::Began)
}

/// E.g. `c21727c5 Check the halt more carefully`, or where the change lies between.
pub(crate) fn heading(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    match commit(bisected, change) {
        Some(commit) => format!("{} {}", commit.short(), commit.subject),
        None => {
            let [before, since] =
                [change.before, change.since].map(|candidate| short_name(bisected, candidate));
            format!("From {before} to {since}")
        }
    }
}

/// The functions behind a change of work: of parent and child compiled anew if there are such, or else as they were found.
pub(crate) fn causes<'a>(
    bisected: &'a Bisected<'_>,
    number: usize,
    change: &BisectedChange,
) -> Option<Causes<'a>> {
    let Found::Work(counts) = &bisected.found else { return None };
    let anew = bisected.confirmations.get(&number).and_then(|confirmation| confirmation.work.as_ref());
    anew.and_then(|work| work.causes(0, 1)).or_else(|| counts.causes(change.before, change.since))
}

/// The same as a table.
pub(crate) fn functions(bisected: &Bisected<'_>, number: usize, change: &BisectedChange) -> Option<Table> {
    let [before, since] = [change.before, change.since].map(|candidate| short_name(bisected, candidate));
    let caption = format!("From {before} to {since}");
    let causes = causes(bisected, number, change)?;
    tables::work::movers(&causes, caption, operation_word(operation(bisected)))
}

/// What one operation is, if it was counted.
pub(crate) fn operation(bisected: &Bisected<'_>) -> Option<OperationClass> {
    match &bisected.found {
        Found::Throughput(_) => None,
        Found::Work(counts) => counts.operation(),
    }
}

/// The commit, and what parent and child say when they are measured again. Empty where no commit is known.
pub(crate) fn facts(bisected: &Bisected<'_>, number: usize, change: &BisectedChange) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(commit) = commit(bisected, change) {
        lines.push(format!("commit {} by {}, {}", commit.hash, commit.author, commit.author_date));
        if !commit.tags.is_empty() {
            lines.push(format!("tags: {}", commit.tags.join(", ")));
        }
        if let Some(effect) = bisected.effect(change) {
            lines.push(format!("found: {}", size_of_change(bisected, &effect)));
        }
    }
    let Some(confirmation) = bisected.confirmations.get(&number) else { return lines };
    if !confirmation.files.is_empty() {
        lines.push(format!("files: {}", first(&confirmation.files, FILES)));
    }
    if let Some(effect) = confirmation.work.as_ref().and_then(|work| work.effect(0, 1)) {
        lines.push(format!("counted again, both compiled anew: {}", effect.work_difference()));
    }
    lines.extend(in_time(confirmation));
    if let Some(reversal) = reversal(bisected, confirmation) {
        lines.push(reversal);
    }
    match touched(confirmation) {
        Some(names) => lines.push(format!("functions that changed their work and that it touches: {names}")),
        None if confirmation.work.is_some() => {
            lines.push("it touches none of the functions that changed their work most".to_owned());
        }
        None => {}
    }
    lines
}

/// What rounds of parent and child say, and whether they agree with the counts.
fn in_time(confirmation: &Confirmation<'_>) -> Option<String> {
    let time = confirmation.time.as_ref()?;
    let said = match (time.verdict().is_change(), time.effect()) {
        (true, Some(effect)) => effect.difference(),
        _ => verdict(&time.decision, time.round_s),
    };
    let work = confirmation.work.as_ref().and_then(|work| work.effect(0, 1));
    let is_against = match (work, time.effect()) {
        (Some(work), Some(time)) => (work.ratio > 1.0) == (time.ratio > 1.0),
        _ => false,
    };
    let remark = match time.verdict() {
        _ if work.is_none() => "",
        Verdict::NoChange => "; the change of work is not confirmed by time",
        change if change.is_change() && is_against => "; time and work contradict each other",
        _ => "",
    };
    Some(format!("in time: {said}{remark}"))
}

/// How much of the whole the commit explains, by the end of the range without it.
fn reversal(bisected: &Bisected<'_>, confirmation: &Confirmation<'_>) -> Option<String> {
    match confirmation.reversal.as_ref()? {
        Reversal::Impossible(reason) => {
            Some(format!("it cannot be taken back alone where the range ends: {reason}"))
        }
        Reversal::Done { work } => {
            let work = work.as_ref()?;
            let last = bisected.candidates.len().saturating_sub(1);
            let whole = bisected.level(last)?.ratio.ln();
            let share = -work.ratio.ln() / whole;
            let of_whole = if bisected.bisection.changes().len() == 1 || share.abs() < 10.0 {
                format!(", {:.0} % of the whole change", share * 100.0)
            } else {
                String::new()
            };
            Some(format!("taken back where the range ends: {}{of_whole}", work.work_difference()))
        }
    }
}

fn touched(confirmation: &Confirmation<'_>) -> Option<String> {
    let names: Vec<String> = confirmation.touched.iter().cloned().collect();
    (!names.is_empty()).then(|| first(&names, FILES))
}
