//! The noise of single runs of a step.

use basecase_analysis::{Results, Server, Thresholds, percent_of_logarithm, server};
use basecase_model::StepFacts;

use super::{Column, Row, Table, TableCell};

/// How to read the table.
pub(crate) const READING: &str = "How much two single runs of identical servers differ by chance, as estimated from \
                                  experiments in rounds in this store. Their rounds have a few seconds of load each; \
                                  longer runs may differ less.";

/// A row for each step and kind of contender with known noise; `None` if there is none.
pub(crate) fn table(results: &Results<'_>, thresholds: Thresholds) -> Option<Table> {
    let mut contenders: Vec<(usize, Server)> = Vec::new();
    for (candidate, facts) in results.candidates().skip(1) {
        if !contenders.iter().any(|(_, kind)| *kind == server(facts)) {
            contenders.push((candidate, server(facts)));
        }
    }
    let step_rows = |(step, facts): (usize, &StepFacts)| {
        let label = facts.label.clone();
        contenders.iter().filter_map(move |(candidate, (dbms, engine))| {
            let known = results.difference_noise(step, *candidate)?;
            let percent = |size: f64| TableCell::plain(format!("{:.1}", percent_of_logarithm(size)));
            let kind = engine.map_or_else(|| dbms.to_string(), |engine| format!("{dbms} {engine}"));
            let (lower, upper) = thresholds.logarithms();
            let cells = vec![
                TableCell::plain(kind),
                TableCell::plain(known.rounds.to_string()),
                percent(known.noise.sd),
                percent(known.noise.interval(0.0).upper),
                TableCell::plain(format!("{:.1}", 100.0 * known.noise.chance_outside(lower, upper))),
            ];
            Some(Row { step: Some(step), ..Row::new(&label, cells) })
        })
    };
    let rows: Vec<Row> = results.steps().flat_map(step_rows).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Difference between two single runs of identical servers, in per cent".into(),
        corner: "step",
        columns: vec![
            Column::words("candidates"),
            Column::numbers("rounds", "that the estimate is based on"),
            Column::numbers("sd", "standard deviation of the difference"),
            Column::numbers("interval", "half of its width, at 95 %"),
            Column::numbers("marked", "percentage of such differences that would be marked"),
        ],
        rows,
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{KnownNoise, fixture};

    use crate::{Options, TextFormat, render};

    #[test]
    fn rounds_in_the_store_give_single_runs_an_interval() {
        let ((experiment, trials), others) = fixture::single_run_beside_rounds();
        let noise = KnownNoise::of(&experiment, &others);
        let options = Options { noise, ..Options::default() };
        let text = render(&experiment, &trials, TextFormat::TEXT, &options);
        insta::assert_snapshot!(text.split("Facts\n").next().unwrap_or_default());
        let json = render(&experiment, &trials, TextFormat::JSON, &options);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let interval = &json["steps"][0]["cells"][1]["interval"];
        assert!(interval[0].as_f64() < Some(1.0) && interval[1].as_f64() > Some(1.0), "{json:#}");
    }

    #[test]
    fn without_known_noise_the_note_on_single_runs_stays() {
        let ((experiment, trials), _) = fixture::single_run_beside_rounds();
        let plain = render(&experiment, &trials, TextFormat::TEXT, &Options::default());
        assert!(
            plain.contains("verdicts need repeated rounds") && !plain.contains("single runs can tell"),
            "{plain}"
        );
    }
}
