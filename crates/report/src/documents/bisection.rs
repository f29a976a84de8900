//! The result of a bisection: the candidates or commits at which a step changed.

use basecase_analysis::{Bisected, Effect, Found};
use basecase_stats::{BisectedChange, BisectionEnd, ChangeKind, WorkVerdict};

use super::commit_change;
use crate::documents::Block;
use crate::tables::bisection::table;
use crate::words::{
    EffectWords as _, brief_reason, first, largest_mover, margin, named, short_name, size_of_change, verdict,
    work_error, work_percent,
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
    for Skipped { names, reason } in skipped(bisected) {
        // One line is in the table.
        if reason.lines().nth(1).is_some() {
            blocks.extend([Block::Paragraph(format!("Skipped: {names}")), Block::Log(reason.to_owned())]);
        }
    }
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
            let reason = bisected.skipped.get(&end).map(|reason| brief_reason(reason));
            let reason = reason.unwrap_or_else(|| "it was not measured".to_owned());
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
    let whole = bisected.level(last).map(|effect| size_of_change(bisected, &effect)).unwrap_or_default();
    let unfinished = unfinished(bisected);
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
pub(crate) fn changes(bisected: &Bisected<'_>) -> Vec<String> {
    bisected.bisection.changes().iter().map(|change| line(bisected, change)).collect()
}

/// A change in one line, without a full stop.
pub(crate) fn line(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    let effect = bisected.effect(change).map(|effect| size_of_change(bisected, &effect)).unwrap_or_default();
    let [before, since] = [change.before, change.since].map(|candidate| named(bisected, candidate));
    let by = by(bisected, change);
    match change.kind {
        ChangeKind::Began => format!("{effect} since {since}{by}"),
        ChangeKind::Unbuilt => {
            format!("{effect}{by}, after {before} and no later than {since}: {}", untold(bisected, change))
        }
        ChangeKind::Undecided(candidate) => format!(
            "{effect}{by}, after {before} and no later than {since}: {} is not decided, {}",
            named(bisected, candidate),
            decided(bisected, candidate)
        ),
    }
}

/// Why the candidates between do not tell with which of them a change began.
fn untold(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    let between = change.since - change.before - 1;
    let skipped = bisected.skipped.keys().filter(|one| change.before < **one && **one < change.since).count();
    match between {
        1 => "the one between them cannot be had".to_owned(),
        _ if skipped == between => format!("none of the {between} between them can be had"),
        _ if skipped == 0 => format!("none of the {between} between them was tried"),
        _ => format!("{skipped} of the {between} between them cannot be had, and the others were not tried"),
    }
}

/// What is still to be searched; empty if nothing is, or begins with a space.
fn unfinished(bisected: &Bisected<'_>) -> String {
    let is_undecided = |change: &BisectedChange| matches!(change.kind, ChangeKind::Undecided(_));
    let open = bisected.bisection.open();
    match &open[..] {
        [] if bisected.bisection.changes().iter().any(is_undecided) => format!(" {}", go_on(bisected)),
        [] => String::new(),
        spans => {
            let span = |(before, since): &(usize, usize)| {
                format!(
                    "after {} and no later than {}",
                    short_name(bisected, *before),
                    short_name(bisected, *since)
                )
            };
            let spans: Vec<String> = spans.iter().map(span).collect();
            let left = first(&spans, SPANS);
            format!(" The search is not finished: a change is left {left}. {}", go_on(bisected))
        }
    }
}

/// Most intervals named that are still to be searched.
const SPANS: usize = 3;

/// The function that accounts for most of a change of work.
fn by(bisected: &Bisected<'_>, change: &BisectedChange) -> String {
    let Found::Work(counts) = &bisected.found else { return String::new() };
    let mover = counts.causes(change.before, change.since).as_ref().and_then(largest_mover);
    mover.map(|mover| format!(", most by {mover}")).unwrap_or_default()
}

/// How many builds it took, and what is skipped.
pub(crate) fn state(bisected: &Bisected<'_>) -> Option<String> {
    let (made, failed) = bisected.builds?;
    let measured = (0..bisected.candidates.len()).filter(|one| bisected.is_measured(*one)).count();
    let skipped = match failed {
        0 => String::new(),
        1 => " 1 commit was skipped, because it cannot be built or measured.".to_owned(),
        failed => format!(" {failed} commits were skipped, because they cannot be built or measured."),
    };
    let compiled = match made {
        0 => "all were compiled before".to_owned(),
        1 => "1 was compiled for it".to_owned(),
        made => format!("{made} were compiled for it"),
    };
    let between = bisected.candidates.len().saturating_sub(1);
    let commits = if between == 1 { "1 commit".to_owned() } else { format!("{between} commits") };
    Some(format!("Of {commits} and the one before, {measured} were measured; {compiled}.{skipped}"))
}

/// Candidates that cannot be had for the same reason, which follow each other among the skipped ones.
pub(crate) struct Skipped<'a> {
    /// Their names, e.g. `5a0e1f36 "Comment 6" and 3 more`.
    pub(crate) names: String,
    /// The whole reason.
    pub(crate) reason: &'a str,
}

/// What was skipped, in the order of candidates.
pub(crate) fn skipped<'a>(bisected: &'a Bisected<'_>) -> Vec<Skipped<'a>> {
    let skipped: Vec<(usize, &str)> =
        bisected.skipped.iter().map(|(number, reason)| (*number, reason.as_str())).collect();
    let groups = skipped.chunk_by(|(_, one), (_, other)| one == other);
    let group = |group: &'_ [(usize, &'a str)]| {
        let (_, reason) = *group.first()?;
        let names: Vec<String> = group.iter().map(|(number, _)| named(bisected, *number)).collect();
        Some(Skipped { names: first(&names, NAMED), reason })
    };
    groups.filter_map(group).collect()
}

/// Most candidates named that cannot be had for one reason.
const NAMED: usize = 2;

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

fn go_on(bisected: &Bisected<'_>) -> &'static str {
    match bisected.found {
        Found::Throughput(_) => {
            "Run the same command again to continue; a larger --budget lets it go further."
        }
        Found::Work(_) => "Run the same command again to continue.",
    }
}

/// How it was searched.
pub(crate) fn reading(bisected: &Bisected<'_>) -> String {
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
