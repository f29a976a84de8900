//! The result of a calibration: planted slowdowns, and what was found.

use basecase_analysis::{CalibrationRun, REPLAYED_SERIES, RecoveryGroup, grouped};
use basecase_model::Experiment;
use basecase_stats::{Decision, Recovery, Verdict};

use crate::documents::Block;
use crate::tables::{Column, Highlight, Row, Table, TableCell};
use crate::words::{caption, percent_text};

/// The tables of a calibration, or of several counted together; empty if nothing was planted.
pub(crate) fn blocks(runs: &[CalibrationRun<'_>]) -> Vec<Block> {
    let recoveries: Vec<&Recovery> = runs.iter().flat_map(|run| &run.rounds.recoveries).collect();
    let Some(first) = runs.first().filter(|_| !recoveries.is_empty()) else { return Vec::new() };
    let (heading, introduction) = if recoveries.iter().all(|recovery| recovery.is_base) {
        ("The base case against itself", false_alarms(&recoveries))
    } else {
        (
            "Planted slowdowns, and what was found",
            "The same build and config in every row, slowed down by a planted library that counts the time it takes. A row \
             holds if its interval contains what was planted."
                .to_owned(),
        )
    };
    let mut blocks = vec![
        Block::Heading(heading.into()),
        Block::Paragraph(introduction),
        Block::Table(found(first.experiment, runs)),
    ];
    let groups = grouped(runs);
    if groups.len() < recoveries.len() {
        blocks.push(Block::Table(counted(first.experiment, &groups)));
    }
    blocks.extend([
        Block::Paragraph(format!(
            "Replays: {REPLAYED_SERIES} series of rounds drawn from the measured ones, each judged as if it had been \
             measured. The error rate is the share of series in which the interval of any interim analysis excluded the \
             truth; the promise is at most 5 %."
        )),
        Block::Table(replayed(first, &groups)),
    ]);
    blocks
}

/// A sentence on verdicts about candidates that are known to be unchanged.
fn false_alarms(recoveries: &[&Recovery]) -> String {
    let count =
        |is_counted: fn(&Recovery) -> bool| recoveries.iter().filter(|recovery| is_counted(recovery)).count();
    format!(
        "The same build and config in every row, measured {} times beside the base case: {} false alarms, {} intervals \
         that exclude 0. A row holds if its interval contains 0.",
        recoveries.len(),
        count(|recovery| recovery.decision.verdict.is_change()),
        count(|recovery| recovery.holds() == Some(false)),
    )
}

/// How often each planted slowdown was found.
fn counted(experiment: &Experiment, groups: &[RecoveryGroup<'_>]) -> Table {
    let row = |group: &RecoveryGroup<'_>| {
        let counted_as = |verdict: Verdict| {
            TableCell::plain(group.count(|recovery| recovery.decision.verdict == verdict).to_string())
        };
        let rounds: usize = group.members.iter().map(|recovery| recovery.decision.rounds).sum();
        let cells = vec![
            TableCell::plain(percent(group.truth())),
            TableCell::plain(group.members.len().to_string()),
            counted_as(Verdict::Regression),
            counted_as(Verdict::NoChange),
            counted_as(Verdict::Improvement),
            counted_as(Verdict::NotEnoughData),
            TableCell::plain(group.count(|recovery| recovery.holds() == Some(true)).to_string()),
            TableCell::plain(format!("{:.1}", rounds as f64 / group.members.len() as f64)),
        ];
        Row { step: Some(group.step), ..Row::new(&experiment.steps[group.step].label, cells) }
    };
    Table {
        caption: caption(experiment, "How often it was found"),
        corner: "step",
        columns: vec![
            Column::numbers("planted", "mean over the candidates, in % of throughput"),
            Column::numbers("candidates", ""),
            Column::numbers("regression", ""),
            Column::numbers("no change", ""),
            Column::numbers("improvement", ""),
            Column::numbers("not enough data", ""),
            Column::numbers("holds", "candidates whose interval contains what was planted"),
            Column::numbers("rounds", "mean number behind a verdict"),
        ],
        rows: groups.iter().map(row).collect(),
        ..Table::default()
    }
}

fn percent(logarithm: f64) -> String {
    percent_text(logarithm.exp(), 2)
}

fn found(first: &Experiment, runs: &[CalibrationRun<'_>]) -> Table {
    let row = |experiment: &Experiment, recovery: &Recovery| {
        let Decision { estimate, interval, verdict, rounds, between_round_sd, .. } = &recovery.decision;
        let interval = interval
            .map(|interval| format!("{} to {}", percent(interval.lower), percent(interval.upper)))
            .unwrap_or_default();
        let (word, mark) = match recovery.holds() {
            Some(true) => ("yes", Highlight::None),
            Some(false) => ("no", Highlight::Worse),
            None => ("", Highlight::None),
        };
        let cells = vec![
            TableCell::plain(experiment.candidates[recovery.candidate].name.0.clone()),
            TableCell::plain(percent(recovery.truth)),
            TableCell::plain(estimate.map(percent).unwrap_or_default()),
            TableCell::plain(interval),
            TableCell::marked(word, mark),
            TableCell::plain(verdict.as_str()),
            TableCell::plain(rounds.to_string()),
            TableCell::plain(between_round_sd.map(|sd| format!("{:.2}", sd * 100.0)).unwrap_or_default()),
        ];
        Row { step: Some(recovery.step), ..Row::new(&experiment.steps[recovery.step].label, cells) }
    };
    Table {
        caption: caption(first, "Planted and found, in % of throughput"),
        corner: "step",
        columns: vec![
            Column::words("candidate"),
            Column::numbers("planted", "what the library took, by its own count"),
            Column::numbers("found", "the estimate"),
            Column::words("interval"),
            Column::words("holds"),
            Column::words("verdict"),
            Column::numbers("rounds", ""),
            Column::numbers("noise", "between-round standard deviation of effects, %"),
        ],
        rows: runs
            .iter()
            .flat_map(|run| run.rounds.recoveries.iter().map(|recovery| row(run.experiment, recovery)))
            .collect(),
        ..Table::default()
    }
}

/// Replays with the margins, interim analyses and seed of the first run.
fn replayed(first: &CalibrationRun<'_>, groups: &[RecoveryGroup<'_>]) -> Table {
    let row = |group: &RecoveryGroup<'_>| {
        let step = first.experiment.steps.get(group.step)?;
        let replay = first.replay(group)?;
        let share = |share: f64| TableCell::plain(format!("{:.1}", share * 100.0));
        let cells = vec![
            TableCell::plain(percent(group.truth())),
            share(replay.excluded),
            share(replay.verdicts[0]),
            share(replay.verdicts[2]),
            share(replay.verdicts[1]),
            TableCell::plain(format!("{:.1}", replay.rounds)),
        ];
        Some(Row { step: Some(group.step), ..Row::new(&step.label, cells) })
    };
    Table {
        caption: caption(first.experiment, "Replayed, in % of series"),
        corner: "step",
        columns: vec![
            Column::numbers("planted", "in % of throughput"),
            Column::numbers("error", "series in which some interval excluded the truth"),
            Column::numbers("regression", ""),
            Column::numbers("no change", ""),
            Column::numbers("improvement", ""),
            Column::numbers("rounds", "mean number until a verdict"),
        ],
        rows: groups.iter().filter_map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;

    #[test]
    fn copies_of_one_candidate_are_counted_together() {
        let (experiment, trials) = fixture::replicates();
        // One of the two is 2.8 % slower, though both are declared to be the base case.
        let count_of = |runs: usize| {
            let run = (experiment.clone(), trials.clone());
            let text = crate::calibration(&vec![run; runs]).text(false);
            let (found, counted) = text.split_once("How often it was found").unwrap();
            let is_of_step = |line: &&str| line.starts_with("range-covered-pk");
            assert_eq!(found.lines().filter(is_of_step).count(), 2 * runs);
            let words = counted.lines().find(is_of_step).unwrap().split_whitespace();
            words.skip(1).map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(count_of(1), ["0.00", "2", "1", "1", "0", "0", "1", "10.0"]);
        assert_eq!(count_of(3), ["0.00", "6", "3", "3", "0", "0", "3", "10.0"], "all runs together");
    }
}
