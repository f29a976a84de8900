//! What single runs of a step can tell.

use basecase_model::StepFacts;

use super::{Cell, Column, Row, Table};
use crate::effect::percent_of_logarithm;
use crate::known_noise::{Server, server};
use crate::options::Thresholds;
use crate::results::Results;

/// How to read it.
pub(crate) const READING: &str = "How far a single run differs from another one of a server that is alike, by the luck of starts and of the \
                                  moment, as experiments in rounds of this store tell. Rounds have a few seconds of load each; longer runs \
                                  may differ less.";

/// A row for each step and kind of contender of which something is known; `None` without any.
pub(crate) fn table(results: &Results<'_>, thresholds: Thresholds) -> Option<Table> {
    let mut contenders: Vec<(usize, Server)> = Vec::new();
    for (candidate, facts) in results.candidates().skip(1) {
        if !contenders.iter().any(|(_, kind)| *kind == server(facts)) {
            contenders.push((candidate, server(facts)));
        }
    }
    let of_step = |(step, facts): (usize, &StepFacts)| {
        let label = facts.label.clone();
        contenders.iter().filter_map(move |(candidate, (dbms, engine))| {
            let known = results.difference_noise(step, *candidate)?;
            let percent = |size: f64| Cell::plain(format!("{:.1}", percent_of_logarithm(size)));
            let kind = engine.map_or_else(|| dbms.to_string(), |engine| format!("{dbms} {engine}"));
            let (lower, upper) = thresholds.logarithms();
            let cells = vec![
                Cell::plain(kind),
                Cell::plain(known.rounds.to_string()),
                percent(known.noise.sd),
                percent(known.noise.interval(0.0).upper),
                Cell::plain(format!("{:.1}", 100.0 * known.noise.chance_outside(lower, upper))),
            ];
            Some(Row { step: Some(step), ..Row::new(&label, cells) })
        })
    };
    let rows: Vec<Row> = results.steps().flat_map(of_step).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Difference of two single runs of servers that are alike, in per cent".into(),
        corner: "step",
        columns: vec![
            Column::words("candidates"),
            Column::numbers("rounds", "that tell it"),
            Column::numbers("sd", "standard deviation of the difference"),
            Column::numbers("interval", "half of its length, at 95 %"),
            Column::numbers("marked", "how often in a hundred such a difference is marked"),
        ],
        rows,
        ..Table::default()
    })
}
