//! Progress for people: a live line on a terminal, else one line per finished trial.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use basecase_lab::{Count, Event, Observer};
use basecase_load::{LatencyCounts, Progress, latency_between};
use basecase_model::{Measures, OperationClass, StepCount, StepFacts, Trial, TrialStatus, names, printable};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::print_message;
use crate::round_line::{RoundLine, round_end};
use crate::ticker::Ticker;

/// What the live line shows.
#[derive(Default)]
struct Live {
    head: String,
    step: Option<Step>,
    /// The round that goes on.
    round: Option<RoundLine>,
}

/// The running step.
struct Step {
    progress: Arc<Progress>,
    /// The class of operations whose latency and costs are shown.
    class: OperationClass,
    began: Instant,
    seconds: f64,
    seconds_after: f64,
    /// Counts when the last second began, so that the line shows rates of that second.
    last: Counts,
}

/// A step's counts at one instant.
struct Counts {
    at: Instant,
    inserts: u64,
    queries: u64,
    latencies: LatencyCounts,
}

/// The time over which rates are shown.
const SECOND: Duration = Duration::from_secs(1);

/// Share of a step after which its own pace predicts its end better than the forecast.
const TELLING_SHARE: f64 = 0.02;

impl Counts {
    fn now(progress: &Progress, class: OperationClass) -> Counts {
        Counts {
            at: Instant::now(),
            inserts: progress.items(OperationClass::Insert),
            queries: progress.items(OperationClass::Query),
            latencies: progress.latencies(class),
        }
    }
}

/// Queries if any role sends them, since inserts are then the background; else inserts.
fn class_of(progress: &Progress) -> OperationClass {
    let has_queries = progress.roles.iter().any(|role| role.class == OperationClass::Query);
    if has_queries { OperationClass::Query } else { OperationClass::Insert }
}

impl Step {
    fn begin(progress: Arc<Progress>, seconds: f64, seconds_after: f64) -> Step {
        let class = class_of(&progress);
        let last = Counts::now(&progress, class);
        Step { progress, class, began: last.at, seconds, seconds_after, last }
    }

    /// Rates since the last second began, and the resources used.
    fn line(&mut self) -> String {
        let now = Counts::now(&self.progress, self.class);
        let last = &self.last;
        let seconds = (now.at - last.at).as_secs_f64().max(0.001);
        let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
        let (inserts, queries) = (rate(now.inserts, last.inserts), rate(now.queries, last.queries));
        let mut line = String::new();
        if now.inserts > 0 {
            line.push_str(&format!("  {inserts:.0} inserts/s"));
        }
        if now.queries > 0 {
            line.push_str(&format!("  {queries:.0} queries/s"));
        }
        if let Some(p99) = latency_between(&last.latencies, &now.latencies, 0.99) {
            line.push_str(&format!("  p99 {:.3} ms", p99.as_secs_f64() * 1e3));
        }
        let operations = if self.class == OperationClass::Query { queries } else { inserts };
        line.push_str(&used(&self.progress.vitals(), operations));
        if now.at - last.at >= SECOND {
            self.last = now;
        }
        line
    }

    /// Estimated seconds until the whole experiment is done.
    fn seconds_left(&self, elapsed: f64) -> f64 {
        let share = self.progress.share();
        let of_step = if share > TELLING_SHARE { elapsed / share - elapsed } else { self.seconds - elapsed };
        of_step.max(0.0) + self.seconds_after
    }
}

/// Shows a run's progress.
pub(crate) struct Screen {
    bar: ProgressBar,
    live: Arc<Mutex<Live>>,
    painter: Option<Ticker>,
}

/// Time between repaints of the live line.
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
            let (bar, live) = (bar.clone(), Arc::clone(&live));
            Ticker::start(PAINT_EVERY, move || {
                let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
                bar.set_message(printable(&live.line()).into_owned());
                bar.tick();
            })
        });
        Screen { bar, live, painter }
    }

    /// Prints a line that stays.
    fn line(&self, text: &str) {
        if self.painter.is_some() {
            self.bar.suspend(|| print_message(text));
        } else {
            print_message(text);
        }
    }

    /// Shows the current activity.
    fn head(&self, line: String) {
        if self.painter.is_none() {
            self.line(&line);
        }
        self.set(line, None);
    }

    fn set(&self, head: String, step: Option<Step>) {
        let mut live = self.held();
        (live.head, live.step) = (head, step);
    }

    fn held(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.painter.take());
        self.bar.finish_and_clear();
    }
}

impl Live {
    /// In a round, where all rounds stand comes first, and their time stands for that of the step.
    fn line(&mut self) -> String {
        let round = self.round.as_ref().map(|round| round.line(round.passed()));
        let before = round.as_ref().map(|round| format!("{round} · ")).unwrap_or_default();
        let Some(step) = &mut self.step else {
            return format!("{before}{}", self.head).trim_end_matches(" · ").to_owned();
        };
        let elapsed = step.began.elapsed().as_secs_f64();
        // A step with a time limit has no number of items to reach.
        let share = step.progress.share().max((elapsed / step.seconds.max(0.001)).min(0.99));
        let left = round.is_none().then(|| format!("  {} left", duration(step.seconds_left(elapsed))));
        let (percent, left) = (share * 100.0, left.unwrap_or_default());
        format!("{before}{}  {percent:.0} %{}{left}", self.head, step.line())
    }
}

/// CPU per operation, the device's activity, and debt.
fn used(vitals: &Measures, operations: f64) -> String {
    let mut line = String::new();
    let per_operation = |name| Some(vitals.get(name)? / operations).filter(|figure: &f64| figure.is_finite());
    match (per_operation(names::SERVER_CPU_US), per_operation(names::CLIENT_CPU_US)) {
        (Some(server), Some(client)) => line.push_str(&format!("  cpu {server:.0}+{client:.0} µs/op")),
        (None, Some(client)) => line.push_str(&format!("  cpu {client:.0} µs/op")),
        _ => {}
    }
    if let Some(busy_us) = vitals.get(names::DEVICE_BUSY_US) {
        let mib = |name| vitals.get(name).unwrap_or(0.0) / f64::from(1 << 20);
        let (read, written) = (mib(names::DEVICE_READ_BYTES), mib(names::DEVICE_WRITTEN_BYTES));
        line.push_str(&format!("  device {:.0} %, {read:.0}+{written:.0} MiB/s", busy_us / 1e4));
    }
    if let Some(bytes) = vitals.get(names::HOST_DIRTY_BYTES) {
        line.push_str(&format!("  dirty {:.0} MiB", bytes / f64::from(1 << 20)));
    }
    if let Some((name, level)) = debt(vitals) {
        line.push_str(&format!("  {name} {level:.0}"));
    }
    line
}

/// Measures of debt among those sampled every second, with their names, the most telling first. MariaDB has both, MySQL the
/// second; Postgres and RocksDB would need more queries.
const DEBTS: [(&str, &str); 2] = [
    ("mysql.innodb_history_list_length", "history list"),
    ("mysql.innodb_buffer_pool_pages_dirty", "dirty pool pages"),
];

/// The server's debt, with its name.
fn debt(vitals: &Measures) -> Option<(&'static str, f64)> {
    // With RocksDB, InnoDB only holds the server's own tables.
    if vitals.get("mysql.rocksdb_bytes_written").is_some() {
        return None;
    }
    DEBTS.iter().find_map(|(name, called)| Some((*called, vitals.get(name)?)))
}

impl Observer for Screen {
    fn notice(&mut self, event: Event<'_>) {
        match event {
            Event::Phase { candidate, phase } => {
                let words = phase.words();
                self.head(candidate.map_or(words.to_string(), |candidate| format!("{candidate}  {words}")));
            }
            Event::RoundBegins { round, standing, .. } => {
                self.held().round = Some(RoundLine::new(round, standing));
            }
            Event::TurnsBegin { round, step, .. } => {
                if self.painter.is_none() {
                    self.line(&format!("round {}  {}", round + 1, step.label));
                }
                self.set(step.label.clone(), None);
            }
            Event::StepBegins { candidate, step, progress, seconds, seconds_after, .. } => {
                let live = Step::begin(progress, seconds, seconds_after);
                self.set(format!("{candidate}  {}", step.label), Some(live));
            }
            Event::TrialStored { trial, step, was_found, count: Some(Count { done, all }) } => {
                self.set(String::new(), None);
                let found = if was_found { "  (found in the store)" } else { "" };
                self.line(&format!("[{done:>2}/{all}] {}{found}", trial_line(trial, step)));
                if let TrialStatus::Failed { log_tail, .. } = &trial.status {
                    for line in last_lines(log_tail) {
                        self.line(&format!("    {line}"));
                    }
                }
            }
            Event::RoundEnds { round, seconds, open, standing, .. } => {
                self.set(String::new(), None);
                self.held().round = None;
                self.line(&round_end(round, seconds, open, standing));
            }
            Event::CountStored { count, step } => {
                self.set(String::new(), None);
                self.line(&count_line(count, step));
            }
            Event::Note(text) => self.line(text),
            // In rounds, one line per trial would be too many; the end of each round is shown instead.
            Event::ExperimentBegins { .. } | Event::TrialStored { count: None, .. } => {}
        }
    }
}

/// A counted step as one line.
fn count_line(count: &StepCount, step: &StepFacts) -> String {
    let windows: Vec<f64> = count.per_operation().collect();
    let what = match &count.failure {
        Some(reason) => format!("failed: {reason}"),
        None => {
            let mean = windows.iter().sum::<f64>() / windows.len().max(1) as f64;
            format!("{mean:.0} instructions per operation")
        }
    };
    format!("{}  {}  start {}: {what}", count.candidate, step.label, count.start + 1)
}

/// A finished trial as one line.
pub(crate) fn trial_line(trial: &Trial, step: &StepFacts) -> String {
    let head = format!("{}  {:<7}", trial.candidate, trial.step);
    match &trial.status {
        TrialStatus::Failed { reason, .. } => format!("{head}  FAILED: {reason}"),
        TrialStatus::Complete => {
            let mut line = head;
            if step.headline_items.is_some() {
                let rate = trial.headline(step).unwrap_or(0.0);
                return format!("{line}  {rate:>9.0} {}  in {:.1} s", step.headline.unit(), trial.seconds);
            }
            for (class, unit) in [
                (OperationClass::Insert, "inserts/s"),
                (OperationClass::Delete, "deletes/s"),
                (OperationClass::Query, "queries/s"),
            ] {
                if let Some(rate) = trial.per_second(class).filter(|rate| *rate > 0.0) {
                    line.push_str(&format!("  {rate:>9.0} {unit}"));
                }
            }
            format!("{line}  in {:.1} s", trial.seconds)
        }
    }
}

/// The end of a server's log, as shown in a message; the store has more.
fn last_lines(log_tail: &str) -> impl Iterator<Item = &str> {
    const SHOWN: usize = 8;
    let lines = log_tail.lines().count();
    log_tail.lines().skip(lines.saturating_sub(SHOWN))
}

/// A readable duration; negative seconds count as 0.
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
    use basecase_model::{Headline, Place, RoleRecord};

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
    fn costs_per_operation_and_device_activity() {
        let mut vitals = Measures::new();
        assert_eq!(used(&vitals, 100.0), "");
        for (name, value) in [
            (names::SERVER_CPU_US, 1.5e6),
            (names::CLIENT_CPU_US, 4e5),
            (names::DEVICE_BUSY_US, 2.5e5),
            (names::DEVICE_WRITTEN_BYTES, f64::from(3 << 20)),
            (names::HOST_DIRTY_BYTES, f64::from(64 << 20)),
        ] {
            vitals.set(name, value);
        }
        assert_eq!(used(&vitals, 50_000.0), "  cpu 30+8 µs/op  device 25 %, 0+3 MiB/s  dirty 64 MiB");
        assert_eq!(used(&vitals, 0.0), "  device 25 %, 0+3 MiB/s  dirty 64 MiB");
    }

    #[test]
    fn defect_25_a_line_shows_the_same_rates_as_tables_for_several_clients() {
        let role = |client, class, items, ended_us| {
            let idle = RoleRecord::idle(client, "role", class, 1000);
            RoleRecord { items, ended_us, ..idle }
        };
        let step = StepFacts { name: "l.i0".into(), headline: Headline::Inserts, ..StepFacts::EMPTY };
        let place = Place { round: 0, pass: 0, position: 0 };
        let insert = OperationClass::Insert;
        let trial = Trial {
            seconds: 2.0,
            roles: vec![role(1, insert, 1000, 1_000_000), role(2, insert, 1000, 2_000_000)],
            ..Trial::empty("cell".into(), &step.name, "pg", place, String::new())
        };
        assert_eq!(trial.headline(&step), Some(1000.0));
        assert_eq!(trial_line(&trial, &step), "pg  l.i0          1000 inserts/s  in 2.0 s");

        // Each client's queries have their own window.
        let query = OperationClass::Query;
        let step = StepFacts { name: "qr100".into(), headline: Headline::Queries, ..StepFacts::EMPTY };
        let roles = vec![
            role(1, query, 1000, 1_000_000),
            role(2, query, 1000, 2_000_000),
            role(2, insert, 50, 1_000_000),
        ];
        let trial = Trial { step: step.name.clone(), roles, ..trial };
        assert_eq!(trial.headline(&step), Some(1500.0));
        assert_eq!(
            trial_line(&trial, &step),
            "pg  qr100           25 inserts/s       1500 queries/s  in 2.0 s"
        );
    }

    #[test]
    fn the_debt_of_a_server() {
        let mut vitals = Measures::new();
        assert_eq!(debt(&vitals), None);
        vitals.set("mysql.innodb_buffer_pool_pages_dirty", 120.0);
        assert_eq!(used(&vitals, 1.0), "  dirty pool pages 120");
        vitals.set("mysql.innodb_history_list_length", 4_321.0);
        assert_eq!(used(&vitals, 1.0), "  history list 4321");
        vitals.set("mysql.rocksdb_bytes_written", 0.0);
        assert_eq!(debt(&vitals), None);
    }

    #[test]
    fn durations() {
        assert_eq!(duration(-3.0), "0 s");
        assert_eq!(duration(59.4), "59 s");
        assert_eq!(duration(83.0), "1 min 23 s");
        assert_eq!(duration(7_260.0), "2 h 01 min");
    }
}
