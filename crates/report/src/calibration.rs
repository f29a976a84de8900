//! What a calibration shows: slowdowns that were planted, and what was found of them.

use basecase_model::Experiment;
use basecase_stats::{Decision, Judgement, Recovery};

use crate::document::Block;
use crate::effect::percent_text;
use crate::rounds::Rounds;
use crate::tables::{Cell, Column, Mark, Row, Table};

/// Series that are drawn for each replay.
const SERIES: usize = 500;

/// The tables of a calibration; nothing where nothing was planted.
pub(crate) fn blocks(experiment: &Experiment, rounds: &Rounds<'_>) -> Vec<Block> {
    let Rounds { judgement, recoveries, .. } = rounds;
    if recoveries.is_empty() {
        return Vec::new();
    }
    let (heading, told) = if recoveries.iter().all(|recovery| recovery.is_base) {
        ("The base case against itself", false_alarms(recoveries))
    } else {
        (
            "What was planted and what was found",
            "The same build and config in every row, made slower by a planted library that counts the time it takes. \
             A row holds when its interval contains what was planted."
                .to_owned(),
        )
    };
    vec![
        Block::Heading(heading.into()),
        Block::Paragraph(told),
        Block::Table(found(experiment, recoveries)),
        Block::Paragraph(format!(
            "Replays: {SERIES} series of rounds drawn out of those that were measured, each judged as if it had been \
             measured. The error rate is the share of series in which any look's interval left the truth out: 5 % is \
             what is promised."
        )),
        Block::Table(replayed(experiment, judgement, recoveries)),
    ]
}

/// What was said of candidates of which is known that nothing changed.
fn false_alarms(recoveries: &[Recovery]) -> String {
    let count = |is_counted: fn(&Decision) -> bool| {
        recoveries.iter().filter(|recovery| is_counted(&recovery.decision)).count()
    };
    format!(
        "The same build and config in every row, measured {} times besides the base case: {} false alarms, {} intervals that leave out 0. \
         A row holds when its interval contains 0.",
        recoveries.len(),
        count(|decision| decision.verdict.is_change()),
        count(|decision| decision.interval.is_some_and(|interval| !interval.contains(0.0))),
    )
}

/// Those of the base case as one for each step: its rounds are of one kind.
fn merged(recoveries: &[Recovery]) -> Vec<Recovery> {
    let mut merged: Vec<Recovery> = Vec::new();
    for recovery in recoveries {
        let same = |known: &&mut Recovery| known.is_base && recovery.is_base && known.step == recovery.step;
        match merged.iter_mut().find(same) {
            Some(known) => known.errors.extend(&recovery.errors),
            None => merged.push(recovery.clone()),
        }
    }
    merged
}

fn percent(logarithm: f64) -> String {
    percent_text(logarithm.exp(), 2)
}

fn found(experiment: &Experiment, recoveries: &[Recovery]) -> Table {
    let row = |recovery: &Recovery| {
        let Decision { estimate, interval, verdict, rounds, block_sd, .. } = &recovery.decision;
        let holds = interval.map(|interval| interval.contains(recovery.truth));
        let interval = interval
            .map(|interval| format!("{} to {}", percent(interval.lower), percent(interval.upper)))
            .unwrap_or_default();
        let (word, mark) = match holds {
            Some(true) => ("yes", Mark::None),
            Some(false) => ("no", Mark::Worse),
            None => ("", Mark::None),
        };
        let cells = vec![
            Cell::plain(experiment.candidates[recovery.candidate].name.0.clone()),
            Cell::plain(percent(recovery.truth)),
            Cell::plain(estimate.map(percent).unwrap_or_default()),
            Cell::plain(interval),
            Cell::marked(word, mark),
            Cell::plain(verdict.as_str()),
            Cell::plain(rounds.to_string()),
            Cell::plain(block_sd.map(|sd| format!("{:.2}", sd * 100.0)).unwrap_or_default()),
        ];
        Row { step: Some(recovery.step), ..Row::new(&experiment.steps[recovery.step].label, cells) }
    };
    Table {
        caption: "Planted and found, in % of throughput".into(),
        corner: "step",
        columns: vec![
            Column::words("candidate"),
            Column::numbers("planted", "what the library took, by its own counts"),
            Column::numbers("found", "the estimate"),
            Column::words("interval"),
            Column::words("holds"),
            Column::words("verdict"),
            Column::numbers("rounds", ""),
            Column::numbers("noise", "standard deviation of the rounds' effects, %"),
        ],
        rows: recoveries.iter().map(row).collect(),
        ..Table::default()
    }
}

fn replayed(experiment: &Experiment, judgement: &Judgement, recoveries: &[Recovery]) -> Table {
    let schedule = experiment.schedule.as_ref();
    let seed = schedule.map_or(0, |schedule| schedule.seed);
    let row = |recovery: &Recovery| {
        let step = &experiment.steps[recovery.step];
        let margin = (1.0 + schedule?.margin(step)).ln();
        let replay =
            judgement.judge()?.replay(&recovery.errors, recovery.truth, margin, SERIES, seed).ok()?;
        let share = |share: f64| Cell::plain(format!("{:.1}", share * 100.0));
        let cells = vec![
            Cell::plain(percent(recovery.truth)),
            share(replay.excluded),
            share(replay.verdicts[0]),
            share(replay.verdicts[2]),
            share(replay.verdicts[1]),
            Cell::plain(format!("{:.1}", replay.rounds)),
        ];
        Some(Row { step: Some(recovery.step), ..Row::new(&step.label, cells) })
    };
    Table {
        caption: "Replayed, in % of series".into(),
        corner: "step",
        columns: vec![
            Column::numbers("planted", "in % of throughput"),
            Column::numbers("error", "series in which some interval left the truth out"),
            Column::numbers("regression", ""),
            Column::numbers("no change", ""),
            Column::numbers("improvement", ""),
            Column::numbers("rounds", "until it was decided, mean"),
        ],
        rows: merged(recoveries).iter().filter_map(row).collect(),
        ..Table::default()
    }
}
