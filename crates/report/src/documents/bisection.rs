//! The result of a bisection: the candidate at which a step changed.

use basecase_analysis::{Bisected, BisectedCounts, Effect, Found, Side};
use basecase_stats::{BisectionEnd, WorkVerdict};

use crate::documents::Block;
use crate::tables::{self, Column, Highlight, Row, Table, TableCell};
use crate::words::{
    EffectWords as _, caption, instructions, largest_mover, margin, operation_word, verdict, work_error,
    work_percent,
};

/// The report for people.
pub(crate) fn compose(bisected: &Bisected<'_>) -> Vec<Block> {
    let mut blocks = vec![
        Block::Title(format!("Bisection: {}", bisected.label)),
        Block::Paragraph(sentence(bisected)),
        Block::Table(table(bisected)),
    ];
    match &bisected.found {
        Found::Throughput(_) => blocks.push(Block::Paragraph(READING.into())),
        Found::Work(counts) => {
            blocks.extend(functions(bisected, counts));
            blocks.push(Block::Paragraph(WORK_READING.into()));
        }
    }
    blocks
}

/// The functions that account for the change of work that is left; `None` if there is none, or they are not known.
fn functions(bisected: &Bisected<'_>, counts: &BisectedCounts<'_>) -> Option<Block> {
    let (before, since) = bisected.bisection.bracket()?;
    let causes = counts.causes(before, since)?;
    let caption = format!("From {} to {}", bisected.name(before), bisected.name(since));
    tables::work::movers(&causes, caption, operation_word(counts.operation())).map(Block::Table)
}

/// The result, e.g. `102.8 % faster (101.1–104.5 %) since postgres:17.11. …`.
pub(crate) fn sentence(bisected: &Bisected<'_>) -> String {
    let words = |candidate: usize| decided(bisected, candidate);
    let go_on = match bisected.found {
        Found::Throughput(_) => GO_ON,
        Found::Work(_) => "Run the same command again to continue.",
    };
    let last = bisected.candidates.len().saturating_sub(1);
    let (first_name, last_name) = (bisected.name(0), bisected.name(last));
    let Some((before, since)) = bisected.bisection.bracket() else {
        return match bisected.bisection.end() {
            Some(BisectionEnd::Unchanged) => {
                format!("{last_name} does not differ from {first_name}: {}.", words(last))
            }
            _ => format!(
                "Whether {last_name} differs from {first_name} is not decided: {}. {go_on}",
                words(last)
            ),
        };
    };
    let (before, since) = (bisected.name(before), bisected.name(since));
    let bracket = format!("The change began after {before}, and no later than {since}.");
    match bisected.bisection.end() {
        Some(BisectionEnd::Began(version)) => {
            let difference = difference(bisected, version);
            let like =
                if before == first_name { String::new() } else { format!(" {before} is like {first_name}.") };
            format!("{difference}.{like}")
        }
        Some(BisectionEnd::Between(version)) => {
            let name = bisected.name(version);
            format!(
                "{name} is like neither {first_name} nor {last_name}: there is more than one change. Bisect from {before} to {name}, and \
                 from {name} to {since}."
            )
        }
        Some(BisectionEnd::Open(version)) => {
            format!("{bracket} {} is not decided: {}. {go_on}", bisected.name(version), words(version))
        }
        Some(BisectionEnd::Unchanged) | None => format!("{bracket} {go_on}"),
    }
}

/// What is decided of a candidate compared with the first.
fn decided(bisected: &Bisected<'_>, candidate: usize) -> String {
    match &bisected.found {
        Found::Throughput(_) => bisected.probed(candidate).map_or_else(
            || "trials failed, so there is no round".to_owned(),
            |probed| verdict(&probed.decision, probed.round_s),
        ),
        Found::Work(counts) => {
            let failure = [candidate, 0].into_iter().find_map(|one| counts.cell(one)?.failure());
            match (failure, counts.decision(0, candidate)) {
                (Some(failure), _) => format!("it could not be counted: {failure}"),
                (None, None) => "it was not counted".to_owned(),
                (None, Some(decision)) if decision.verdict == WorkVerdict::SameWork => {
                    format!("the same work, within {}", margin(counts.margin()))
                }
                (None, Some(decision)) => match Effect::of_work(&decision) {
                    effect if decision.verdict.is_change() => effect.work_difference(),
                    effect => {
                        format!("{}, {} {} %", decision.verdict, work_percent(&effect), work_error(&effect))
                    }
                },
            }
        }
    }
}

/// The change that began with a candidate, e.g. `2.1 % more work (2.0–2.2 %) since sqlite:3.39.0, most by sqlite3VdbeExec +90`.
fn difference(bisected: &Bisected<'_>, version: usize) -> String {
    let since = bisected.name(version);
    match (&bisected.found, bisected.bisection.bracket()) {
        (Found::Work(counts), Some((before, _))) => {
            let effect = counts.effect(before, version).map(|effect| effect.work_difference());
            let mover = counts.causes(before, version).as_ref().and_then(largest_mover);
            let mover = mover.map(|mover| format!(", most by {mover}")).unwrap_or_default();
            format!("{} since {since}{mover}", effect.unwrap_or_default())
        }
        _ => {
            let effect = bisected.effect(version).map(|effect| effect.difference());
            format!("{} since {since}", effect.unwrap_or_default())
        }
    }
}

fn table(bisected: &Bisected<'_>) -> Table {
    match &bisected.found {
        Found::Throughput(_) => table_of_rounds(bisected),
        Found::Work(counts) => table_of_counts(bisected, counts),
    }
}

fn table_of_counts(bisected: &Bisected<'_>, counts: &BisectedCounts<'_>) -> Table {
    let row = |(candidate, name): (usize, &String)| {
        let side = bisected.side(candidate);
        let count = counts.instructions(candidate).map(instructions).unwrap_or_default();
        let change = bisected.effect(candidate).map_or_else(TableCell::default, |effect| {
            let mark = if effect.ratio > 1.0 { Highlight::Worse } else { Highlight::Better };
            TableCell {
                mark: if side == Side::LikeLast { mark } else { Highlight::None },
                small: work_error(&effect),
                ..TableCell::plain(work_percent(&effect))
            }
        });
        Row::new(name, vec![TableCell::plain(count), change, TableCell::plain(words(side))])
    };
    Table {
        caption: format!("Instructions per {}", operation_word(counts.operation())),
        corner: "candidate",
        columns: vec![
            Column::numbers("instructions", ""),
            Column::numbers("change %", "change in per cent of the first"),
            Column::words("result"),
        ],
        rows: bisected.candidates.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

fn table_of_rounds(bisected: &Bisected<'_>) -> Table {
    let row = |(candidate, name): (usize, &String)| {
        let (probed, side) = (bisected.probed(candidate), bisected.side(candidate));
        let ratio = |effect: Effect| {
            let mark = if effect.ratio < 1.0 { Highlight::Worse } else { Highlight::Better };
            TableCell {
                mark: if side == Side::LikeLast { mark } else { Highlight::None },
                ..TableCell::ratio(&effect)
            }
        };
        let ratio = bisected.effect(candidate).map_or_else(TableCell::default, ratio);
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

const WORK_READING: &str = "The last candidate is compared with the first, and then the middle one of those left with both: it is like \
                            an end if its whole interval lies within a third of the change of it, so that at least a third of the \
                            change begins where the search ends. More work is no time. A change that comes and goes in between is \
                            not seen.";

#[cfg(test)]
mod tests {
    use basecase_analysis::{Probed, Rounds, Stored, fixture};
    use basecase_stats::{Bisection, BisectionEvidence, BisectionProbe, JudgedMetric};

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
            let decision = rounds.judgement.decision(JudgedMetric::Throughput, number, 1);
            bisection.learn(decision.map(BisectionEvidence::Throughput)).unwrap();
            probes.extend(Probed::new(candidate, &step, &experiment, &trials));
        }
        (bisection, probes, step)
    }

    fn found(levels: &[f64]) -> Answer {
        let (bisection, probes, label) = search(levels);
        let bisected = Bisected {
            candidates: (0..levels.len()).map(|number| format!("postgres:17.{number}")).collect(),
            label: &label,
            found: Found::Throughput(probes),
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

    /// A search by work among candidates that are each like the first or like the last of the invented counts.
    fn found_by_work(step: &str, is_like_last: &[bool]) -> Answer {
        let (experiment, counted) = fixture::counted();
        let mut bisection = Bisection::new(is_like_last.len()).unwrap();
        let mut counts = BisectedCounts::new(is_like_last.len(), counted.margin);
        let numbers = |candidate: usize| {
            if is_like_last[candidate] { [usize::MAX, candidate] } else { [candidate, usize::MAX] }
        };
        counts.add(step, &numbers(0), &experiment, &counted);
        while let Some(probe) = bisection.probe() {
            let candidate = match probe {
                BisectionProbe::Last => is_like_last.len() - 1,
                BisectionProbe::Middle { version, .. } => version,
            };
            counts.add(step, &numbers(candidate), &experiment, &counted);
            let evidence = BisectionEvidence::Work { course: &counts.course(), margin: counts.margin() };
            bisection.learn(Some(evidence)).unwrap();
        }
        crate::bisection(&Bisected {
            candidates: (0..is_like_last.len()).map(|number| format!("postgres:17.{number}")).collect(),
            label: step,
            found: Found::Work(counts),
            bisection: &bisection,
            experiment: None,
        })
    }

    #[test]
    fn a_search_by_work() {
        let answer = found_by_work("range-covered-pk_range=100", &[false, false, true, true, true]);
        let text = answer.document.text(false);
        insta::assert_snapshot!(text);
        assert!(!text.contains("slower") && !text.contains("faster"), "{text}");
        let told: serde_json::Value = serde_json::from_str(&answer.json).unwrap();
        assert_eq!((&told["by"], &told["since"]), (&"work".into(), &"postgres:17.2".into()), "{told}");
        assert_eq!(told["change"]["movers"][0]["function"], "pg_checksum_page", "{told}");
        assert_eq!(told["candidates"][3]["instructions"], serde_json::Value::Null, "it was not counted");
    }

    #[test]
    fn a_search_by_work_that_ends_at_once() {
        let sentence = |step: &str| {
            let answer = found_by_work(step, &[false, false, true]);
            serde_json::from_str::<serde_json::Value>(&answer.json).unwrap()["sentence"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            sentence("random-points_range=100"),
            "postgres:17.2 does not differ from postgres:17.0: the same work, within 0.5 %."
        );
        let failed = sentence("scan_range=100");
        assert!(
            failed.contains("is not decided: it could not be counted: the step ended before"),
            "{failed}"
        );
    }
}
