//! The result of a bisection: the candidate at which a step changed.

use basecase_analysis::{Bisected, Effect, Probed, Side};
use basecase_stats::BisectionEnd;

use crate::documents::Block;
use crate::tables::{Column, Highlight, Row, Table, TableCell};
use crate::words::{EffectWords as _, caption, verdict};

/// The report for people.
pub(crate) fn compose(bisected: &Bisected<'_>) -> Vec<Block> {
    vec![
        Block::Title(format!("Bisection: {}", bisected.label)),
        Block::Paragraph(sentence(bisected)),
        Block::Table(table(bisected)),
        Block::Paragraph(READING.into()),
    ]
}

/// The result, e.g. `102.8 % faster (101.1–104.5 %) since postgres:17.11. …`.
pub(crate) fn sentence(bisected: &Bisected<'_>) -> String {
    let words = |candidate: usize| {
        bisected.probed(candidate).map_or_else(
            || "trials failed, so there is no round".to_owned(),
            |probed| verdict(&probed.decision, probed.round_s),
        )
    };
    let last = bisected.candidates.len().saturating_sub(1);
    let (first_name, last_name) = (bisected.name(0), bisected.name(last));
    let Some((before, since)) = bisected.bisection.bracket() else {
        return match bisected.bisection.end() {
            Some(BisectionEnd::Unchanged) => {
                format!("{last_name} does not differ from {first_name}: {}.", words(last))
            }
            _ => format!(
                "Whether {last_name} differs from {first_name} is not decided: {}. {GO_ON}",
                words(last)
            ),
        };
    };
    let (before, since) = (bisected.name(before), bisected.name(since));
    let bracket = format!("The change began after {before}, and no later than {since}.");
    match bisected.bisection.end() {
        Some(BisectionEnd::Began(version)) => {
            let effect = bisected.probed(version).and_then(Probed::effect);
            let difference = effect.map(|effect| effect.difference()).unwrap_or_default();
            let like =
                if before == first_name { String::new() } else { format!(" {before} is like {first_name}.") };
            format!("{difference} since {since}.{like}")
        }
        Some(BisectionEnd::Between(version)) => {
            let name = bisected.name(version);
            format!(
                "{name} is like neither {first_name} nor {last_name}: there is more than one change. Bisect from {before} to {name}, and \
                 from {name} to {since}."
            )
        }
        Some(BisectionEnd::Open(version)) => {
            format!("{bracket} {} is not decided: {}. {GO_ON}", bisected.name(version), words(version))
        }
        Some(BisectionEnd::Unchanged) | None => format!("{bracket} {GO_ON}"),
    }
}

fn table(bisected: &Bisected<'_>) -> Table {
    let row = |(candidate, name): (usize, &String)| {
        let (probed, side) = (bisected.probed(candidate), bisected.side(candidate));
        let ratio = |effect: Effect| {
            let mark = if effect.ratio < 1.0 { Highlight::Worse } else { Highlight::Better };
            TableCell {
                mark: if side == Side::LikeLast { mark } else { Highlight::None },
                ..TableCell::ratio(&effect)
            }
        };
        let ratio = probed.and_then(Probed::effect).map_or_else(TableCell::default, ratio);
        let rounds = probed.map(|probed| probed.decision.rounds.to_string()).unwrap_or_default();
        Row::new(name, vec![ratio, TableCell::plain(rounds), TableCell::plain(words(side))])
    };
    let heading = format!("Throughput relative to {}", bisected.name(0));
    Table {
        caption: bisected.experiment.map_or(heading.clone(), |experiment| caption(experiment, &heading)),
        corner: "candidate",
        columns: vec![Column::numbers("ratio", ""), Column::numbers("rounds", ""), Column::words("result")],
        rows: bisected.candidates.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// The side of a candidate, in words.
pub(crate) fn words(side: Side) -> &'static str {
    match side {
        Side::First => "the first",
        Side::NotMeasured => "not measured",
        Side::NotDecided => "not decided",
        Side::LikeFirst => "like the first",
        Side::LikeNeither => "like neither",
        Side::LikeLast => "like the last",
    }
}

const GO_ON: &str = "Run the same command again to continue; a larger --budget lets it go further.";

const READING: &str = "The last candidate is compared with the first, and then the middle one of those left with both, \
                       until its whole interval is on one side of half of the change. This assumes a single change: one \
                       that comes and goes in between is not seen.";

#[cfg(test)]
mod tests {
    use basecase_analysis::{Rounds, Stored, fixture};
    use basecase_stats::{Bisection, BisectionProbe, JudgedMetric};

    use super::*;
    use crate::Answer;

    /// Two candidates in rounds, the second at this level.
    fn pair(level: f64) -> Stored {
        fixture::history(&[0.0, level], 8, 0.005, 7)
    }

    /// A search among candidates at these levels.
    fn search(levels: &[f64]) -> (Bisection, Vec<Probed>, String) {
        let mut bisection = Bisection::new(levels.len()).unwrap();
        let (mut probes, mut step) = (Vec::new(), String::new());
        while let Some(probe) = bisection.probe() {
            let (candidate, margin) = match probe {
                BisectionProbe::Last => (levels.len() - 1, None),
                BisectionProbe::Middle { version, margin } => (version, Some(margin)),
            };
            let (mut experiment, trials) = pair(levels[candidate]);
            let schedule = experiment.schedule.as_mut().unwrap();
            if let Some(margin) = margin {
                (schedule.read_margin, schedule.write_margin) = (margin, margin);
            }
            let rounds = Rounds::of(&experiment, &trials).unwrap();
            let number = experiment.steps.iter().position(basecase_model::StepFacts::is_compared).unwrap();
            step = experiment.steps[number].name.clone();
            bisection.learn(rounds.judgement.decision(JudgedMetric::Throughput, number, 1));
            probes.extend(Probed::new(candidate, &step, &experiment, &trials));
        }
        (bisection, probes, step)
    }

    fn found(levels: &[f64]) -> Answer {
        let (bisection, probes, label) = search(levels);
        let bisected = Bisected {
            candidates: (0..levels.len()).map(|number| format!("postgres:17.{number}")).collect(),
            label: &label,
            probes,
            bisection: &bisection,
            experiment: None,
        };
        crate::bisection(&bisected)
    }

    #[test]
    fn a_search_that_found_the_change() {
        insta::assert_snapshot!(found(&[0.0, 0.0, 0.0, -0.06, -0.06, -0.06]).document.text(false));
    }

    #[test]
    fn a_search_as_json() {
        insta::assert_snapshot!(found(&[0.0, 0.04, 0.04]).json);
    }

    #[test]
    fn searches_that_found_none() {
        let sentence = |levels: &[f64]| {
            let text = found(levels).json;
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["sentence"].as_str().unwrap().to_owned()
        };
        insta::assert_snapshot!(sentence(&[0.0, 0.0, 0.001]));
        insta::assert_snapshot!(sentence(&[0.0, -0.05, -0.1]));
    }
}
