//! Where the scatter of steps comes from: the variance components of a candidate against itself.

use basecase_analysis::luck_of_steps;
use basecase_model::{Experiment, Trial};
use basecase_stats::{Luck, LuckComponent};

use crate::documents::Block;
use crate::tables::{Column, Row, Table, TableCell};
use crate::words::caption;

/// With fewer degrees of freedom, a standard deviation is little more than a guess.
const TRUSTED_FREEDOM: usize = 4;

/// The components of each step that candidates took turns in; empty if there is none.
pub(crate) fn blocks(experiment: &Experiment, trials: &[Trial]) -> Vec<Block> {
    blocks_of(experiment, trials, "One candidate against itself")
}

/// The same where the first contender is another one: `of` says who they are.
pub(super) fn blocks_of(experiment: &Experiment, trials: &[Trial], of: &str) -> Vec<Block> {
    let row = |(number, luck): (usize, Luck)| {
        let kinds = [Some(luck.pass), luck.session, luck.start, luck.image];
        let cells = kinds.into_iter().map(|kind| TableCell::plain(text(kind))).collect();
        Row { step: Some(number), ..Row::new(&experiment.steps[number].label, cells) }
    };
    let rows: Vec<Row> = luck_of_steps(experiment, trials).into_iter().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let introduction = format!(
        "{of}. Each number is the standard deviation, in per cent of the throughput, that one kind of luck adds to the ratio of \
         two: of passes within a session, of sessions with histories of their own, of starts of the server, and of loads of the \
         data. In parentheses is how often each was drawn; a mark (?) means that so few say little. 0 means that what the kind \
         contains explains all of it."
    );
    vec![
        Block::Heading("Where the scatter comes from".to_owned()),
        Block::Paragraph(introduction),
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

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;

    use super::*;
    use crate::components;

    #[test]
    fn each_step_has_the_kinds_of_luck_that_were_drawn() {
        let (experiment, trials) = fixture::in_two_modes();
        let shown = components(&experiment, &trials).text(false);
        let heading = shown.lines().find(|line| line.contains("pass %")).unwrap();
        assert!(heading.contains("session %") && heading.contains("load %"), "{shown}");
        let rows = luck_of_steps(&experiment, &trials);
        let (number, luck) = rows.first().unwrap();
        let row = shown.lines().find(|line| line.starts_with(&experiment.steps[*number].label)).unwrap();
        assert!(row.contains(&text(Some(luck.pass))) && row.contains(&text(luck.session)), "{shown}");
        assert_eq!(luck.image, None, "one load");
        assert_eq!(blocks(&experiment, &[]).len(), 0);
    }
}
