//! A history over many versions as JSON.

use basecase_analysis::{Shift, StepHistory, VersionHistory};
use basecase_stats::Change;
use serde::Serialize;

use super::written;

#[derive(Serialize)]
struct Object<'a> {
    experiment: &'a str,
    id: &'a str,
    in_rounds: bool,
    base: Option<&'a str>,
    versions: Vec<&'a str>,
    steps: Vec<StepObject<'a>>,
}

#[derive(Serialize)]
struct StepObject<'a> {
    step: &'a str,
    rounds: Option<usize>,
    ratios: Vec<Option<f64>>,
    intervals: Vec<Option<[f64; 2]>>,
    changes: Vec<Point<'a>>,
}

#[derive(Serialize)]
struct Point<'a> {
    since: &'a str,
    ratio: f64,
    interval: [f64; 2],
    p: f64,
    adjusted_p: f64,
}

/// The history as one JSON object with a newline at its end.
pub(crate) fn render(history: &VersionHistory<'_>) -> String {
    let step = |step| step_object(history, step);
    let object = Object {
        experiment: &history.experiment.name,
        id: &history.experiment.id,
        in_rounds: history.experiment.schedule.is_some(),
        base: history.versions.first().map(String::as_str),
        versions: history.versions.iter().map(String::as_str).collect(),
        steps: history.steps.iter().map(step).collect(),
    };
    written(&object)
}

fn step_object<'a>(history: &'a VersionHistory<'_>, step: &'a StepHistory<'_>) -> StepObject<'a> {
    StepObject {
        step: step.label,
        rounds: history.experiment.schedule.is_some().then_some(step.rounds),
        ratios: step.ratios.iter().map(|effect| effect.map(|effect| effect.ratio)).collect(),
        intervals: step.ratios.iter().map(|effect| effect.and_then(|effect| effect.interval)).collect(),
        changes: step.changes.iter().map(|shift| point(history, shift)).collect(),
    }
}

fn point<'a>(history: &'a VersionHistory<'_>, shift: &Shift) -> Point<'a> {
    let Change { magnitude, interval, p, adjusted_p, .. } = shift.change;
    Point {
        since: &history.versions[shift.version],
        ratio: magnitude.exp(),
        interval: [interval.lower.exp(), interval.upper.exp()],
        p,
        adjusted_p,
    }
}
