//! A dry run as JSON.

use basecase_analysis::{DryRun, DryStep, PlannedProtocol, StoredStep};
use serde::Serialize;

use super::written;

#[derive(Serialize)]
struct Object<'a> {
    dry_run: bool,
    name: &'a str,
    experiment: Option<&'a str>,
    workload: &'a str,
    protocol: &'static str,
    candidates: Vec<&'a str>,
    missing_builds: Vec<MissingObject<'a>>,
    steps: Vec<StepObject<'a>>,
    first_analysis_rounds: Option<u32>,
    most_rounds: Option<u32>,
    budget_seconds: Option<f64>,
    least_seconds: Option<f64>,
    most_seconds: Option<f64>,
    disk: DiskObject,
    memory: MemoryObject,
    counts: Option<Box<Object<'a>>>,
}

#[derive(Serialize)]
struct MissingObject<'a> {
    candidate: &'a str,
    is_compiled: bool,
}

#[derive(Serialize)]
struct StepObject<'a> {
    step: &'a str,
    label: &'a str,
    candidates: usize,
    stored_cells: Option<usize>,
    stored_rounds: Option<usize>,
    seconds: Option<f64>,
    seconds_of_candidate: Option<f64>,
    /// How many trials say so; 0 if its settings do.
    from_trials: Option<usize>,
}

#[derive(Serialize)]
struct DiskObject {
    known_bytes: Option<u64>,
    estimated_bytes: u64,
    free_bytes: u64,
}

#[derive(Serialize)]
struct MemoryObject {
    asked_bytes: Option<u64>,
    machine_bytes: u64,
}

/// One JSON object, with the counts after the times within it.
pub(crate) fn render(dry_run: &DryRun, counts: Option<&DryRun>) -> String {
    written(&object(dry_run, counts.map(|counts| Box::new(object(counts, None)))))
}

fn object<'a>(dry_run: &'a DryRun, counts: Option<Box<Object<'a>>>) -> Object<'a> {
    let planned = &dry_run.planned;
    let (protocol, rounds) = match planned.protocol {
        PlannedProtocol::Classic => ("classic", None),
        PlannedProtocol::Counts => ("counts", None),
        PlannedProtocol::Rounds { first, last, budget_seconds } => {
            ("rounds", Some((first, last, budget_seconds)))
        }
    };
    let missing = planned
        .missing
        .iter()
        .map(|missing| MissingObject { candidate: &missing.candidate, is_compiled: missing.is_compiled });
    Object {
        dry_run: true,
        name: &planned.name,
        experiment: planned.id.as_deref(),
        workload: &planned.workload,
        protocol,
        candidates: planned.candidates.iter().map(String::as_str).collect(),
        missing_builds: missing.collect(),
        steps: dry_run.steps.iter().map(|step| step_object(step, planned.candidates.len())).collect(),
        first_analysis_rounds: rounds.map(|(first, ..)| first),
        most_rounds: rounds.map(|(_, last, _)| last),
        budget_seconds: rounds.and_then(|(.., budget)| budget),
        least_seconds: dry_run.total_seconds.map(|(least, _)| least),
        most_seconds: dry_run.total_seconds.map(|(_, most)| most),
        disk: DiskObject {
            known_bytes: dry_run.known_disk_bytes,
            estimated_bytes: planned.disk.estimated_bytes,
            free_bytes: planned.disk.free_bytes,
        },
        memory: MemoryObject {
            asked_bytes: planned.memory.asked_bytes,
            machine_bytes: planned.memory.machine_bytes,
        },
        counts,
    }
}

fn step_object(step: &DryStep, candidates: usize) -> StepObject<'_> {
    let (stored_cells, stored_rounds) = match step.stored {
        None => (None, None),
        Some(StoredStep::Cells(cells)) => (Some(cells), None),
        Some(StoredStep::Rounds(rounds)) => (None, Some(rounds)),
    };
    StepObject {
        step: &step.facts.name,
        label: &step.facts.label,
        candidates,
        stored_cells,
        stored_rounds,
        seconds: step.seconds,
        seconds_of_candidate: step.expected.map(|expected| expected.seconds),
        from_trials: step.expected.map(|expected| expected.trials),
    }
}
