//! The smallest change that the rounds of each step and contender can show.

use basecase_analysis::{Judged, Results, percent_of_logarithm};
use basecase_stats::Decision;

use super::{Column, MISSING, Row, Table, TableCell};

/// A row for each step and contender, in the order of the verdicts; `None` if nothing is judged.
pub(crate) fn table(results: &Results<'_>) -> Option<Table> {
    let rows: Vec<Row> = results.all_judged().iter().map(|judged| row(results, judged)).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Noise floor".into(),
        reading: "In per cent of throughput. Rounds differ because of their starts and of the passes within them. Visible \
                  is the change that this many rounds detect with a probability of 80 %; settled is the smallest margin at \
                  which the verdict would be no change now."
            .into(),
        corner: "step",
        columns: vec![
            Column::words("candidate"),
            Column::numbers("margin", "the smallest change that matters"),
            Column::numbers("rounds", "between-round sd: standard deviation of the effects of rounds"),
            Column::numbers("starts", "τ: the part of it that comes from starts"),
            Column::numbers("passes", "σ: standard deviation of the effects of passes within rounds"),
            Column::numbers("visible", "the change that is detected with a probability of 80 %"),
            Column::numbers("settled", "the smallest margin at which the verdict would be no change now"),
        ],
        rows,
        ..Table::default()
    })
}

fn row(results: &Results<'_>, judged: &Judged<'_>) -> Row {
    let Decision {
        verdict, margin, between_round_sd, start_sd, pass_sd, detectable, smallest_margin, ..
    } = *judged.throughput;
    // Once a change is decided, no sensible margin would contain it.
    let settled = smallest_margin.filter(|_| !verdict.is_change());
    let percent = |effect: Option<f64>| match effect {
        Some(effect) => TableCell::plain(format!("{:.2}", percent_of_logarithm(effect))),
        None => TableCell::plain(MISSING),
    };
    let sizes = [Some(margin), between_round_sd, start_sd, pass_sd, detectable, settled].map(percent);
    let name = TableCell::plain(judged.candidate_name(results));
    Row {
        step: Some(judged.step),
        ..Row::new(judged.step_name(results), std::iter::once(name).chain(sizes).collect())
    }
}
