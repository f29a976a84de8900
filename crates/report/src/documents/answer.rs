//! The answer of an experiment in few lines: what a run ends with.

use basecase_analysis::{Failure, Results, failures};

use super::{Block, notes, title};
use crate::options::Options;
use crate::tables::answer::{self, Room};
use crate::words::{FailureWords as _, refusal, sentences, unsettled};

/// Most lines of an answer.
const MOST_LINES: usize = 25;
/// Lines of the title, of the table's head with how to read it, of what follows the table, and of the gaps between them.
const OTHER_LINES: usize = 11;
/// A table has at least so many rows.
const LEAST_ROWS: usize = 4;
/// Most failures with their reason.
const FAILED: usize = 2;
/// Most warnings that are told.
const WARNINGS: usize = 2;
/// Most contenders with a sentence each.
const MOST_SENTENCES: usize = 3;

/// Sentences, the table of what changed, and what is not settled.
pub(crate) fn compose(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let letters = options.columns;
    let mut blocks = vec![Block::Title(title(results))];
    blocks.extend(results.rounds.and_then(refusal).map(Block::Note));
    let mut sentences = sentences(results, options.thresholds);
    if results.experiment.candidates.len() > MOST_SENTENCES + 1 {
        sentences.truncate(MOST_SENTENCES);
    }
    let notes: Vec<String> = notes::candidates(results.experiment).map(first_sentence).collect();
    let failed = failed(results);
    let all_warnings = notes::warnings(results);
    let mut warnings = first_warnings(&all_warnings);
    let lines = |sentence: &String| sentence.chars().count().div_ceil(letters.saturating_sub(10).max(1));
    let said = sentences.iter().chain(&notes).chain(&failed);
    let said = OTHER_LINES + said.map(lines).sum::<usize>();
    let used = |warnings: &[String]| said + warnings.iter().map(lines).sum::<usize>();
    while used(&warnings) + LEAST_ROWS > MOST_LINES && warnings.pop().is_some() {}
    let used = used(&warnings);
    let more_warnings = all_warnings.len() - warnings.len();
    if !sentences.is_empty() {
        blocks.push(Block::List(sentences));
    }
    blocks.extend(notes.into_iter().map(Block::Note));
    let room = Room { letters, rows: MOST_LINES.saturating_sub(used).max(LEAST_ROWS) };
    let table = answer::table(results, room);
    let left_out = table.as_ref().map_or(0, |(_, left_out)| *left_out);
    blocks.extend(table.map(|(table, _)| Block::Table(table)));
    let told: Vec<String> = failed.into_iter().chain(warnings).collect();
    if !told.is_empty() {
        blocks.push(Block::List(told));
    }
    let rest = rest(results, left_out, more_warnings);
    if !rest.is_empty() {
        blocks.push(Block::Paragraph(rest.join(" ")));
    }
    blocks
}

/// The warnings that stand with an answer, without what they advise.
pub(crate) fn first_warnings(warnings: &[String]) -> Vec<String> {
    warnings.iter().take(WARNINGS).cloned().map(first_sentence).collect()
}

/// A note without its other sentences, which the report has.
fn first_sentence(note: String) -> String {
    match note.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => note,
    }
}

/// What failed, the first ones with the reason's first line.
fn failed(results: &Results<'_>) -> Vec<String> {
    let all = failures(results);
    let line = |failure: &Failure<'_>| format!("{} failed: {}", failure.place(), failure.brief());
    let mut lines: Vec<String> = all.iter().take(FAILED).map(line).collect();
    if all.len() > FAILED {
        lines.push(format!("{} more failed", all.len() - FAILED));
    }
    lines
}

/// What the table does not say.
fn rest(results: &Results<'_>, left_out: usize, warnings: usize) -> Vec<String> {
    let more =
        (left_out > 0).then(|| format!("{left_out} more {}.", if left_out == 1 { "step" } else { "steps" }));
    let unsettled = unsettled(results).map(|words| format!("{words}."));
    let warnings = (warnings > 0)
        .then(|| format!("{warnings} more {}.", if warnings == 1 { "warning" } else { "warnings" }));
    let mut rest: Vec<String> = [more, unsettled, warnings].into_iter().flatten().collect();
    if !rest.is_empty() {
        rest.push("`basecase report STORE --format text` has the rest.".to_owned());
    }
    rest
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counted, fixture};
    use basecase_model::{Experiment, Trial};

    use crate::{Options, TextFormat};

    /// The answer on the terminal of so many columns; it never is longer than 25 lines, nor wider than the terminal.
    fn answer(experiment: &Experiment, trials: &[Trial], counted: Option<Counted>, columns: usize) -> String {
        let options = Options { counted: counted.unwrap_or_default(), columns, ..Options::default() };
        let text = crate::render(experiment, trials, TextFormat::ANSWER, &options);
        assert!(text.lines().count() <= 25, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= columns, "{line}");
        }
        text
    }

    #[test]
    fn two_candidates_with_counts_and_times() {
        let (mut experiment, trials, counted) = fixture::counted_in_rounds();
        experiment.candidates.truncate(2);
        for columns in [80, 120] {
            insta::assert_snapshot!(answer(&experiment, &trials, Some(counted.clone()), columns));
        }
    }

    #[test]
    fn several_candidates_are_a_matrix() {
        let (experiment, trials) = fixture::in_rounds();
        insta::assert_snapshot!(answer(&experiment, &trials, None, 80));
        let (experiment, counted) = fixture::counted();
        insta::assert_snapshot!(answer(&experiment, &[], Some(counted), 80));
    }

    #[test]
    fn what_is_measured_alone_is_told_in_numbers() {
        let (mut experiment, trials) = fixture::sample();
        experiment.candidates.truncate(1);
        insta::assert_snapshot!(answer(&experiment, &trials, None, 80));
    }

    #[test]
    fn single_runs_have_no_verdict() {
        let (mut experiment, trials) = fixture::sample();
        insta::assert_snapshot!(answer(&experiment, &trials, None, 80));
        experiment.candidates.truncate(2);
        insta::assert_snapshot!(answer(&experiment, &trials, None, 80));
    }
}
