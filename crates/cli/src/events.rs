//! Progress for programs: events on standard error, one JSON object per line. docs/formats.md describes their format.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use basecase_analysis::WorkVerdicts;
use basecase_lab::{Count, Event, Phase, Standing};
use basecase_model::{StepFacts, Trial, TrialStatus, printable_json};
use serde::Serialize;

/// Version of the format. It rises when something is removed or renamed, not for new events or fields.
const FORMAT: u32 = 1;

/// An event as programs read it.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ProgressEvent<'a> {
    /// The first event.
    Begin {
        format: u32,
        program: &'a str,
        version: &'a str,
        command: &'a str,
        time: &'a str,
    },
    /// One of several experiments that a command runs.
    PartBegins {
        kind: &'a str,
        name: Option<&'a str>,
        number: usize,
        of: Option<usize>,
    },
    ExperimentBegins {
        experiment: &'a str,
        name: &'a str,
        protocol: &'a str,
        candidates: Vec<&'a str>,
        steps: Vec<&'a str>,
        trials: Option<usize>,
    },
    Phase {
        candidate: Option<&'a str>,
        phase: &'a str,
        step: Option<&'a str>,
        reason: Option<&'a str>,
        text: Cow<'a, str>,
    },
    RoundBegins {
        round: u32,
        steps: Vec<&'a str>,
        verdicts: VerdictCounts,
        expected_rounds: Option<u32>,
        expected_seconds_left: Option<f64>,
    },
    StepBegins {
        #[serde(flatten)]
        step: Step<'a>,
        candidates: Vec<&'a str>,
        trial: Option<usize>,
        trials: Option<usize>,
        expected_seconds: Option<f64>,
        expected_seconds_after: Option<f64>,
    },
    /// The window of a step of one candidate has opened: operations count from now on.
    WindowOpened {
        #[serde(flatten)]
        step: Step<'a>,
    },
    StepProgress {
        #[serde(flatten)]
        step: Step<'a>,
        share: Option<f64>,
        inserts: u64,
        deletes: u64,
        queries: u64,
    },
    TrialStored {
        #[serde(flatten)]
        step: Step<'a>,
        candidate: &'a str,
        was_found: bool,
        status: &'a str,
        reason: Option<&'a str>,
        log_tail: Option<&'a str>,
        seconds: f64,
        value: Option<f64>,
        unit: &'a str,
        warnings: &'a [String],
        trial: Option<usize>,
        trials: Option<usize>,
    },
    CountStored {
        step: &'a str,
        label: &'a str,
        candidate: &'a str,
        start: u32,
        status: &'a str,
        reason: Option<&'a str>,
        instructions_per_operation: Vec<f64>,
        warnings: &'a [String],
    },
    RoundEnds {
        round: u32,
        seconds: f64,
        decided: usize,
        open: usize,
        verdicts: VerdictCounts,
        expected_rounds: Option<u32>,
        expected_seconds_left: Option<f64>,
    },
    Note {
        text: &'a str,
    },
    ReportWritten {
        path: &'a str,
    },
    Summary {
        store: &'a str,
        trials: usize,
        measured: usize,
        found: usize,
        failed: &'a [String],
        interrupted: bool,
    },
    Verdicts {
        regressions: usize,
        failed: usize,
        work: Option<WorkCounts>,
        text: &'a str,
    },
    Error {
        message: &'a str,
        hints: Vec<&'a str>,
    },
    Interrupted {
        message: &'a str,
        hints: Vec<&'a str>,
    },
    /// The last event.
    End {
        exit_code: u8,
        outcome: &'a str,
        interrupted: bool,
    },
}

/// How many steps of contenders have each verdict on their throughput.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct VerdictCounts {
    regression: usize,
    improvement: usize,
    no_change: usize,
    not_enough_data: usize,
}

impl From<&Standing> for VerdictCounts {
    fn from(Standing { faster, slower, unchanged, open, .. }: &Standing) -> Self {
        VerdictCounts {
            regression: *slower,
            improvement: *faster,
            no_change: *unchanged,
            not_enough_data: *open,
        }
    }
}

/// How many steps of contenders have each verdict on their work.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct WorkCounts {
    more_work: usize,
    less_work: usize,
    same_work: usize,
    not_enough_data: usize,
}

impl From<WorkVerdicts> for WorkCounts {
    fn from(WorkVerdicts { more, less, same, open }: WorkVerdicts) -> Self {
        WorkCounts { more_work: more, less_work: less, same_work: same, not_enough_data: open }
    }
}

/// The step of an event.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step<'a> {
    step: Cow<'a, str>,
    label: Cow<'a, str>,
    round: u32,
}

impl<'a> Step<'a> {
    pub(crate) fn new(facts: &'a StepFacts, round: u32) -> Step<'a> {
        Step { step: Cow::Borrowed(&facts.name), label: Cow::Borrowed(&facts.label), round }
    }

    pub(crate) fn into_owned(self) -> Step<'static> {
        Step {
            step: Cow::Owned(self.step.into_owned()),
            label: Cow::Owned(self.label.into_owned()),
            round: self.round,
        }
    }
}

/// A line: time and event.
#[derive(Serialize)]
struct Line<'a> {
    elapsed_seconds: f64,
    #[serde(flatten)]
    event: &'a ProgressEvent<'a>,
}

/// Where the lines go.
type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// Writes events, each with the time since the first.
#[derive(Clone)]
pub(crate) struct Events {
    began: Instant,
    sink: Sink,
}

impl Events {
    /// Starts writing events to this sink, which takes whole lines.
    pub(crate) fn begin(command: &str, sink: Sink) -> Events {
        let events = Events { began: Instant::now(), sink };
        events.write(&ProgressEvent::Begin {
            format: FORMAT,
            program: "basecase",
            version: env!("CARGO_PKG_VERSION"),
            command,
            time: &jiff::Timestamp::now().to_string(),
        });
        events
    }

    /// Writes an event.
    pub(crate) fn write(&self, event: &ProgressEvent<'_>) {
        let elapsed_seconds = rounded(self.began.elapsed().as_secs_f64());
        match serde_json::to_string(&Line { elapsed_seconds, event }) {
            Ok(line) => (self.sink)(&printable_json(&line)),
            // Only numbers, strings and lists of them, which JSON can always hold.
            Err(error) => debug_assert!(false, "{error}"),
        }
    }
}

/// Splits a message from its hints.
pub(crate) fn with_hints(text: &str) -> (&str, Vec<&str>) {
    let mut parts = text.split("\nhint: ");
    (parts.next().unwrap_or_default(), parts.collect())
}

/// Seconds rounded to milliseconds.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// The form for programs of an event of a run.
pub(crate) fn progress_event<'a>(event: &Event<'a>) -> ProgressEvent<'a> {
    match event {
        Event::ExperimentBegins { experiment, trials } => ProgressEvent::ExperimentBegins {
            experiment: &experiment.id,
            name: &experiment.name,
            protocol: if experiment.schedule.is_some() { "rounds" } else { "classic" },
            candidates: experiment.candidates.iter().map(|candidate| candidate.name.0.as_str()).collect(),
            steps: experiment.steps.iter().map(|step| step.label.as_str()).collect(),
            // In rounds their number is not known beforehand.
            trials: experiment.schedule.is_none().then_some(*trials),
        },
        Event::CountStored { count, step } => ProgressEvent::CountStored {
            step: &step.name,
            label: &step.label,
            candidate: &count.candidate,
            start: count.start,
            status: if count.is_complete() { "complete" } else { "failed" },
            reason: count.failure.as_deref(),
            instructions_per_operation: count.per_operation().collect(),
            warnings: &count.warnings,
        },
        Event::Phase { candidate, phase } => phase_event(*candidate, *phase),
        Event::RoundBegins { round, steps, standing } => ProgressEvent::RoundBegins {
            round: *round,
            steps: steps.clone(),
            verdicts: standing.into(),
            expected_rounds: standing.rounds,
            expected_seconds_left: standing.seconds_left.map(rounded),
        },
        Event::StepBegins { candidate, step, round, number, all, seconds, seconds_after, .. } => {
            ProgressEvent::StepBegins {
                step: Step::new(step, *round),
                candidates: vec![candidate],
                trial: Some(*number),
                trials: Some(*all),
                expected_seconds: Some(rounded(*seconds)),
                expected_seconds_after: Some(rounded(*seconds_after)),
            }
        }
        Event::TurnsBegin { round, step, candidates, .. } => ProgressEvent::StepBegins {
            step: Step::new(step, *round),
            candidates: candidates.clone(),
            trial: None,
            trials: None,
            expected_seconds: None,
            expected_seconds_after: None,
        },
        Event::TrialStored { trial, step, was_found, count } => trial_event(trial, step, *was_found, *count),
        Event::RoundEnds { round, seconds, decided, open, standing } => ProgressEvent::RoundEnds {
            round: *round,
            seconds: rounded(*seconds),
            decided: *decided,
            open: *open,
            verdicts: standing.into(),
            expected_rounds: standing.rounds,
            expected_seconds_left: standing.seconds_left.map(rounded),
        },
        Event::Note(text) => ProgressEvent::Note { text },
    }
}

fn phase_event<'a>(candidate: Option<&'a str>, phase: Phase<'a>) -> ProgressEvent<'a> {
    let step = match phase {
        Phase::RebuildStep(step) => Some(step),
        _ => None,
    };
    let reason = match phase {
        Phase::Rebuild(reason) => Some(reason.id()),
        _ => None,
    };
    ProgressEvent::Phase { candidate, phase: phase.id(), step, reason, text: phase.words() }
}

fn trial_event<'a>(
    trial: &'a Trial,
    step: &'a StepFacts,
    was_found: bool,
    count: Option<Count>,
) -> ProgressEvent<'a> {
    let (status, reason, log_tail) = match &trial.status {
        TrialStatus::Complete => ("complete", None, None),
        TrialStatus::Failed { reason, log_tail } => ("failed", Some(reason), Some(log_tail)),
    };
    ProgressEvent::TrialStored {
        step: Step::new(step, trial.place.round),
        candidate: &trial.candidate,
        was_found,
        status,
        reason: reason.map(String::as_str),
        log_tail: log_tail.map(String::as_str).filter(|tail| !tail.is_empty()),
        seconds: rounded(trial.seconds),
        value: trial.headline(step).filter(|_| trial.is_complete()),
        unit: step.headline.unit(),
        warnings: &trial.warnings,
        trial: count.map(|count| count.done),
        trials: count.map(|count| count.all),
    }
}

#[cfg(test)]
mod tests {
    use basecase_lab::Reason;
    use basecase_model::{Headline, Place};
    use serde_json::{Value, json};

    use std::sync::Mutex;

    use super::*;

    /// The lines of these events, parsed.
    fn read(write: impl FnOnce(&Events)) -> Vec<Value> {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&lines);
        write(&Events::begin(
            "basecase demo",
            Arc::new(move |line| sink.lock().unwrap().push(line.to_owned())),
        ));
        let lines = lines.lock().unwrap();
        assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn step() -> StepFacts {
        StepFacts {
            name: "qr100".into(),
            label: "qr100.L1".into(),
            headline: Headline::Queries,
            ..StepFacts::EMPTY
        }
    }

    fn trial(status: TrialStatus) -> Trial {
        let place = Place { round: 2, pass: 0, position: 1 };
        Trial { seconds: 2.00049, status, ..Trial::empty("cell".into(), "qr100", "pg", place, String::new()) }
    }

    #[test]
    fn every_line_has_a_time_and_the_first_the_version() {
        let lines =
            read(|events| events.write(&ProgressEvent::Note { text: "a \"quoted\"\nline \u{1b}[2J" }));
        assert_eq!(lines[0]["event"], "begin");
        assert_eq!(lines[0]["format"], 1);
        assert_eq!(lines[0]["command"], "basecase demo");
        assert!(lines[0]["elapsed_seconds"].as_f64().unwrap() < 60.0);
        assert_eq!(lines[1]["text"], "a \"quoted\"\nline \u{1b}[2J", "unchanged once parsed");
    }

    #[test]
    fn events_of_a_run() {
        let (step, complete) = (step(), trial(TrialStatus::Complete));
        let failed = trial(TrialStatus::Failed { reason: "it died".into(), log_tail: "panic".into() });
        let count = Some(Count { done: 3, all: 10 });
        let fields_of = |event: Event<'_>| {
            let mut line = serde_json::to_value(progress_event(&event)).unwrap();
            let fields = line.as_object_mut().unwrap();
            fields.retain(|_, value| !value.is_null());
            line
        };
        let phase = |phase| fields_of(Event::Phase { candidate: Some("pg"), phase });
        assert_eq!(
            phase(Phase::Rebuild(Reason::HadBegun)),
            json!({
                "event": "phase", "candidate": "pg", "phase": "rebuild", "reason": "had_begun",
                "text": "the interrupted step had begun: rebuilding the database",
            })
        );
        let rebuilding = phase(Phase::RebuildStep("l.i0"));
        assert_eq!([&rebuilding["phase"], &rebuilding["step"]], ["rebuild_step", "l.i0"]);
        assert_eq!(
            fields_of(Event::TurnsBegin {
                round: 2,
                step: &step,
                candidates: vec!["pg", "my"],
                progress: Vec::new()
            }),
            json!({
                "event": "step_begins", "step": "qr100", "label": "qr100.L1", "round": 2, "candidates": ["pg", "my"],
            })
        );
        let stored =
            |trial, was_found, count| fields_of(Event::TrialStored { trial, step: &step, was_found, count });
        assert_eq!(
            stored(&complete, true, count),
            json!({
                "event": "trial_stored", "step": "qr100", "label": "qr100.L1", "round": 2, "candidate": "pg",
                "was_found": true, "status": "complete", "seconds": 2.0, "value": 0.0, "unit": "queries/s",
                "warnings": [], "trial": 3, "trials": 10,
            })
        );
        let standing =
            Standing { faster: 3, slower: 1, unchanged: 5, open: 2, rounds: Some(12), seconds_left: None };
        let failed = stored(&failed, false, None);
        assert_eq!(
            [&failed["status"], &failed["reason"], &failed["log_tail"]],
            ["failed", "it died", "panic"]
        );
        assert_eq!(failed.get("value").or(failed.get("trial")), None);
        assert_eq!(
            fields_of(Event::RoundEnds { round: 0, seconds: 8.25, decided: 1, open: 2, standing }),
            json!({
                "event": "round_ends", "round": 0, "seconds": 8.25, "decided": 1, "open": 2,
                "verdicts": { "regression": 1, "improvement": 3, "no_change": 5, "not_enough_data": 2 },
                "expected_rounds": 12,
            })
        );
    }

    #[test]
    fn hints_are_apart() {
        assert_eq!(
            with_hints("no such file\nhint: name one\nhint: or none"),
            ("no such file", vec!["name one", "or none"])
        );
        assert_eq!(with_hints("broken").1.len(), 0);
    }

    /// One of each.
    fn all<'a>(step: &Step<'a>, none: &'a [String]) -> Vec<ProgressEvent<'a>> {
        let step = || step.clone();
        vec![
            ProgressEvent::Begin { format: 1, program: "", version: "", command: "", time: "" },
            ProgressEvent::PartBegins { kind: "", name: None, number: 1, of: None },
            ProgressEvent::ExperimentBegins {
                experiment: "",
                name: "",
                protocol: "",
                candidates: Vec::new(),
                steps: Vec::new(),
                trials: None,
            },
            ProgressEvent::Phase { candidate: None, phase: "", step: None, reason: None, text: "".into() },
            ProgressEvent::RoundBegins {
                round: 0,
                steps: Vec::new(),
                verdicts: VerdictCounts::default(),
                expected_rounds: None,
                expected_seconds_left: None,
            },
            ProgressEvent::StepBegins {
                step: step(),
                candidates: Vec::new(),
                trial: None,
                trials: None,
                expected_seconds: None,
                expected_seconds_after: None,
            },
            ProgressEvent::WindowOpened { step: step() },
            ProgressEvent::StepProgress { step: step(), share: None, inserts: 0, deletes: 0, queries: 0 },
            ProgressEvent::RoundEnds {
                round: 0,
                seconds: 0.0,
                decided: 0,
                open: 0,
                verdicts: VerdictCounts::default(),
                expected_rounds: None,
                expected_seconds_left: None,
            },
            ProgressEvent::Note { text: "" },
            ProgressEvent::ReportWritten { path: "" },
            ProgressEvent::Summary {
                store: "",
                trials: 0,
                measured: 0,
                found: 0,
                failed: none,
                interrupted: false,
            },
            ProgressEvent::Verdicts { regressions: 0, failed: 0, work: None, text: "" },
            ProgressEvent::Error { message: "", hints: Vec::new() },
            ProgressEvent::Interrupted { message: "", hints: Vec::new() },
            ProgressEvent::End { exit_code: 0, outcome: "", interrupted: false },
        ]
    }

    #[test]
    fn all_events_fields_and_phases_are_described() {
        let formats = include_str!("../../../docs/formats.md");
        let section = formats.split("\n## Progress\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let (facts, complete) = (step(), trial(TrialStatus::Complete));
        let events = all(&Step::new(&facts, 0), &[]);
        for event in events.iter().chain([&trial_event(&complete, &facts, false, None)]) {
            let value = serde_json::to_value(Line { elapsed_seconds: 0.0, event }).unwrap();
            let event = value["event"].as_str().unwrap().to_owned();
            let row = section.lines().find(|line| line.starts_with(&format!("| `{event}` |")));
            let row = row.unwrap_or_else(|| panic!("no row of {event} in docs/formats.md"));
            let is_common =
                |field: &str| ["elapsed_seconds", "event", "step", "label", "round"].contains(&field);
            for field in value.as_object().unwrap().keys() {
                let text = if is_common(field) { section } else { row };
                assert!(
                    text.contains(&format!("`{field}`")),
                    "{event} has a field {field} that docs/formats.md lacks"
                );
            }
        }
        for phase in [
            Phase::Prepare(""),
            Phase::InitialiseServer,
            Phase::Connect,
            Phase::Start,
            Phase::Inspect,
            Phase::Rebuild(Reason::Asked),
            Phase::RebuildStep(""),
            Phase::Reload,
            Phase::Settle(basecase_server::Settle::Off),
            Phase::Stop,
            Phase::Keep,
            Phase::DropTables,
        ] {
            assert!(section.contains(&format!("| `{}` |", phase.id())), "no row of phase {}", phase.id());
        }
        for reason in [Reason::Asked, Reason::ChangesRows, Reason::HadBegun] {
            assert!(section.contains(&format!("`{}`", reason.id())), "{}", reason.id());
        }
    }
}
