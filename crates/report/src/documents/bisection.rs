//! The result of a bisection: the candidates or commits at which a step changed.

use basecase_analysis::{Bisected, BisectedCounts, CandidateState, Effect, Found};
use basecase_model::Commit;
use basecase_stats::{BisectedChange, BisectionEnd, ChangeKind, WorkVerdict};

use super::commit_change;
use crate::documents::Block;
use crate::tables::{Column, Highlight, Row, Table, TableCell};
use crate::words::{
    EffectWords as _, caption, instructions, largest_mover, margin, operation_word, verdict, work_error,
    work_percent,
};

/// The report for people.
pub(crate) fn compose(bisected: &Bisected<'_>) -> Vec<Block> {
    let mut blocks =
        vec![Block::Title(format!("Bisection: {}", bisected.label)), Block::Paragraph(sentence(bisected))];
    let lines = changes(bisected);
    if lines.len() > 1 {
        blocks.push(Block::List(lines));
    }
    blocks.extend(state(bisected).map(Block::Paragraph));
    for (number, change) in bisected.bisection.changes().iter().enumerate() {
        blocks.extend(commit_change::blocks(bisected, number, change));
    }
    blocks.push(Block::Table(table(bisected)));
    blocks.push(Block::Paragraph(reading(bisected)));
    blocks
}

/// The result, e.g. `102.8 % faster (101.1–104.5 %) since postgres:17.11. …`.
pub(crate) fn sentence(bisected: &Bisected<'_>) -> String {
    let last = bisected.candidates.len().saturating_sub(1);
    let (first_name, last_name) = (named(bisected, 0), named(bisected, last));
    match bisected.bisection.end() {
        Some(BisectionEnd::Unchanged) => {
            return format!("{last_name} does not differ from {first_name}: {}.", decided(bisected, last));
        }
        Some(BisectionEnd::NoEnd(end)) => {
            let reason = bisected.skipped.get(&end).map_or("it was not measured", String::as_str);
            return format!("{} cannot be measured: {reason}.", named(bisected, end));
        }
        Some(BisectionEnd::Open) | None if bisected.bisection.whole().is_none() => {
            let words = decided(bisected, last);
            return format!(
                "Whether {last_name} differs from {first_name} is not decided: {words}. {}",
                go_on(bisected)
            );
        }
        _ => {}
    }
    let lines = changes(bisected);
    let whole = bisected.level(last).map(|effect| size(bisected, &effect)).unwrap_or_default();
    let unfinished = match bisected.bisection.open()[..] {
        [] => String::new(),
        _ => format!(" The search is not finished. {}", go_on(bisected)),
    };
    match (&lines[..], bisected.bisection.changes()) {
        ([], _) if unfinished.is_empty() => {
            format!("No change was found from {first_name} to {last_name}, which differ by this: {whole}.")
        }
        ([], _) => format!("{last_name} differs from {first_name}: {whole}.{unfinished}"),
        ([line], [change]) => {
            let before = named(bisected, change.before);
            let is_like_first =
                change.kind == ChangeKind::Began && change.before > 0 && unfinished.is_empty();
            let like = if is_like_first { format!(" {before} is like {first_name}.") } else { String::new() };
            format!("{line}.{like}{unfinished}")
        }
        _ => format!("{} changes from {first_name} to {last_name}, in all {whole}.{unfinished}", lines.len()),
    }
}

/// Each change in one line.
fn changes(bisected: &Bisected<'_>) -> Vec<String> {
    bisected.bisection.changes().iter().map(|change| line(bisected, change)).collect()
}

fn line(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    let effect = bisected.effect(change).map(|effect| size(bisected, &effect)).unwrap_or_default();
    let [before, since] = [change.before, change.since].map(|candidate| named(bisected, candidate));
    match change.kind {
        ChangeKind::Began => format!("{effect} since {since}{}", by(bisected, change)),
        ChangeKind::Unbuilt => {
            let between = change.since - change.before - 1;
            let tried =
                bisected.skipped.keys().filter(|one| change.before < **one && **one < change.since).count();
            format!(
                "{effect} after {before}, and no later than {since}: {tried} of the {between} between them cannot be had, and the others were not tried{}",
                by(bisected, change)
            )
        }
        ChangeKind::Undecided(candidate) => format!(
            "{effect} after {before}, and no later than {since}: {} is not decided, {}. {}",
            named(bisected, candidate),
            decided(bisected, candidate),
            go_on(bisected)
        ),
    }
}

/// The function that accounts for most of a change of work.
fn by(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    let Found::Work(counts) = &bisected.found else { return String::new() };
    let mover = counts.causes(change.before, change.since).as_ref().and_then(largest_mover);
    mover.map(|mover| format!(", most by {mover}")).unwrap_or_default()
}

/// The size of a change, in time or work.
pub(super) fn size(bisected: &Bisected<'_>, effect: &Effect) -> String {
    match bisected.found {
        Found::Throughput(_) => effect.difference(),
        Found::Work(_) => effect.work_difference(),
    }
}

/// A candidate as it is called in sentences: of a commit its tag or hash, and what it is about.
pub(super) fn named(bisected: &Bisected<'_>, candidate: usize) -> String {
    bisected.commit(candidate).map_or_else(|| bisected.name(candidate).to_owned(), named_commit)
}

fn named_commit(commit: &Commit) -> String {
    if commit.tags.is_empty() {
        format!("{} \"{}\"", commit.short(), commit.subject)
    } else {
        commit.name().to_owned()
    }
}

/// How many builds it took, and what is skipped.
fn state(bisected: &Bisected<'_>) -> Option<String> {
    let (made, failed) = bisected.builds?;
    let measured = (0..bisected.candidates.len()).filter(|one| bisected.is_measured(*one)).count();
    let skipped = match failed {
        0 => String::new(),
        1 => " 1 commit was skipped, because it cannot be built or measured.".to_owned(),
        failed => format!(" {failed} commits were skipped, because they cannot be built or measured."),
    };
    let between = bisected.candidates.len().saturating_sub(1);
    Some(format!(
        "{measured} of {between} commits and the one before them were measured; {made} were compiled for it.{skipped}"
    ))
}

/// What is decided of a candidate compared with the first.
fn decided(bisected: &Bisected<'_>, candidate: usize) -> String {
    match &bisected.found {
        Found::Throughput(_) => bisected.probed(candidate).map_or_else(
            || "trials failed, so there is no round".to_owned(),
            |probed| verdict(&probed.decision, probed.round_s),
        ),
        Found::Work(counts) => {
            let failure = [candidate, 0].into_iter().find_map(|one| counts.cell(one)?.failure());
            match (failure, counts.decision(0, candidate)) {
                (Some(failure), _) => format!("it could not be counted: {failure}"),
                (None, None) => "it was not counted".to_owned(),
                (None, Some(decision)) if decision.verdict == WorkVerdict::SameWork => {
                    format!("the same work, within {}", margin(counts.margin()))
                }
                (None, Some(decision)) => match Effect::of_work(&decision) {
                    effect if decision.verdict.is_change() => effect.work_difference(),
                    effect => {
                        format!("{}, {} {} %", decision.verdict, work_percent(&effect), work_error(&effect))
                    }
                },
            }
        }
    }
}

fn table(bisected: &Bisected<'_>) -> Table {
    match &bisected.found {
        Found::Throughput(_) => table_of_rounds(bisected),
        Found::Work(counts) => table_of_counts(bisected, counts),
    }
}

/// What a row is called: of a commit its short name, its date and its subject.
fn row_name(bisected: &Bisected<'_>, candidate: usize) -> String {
    bisected
        .commit(candidate)
        .map_or_else(|| bisected.name(candidate).to_owned(), |commit| commit.name().to_owned())
}

/// The mark of a cell with a change from the first: where a change began.
fn mark(state: CandidateState<'_>, is_worse: bool) -> Highlight {
    match state {
        CandidateState::Began(_) if is_worse => Highlight::Worse,
        CandidateState::Began(_) => Highlight::Better,
        _ => Highlight::None,
    }
}

fn table_of_counts(bisected: &Bisected<'_>, counts: &BisectedCounts<'_>) -> Table {
    let row = |candidate: usize| {
        let state = bisected.state(candidate);
        let count = counts.instructions(candidate).map(instructions).unwrap_or_default();
        let change = bisected.level(candidate).map_or_else(TableCell::default, |effect| TableCell {
            mark: mark(state, began_worse(bisected, state)),
            small: work_error(&effect),
            ..TableCell::plain(work_percent(&effect))
        });
        Row::new(
            row_name(bisected, candidate),
            vec![TableCell::plain(count), change, TableCell::plain(words(state))],
        )
    };
    Table {
        caption: format!("Instructions per {}", operation_word(counts.operation())),
        corner: corner(bisected),
        columns: vec![
            Column::numbers("instructions", ""),
            Column::numbers("change %", "change in per cent of the first"),
            Column::words("result"),
        ],
        rows: bisected.shown().into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// Whether the change that began here is for the worse: more work, less throughput.
fn began_worse(bisected: &Bisected<'_>, state: CandidateState<'_>) -> bool {
    let CandidateState::Began(change) = state else { return false };
    let effect = bisected.bisection.changes().get(change).and_then(|change| bisected.effect(change));
    let is_more = effect.is_some_and(|effect| effect.ratio > 1.0);
    is_more == matches!(bisected.found, Found::Work(_))
}

fn corner(bisected: &Bisected<'_>) -> &'static str {
    if bisected.commits.is_some() { "commit" } else { "candidate" }
}

fn table_of_rounds(bisected: &Bisected<'_>) -> Table {
    let row = |candidate: usize| {
        let (probed, state) = (bisected.probed(candidate), bisected.state(candidate));
        let ratio = |effect: Effect| TableCell {
            mark: mark(state, began_worse(bisected, state)),
            ..TableCell::ratio(&effect)
        };
        let ratio = bisected.level(candidate).map_or_else(TableCell::default, ratio);
        let rounds = probed.map(|probed| probed.decision.rounds.to_string()).unwrap_or_default();
        Row::new(
            row_name(bisected, candidate),
            vec![ratio, TableCell::plain(rounds), TableCell::plain(words(state))],
        )
    };
    let heading = format!("Throughput relative to {}", row_name(bisected, 0));
    Table {
        caption: bisected.experiment.map_or(heading.clone(), |experiment| caption(experiment, &heading)),
        corner: corner(bisected),
        columns: vec![Column::numbers("ratio", ""), Column::numbers("rounds", ""), Column::words("result")],
        rows: bisected.shown().into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// What is known of a candidate, in words.
pub(crate) fn words(state: CandidateState<'_>) -> String {
    match state {
        CandidateState::First => "the first".to_owned(),
        CandidateState::NotMeasured => "not measured".to_owned(),
        CandidateState::Skipped(reason) => format!("skipped: {}", reason.lines().next().unwrap_or_default()),
        CandidateState::NotDecided => "not decided".to_owned(),
        CandidateState::Began(_) => "a change begins".to_owned(),
        CandidateState::Measured => "measured".to_owned(),
    }
}

fn go_on(bisected: &Bisected<'_>) -> &'static str {
    match bisected.found {
        Found::Throughput(_) => {
            "Run the same command again to continue; a larger --budget lets it go further."
        }
        Found::Work(_) => "Run the same command again to continue.",
    }
}

fn reading(bisected: &Bisected<'_>) -> String {
    let how = match &bisected.found {
        Found::Throughput(_) => {
            "The last candidate is compared with the first. Then a middle one is measured with both, until its whole interval is on one side of half of the change; if it is on neither, both halves are searched.".to_owned()
        }
        Found::Work(counts) => format!(
            "The last candidate is compared with the first. Then a middle one is counted, and each half whose ends differ by more than {} is searched further. More work is no time.",
            margin(counts.margin())
        ),
    };
    format!("{how} Changes that cancel each other within a half are not seen.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::invented::{InventedRounds, InventedWork, STEP};

    /// Levels of six commits with one change, and of twelve with two.
    const ONE: [usize; 6] = [0, 0, 0, 1, 1, 1];
    const TWO: [usize; 12] = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2];
    /// Enough probes for every search.
    const ALL: usize = 100;

    fn by_rounds(levels: &[f64]) -> Answer {
        crate::bisection(&InventedRounds::search(levels).bisected())
    }

    fn by_work(step: &str, levels: &[usize]) -> Answer {
        crate::bisection(&InventedWork::search(step, levels, &[], ALL).bisected())
    }

    fn of_commits(levels: &[usize], broken: &[usize], most: usize) -> Answer {
        crate::bisection(&InventedWork::of_commits(levels, broken, most).bisected())
    }

    fn told(answer: &Answer) -> serde_json::Value {
        serde_json::from_str(&answer.json).unwrap()
    }

    fn sentence_of(answer: &Answer) -> String {
        told(answer)["sentence"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_search_that_found_the_change() {
        insta::assert_snapshot!(by_rounds(&[0.0, 0.0, 0.0, -0.06, -0.06, -0.06]).document.text(false));
    }

    #[test]
    fn a_search_as_json() {
        insta::assert_snapshot!(by_rounds(&[0.0, 0.04, 0.04]).json);
    }

    #[test]
    fn searches_that_found_none_or_several() {
        insta::assert_snapshot!(sentence_of(&by_rounds(&[0.0, 0.0, 0.001])));
        insta::assert_snapshot!(sentence_of(&by_rounds(&[0.0, -0.05, -0.1])));
    }

    #[test]
    fn a_search_by_work() {
        let answer = by_work(STEP, &[0, 0, 1, 1, 1]);
        let text = answer.document.text(false);
        insta::assert_snapshot!(text);
        assert!(!text.contains("slower") && !text.contains("faster"), "{text}");
        let told = told(&answer);
        assert_eq!((&told["by"], &told["since"]), (&"work".into(), &"postgres:17.2".into()), "{told}");
        assert_eq!(told["changes"][0]["movers"][0]["function"], "pg_checksum_page", "{told}");
        assert_eq!(told["candidates"][3]["instructions"], serde_json::Value::Null, "it was not counted");
    }

    #[test]
    fn a_search_by_work_that_ends_at_once() {
        let sentence = |step: &str| sentence_of(&by_work(step, &[0, 0, 1]));
        assert_eq!(
            sentence("random-points_range=100"),
            "postgres:17.2 does not differ from postgres:17.0: the same work, within 0.5 %."
        );
        let failed = sentence("scan_range=100");
        assert!(
            failed.contains("is not decided: it could not be counted: the step ended before"),
            "{failed}"
        );
    }

    #[test]
    fn two_changes_among_commits_of_which_one_does_not_compile() {
        let answer = of_commits(&TWO, &[6], ALL);
        insta::assert_snapshot!(answer.document.text(false));
        insta::assert_snapshot!(answer.json);
    }

    #[test]
    fn a_change_among_commits_that_do_not_compile() {
        let answer = of_commits(&ONE, &[2, 3], ALL);
        insta::assert_snapshot!(sentence_of(&answer));
        let (told, text) = (told(&answer), answer.document.text(false));
        assert_eq!(
            (&told["is_found"], &told["changes"][0]["is_exact"]),
            (&false.into(), &false.into()),
            "{told}"
        );
        assert!(!text.contains("a change begins"), "nobody is blamed: {text}");
    }

    #[test]
    fn an_interrupted_search_says_what_is_known_and_how_to_go_on() {
        let sentence = |most: usize| sentence_of(&of_commits(&TWO, &[], most));
        insta::assert_snapshot!(sentence(1));
        insta::assert_snapshot!(sentence(3));
    }
}
