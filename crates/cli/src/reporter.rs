//! Reports a command's progress on standard error: as text for people, as events for programs.

use std::path::Path;
use std::sync::Arc;

use basecase_analysis::Gate;
use basecase_lab::{Observer, Summary};
use basecase_report::headline;

use crate::Outcome;
use crate::arguments::ProgressArgument;
use crate::event_observer::EventObserver;
use crate::events::{Events, ProgressEvent, with_hints};
use crate::output::{self, INTERRUPTED, print_message};
use crate::screen::Screen;

/// Who reads the progress.
pub(crate) enum Reporter {
    /// People.
    Text,
    /// Programs.
    Json(Events),
}

/// One of several experiments that a command runs.
pub(crate) enum Part<'a> {
    /// A size of an experiment file.
    Size { name: &'a str, number: usize, of: usize },
    /// A repetition of a calibration.
    Calibration { number: usize, of: usize },
    /// A probe of a bisection. Their number is not known beforehand.
    Probe { name: &'a str, number: usize, left: Option<&'a str> },
    /// Parent and child of a change that was found, by its number.
    Confirmation { name: &'a str, number: usize },
}

impl Reporter {
    pub(crate) fn new(progress: ProgressArgument) -> Reporter {
        match progress {
            ProgressArgument::Text => Reporter::Text,
            ProgressArgument::Json => {
                Reporter::Json(Events::begin(&output::command_line(), Arc::new(output::print_event)))
            }
        }
    }

    /// The observer of a run.
    pub(crate) fn observer(&self) -> Box<dyn Observer> {
        match self {
            Reporter::Text => Box::new(Screen::new()),
            Reporter::Json(events) => Box::new(EventObserver::new(events.clone())),
        }
    }

    /// One of several experiments begins.
    pub(crate) fn part(&self, part: &Part<'_>) {
        match (self, part) {
            (Reporter::Text, Part::Size { name, number, of }) => {
                print_message(&format!("size {name}: {number} of {of}"));
            }
            (Reporter::Text, Part::Calibration { number, of }) => {
                print_message(&format!("calibration {number} of {of}"));
            }
            (Reporter::Text, Part::Probe { name, number, left }) => {
                let left = left.map(|left| format!("; {left}")).unwrap_or_default();
                print_message(&format!("probe {number}: {name}{left}"));
            }
            (Reporter::Text, Part::Confirmation { name, number }) => {
                print_message(&format!("confirming change {number}: {name}"));
            }
            (Reporter::Json(events), part) => {
                let (kind, name, number, of) = match part {
                    Part::Size { name, number, of } => ("size", Some(*name), *number, Some(*of)),
                    Part::Calibration { number, of } => ("calibration", None, *number, Some(*of)),
                    Part::Probe { name, number, .. } => ("probe", Some(*name), *number, None),
                    Part::Confirmation { name, number } => ("confirmation", Some(*name), *number, None),
                };
                events.write(&ProgressEvent::PartBegins { kind, name, number, of });
            }
        }
    }

    /// Something that the user should know before work begins.
    pub(crate) fn note(&self, note: &str) {
        self.observer().notice(basecase_lab::Event::Note(note));
    }

    /// The pages of a report were written.
    pub(crate) fn page_written(&self, page: &Path) {
        let page = page.display().to_string();
        match self {
            Reporter::Text => print_message(&format!("report: {page}")),
            Reporter::Json(events) => events.write(&ProgressEvent::ReportWritten { path: &page }),
        }
    }

    /// An experiment in rounds was judged.
    pub(crate) fn verdicts(&self, verdicts: &Gate<'_>) {
        let text = headline(verdicts);
        match self {
            Reporter::Text => print_message(&text),
            Reporter::Json(events) => events.write(&ProgressEvent::Verdicts {
                regressions: verdicts.regressions(),
                failed: verdicts.failed(),
                work: verdicts.work_verdicts().map(Into::into),
                text: &text,
            }),
        }
    }

    /// A run is over. Its results are in `store`, which the user called `named`.
    pub(crate) fn summary(&self, summary: &Summary, named: &Path, store: &Path) {
        match self {
            Reporter::Text => print_summary(summary, named, store),
            Reporter::Json(events) => events.write(&ProgressEvent::Summary {
                store: &store.display().to_string(),
                trials: summary.all,
                measured: summary.measured,
                found: summary.found,
                failed: &summary.failed,
                interrupted: summary.interrupted,
            }),
        }
        if summary.interrupted {
            self.interrupted();
        }
    }

    /// The user stopped the command.
    pub(crate) fn interrupted(&self) {
        match self {
            Reporter::Text => print_message(INTERRUPTED),
            Reporter::Json(events) => {
                let (message, hints) = with_hints(INTERRUPTED);
                events.write(&ProgressEvent::Interrupted { message, hints });
            }
        }
    }

    /// Something went wrong.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let text = output::error_text(error);
        match self {
            Reporter::Text => print_message(&format!("error: {text}")),
            Reporter::Json(events) => {
                let (message, hints) = with_hints(&text);
                events.write(&ProgressEvent::Error { message, hints });
            }
        }
    }

    /// The command is over.
    pub(crate) fn end(&self, outcome: Outcome) {
        if let Reporter::Json(events) = self {
            let interrupted = basecase_stop::is_asked();
            events.write(&ProgressEvent::End {
                exit_code: outcome.exit_code(),
                outcome: outcome.id(),
                interrupted,
            });
        }
    }
}

fn print_summary(summary: &Summary, named: &Path, store: &Path) {
    let Summary { all, found, failed, interrupted, .. } = summary;
    if *found > 0 {
        let named = named.display();
        print_message(&format!("{found} of {all} trials were already in {named} and were not run again"));
    }
    print_message(&format!("store:  {}", store.display()));
    if !interrupted && !failed.is_empty() {
        print_message(&format!("failed: {}", failed.join(", ")));
        print_message(
            "hint: the report shows the reasons and the end of each server's log; run the same command again to retry",
        );
    }
}
