//! The course of each step's rounds, and what other work used of the machine meanwhile.

use basecase_analysis::{Conduct, Level, NOISY_MACHINE, Results, Rounds};
use basecase_stats::NOISY_CORES;

use super::{Column, MISSING, Row, Table, TableCell};
use crate::words::duration;

/// A row for each compared step that has a round.
pub(crate) fn table(results: &Results<'_>, rounds: &Rounds<'_>) -> Table {
    let row = |(step, label): (usize, &str)| {
        let candidates = results.candidates();
        let counts = candidates.filter_map(|(candidate, _)| Some(results.measured(step, candidate)?.rounds));
        let cells = cells(counts.max()?, rounds.conduct(step)?);
        Some(Row { step: Some(step), ..Row::new(label, cells) })
    };
    let steps = results.compared_steps().map(|(number, step)| (number, step.label.as_str()));
    Table {
        caption: "Rounds of each step".into(),
        reading: format!(
            "Others is the number of processors used by neither the servers nor the client, and steal the share of time \
             that the hypervisor gave to others; both are means over all trials. Slowed is how much longer than usual a \
             fixed arithmetic loop took right before passes, because the processor ran at a lower frequency or was shared. \
             From {NOISY_CORES} processors on, a step has the flag {NOISY_MACHINE}: its intervals are wider than \
             necessary, but still valid."
        ),
        corner: "step",
        columns: vec![
            Column::numbers("rounds", ""),
            Column::numbers("slices", "per candidate in a round"),
            Column::numbers("slice ms", "mean length of a slice"),
            Column::numbers("round time", "with session starts and warm-up, all candidates together"),
            Column::numbers(
                "copy",
                "size of the data that a candidate's round starts from, and the time to copy it to the device",
            ),
            Column::numbers("others", "processors used by others"),
            Column::numbers("steal %", "share of time that the hypervisor gave to others"),
            Column::numbers("slowed %", "how much longer than usual a fixed loop took right before passes"),
        ],
        rows: steps.filter_map(row).collect(),
        ..Table::default()
    }
}

fn cells(rounds: usize, conduct: &Conduct) -> Vec<TableCell> {
    let text = |known: Option<String>| TableCell::plain(known.unwrap_or_else(|| MISSING.to_owned()));
    let slices = conduct.slices.map(|(fewest, most)| match most - fewest {
        0 => most.to_string(),
        _ => format!("{fewest} to {most}"),
    });
    let level = |level: Option<Level>, factor: f64| {
        let words =
            |Level { mean, largest }| format!("{:.2}, at most {:.2}", mean * factor, largest * factor);
        text(level.map(words))
    };
    let copied = conduct.copy_bytes.zip(conduct.copy_s);
    let copy = copied
        .map(|(bytes, seconds)| format!("{:.0} MiB, {:.1} s", bytes.mean / f64::from(1 << 20), seconds.mean));
    vec![
        TableCell::plain(rounds.to_string()),
        text(slices),
        text(conduct.slice_s.map(|seconds| format!("{:.0}", seconds * 1e3))),
        text(conduct.round_s.map(duration)),
        text(copy),
        level(conduct.others_cores, 1.0),
        level(conduct.steal_share, 100.0),
        level(conduct.slowed, 100.0),
    ]
}
