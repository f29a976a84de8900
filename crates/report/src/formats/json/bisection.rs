//! The result of a bisection as JSON.

use basecase_analysis::{Bisected, Probed};
use basecase_stats::BisectionEnd;
use serde::Serialize;

use super::written;
use crate::documents::bisection::{sentence, words};

#[derive(Serialize)]
struct Object<'a> {
    step: &'a str,
    is_found: bool,
    before: Option<&'a str>,
    since: Option<&'a str>,
    sentence: String,
    candidates: Vec<CandidateObject>,
}

#[derive(Serialize)]
struct CandidateObject {
    candidate: String,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    rounds: Option<usize>,
    reading: &'static str,
}

/// The result as one JSON object with a newline at its end.
pub(crate) fn render(bisected: &Bisected<'_>) -> String {
    let candidate = |(number, name): (usize, &String)| {
        let probed = bisected.probed(number);
        let effect = probed.and_then(Probed::effect);
        CandidateObject {
            candidate: name.clone(),
            ratio: effect.map(|effect| effect.ratio),
            interval: effect.and_then(|effect| effect.interval),
            rounds: probed.map(|probed| probed.decision.rounds),
            reading: words(bisected.side(number)),
        }
    };
    let bracket = bisected.bisection.bracket();
    let object = Object {
        step: bisected.label,
        is_found: matches!(bisected.bisection.end(), Some(BisectionEnd::Began(_))),
        before: bracket.map(|(before, _)| bisected.name(before)),
        since: bracket.map(|(_, since)| bisected.name(since)),
        sentence: sentence(bisected),
        candidates: bisected.candidates.iter().enumerate().map(candidate).collect(),
    };
    written(&object)
}
