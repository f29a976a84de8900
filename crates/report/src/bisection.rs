//! With which of many candidates a step changed, as a search among them found it.

use basecase_model::{Experiment, Trial};
use basecase_stats::{Bisection, BisectionEnd, Metric};
use serde::Serialize;

use crate::document::Block;
use crate::effect::Effect;
use crate::json;
use crate::results::Results;
use crate::rounds::Rounds;
use crate::tables::{Cell, Column, Mark, Row, Table};

/// A search for the candidate with which a step changed.
#[derive(Debug)]
pub struct Bisected<'a> {
    /// All candidates in their order, as the user wrote them; the first is the base case.
    pub candidates: Vec<String>,
    /// What the step is called.
    pub label: &'a str,
    /// Those that were measured.
    pub probes: Vec<Probed>,
    /// How far the search has come.
    pub bisection: &'a Bisection,
}

/// What rounds beside the first candidate say of another one.
#[derive(Debug)]
pub struct Probed {
    candidate: usize,
    effect: Option<Effect>,
    rounds: usize,
    verdict: String,
}

impl Probed {
    /// Of the candidate of that number, which is the second one of the experiment, on the step of that name; `None` where there is no round
    /// of both.
    pub fn new(candidate: usize, step: &str, experiment: &Experiment, trials: &[Trial]) -> Option<Self> {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        let step = results.step_named(step)?;
        let judged = results.judged(step, 1)?;
        let effect = Effect::of_decision(Metric::Throughput, judged.throughput);
        Some(Probed { candidate, effect, rounds: judged.throughput.rounds, verdict: judged.verdict() })
    }
}

impl Bisected<'_> {
    /// The report as it is read from top to bottom.
    pub(crate) fn compose(&self) -> Vec<Block> {
        vec![
            Block::Title(format!("Bisection: {}", self.label)),
            Block::Paragraph(self.sentence()),
            Block::Table(self.table()),
            Block::Paragraph(READING.into()),
        ]
    }

    /// What is known of a candidate, if it was measured.
    fn probed(&self, candidate: usize) -> Option<&Probed> {
        self.probes.iter().find(|probe| probe.candidate == candidate)
    }

    fn name(&self, candidate: usize) -> &str {
        self.candidates.get(candidate).map_or("", String::as_str)
    }

    /// What it came to, e.g. `102.8 % faster (101.1–104.5 %) since postgres:17.11. …`.
    fn sentence(&self) -> String {
        let words = |candidate: usize| {
            self.probed(candidate)
                .map_or("trials failed, so that there is no round", |probed| probed.verdict.as_str())
        };
        let last = self.candidates.len().saturating_sub(1);
        let (first_name, last_name) = (self.name(0), self.name(last));
        let Some((before, since)) = self.bisection.bracket() else {
            return match self.bisection.end() {
                Some(BisectionEnd::Unchanged) => {
                    format!("{last_name} does not differ from {first_name}: {}.", words(last))
                }
                _ => format!(
                    "How far {last_name} is from {first_name} is not decided: {}. {GO_ON}",
                    words(last)
                ),
            };
        };
        let (before, since) = (self.name(before), self.name(since));
        let bracket = format!("The change began after {before}, and with {since} at the latest.");
        match self.bisection.end() {
            Some(BisectionEnd::Began(version)) => {
                let effect = self.probed(version).and_then(|probed| probed.effect);
                let difference = effect.map(|effect| effect.difference()).unwrap_or_default();
                let like = if before == first_name {
                    String::new()
                } else {
                    format!(" {before} is like {first_name}.")
                };
                format!("{difference} since {since}.{like}")
            }
            Some(BisectionEnd::Between(version)) => {
                let name = self.name(version);
                format!(
                    "{name} is like neither {first_name} nor {last_name}: there is more than one change. Bisect from {before} to {name}, and \
                     from {name} to {since}."
                )
            }
            Some(BisectionEnd::Open(version)) => {
                format!("{bracket} Of {} it is not decided: {}. {GO_ON}", self.name(version), words(version))
            }
            Some(BisectionEnd::Unchanged) | None => format!("{bracket} {GO_ON}"),
        }
    }

    /// Where a candidate belongs, in words.
    fn reading(&self, candidate: usize) -> &'static str {
        if candidate == 0 {
            "the first"
        } else if self.probed(candidate).is_none() {
            "not measured"
        } else if self.bisection.end() == Some(BisectionEnd::Open(candidate)) {
            "not decided"
        } else {
            match self.bisection.bracket() {
                Some((_, since)) if candidate >= since => CHANGED,
                Some((before, _)) if candidate > before => "like neither",
                _ => "like the first",
            }
        }
    }

    fn table(&self) -> Table {
        let row = |(candidate, name): (usize, &String)| {
            let (probed, reading) = (self.probed(candidate), self.reading(candidate));
            let ratio = |effect: Effect| {
                let mark = if effect.ratio < 1.0 { Mark::Worse } else { Mark::Better };
                Cell { mark: if reading == CHANGED { mark } else { Mark::None }, ..Cell::ratio(&effect) }
            };
            let ratio = probed.and_then(|probed| probed.effect).map_or_else(Cell::default, ratio);
            let rounds = probed.map(|probed| probed.rounds.to_string()).unwrap_or_default();
            Row::new(name, vec![ratio, Cell::plain(rounds), Cell::plain(reading)])
        };
        Table {
            caption: format!("Throughput relative to {}", self.name(0)),
            corner: "candidate",
            columns: vec![
                Column::numbers("ratio", ""),
                Column::numbers("rounds", ""),
                Column::words("it is"),
            ],
            rows: self.candidates.iter().enumerate().map(row).collect(),
            ..Table::default()
        }
    }

    /// The report as one JSON object with a newline at its end.
    pub(crate) fn json(&self) -> String {
        let candidate = |(number, name): (usize, &String)| {
            let probed = self.probed(number);
            let effect = probed.and_then(|probed| probed.effect);
            Candidate {
                candidate: name.clone(),
                ratio: effect.map(|effect| effect.ratio),
                interval: effect.and_then(|effect| effect.interval),
                rounds: probed.map(|probed| probed.rounds),
                reading: self.reading(number),
            }
        };
        let bracket = self.bisection.bracket();
        let object = Object {
            step: self.label,
            is_found: matches!(self.bisection.end(), Some(BisectionEnd::Began(_))),
            before: bracket.map(|(before, _)| self.name(before)),
            since: bracket.map(|(_, since)| self.name(since)),
            sentence: self.sentence(),
            candidates: self.candidates.iter().enumerate().map(candidate).collect(),
        };
        json::written(&object)
    }
}

const CHANGED: &str = "like the last";

const GO_ON: &str = "The same command goes on; a larger --budget lets it go further.";

const READING: &str = "The last candidate is held against the first, and then the one in the middle of what is left, beside both of them, until \
                       its whole interval is on one side of half of the change. It is taken that there is one change: what \
                       comes and goes in between is not seen.";

#[derive(Serialize)]
struct Object<'a> {
    step: &'a str,
    is_found: bool,
    before: Option<&'a str>,
    since: Option<&'a str>,
    sentence: String,
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct Candidate {
    candidate: String,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    rounds: Option<usize>,
    reading: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Format, Options};
    use crate::{Stored, fixture};
    use basecase_stats::BisectionProbe;

    /// Two candidates in rounds, the second of which is at this level.
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
            bisection.learn(rounds.judgement.decision(Metric::Throughput, number, 1));
            probes.extend(Probed::new(candidate, &step, &experiment, &trials));
        }
        (bisection, probes, step)
    }

    fn text(levels: &[f64], format: Format) -> String {
        let (bisection, probes, label) = search(levels);
        let bisected = Bisected {
            candidates: (0..levels.len()).map(|number| format!("postgres:17.{number}")).collect(),
            label: &label,
            probes,
            bisection: &bisection,
        };
        crate::bisection(&bisected, format, &Options::default())
    }

    #[test]
    fn a_search_that_found_the_change() {
        insta::assert_snapshot!(text(&[0.0, 0.0, 0.0, -0.06, -0.06, -0.06], Format::Text));
    }

    #[test]
    fn a_search_as_json() {
        insta::assert_snapshot!(text(&[0.0, 0.04, 0.04], Format::Json));
    }

    #[test]
    fn searches_that_found_none() {
        let sentence = |levels: &[f64]| {
            let text = text(levels, Format::Json);
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["sentence"].as_str().unwrap().to_owned()
        };
        insta::assert_snapshot!(sentence(&[0.0, 0.0, 0.001]));
        insta::assert_snapshot!(sentence(&[0.0, -0.05, -0.1]));
    }
}
