//! Progress for programs: events on standard error, one JSON object a line. Their form is described in docs/formats.md.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use basecase_lab::{Count, Event, Observer, Phase};
use basecase_load::Progress;
use basecase_model::{OperationClass, StepFacts, Trial, TrialStatus, printable_json};
use serde::Serialize;

use crate::ticker::Ticker;

/// Version of the form: a larger one may have lost or renamed something. New events and new fields do not change it.
const FORMAT: u32 = 1;
/// How often a step that runs is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often it is told how far a step is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// An event as programs read it.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Told<'a> {
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
    /// The window of a step of one candidate has opened: what is done from now on counts.
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
    RoundEnds {
        round: u32,
        seconds: f64,
        decided: usize,
        open: usize,
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

/// Which step an event is of.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step<'a> {
    step: Cow<'a, str>,
    label: Cow<'a, str>,
    round: u32,
}

impl<'a> Step<'a> {
    fn new(facts: &'a StepFacts, round: u32) -> Step<'a> {
        Step { step: Cow::Borrowed(&facts.name), label: Cow::Borrowed(&facts.label), round }
    }

    fn into_owned(self) -> Step<'static> {
        Step {
            step: Cow::Owned(self.step.into_owned()),
            label: Cow::Owned(self.label.into_owned()),
            round: self.round,
        }
    }
}

/// A line: when, and what.
#[derive(Serialize)]
struct Line<'a> {
    elapsed_seconds: f64,
    #[serde(flatten)]
    told: &'a Told<'a>,
}

/// Where the lines go.
type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// Tells events, each with the time since the first.
#[derive(Clone)]
pub(crate) struct Events {
    began: Instant,
    sink: Sink,
}

impl Events {
    /// Events from now on, to this sink, which takes whole lines.
    pub(crate) fn begin(command: &str, sink: Sink) -> Events {
        let events = Events { began: Instant::now(), sink };
        events.tell(&Told::Begin {
            format: FORMAT,
            program: "basecase",
            version: env!("CARGO_PKG_VERSION"),
            command,
            time: &jiff::Timestamp::now().to_string(),
        });
        events
    }

    /// Tells an event.
    pub(crate) fn tell(&self, told: &Told<'_>) {
        let elapsed_seconds = rounded(self.began.elapsed().as_secs_f64());
        match serde_json::to_string(&Line { elapsed_seconds, told }) {
            Ok(line) => (self.sink)(&printable_json(&line)),
            // Numbers, texts and lists of them: there is nothing that JSON could not hold.
            Err(error) => debug_assert!(false, "{error}"),
        }
    }
}

/// A text with its hints apart.
pub(crate) fn with_hints(text: &str) -> (&str, Vec<&str>) {
    let mut parts = text.split("\nhint: ");
    (parts.next().unwrap_or_default(), parts.collect())
}

/// Seconds to the millisecond.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Tells the events of one run, and in between how far its steps are.
pub(crate) struct EventObserver {
    events: Events,
    running: Arc<Mutex<Option<Running>>>,
    _ticker: Ticker,
}

/// A step that runs.
struct Running {
    step: Step<'static>,
    progress: Vec<Arc<Progress>>,
    /// Whether the window is one, and has been told to be open.
    awaits_window: bool,
    /// When it is told next how far it is.
    next: Option<Instant>,
    /// What was told last: inserts, deletes and queries.
    last: [u64; 3],
}

impl EventObserver {
    pub(crate) fn new(events: Events) -> EventObserver {
        let running: Arc<Mutex<Option<Running>>> = Arc::default();
        let (looked_at, told) = (Arc::clone(&running), events.clone());
        let ticker = Ticker::start(LOOK_EVERY, move || {
            if let Some(running) = &mut *held(&looked_at) {
                running.look(&told, Instant::now());
            }
        });
        EventObserver { events, running, _ticker: ticker }
    }
}

/// The lock also orders lines: nothing is told of a step that is over.
fn held(running: &Mutex<Option<Running>>) -> MutexGuard<'_, Option<Running>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    fn begin(step: Step<'static>, progress: Vec<Arc<Progress>>, awaits_window: bool) -> Running {
        Running { step, progress, awaits_window, next: None, last: [0; 3] }
    }

    fn items(&self, class: OperationClass) -> u64 {
        self.progress.iter().map(|progress| progress.items(class)).sum()
    }

    /// Tells what is new.
    fn look(&mut self, events: &Events, now: Instant) {
        if self.awaits_window && self.progress.iter().all(|progress| progress.is_open()) {
            self.awaits_window = false;
            events.tell(&Told::WindowOpened { step: self.step.clone() });
        }
        let items = [OperationClass::Insert, OperationClass::Delete, OperationClass::Query]
            .map(|class| self.items(class));
        let is_first_of_kind = items.iter().zip(self.last).any(|(now, last)| *now > 0 && last == 0);
        if is_first_of_kind || self.next.is_some_and(|next| now >= next) {
            self.last = items;
            let [inserts, deletes, queries] = items;
            self.next = Some(now + TELL_EVERY);
            let shares = self.progress.iter().map(|progress| progress.share());
            let share = shares.sum::<f64>() / self.progress.len().max(1) as f64;
            let share = Some(rounded(share)).filter(|share| *share > 0.0);
            events.tell(&Told::StepProgress { step: self.step.clone(), share, inserts, deletes, queries });
        }
    }
}

impl Observer for EventObserver {
    fn notice(&mut self, event: Event<'_>) {
        let mut running = held(&self.running);
        if !matches!(event, Event::Note(_))
            && let Some(mut running) = running.take()
        {
            // A short step may be over before it was looked at.
            running.look(&self.events, Instant::now());
        }
        self.events.tell(&told(&event));
        match event {
            Event::StepBegins { step, round, progress, .. } => {
                let step = Step::new(step, round).into_owned();
                *running = Some(Running::begin(step, vec![progress], true));
            }
            Event::TurnsBegin { step, round, progress, .. } => {
                let step = Step::new(step, round).into_owned();
                *running = Some(Running::begin(step, progress, false));
            }
            _ => {}
        }
    }
}

/// An event of a run as programs read it.
fn told<'a>(event: &Event<'a>) -> Told<'a> {
    match event {
        Event::ExperimentBegins { experiment, trials } => Told::ExperimentBegins {
            experiment: &experiment.id,
            name: &experiment.name,
            protocol: if experiment.schedule.is_some() { "rounds" } else { "classic" },
            candidates: experiment.candidates.iter().map(|candidate| candidate.name.0.as_str()).collect(),
            steps: experiment.steps.iter().map(|step| step.label.as_str()).collect(),
            // Of rounds nobody knows how many there will be.
            trials: experiment.schedule.is_none().then_some(*trials),
        },
        Event::Phase { candidate, phase } => told_phase(*candidate, *phase),
        Event::RoundBegins { round, steps } => Told::RoundBegins { round: *round, steps: steps.clone() },
        Event::StepBegins { candidate, step, round, number, all, seconds, seconds_after, .. } => {
            Told::StepBegins {
                step: Step::new(step, *round),
                candidates: vec![candidate],
                trial: Some(*number),
                trials: Some(*all),
                expected_seconds: Some(rounded(*seconds)),
                expected_seconds_after: Some(rounded(*seconds_after)),
            }
        }
        Event::TurnsBegin { round, step, candidates, .. } => Told::StepBegins {
            step: Step::new(step, *round),
            candidates: candidates.clone(),
            trial: None,
            trials: None,
            expected_seconds: None,
            expected_seconds_after: None,
        },
        Event::TrialStored { trial, step, was_found, count } => told_trial(trial, step, *was_found, *count),
        Event::RoundEnds { round, seconds, decided, open } => {
            Told::RoundEnds { round: *round, seconds: rounded(*seconds), decided: *decided, open: *open }
        }
        Event::Note(text) => Told::Note { text },
    }
}

fn told_phase<'a>(candidate: Option<&'a str>, phase: Phase<'a>) -> Told<'a> {
    let step = match phase {
        Phase::RebuildStep(step) => Some(step),
        _ => None,
    };
    let reason = match phase {
        Phase::Rebuild(reason) => Some(reason.id()),
        _ => None,
    };
    Told::Phase { candidate, phase: phase.id(), step, reason, text: phase.words() }
}

fn told_trial<'a>(trial: &'a Trial, step: &'a StepFacts, was_found: bool, count: Option<Count>) -> Told<'a> {
    let (status, reason, log_tail) = match &trial.status {
        TrialStatus::Complete => ("complete", None, None),
        TrialStatus::Failed { reason, log_tail } => ("failed", Some(reason), Some(log_tail)),
    };
    Told::TrialStored {
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

    use super::*;

    /// What comes of these events, as whoever reads the lines has it.
    fn read(tell: impl FnOnce(&Events)) -> Vec<Value> {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&lines);
        tell(&Events::begin(
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
    fn every_line_says_when_and_the_first_which_version() {
        let lines = read(|events| events.tell(&Told::Note { text: "a \"quoted\"\nline \u{1b}[2J" }));
        assert_eq!(lines[0]["event"], "begin");
        assert_eq!(lines[0]["format"], 1);
        assert_eq!(lines[0]["command"], "basecase demo");
        assert!(lines[0]["elapsed_seconds"].as_f64().unwrap() < 60.0);
        assert_eq!(lines[1]["text"], "a \"quoted\"\nline \u{1b}[2J", "as it was, for whoever reads JSON");
    }

    #[test]
    fn what_a_run_tells() {
        let (step, complete) = (step(), trial(TrialStatus::Complete));
        let failed = trial(TrialStatus::Failed { reason: "it died".into(), log_tail: "panic".into() });
        let count = Some(Count { done: 3, all: 10 });
        let of = |event: Event<'_>| {
            let mut line = serde_json::to_value(told(&event)).unwrap();
            let fields = line.as_object_mut().unwrap();
            fields.retain(|_, value| !value.is_null());
            line
        };
        let phase = |phase| of(Event::Phase { candidate: Some("pg"), phase });
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
            of(Event::TurnsBegin {
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
            |trial, was_found, count| of(Event::TrialStored { trial, step: &step, was_found, count });
        assert_eq!(
            stored(&complete, true, count),
            json!({
                "event": "trial_stored", "step": "qr100", "label": "qr100.L1", "round": 2, "candidate": "pg",
                "was_found": true, "status": "complete", "seconds": 2.0, "value": 0.0, "unit": "queries/s",
                "warnings": [], "trial": 3, "trials": 10,
            })
        );
        let failed = stored(&failed, false, None);
        assert_eq!(
            [&failed["status"], &failed["reason"], &failed["log_tail"]],
            ["failed", "it died", "panic"]
        );
        assert_eq!(failed.get("value").or(failed.get("trial")), None);
        assert_eq!(
            of(Event::RoundEnds { round: 0, seconds: 8.25, decided: 1, open: 2 }),
            json!({ "event": "round_ends", "round": 0, "seconds": 8.25, "decided": 1, "open": 2 })
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
    fn all<'a>(step: &Step<'a>, none: &'a [String]) -> Vec<Told<'a>> {
        let step = || step.clone();
        vec![
            Told::Begin { format: 1, program: "", version: "", command: "", time: "" },
            Told::PartBegins { kind: "", name: None, number: 1, of: None },
            Told::ExperimentBegins {
                experiment: "",
                name: "",
                protocol: "",
                candidates: Vec::new(),
                steps: Vec::new(),
                trials: None,
            },
            Told::Phase { candidate: None, phase: "", step: None, reason: None, text: "".into() },
            Told::RoundBegins { round: 0, steps: Vec::new() },
            Told::StepBegins {
                step: step(),
                candidates: Vec::new(),
                trial: None,
                trials: None,
                expected_seconds: None,
                expected_seconds_after: None,
            },
            Told::WindowOpened { step: step() },
            Told::StepProgress { step: step(), share: None, inserts: 0, deletes: 0, queries: 0 },
            Told::RoundEnds { round: 0, seconds: 0.0, decided: 0, open: 0 },
            Told::Note { text: "" },
            Told::ReportWritten { path: "" },
            Told::Summary { store: "", trials: 0, measured: 0, found: 0, failed: none, interrupted: false },
            Told::Verdicts { regressions: 0, failed: 0, text: "" },
            Told::Error { message: "", hints: Vec::new() },
            Told::Interrupted { message: "", hints: Vec::new() },
            Told::End { exit_code: 0, outcome: "", interrupted: false },
        ]
    }

    #[test]
    fn all_events_fields_and_phases_are_described() {
        let formats = include_str!("../../../docs/formats.md");
        let section = formats.split("\n## Progress\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let (facts, complete) = (step(), trial(TrialStatus::Complete));
        let events = all(&Step::new(&facts, 0), &[]);
        for told in events.iter().chain([&told_trial(&complete, &facts, false, None)]) {
            let value = serde_json::to_value(Line { elapsed_seconds: 0.0, told }).unwrap();
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
