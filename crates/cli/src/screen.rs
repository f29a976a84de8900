//! Progress on the terminal; without one, a plain line per finished trial.

use std::io::IsTerminal as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use basecase_lab::{Event, Observer};
use basecase_load::Progress;
use basecase_model::{OperationClass, StepFacts, Trial, TrialStatus};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::complain;

/// What the live line shows.
#[derive(Default)]
struct Live {
    head: String,
    step: Option<Step>,
}

/// The step that runs.
struct Step {
    progress: Arc<Progress>,
    began: Instant,
    seconds: f64,
    seconds_after: f64,
}

/// Share of a step from which its own pace says more about its end than the forecast.
const TELLING_SHARE: f64 = 0.02;

impl Step {
    /// Seconds until the whole experiment is probably done.
    fn seconds_left(&self, elapsed: f64) -> f64 {
        let share = self.progress.share();
        let of_step = if share > TELLING_SHARE { elapsed / share - elapsed } else { self.seconds - elapsed };
        of_step.max(0.0) + self.seconds_after
    }
}

/// Shows a run while it goes on.
pub(crate) struct Screen {
    bar: ProgressBar,
    live: Arc<Mutex<Live>>,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

/// How often the live line is painted.
const PAINT_EVERY: Duration = Duration::from_millis(250);

impl Screen {
    pub(crate) fn new() -> Screen {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let live = Arc::new(Mutex::new(Live::default()));
        let painter = is_terminal.then(|| {
            let (sender, receiver) = channel();
            let (bar, live) = (bar.clone(), Arc::clone(&live));
            let thread = thread::spawn(move || {
                while receiver.recv_timeout(PAINT_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let live = live.lock().unwrap_or_else(PoisonError::into_inner);
                    bar.set_message(live.line());
                    bar.tick();
                }
            });
            (sender, thread)
        });
        Screen { bar, live, painter }
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.painter.is_some() {
            self.bar.suspend(|| complain(text));
        } else {
            complain(text);
        }
    }

    fn set(&self, head: String, step: Option<Step>) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Live { head, step };
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.painter.take() {
            drop(sender);
            // A painter that failed has nothing more to say.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

impl Live {
    fn line(&self) -> String {
        let Some(step) = &self.step else {
            return self.head.clone();
        };
        let (progress, elapsed) = (&step.progress, step.began.elapsed().as_secs_f64());
        let rate = |class| progress.items(class) as f64 / elapsed.max(0.001);
        let (inserts, queries) = (rate(OperationClass::Insert), rate(OperationClass::Query));
        let mut line = format!("{}  {:>3.0} %  {inserts:.0} inserts/s", self.head, progress.share() * 100.0);
        if queries > 0.0 {
            line.push_str(&format!("  {queries:.0} queries/s"));
        }
        format!("{line}  {} left", duration(step.seconds_left(elapsed)))
    }
}

impl Observer for Screen {
    fn notice(&mut self, event: Event<'_>) {
        match event {
            Event::Phase { candidate, text } => {
                let line = format!("{candidate}  {text}").trim_start().to_owned();
                if self.painter.is_none() {
                    self.line(&line);
                }
                self.set(line, None);
            }
            Event::StepBegins { candidate, step, progress, seconds, seconds_after } => {
                let began = Instant::now();
                self.set(
                    format!("{candidate}  {step}"),
                    Some(Step { progress, began, seconds, seconds_after }),
                );
            }
            Event::TrialStored { trial, step, was_found, done, all } => {
                self.set(String::new(), None);
                let found = if was_found { "  (found in the store)" } else { "" };
                self.line(&format!("[{done:>2}/{all}] {}{found}", trial_line(trial, step)));
                if let TrialStatus::Failed { log_tail, .. } = &trial.status {
                    for line in last_lines(log_tail) {
                        self.line(&format!("    {line}"));
                    }
                }
            }
            Event::Note(text) => self.line(text),
        }
    }
}

/// One finished trial in one line.
pub(crate) fn trial_line(trial: &Trial, step: &StepFacts) -> String {
    let head = format!("{}  {:<7}", trial.candidate, trial.step);
    match &trial.status {
        TrialStatus::Failed { reason, .. } => format!("{head}  FAILED: {reason}"),
        TrialStatus::Complete => {
            let mut line = head;
            if let Some(items) = step.headline_items {
                let rate = items as f64 / trial.seconds;
                return format!("{line}  {rate:>9.0} {}  in {:.1} s", step.headline.unit(), trial.seconds);
            }
            for (class, unit) in [
                (OperationClass::Insert, "inserts/s"),
                (OperationClass::Delete, "deletes/s"),
                (OperationClass::Query, "queries/s"),
            ] {
                let rate = trial.rate(class);
                if rate > 0.0 {
                    line.push_str(&format!("  {rate:>9.0} {unit}"));
                }
            }
            format!("{line}  in {:.1} s", trial.seconds)
        }
    }
}

/// The end of a server's log that a message shows; the store has more.
fn last_lines(log_tail: &str) -> impl Iterator<Item = &str> {
    const SHOWN: usize = 8;
    let lines = log_tail.lines().count();
    log_tail.lines().skip(lines.saturating_sub(SHOWN))
}

/// Seconds as people read them; what is below zero is soon.
fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log() {
        let log: String = (0..20).map(|line| format!("line {line}\n")).collect();
        assert_eq!(
            last_lines(&log).collect::<Vec<_>>(),
            (12..20).map(|line| format!("line {line}")).collect::<Vec<_>>()
        );
        assert_eq!(last_lines("").count(), 0);
    }

    #[test]
    fn durations() {
        assert_eq!(duration(-3.0), "0 s");
        assert_eq!(duration(59.4), "59 s");
        assert_eq!(duration(83.0), "1 min 23 s");
        assert_eq!(duration(7_260.0), "2 h 01 min");
    }
}
