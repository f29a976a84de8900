//! The result of a bisection as JSON.

use basecase_analysis::{Bisected, BisectedCounts, Found};
use basecase_stats::BisectionEnd;
use serde::Serialize;

use super::counts::{MoverObject, movers};
use super::written;
use crate::documents::bisection::{sentence, words};

#[derive(Serialize)]
struct Object<'a> {
    step: &'a str,
    by: &'static str,
    is_found: bool,
    before: Option<&'a str>,
    since: Option<&'a str>,
    sentence: String,
    candidates: Vec<CandidateObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<ChangeObject<'a>>,
}

#[derive(Serialize)]
struct CandidateObject {
    candidate: String,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    rounds: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Option<f64>>,
    reading: &'static str,
}

/// The change of work between `before` and `since`.
#[derive(Serialize)]
struct ChangeObject<'a> {
    ratio: f64,
    interval: Option<[f64; 2]>,
    movers: Option<Vec<MoverObject<'a>>>,
}

/// The result as one JSON object with a newline at its end.
pub(crate) fn render(bisected: &Bisected<'_>) -> String {
    let counts = match &bisected.found {
        Found::Throughput(_) => None,
        Found::Work(counts) => Some(counts),
    };
    let candidate = |(number, name): (usize, &String)| {
        let probed = bisected.probed(number);
        let effect = bisected.effect(number);
        CandidateObject {
            candidate: name.clone(),
            ratio: effect.map(|effect| effect.ratio),
            interval: effect.and_then(|effect| effect.interval),
            rounds: probed.map(|probed| probed.decision.rounds),
            instructions: counts.map(|counts| counts.instructions(number)),
            reading: words(bisected.side(number)),
        }
    };
    let bracket = bisected.bisection.bracket();
    let object = Object {
        step: bisected.label,
        by: if counts.is_some() { "work" } else { "throughput" },
        is_found: matches!(bisected.bisection.end(), Some(BisectionEnd::Began(_))),
        before: bracket.map(|(before, _)| bisected.name(before)),
        since: bracket.map(|(_, since)| bisected.name(since)),
        sentence: sentence(bisected),
        candidates: bisected.candidates.iter().enumerate().map(candidate).collect(),
        change: counts.zip(bracket).and_then(|(counts, ends)| change(counts, ends)),
    };
    written(&object)
}

fn change<'a>(counts: &BisectedCounts<'a>, (before, since): (usize, usize)) -> Option<ChangeObject<'a>> {
    let effect = counts.effect(before, since)?;
    let causes = counts.causes(before, since);
    Some(ChangeObject { ratio: effect.ratio, interval: effect.interval, movers: causes.as_ref().map(movers) })
}
