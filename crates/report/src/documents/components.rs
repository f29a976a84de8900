//! Where the scatter of steps comes from: the variance components of a candidate against itself.

use basecase_model::{Experiment, Trial};
use basecase_stats::{Luck, LuckComponent};

use crate::documents::Block;
use crate::tables::{Column, Row, Table, TableCell};
use crate::words::caption;

/// With fewer degrees of freedom, a standard deviation is little more than a guess.
const TRUSTED_FREEDOM: usize = 4;

/// The components of each step that candidates took turns in; empty if there is none.
pub(crate) fn blocks(experiment: &Experiment, trials: &[Trial]) -> Vec<Block> {
    let rows: Vec<Row> = experiment
        .steps
        .iter()
        .enumerate()
        .filter_map(|(number, step)| {
            let luck = Luck::of(experiment, trials, step, 1)?;
            let kinds = [Some(luck.pass), luck.session, luck.start, luck.image];
            let cells = kinds.into_iter().map(|kind| TableCell::plain(text(kind))).collect();
            Some(Row { step: Some(number), ..Row::new(&step.label, cells) })
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let introduction = "One candidate against itself. Each number is the standard deviation, in per cent of the throughput, that one \
                        kind of luck adds to the ratio of two: of passes within a session, of sessions with histories of their own, of \
                        starts of the server, and of loads of the data. In parentheses is how often each was drawn; a mark (?) \
                        means that so few say little. 0 means that what the kind contains explains all of it.";
    vec![
        Block::Heading("Where the scatter comes from".to_owned()),
        Block::Paragraph(introduction.to_owned()),
        Block::Table(Table {
            caption: caption(experiment, "Variance components"),
            corner: "step",
            columns: ["pass %", "session %", "start %", "load %"]
                .map(|name| Column::numbers(name, ""))
                .into(),
            rows,
            ..Table::default()
        }),
    ]
}

fn text(kind: Option<LuckComponent>) -> String {
    kind.map_or_else(String::new, |LuckComponent { sd, draws, freedom }| {
        let mark = if freedom < TRUSTED_FREEDOM { " ?" } else { "" };
        format!("{:.2} ({draws}{mark})", 100.0 * sd)
    })
}
