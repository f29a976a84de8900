//! How much work an operation is: the answer, the table, and the functions behind a change.

use basecase_analysis::{Counts, Results, Work};
use basecase_model::CountEngine;
use basecase_stats::Agreement;

use crate::documents::Block;
use crate::tables::work as tables;
use crate::words::{
    agreement, answers, cause_notes, count_failures, first, how_counted, instructions, luck_lines,
    merged_note, operation_of, work_words,
};

/// Most changes whose functions are shown.
const EXPLAINED: usize = 12;

/// The answer first, then the table, how times agree, and the functions of the largest changes; empty without counts.
pub(crate) fn overview(results: &Results<'_>) -> Vec<Block> {
    let Some(counts) = results.counts else { return Vec::new() };
    let mut blocks = Vec::new();
    if !results.has_counts_only() {
        blocks.push(Block::Heading("Work per operation".into()));
    }
    let answers = answers(results);
    // In rounds the report begins with them.
    if !answers.is_empty() && results.rounds.is_none() {
        blocks.push(Block::List(answers));
    }
    blocks.push(Block::Table(tables::overview(results, counts)));
    let lines = agreements(results, counts);
    if !lines.is_empty() {
        blocks.extend([Block::Heading("Work and time".into()), Block::List(lines)]);
    }
    let functions = all_functions(results, counts);
    if !functions.is_empty() {
        blocks.push(Block::Heading("Functions that account for it".into()));
        blocks.extend(functions);
    } else if counts.engine == CountEngine::Hardware && !counts.changes().is_empty() {
        blocks.push(Block::Paragraph(NO_FUNCTIONS.into()));
    }
    blocks.extend(luck(results, counts));
    blocks.push(Block::Heading("How it was counted".into()));
    blocks.extend(counted(results, counts));
    blocks
}

/// What varies between sessions of one candidate.
pub(crate) fn luck(results: &Results<'_>, counts: &Counts<'_>) -> Vec<Block> {
    let mut lines = luck_lines(results, counts);
    if lines.is_empty() {
        return Vec::new();
    }
    let more = lines.len().saturating_sub(LUCK);
    lines.truncate(LUCK);
    if more > 0 {
        lines.push(format!("{more} smaller ones"));
    }
    vec![Block::Paragraph(LUCK_READING.into()), Block::List(lines)]
}

const LUCK_READING: &str = "Luck, which no version is to blame for: functions that differ between sessions of one candidate, by so \
                            many instructions per operation.";
/// Most functions whose luck is told.
const LUCK: usize = 8;

/// What counted and how, and what could not be counted.
pub(crate) fn counted(results: &Results<'_>, counts: &Counts<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(how_counted(results, counts))];
    let failures = count_failures(results, counts);
    if !failures.is_empty() {
        blocks.push(Block::Paragraph("Could not be counted:".into()));
        blocks.push(Block::List(failures));
    }
    blocks
}

/// How the work of each step and its times agree: a line for each that changed in one of them.
pub(crate) fn agreements(results: &Results<'_>, counts: &Counts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut others = 0;
    let has_several = results.experiment.candidates.len() > 2;
    for work in counts.works() {
        let Work { step, candidate, .. } = *work;
        let Some(line) = agreement(results, step, candidate) else { continue };
        let is_open =
            matches!(results.agreement(step, candidate), Some(Agreement::Open | Agreement::BothSame) | None);
        if is_open && !work.verdict().is_change() {
            others += 1;
            continue;
        }
        let label = results.experiment.steps.get(step).map_or("", |facts| &facts.label);
        let name = results.experiment.candidates.get(candidate).map_or("", |facts| &facts.name.0);
        let place = if has_several { format!("{label} on {name}") } else { label.to_owned() };
        lines.push(format!("{place}: {line}"));
    }
    if others > 0 && !lines.is_empty() {
        lines.push(format!("{others} more: no change of both that is decided"));
    }
    lines
}

/// The functions behind the largest changes; empty if nothing changed, or the functions are not known.
fn all_functions(results: &Results<'_>, counts: &Counts<'_>) -> Vec<Block> {
    let groups = alike(counts, &counts.changes());
    let mut blocks: Vec<Block> =
        groups.iter().take(EXPLAINED).flat_map(|alike| functions(results, counts, alike)).collect();
    let more: usize = groups.iter().skip(EXPLAINED).map(Vec::len).sum();
    if more > 0 && !blocks.is_empty() {
        let steps = if more == 1 { "step" } else { "steps" };
        blocks
            .push(Block::Paragraph(format!("{more} more {steps}: `basecase explain` has their functions.")));
    }
    blocks
}

/// Changes of one contender by the same functions, the largest change of each group first.
fn alike<'c>(counts: &Counts<'_>, changes: &[&'c Work]) -> Vec<Vec<&'c Work>> {
    let mut groups: Vec<Vec<&Work>> = Vec::new();
    let mut keys: Vec<(usize, Vec<String>)> = Vec::new();
    for work in changes {
        let causes = counts.causes(work.step, work.candidate);
        let movers = causes.iter().flat_map(|causes| &causes.movers).take(TELLING);
        let mut names: Vec<String> = movers.map(|mover| mover.function.name.to_owned()).collect();
        names.sort_unstable();
        let key = (work.candidate, names);
        match keys.iter().position(|known| *known == key && !key.1.is_empty()) {
            Some(place) => groups[place].push(work),
            None => {
                keys.push(key);
                groups.push(vec![work]);
            }
        }
    }
    groups
}

/// How many of the largest functions must be the same for changes to be alike.
const TELLING: usize = 4;
/// Most steps named for the same functions.
const NAMED: usize = 6;

/// The functions behind the first of several changes that are alike, and the names of the others.
fn functions(results: &Results<'_>, counts: &Counts<'_>, alike: &[&Work]) -> Vec<Block> {
    let Some((work, others)) = alike.split_first() else { return Vec::new() };
    let Some(causes) = counts.causes(work.step, work.candidate) else { return Vec::new() };
    let label = |work: &Work| results.experiment.steps.get(work.step).map_or("", |facts| &facts.label);
    let name = results.experiment.candidates.get(work.candidate).map_or("", |facts| &facts.name.0);
    let has_several = results.experiment.candidates.len() > 2;
    let place = if has_several { format!("{} on {name}", label(work)) } else { label(work).to_owned() };
    let caption = format!("{place}: {}", work_words(work));
    let table = tables::movers(&causes, caption, operation_of(counts, work.step));
    let others: Vec<String> =
        others.iter().map(|work| format!("{} ({})", label(work), work_words(work))).collect();
    let others = (!others.is_empty())
        .then(|| Block::Paragraph(format!("The same functions: {}.", first(&others, NAMED))));
    let merged = merged_note(&causes).map(Block::Paragraph);
    table.map(Block::Table).into_iter().chain(merged).chain(others).collect()
}

/// The work of a contender on a step: the change in a sentence, how times agree, and the functions; empty if it was not counted.
pub(crate) fn of_cell(results: &Results<'_>, step: usize, candidate: usize) -> Vec<Block> {
    let Some((counts, work)) = results.counts.zip(results.work(step, candidate)) else { return Vec::new() };
    let counted =
        [0, candidate].map(|number| counts.instructions(step, number).map(instructions).unwrap_or_default());
    let mut lines = vec![format!(
        "{}: {} → {} instructions per {}",
        work_words(work),
        counted[0],
        counted[1],
        operation_of(counts, step)
    )];
    lines.extend(agreement(results, step, candidate));
    std::iter::once(Block::List(lines)).chain(of_functions(results, step, candidate)).collect()
}

/// The functions behind the work of a contender on a step; empty if it was not counted.
pub(crate) fn of_functions(results: &Results<'_>, step: usize, candidate: usize) -> Vec<Block> {
    let Some(counts) = results.counts.filter(|counts| counts.work(step, candidate).is_some()) else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    match counts.causes(step, candidate) {
        Some(causes) => {
            let notes = cause_notes(results, &causes, candidate);
            if !notes.is_empty() {
                blocks.push(Block::List(notes));
            }
            let caption = "Functions whose work changed".to_owned();
            blocks.extend(tables::movers(&causes, caption, operation_of(counts, step)).map(Block::Table));
        }
        None => blocks.push(Block::Paragraph(NO_FUNCTIONS.into())),
    }
    blocks
}

/// Why there is no table of functions.
const NO_FUNCTIONS: &str = "Which functions changed is not known: hardware counters count a whole process. \
                            `basecase count --counts-engine callgrind` tells.";

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counted, fixture};
    use basecase_model::Experiment;

    use super::*;
    use crate::Document;

    fn text(experiment: &Experiment, counted: &Counted) -> String {
        let counts = Counts::of(experiment, counted).unwrap();
        let results = Results::of(experiment, &[], None).counting(Some(&counts));
        Document::new(overview(&results)).text(false)
    }

    #[test]
    fn counts_of_the_processor_say_who_counted_and_who_would_tell_functions() {
        let (experiment, mut counted) = fixture::counted();
        assert!(!text(&experiment, &counted).contains("--counts-engine"));
        for start in &mut counted.starts {
            start.engine = CountEngine::Hardware;
            start.engine_version = "AMD EPYC 7763, Linux 6.1.0".into();
            start.functions.clear();
        }
        let text = text(&experiment, &counted).replace('\n', " ");
        assert!(text.contains("`basecase count --counts-engine callgrind` tells"), "{text}");
        assert!(text.contains("counted by hardware counters (AMD EPYC 7763, Linux 6.1.0)"), "{text}");
        assert!(text.contains("need more work") && !text.contains("Functions that account for it"), "{text}");
        assert!(!text.contains("AVX-512"), "{text}");
    }
}
