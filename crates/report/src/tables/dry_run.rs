//! The steps of a dry run.

use basecase_analysis::{DryRun, DryStep, Expected, PlannedProtocol, StoredStep};

use super::{Column, MISSING, Row, Table, TableCell};

/// A row for each step: what is reused, and how long it takes.
pub(crate) fn table(dry_run: &DryRun) -> Table {
    let planned = &dry_run.planned;
    let candidates = planned.candidates.len();
    let row = |step: &DryStep| {
        let expected = step.expected.map_or_else(|| MISSING.to_owned(), |expected| source(&expected));
        let seconds = step.seconds.map_or_else(|| MISSING.to_owned(), |seconds| format!("{seconds:.1}"));
        let cells = vec![
            TableCell::plain(candidates.to_string()),
            TableCell::plain(stored(step.stored, candidates)),
            TableCell::plain(seconds),
            TableCell::plain(expected),
        ];
        Row::new(&step.facts.label, cells)
    };
    let seconds = match planned.protocol {
        PlannedProtocol::Rounds { .. } => "seconds of all candidates together, in each round or load",
        PlannedProtocol::Classic | PlannedProtocol::Counts => {
            "seconds of all candidates together that are not stored"
        }
    };
    Table {
        caption: "Steps, in their order".to_owned(),
        corner: "step",
        columns: vec![
            Column::numbers("candidates", ""),
            Column::numbers("stored", "what the store holds of it, which is not measured again"),
            Column::numbers("s", seconds),
            Column::words("known from"),
        ],
        key: vec![format!("s: {seconds}"), "stored: what is in the store, and not measured again".to_owned()],
        rows: dry_run.steps.iter().map(row).collect(),
        ..Table::default()
    }
}

fn stored(stored: Option<StoredStep>, candidates: usize) -> String {
    match stored {
        None => MISSING.to_owned(),
        Some(StoredStep::Cells(done)) => format!("{done} of {candidates}"),
        Some(StoredStep::Rounds(1)) => "1 round".to_owned(),
        Some(StoredStep::Rounds(rounds)) => format!("{rounds} rounds"),
    }
}

/// Who says how long a step takes.
fn source(expected: &Expected) -> String {
    match expected.trials {
        0 => "its settings".to_owned(),
        1 => "1 trial".to_owned(),
        trials => format!("{trials} trials"),
    }
}
