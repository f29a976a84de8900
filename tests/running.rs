//! Runs in the background: where they are, by the events that they tell, and what they leave.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::RwLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use basecase_model::Trial;
use basecase_store::Store;
use serde_json::Value;

use crate::Sandbox;

/// Where results and data go.
pub const PLACES: [&str; 4] = ["--store", "s.sqlite", "--data", "data"];
/// Two candidates that are up at once, the faster one first.
pub const TWO_CONFIGS: [&str; 2] = ["sqlite@wal_normal", "sqlite@rollback_full"];
/// The Insert Benchmark in seconds.
pub const SMALL: [&str; 6] = ["--rows", "5000", "--writes", "2000", "--seconds", "1"];
/// Microbenchmarks on small tables; the list of steps comes next.
pub const MICROBENCHMARKS: [&str; 5] = ["--workload", "microbenchmarks", "--option", "rows=5000", "--list"];
/// Settling pays what was put off, and does not wait for the rest of the machine to be at rest.
pub const HARDLY_SETTLES: [&str; 2] = ["--settle-limit", "50ms"];
/// One round more each time it is run to its end.
pub const ONE_ROUND: [&str; 2] = ["--budget", "1ms"];
/// So little time that work and warm-up are shortened, for the fewest rounds that can decide anything: for changes far beyond the noise.
pub const SHORT_ROUNDS: [&str; 2] = ["--budget", "15s"];
/// The same of two servers.
pub const SHORT_ROUNDS_OF_SERVERS: [&str; 2] = ["--budget", "25s"];
/// The same of several.
pub const SHORT_ROUNDS_OF_SEVERAL: [&str; 2] = ["--budget", "45s"];
/// For rounds that are not about new loads of the data.
pub const ONE_LOAD: [&str; 2] = ["--loads", "1"];
/// Schedules as they are, with times fifty times shorter: for whatever no verdict is wanted of.
pub const SHORT_TIMES: [&str; 2] = ["--timing", "1/50"];

/// Single runs of a second, without a warm-up.
pub const ONE_SECOND: [&str; 4] = ["--seconds", "1", "--warm-up-seconds", "0"];

/// The arguments for point queries.
pub fn point_queries<'a>(command: &'a str, candidates: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let steps = ["point-query"];
    [&[command], candidates, &MICROBENCHMARKS, &steps, &HARDLY_SETTLES, &PLACES, more].concat()
}

/// The same in the fewest rounds that can decide anything.
pub fn in_rounds<'a>(command: &'a str, candidates: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    point_queries(command, candidates, &[&["--rounds", "5"], more].concat())
}

/// One round more of these steps each time it is run to its end, with short times.
pub fn one_round(steps: &str) -> Vec<&str> {
    let steps = [steps];
    [
        &["compare"],
        &TWO_CONFIGS[..],
        &MICROBENCHMARKS,
        &steps,
        &ONE_ROUND,
        &SHORT_TIMES,
        &HARDLY_SETTLES,
        &PLACES,
    ]
    .concat()
}

/// Written by tests in which the kernel kills for memory, and read by those that kill servers themselves: the kernel counts its kills for
/// the whole host, so a server that is killed at the same time would seem to be one of them.
pub static KILLS_FOR_MEMORY: RwLock<()> = RwLock::new(());

/// Far longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a run can be waited for: an event, and what it must say.
#[derive(Debug, Clone)]
pub struct Point {
    event: &'static str,
    fields: Vec<(&'static str, Value)>,
    /// Whether rows must have been inserted.
    inserts: bool,
}

impl Point {
    fn new(event: &'static str, fields: &[(&'static str, Value)]) -> Point {
        Point { event, fields: fields.to_vec(), inserts: false }
    }

    /// A phase begins.
    pub fn phase(id: &str) -> Point {
        Point::new("phase", &[("phase", id.into())])
    }

    /// A step begins.
    pub fn step(name: &str) -> Point {
        Point::new("step_begins", &[("step", name.into())])
    }

    /// A step is at work: something of it is done.
    pub fn work(step: &str) -> Point {
        Point::new("step_progress", &[("step", step.into())])
    }

    /// A step is at work, and has inserted rows.
    pub fn inserts(step: &str) -> Point {
        Point { inserts: true, ..Point::work(step) }
    }

    /// So many trials are stored.
    pub fn trials(count: u64) -> Point {
        Point::new("trial_stored", &[("trial", count.into())])
    }

    /// A round is over.
    pub fn round_ends() -> Point {
        Point::new("round_ends", &[])
    }

    /// The same of one candidate, by a part of its name.
    pub fn of(mut self, candidate: &str) -> Point {
        self.fields.push(("candidate", candidate.into()));
        self
    }

    /// The same of one round, from 0.
    pub fn in_round(mut self, round: u64) -> Point {
        self.fields.push(("round", round.into()));
        self
    }

    fn is(&self, event: &Value) -> bool {
        event["event"] == self.event
            && (!self.inserts || event["inserts"].as_u64() > Some(0))
            && self.fields.iter().all(|(name, wanted)| Self::has(event, name, wanted))
    }

    fn has(event: &Value, name: &str, wanted: &Value) -> bool {
        let Some(wanted) = wanted.as_str() else { return event[name] == *wanted };
        let holds = |value: &Value| {
            value.as_str().is_some_and(|value| match name {
                "candidate" => value.contains(wanted),
                // Steps of workload files have their options behind their names.
                "step" => value.split('_').next() == Some(wanted),
                _ => value == wanted,
            })
        };
        let candidates = || event["candidates"].as_array().into_iter().flatten();
        holds(&event[name]) || name == "candidate" && candidates().any(holds)
    }
}

/// What a run told.
#[derive(Debug, Clone, Default)]
pub struct Told(Vec<Value>);

impl Told {
    /// The events of a file, in which the last line may not be whole yet.
    fn read(messages: &Path) -> Told {
        let text = fs::read_to_string(messages).unwrap();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no event: {line}"));
        Told(whole.lines().map(event).collect())
    }

    /// Whether this happened.
    pub fn has(&self, point: &Point) -> bool {
        self.0.iter().any(|event| point.is(event))
    }

    /// All events of this name, in their order.
    pub fn all<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |told| told["event"] == event)
    }

    /// The last event of this name, or `null`.
    pub fn last(&self, event: &str) -> &Value {
        self.0.iter().rfind(|told| told["event"] == event).unwrap_or(&Value::Null)
    }

    /// Candidates and steps that failed.
    pub fn failed(&self) -> Vec<&str> {
        let failed = self.last("summary")["failed"].as_array();
        failed.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// How the command ended; `None` when it was killed.
    pub fn exit_code(&self) -> Option<i64> {
        self.last("end")["exit_code"].as_i64()
    }

    /// Whether everything ran.
    pub fn is_success(&self) -> bool {
        self.exit_code() == Some(0)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

/// A run in the background, which does not outlive its test.
#[derive(Debug)]
pub struct Running {
    child: Child,
    messages: PathBuf,
}

impl Running {
    /// Starts the program with these arguments.
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Running {
        let messages = sandbox.path().join("messages.txt");
        let child = sandbox
            .command(&[arguments, &["--progress", "json"]].concat())
            .stdout(Stdio::null())
            .stderr(File::create(&messages).unwrap())
            .spawn()
            .unwrap();
        Running { child, messages }
    }

    /// What it told so far.
    pub fn told(&self) -> Told {
        Told::read(&self.messages)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is over.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it comes to this point. It must not end before.
    pub fn wait_for(&mut self, point: &Point) {
        self.wait_for_any(std::slice::from_ref(point));
    }

    /// Waits until it comes to one of these points. It must not end before.
    pub fn wait_for_any(&mut self, points: &[Point]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let is_over = self.is_over();
            let told = self.told();
            if points.iter().any(|point| told.has(point)) {
                return;
            }
            assert!(!is_over, "the run ended before {points:?}:\n{told}");
            assert!(Instant::now() < until, "no {points:?} in\n{told}");
            sleep(Duration::from_millis(5));
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Kills it. What it told.
    pub fn kill(mut self) -> Told {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.told()
    }

    /// Waits for its end. What it told, which must agree with its exit code.
    pub fn finish(mut self) -> Told {
        let status = self.child.wait().unwrap();
        let told = self.told();
        assert_eq!(status.code().map(i64::from), told.exit_code(), "{told}");
        told
    }

    /// Runs it from start to end.
    pub fn to_end(sandbox: &Sandbox, arguments: &[&str]) -> Told {
        Running::start(sandbox, arguments).finish()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is gone already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process that belongs to the test.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
    assert!(sent.success(), "no process {pid}");
}

/// The trials of the newest experiment of a store, which is verified.
pub fn trials(store: &Path) -> Vec<Trial> {
    if !store.exists() {
        return Vec::new();
    }
    let store = Store::open_read_only(store).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    let Some(experiment) = store.experiments().unwrap().pop() else { return Vec::new() };
    store.trials(&experiment.id).unwrap()
}

/// The trials of a step by round, in the order of the candidates' names.
pub fn by_round<'a>(trials: &'a [Trial], step: &str) -> BTreeMap<u32, Vec<&'a Trial>> {
    let mut rounds: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    // Steps of workload files have their options behind their names.
    let is_of = |trial: &&Trial| trial.step.split('_').next() == Some(step);
    for trial in trials.iter().filter(is_of) {
        rounds.entry(trial.place.round).or_default().push(trial);
    }
    rounds.values_mut().for_each(|trials| trials.sort_by(|one, other| one.candidate.cmp(&other.candidate)));
    rounds
}

/// Processes whose command line has this text, with their command lines.
pub fn processes_with(text: &str) -> Vec<(u32, String)> {
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(text).then_some((pid, line))
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(process).collect()
}

/// Waits until no process of this folder is left.
pub fn assert_nothing_runs(folder: &Path) {
    let folder = folder.to_str().unwrap();
    // A server that was told to stop may flush for a while when other tests keep the machine busy.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let left = processes_with(folder);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "left over: {left:?}");
        sleep(Duration::from_millis(20));
    }
}
