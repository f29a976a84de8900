//! A history over many versions as JSON.

use basecase_analysis::{Shift, StepHistory, VersionHistory, WorkChange, WorkHistory};
use basecase_stats::Change;
use serde::Serialize;

use super::counts::{MoverObject, movers};
use super::written;
use crate::words::work_word;

#[derive(Serialize)]
struct Object<'a> {
    experiment: &'a str,
    id: &'a str,
    in_rounds: bool,
    base: Option<&'a str>,
    versions: Vec<&'a str>,
    steps: Vec<StepObject<'a>>,
    /// Empty unless the experiment has counts.
    work: Vec<WorkObject<'a>>,
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

#[derive(Serialize)]
struct WorkObject<'a> {
    step: &'a str,
    instructions: &'a [Option<f64>],
    ratios: Vec<Option<f64>>,
    intervals: Vec<Option<[f64; 2]>>,
    undecided: usize,
    changes: Vec<WorkPoint<'a>>,
}

#[derive(Serialize)]
struct WorkPoint<'a> {
    before: &'a str,
    since: &'a str,
    gradual: bool,
    verdict: String,
    ratio: f64,
    interval: Option<[f64; 2]>,
    p: f64,
    adjusted_p: f64,
    movers: Option<Vec<MoverObject<'a>>>,
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
        work: history.work.iter().map(|step| work_object(history, step)).collect(),
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

fn work_object<'a>(history: &'a VersionHistory<'_>, step: &'a WorkHistory<'_>) -> WorkObject<'a> {
    WorkObject {
        step: step.label,
        instructions: &step.instructions,
        ratios: step.ratios.iter().map(|effect| effect.map(|effect| effect.ratio)).collect(),
        intervals: step.ratios.iter().map(|effect| effect.and_then(|effect| effect.interval)).collect(),
        undecided: step.open,
        changes: step.changes.iter().map(|change| work_point(history, change)).collect(),
    }
}

fn work_point<'a>(history: &'a VersionHistory<'_>, change: &'a WorkChange<'_>) -> WorkPoint<'a> {
    let (shift, effect) = (&change.shift, change.effect());
    WorkPoint {
        before: &history.versions[shift.before],
        since: &history.versions[shift.version],
        gradual: shift.is_gradual,
        verdict: work_word(shift.decision.verdict),
        ratio: effect.ratio,
        interval: effect.interval,
        p: shift.decision.p,
        adjusted_p: shift.decision.adjusted_p,
        movers: change.causes.as_ref().map(movers),
    }
}

fn point<'a>(history: &'a VersionHistory<'_>, shift: &Shift<'_>) -> Point<'a> {
    let Change { magnitude, interval, p, adjusted_p, .. } = shift.change;
    Point {
        since: &history.versions[shift.version],
        ratio: magnitude.exp(),
        interval: [interval.lower.exp(), interval.upper.exp()],
        p,
        adjusted_p,
    }
}
