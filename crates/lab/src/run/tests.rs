//! Schedules without servers: whatever is slow, fails, is stopped or killed, on a fake bench.

mod budgets;
mod chosen_steps;
mod mishaps;
mod nodes;
mod rounds;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use basecase_model::{Experiment, Trial};
use basecase_server::Settle;
use basecase_store::Store;
use basecase_workload::insert_benchmark::Pace;
use tempfile::TempDir;

use super::fake::{Call, Fake, is_kill};
use super::{RunOptions, Summary, run_on};
use crate::observer::{Event, Observer};
use crate::plan::Plan;
use crate::request::{Missing, Node, PinRequest, Places, Protocol, Request, Rounds, Sizes, Timing, Verify};
use crate::workload::{InsertBenchmark, Workload, WorkloadFile};

/// What is run.
#[derive(Debug, Clone)]
struct Scenario {
    candidates: Vec<&'static str>,
    workload: Arc<dyn Workload>,
    protocol: Protocol,
    options: RunOptions,
    step_limit_seconds: Option<u64>,
    node: Option<Node>,
}

/// One step that reads and one that writes, of two candidates, in at most so many rounds.
fn in_rounds(most: u32) -> Scenario {
    Scenario {
        candidates: vec!["sqlite@wal_normal", "sqlite@rollback_full"],
        workload: steps_of(&["point-query", "insert"]),
        protocol: Protocol::Rounds(Rounds { most: Some(most), ..Rounds::default() }),
        options: RunOptions::default(),
        step_limit_seconds: None,
        node: None,
    }
}

/// The ten steps of the Insert Benchmark, once.
fn classic() -> Scenario {
    Scenario { workload: insert_benchmark(), protocol: Protocol::Classic, ..in_rounds(5) }
}

/// The same in rounds.
fn in_chains(most: u32) -> Scenario {
    Scenario { workload: insert_benchmark(), ..in_rounds(most) }
}

fn insert_benchmark() -> Arc<dyn Workload> {
    let sizes = Sizes { rows: Some(2000), writes: Some(2000), seconds: Some(1), ..Sizes::default() };
    Arc::new(InsertBenchmark::new(sizes.parameters(Pace::Bursts, None).unwrap()))
}

fn steps_of(list: &[&str]) -> Arc<dyn Workload> {
    let workload = WorkloadFile::definition_of("microbenchmarks").unwrap();
    let options = [("rows".to_owned(), "1000".to_owned())];
    let list: Vec<String> = list.iter().map(|step| (*step).to_owned()).collect();
    Arc::new(WorkloadFile::new(workload, &options, &list).unwrap())
}

/// A folder with a store, data and homes, in memory where there is such a file system.
struct Laboratory {
    folder: TempDir,
}

/// Nobody watches.
struct Nobody;

impl Observer for Nobody {
    fn notice(&mut self, _: Event<'_>) {}
}

impl Laboratory {
    fn new() -> Laboratory {
        let memory = PathBuf::from("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        Laboratory { folder }
    }

    fn plan(&self, scenario: &Scenario) -> Plan {
        let candidates = scenario.candidates.iter().map(|candidate| candidate.parse().unwrap()).collect();
        let mut request = Request {
            name: "fake".into(),
            candidates,
            workload: Arc::clone(&scenario.workload),
            settle: Settle::Condition,
            settle_limit: None,
            verify: Verify::Auto,
            step_limit_seconds: scenario.step_limit_seconds,
            pin: PinRequest::default(),
            extra_settings: Vec::new(),
            memory: None,
            meant_io_bound: false,
            protocol: scenario.protocol.clone(),
            replicates: Vec::new(),
            missing: Missing::Refuse,
            node: None,
        };
        if let Some(node) = scenario.node {
            request.on_node(node);
        }
        let places = Places {
            home: self.folder.path().join("home"),
            data: self.folder.path().join("data"),
            transport: None,
            timing: Timing::ORDINARY,
            program: PathBuf::new(),
        };
        Plan::prepare(&request, &places, "fake", &mut |_| {}).unwrap()
    }

    fn store(&self) -> Store {
        Store::create_or_open(&self.folder.path().join("s.sqlite")).unwrap()
    }

    /// Runs a scenario; `None` when it was killed.
    fn run(&self, scenario: &Scenario, fake: &mut Fake) -> Option<Summary> {
        let plan = self.plan(scenario);
        let mut store = self.store();
        let stop = fake.stop();
        let run = AssertUnwindSafe(|| {
            run_on(fake, &plan, &mut store, scenario.options.clone(), &stop, &mut Nobody).unwrap()
        });
        match catch_unwind(run) {
            Ok(summary) => Some(summary),
            Err(panic) if is_kill(panic.as_ref()) => None,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn experiment(&self, scenario: &Scenario) -> Experiment {
        let id = self.plan(scenario).experiment.id.clone();
        let store = Store::open_read_only(&self.folder.path().join("s.sqlite")).unwrap();
        store.experiment(&id).unwrap().unwrap()
    }

    fn trials(&self, scenario: &Scenario) -> Vec<Trial> {
        let id = self.plan(scenario).experiment.id.clone();
        let store = Store::open_read_only(&self.folder.path().join("s.sqlite")).unwrap();
        store.trials(&id).unwrap()
    }

    /// Rounds by step and candidate of all trials that are complete. Each is there once.
    fn rounds(&self, scenario: &Scenario) -> BTreeMap<(String, String), Vec<u32>> {
        let mut rounds: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
        for trial in self.trials(scenario).iter().filter(|trial| trial.is_complete()) {
            rounds.entry((trial.step.clone(), trial.candidate.clone())).or_default().push(trial.place.round);
        }
        for (of, rounds) in &mut rounds {
            rounds.sort_unstable();
            assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]), "{of:?} twice: {rounds:?}");
        }
        rounds
    }

    /// Everything that a run left of servers' data.
    fn left(&self) -> Vec<PathBuf> {
        fn below(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() { below(&entry.path(), found) } else { found.push(entry.path()) }
            }
        }
        let mut found = Vec::new();
        below(&self.folder.path().join("data"), &mut found);
        found
    }
}

/// A number of [-1, 1) that looks random, and is the same each time.
fn noise(of: &str, round: u32, slice: u32) -> f64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(round) << 32 ^ u64::from(slice);
    for byte in of.bytes().chain(round.to_le_bytes()).chain(slice.to_le_bytes()) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state ^= state >> 29;
    (state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A bench on which the second candidate is so much slower in each step, as a share.
fn slower_by(share: f64) -> Fake {
    Fake::new(move |candidate, step, round, slice| {
        let usual = if candidate.contains("rollback") { 1000.0 * (1.0 - share) } else { 1000.0 };
        usual * (1.0 + 0.01 * noise(&format!("{candidate} {step}"), round, slice))
    })
}

const READ: &str = "point-query_range=100";
const WRITE: &str = "insert_range=100";

/// The turns among calls, as step and round.
fn turns(calls: &[Call]) -> Vec<(String, u32)> {
    let of_turns = |call: &Call| match call {
        Call::Turns { step, round, .. } => Some((step.clone(), *round)),
        _ => None,
    };
    calls.iter().filter_map(of_turns).collect()
}
