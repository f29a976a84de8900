//! A bench without servers: candidates are folders, their tables a list of what was done to them, and time passes when it is told to.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, anyhow, ensure};
use basecase_load::{Limits, Progress, StepOutcome};
use basecase_model::{
    CandidateFacts, Check, Measures, Place, RoleRecord, Slice, State, Trial, TrialStatus, names,
};
use basecase_workload::{Preparation, StepPlan};

use super::bench::{Alone, Bench, Deployment, Together};
use super::deployment::Content;
use super::rounds::interleaving::{Interleaved, RunningCandidate};
use super::rounds::slice_scheduler::Experience;
use super::{blank_trial, failed_trial};
use crate::plan::{Candidate, Plan};
use crate::request::Pin;
use crate::workload::WorkloadState;

/// What a run asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Forget {
        candidate: String,
    },
    Open {
        candidate: String,
        directory: String,
        is_fresh: bool,
    },
    Settle {
        candidate: String,
    },
    Execute {
        candidate: String,
    },
    Measure {
        candidate: String,
        step: String,
        limit: Option<Duration>,
    },
    Turns {
        round: u32,
        step: String,
        candidates: Vec<String>,
        is_first: bool,
        most_work: Duration,
        experience: Option<Experience>,
    },
    Stop {
        candidate: String,
    },
    Discard {
        candidate: String,
    },
    Sweep {
        candidate: String,
    },
}

/// What happens at a call, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// The process is killed.
    Kill,
    /// The user wants to stop.
    Interrupt,
    /// The call fails, where a call can.
    Failure,
    /// Turns yield nothing, this time and whenever they are taken again.
    Silence,
}

/// What a process that is killed leaves its stack with.
pub(crate) struct Killed;

/// What the benches and deployments of one run share.
#[derive(Debug)]
struct Machine {
    calls: Vec<Call>,
    mishap: Option<(usize, Mishap)>,
    stop: Arc<AtomicBool>,
    now: Instant,
    /// Directories in which a candidate is up.
    open: Vec<PathBuf>,
    /// Whether tables look whole when a step that changes rows in place was broken off.
    is_blind: bool,
}

impl Machine {
    fn call(&mut self, call: Call) -> Result<()> {
        let number = self.calls.len();
        self.calls.push(call);
        match self.mishap {
            Some((at, Mishap::Kill)) if at == number => std::panic::resume_unwind(Box::new(Killed)),
            Some((at, Mishap::Interrupt)) if at == number => self.stop.store(true, Ordering::Relaxed),
            Some((at, Mishap::Failure)) if at == number => return Err(anyhow!("call {number} was to fail")),
            _ => {}
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_silent(&self) -> bool {
        matches!(self.mishap, Some((at, Mishap::Silence)) if at < self.calls.len())
    }
}

/// The speed of a candidate in a step in a slice of a round, in operations per second.
type Speed = dyn Fn(&str, &str, u32, u32) -> f64;

/// A bench without servers.
pub(crate) struct Fake {
    machine: Rc<RefCell<Machine>>,
    speed: Box<Speed>,
    /// How long a step takes each candidate.
    pub(crate) seconds: f64,
    /// How long a step takes that is executed and not measured.
    pub(crate) unmeasured_seconds: f64,
    /// How long it takes to start a candidate.
    pub(crate) opening_seconds: f64,
}

impl Fake {
    /// In which candidates are so fast.
    pub(crate) fn new(speed: impl Fn(&str, &str, u32, u32) -> f64 + 'static) -> Fake {
        let stop = Arc::new(AtomicBool::new(false));
        let machine = Machine {
            calls: Vec::new(),
            mishap: None,
            stop,
            now: Instant::now(),
            open: Vec::new(),
            is_blind: false,
        };
        Fake {
            machine: Rc::new(RefCell::new(machine)),
            speed: Box::new(speed),
            seconds: 1.0,
            unmeasured_seconds: 0.0,
            opening_seconds: 0.0,
        }
    }

    /// The same with something that happens at a call.
    pub(crate) fn with(self, at: usize, mishap: Mishap) -> Fake {
        self.machine.borrow_mut().mishap = Some((at, mishap));
        self
    }

    /// The same for steps that change rows in place: tables that are half changed have all their rows.
    pub(crate) fn blind(self) -> Fake {
        self.machine.borrow_mut().is_blind = true;
        self
    }

    /// What says that the user wants to stop.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.machine.borrow().stop)
    }

    /// What was asked for.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.machine.borrow().calls.clone()
    }

    /// How many candidates are up.
    pub(crate) fn up(&self) -> usize {
        self.machine.borrow().open.len()
    }

    fn call(&self, call: Call) -> Result<()> {
        self.machine.borrow_mut().call(call)
    }

    /// The trial of one of so many candidates that took turns.
    fn trial_of_turns(
        &self,
        plan: &Plan,
        candidate: &Candidate,
        number: usize,
        place: Place,
        candidates: usize,
    ) -> Trial {
        let facts = &plan.steps[number].facts;
        let slices = (0..6).flat_map(|pass| [pass, pass]).enumerate();
        let slices = slices.map(|(nth, pass)| Slice {
            pass,
            position: nth as u32 * candidates as u32 + place.position,
            opened_us: nth as u64 * 1000,
            length_us: 30_000.0,
            operations: 1000,
            rate: (self.speed)(&candidate.facts.name.0, &facts.name, place.round, nth as u32),
            warm_up_operations: 0,
            server_cpu_us: None,
            others_cpu_us: Some(0.0),
            steal_us: Some(0.0),
            canary_ns: Some(1.0),
        });
        let mut role = RoleRecord::idle(1, "client", facts.headline.class(), 1000);
        (role.items, role.statements, role.ended_us) = (12_000, 12_000, 360_000);
        let trial = blank_trial(plan, candidate, number, place, SystemTime::now());
        let mut trial = Trial { seconds: 0.36, roles: vec![role], slices: slices.collect(), ..trial };
        trial.gauges.set(names::ROUND_SECONDS, self.seconds * candidates as f64);
        trial
    }

    fn pass(&self, seconds: f64) {
        self.machine.borrow_mut().now += Duration::from_secs_f64(seconds);
    }
}

/// Whether a caught panic is a kill.
pub(crate) fn is_kill(panic: &(dyn Any + Send)) -> bool {
    panic.is::<Killed>()
}

/// What of a past a measurement needs is there: all that changed rows since the tables were loaded. What only read left no trace.
const LOADED: &str = "loaded";
/// A step that had begun and did not end.
const BEGUN: &str = "begun";

/// A running candidate.
#[derive(Debug)]
pub(crate) struct Folder {
    machine: Rc<RefCell<Machine>>,
    candidate: String,
    directory: PathBuf,
}

impl Folder {
    fn call(&self, call: Call) -> Result<()> {
        self.machine.borrow_mut().call(call)
    }

    fn path(&self) -> PathBuf {
        self.directory.join("data").join("done")
    }

    fn done(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn set(&self, done: &[String]) -> Result<()> {
        fs::create_dir_all(self.directory.join("data"))?;
        fs::write(self.path(), done.join("\n")).context("the fake's tables")
    }

    /// Refuses to begin a step on other data than it is to begin with.
    fn check_past(&self, plan: &Plan, workload_state: &dyn WorkloadState, number: usize) -> Result<()> {
        // In rounds each step of a workload file begins with what the load left.
        let is_after_load = plan.experiment.schedule.is_some() && !plan.workload.is_chain();
        let past = if is_after_load { vec![0] } else { workload_state.past(number) };
        let wanted = past.iter().filter(|step| plan.steps[**step].facts.writes || **step == 0).count();
        let done = self.done();
        ensure!(!done.iter().any(|step| step == BEGUN), "{} begins on half a step: {done:?}", self.candidate);
        ensure!(done.len() == wanted, "step {number} of {} begins on {done:?}", self.candidate);
        Ok(())
    }

    /// Does what happens to the tables in a step, as `work` says whether it comes to its end.
    fn execute(
        &self,
        name: &str,
        changes: bool,
        is_load: bool,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut done = self.done();
        if !changes {
            return work();
        }
        if is_load {
            done.clear();
        }
        done.push(BEGUN.to_owned());
        self.set(&done)?;
        work()?;
        done.pop();
        done.push(name.to_owned());
        self.set(&done)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let directory = &self.directory;
        self.machine.borrow_mut().open.retain(|open| open != directory);
    }
}

impl Deployment for Folder {
    fn identify(&mut self, facts: &CandidateFacts) -> Result<CandidateFacts> {
        let running = BTreeMap::from([("fsync".to_owned(), "on".to_owned())]);
        Ok(CandidateFacts { running, ..facts.clone() })
    }

    fn holds(&mut self, _: &mut dyn WorkloadState) -> Result<bool> {
        Ok(self.machine.borrow().is_blind || !self.done().iter().any(|step| step == BEGUN))
    }

    fn state(&mut self, _: &dyn WorkloadState, _: bool) -> Result<State> {
        Ok(State::default())
    }

    fn compare(&mut self, _: &mut dyn WorkloadState, _: &State) -> Result<Vec<Check>> {
        Ok(Vec::new())
    }

    fn failure(&mut self, error: &anyhow::Error) -> TrialStatus {
        TrialStatus::Failed { reason: error.to_string(), log_tail: String::new() }
    }

    fn stop(self) -> Option<String> {
        self.call(Call::Stop { candidate: self.candidate.clone() }).err().map(|error| error.to_string())
    }

    fn discard(self) -> Result<Option<String>> {
        self.call(Call::Discard { candidate: self.candidate.clone() })?;
        fs::remove_dir_all(&self.directory)?;
        Ok(None)
    }
}

impl Bench for Fake {
    type Deployment = Folder;

    fn now(&self) -> Instant {
        self.machine.borrow().now
    }

    fn open(
        &mut self,
        _: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        _: Pin,
    ) -> Result<Option<Folder>> {
        let name = candidate.facts.name.0.clone();
        let place = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.call(Call::Open { candidate: name.clone(), directory: place, is_fresh: content.is_fresh() })?;
        self.pass(self.opening_seconds);
        let is_open = self.machine.borrow().open.iter().any(|open| open == directory);
        ensure!(!is_open, "{} is in use", directory.display());
        content.bring()?;
        let folder =
            Folder { machine: Rc::clone(&self.machine), candidate: name, directory: directory.to_path_buf() };
        if content.is_fresh() {
            let _ = fs::remove_dir_all(directory.join("data"));
            folder.set(&[])?;
        } else if !folder.path().exists() {
            return Ok(None);
        }
        self.machine.borrow_mut().open.push(directory.to_path_buf());
        Ok(Some(folder))
    }

    fn sweep(&mut self, _: &Plan, candidate: &Candidate) -> Result<()> {
        self.call(Call::Sweep { candidate: candidate.facts.name.0.clone() })?;
        let _ = fs::remove_dir_all(&candidate.directory);
        Ok(())
    }

    fn forget(&mut self, candidate: &Candidate) {
        // It cannot fail.
        let _ = self.call(Call::Forget { candidate: candidate.facts.name.0.clone() });
    }

    fn settle(&mut self, _: &Plan, folder: &mut Folder, _: &Limits<'_>) -> Result<Measures> {
        self.call(Call::Settle { candidate: folder.candidate.clone() }).map(|()| Measures::new())
    }

    fn execute(&mut self, folder: &mut Folder, step_plan: StepPlan, _: &Limits<'_>) -> Result<StepOutcome> {
        let is_load = step_plan.before.iter().any(|before| matches!(before, Preparation::Drop(_)));
        folder.execute(LOADED, true, is_load, || {
            folder.call(Call::Execute { candidate: folder.candidate.clone() })
        })?;
        self.pass(self.unmeasured_seconds);
        Ok(StepOutcome {
            started_at: SystemTime::now(),
            opened: self.now(),
            seconds: self.seconds,
            slices: Vec::new(),
            sessions: Vec::new(),
            plan_uses: Vec::new(),
            connections: 1,
            roles: Vec::new(),
            statements: Vec::new(),
            warm_up_events: 0,
            broken_off: 0,
            client: Measures::new(),
            counters: Measures::new(),
            failure: None,
        })
    }

    fn measure(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        folder: &mut Folder,
        workload_state: &mut dyn WorkloadState,
        step: Alone<'_>,
        _: &mut dyn FnMut(Arc<Progress>),
    ) -> Result<Option<Trial>> {
        let Alone { number, place, limits, .. } = step;
        let facts = &plan.steps[number].facts;
        if number > 0 {
            folder.check_past(plan, workload_state, number)?;
        }
        let call = Call::Measure {
            candidate: candidate.facts.name.0.clone(),
            step: facts.name.clone(),
            limit: limits.time,
        };
        let executed = folder.execute(&facts.name, facts.writes || number == 0, number == 0, || {
            folder.call(call)?;
            ensure!(!folder.machine.borrow().is_stopped(), "the user stopped it");
            Ok(())
        });
        self.pass(self.seconds);
        if self.machine.borrow().is_stopped() {
            return Ok(None);
        }
        if let Err(error) = executed {
            return Ok(Some(failed_trial(plan, candidate, number, place, &error, Some(folder))));
        }
        let rate = (self.speed)(&candidate.facts.name.0, &facts.name, place.round, 0);
        let mut role = RoleRecord::idle(1, "client", facts.headline.class(), 1000);
        (role.items, role.statements) = ((rate * self.seconds) as u64, (rate * self.seconds) as u64);
        role.ended_us = (self.seconds * 1e6) as u64;
        let trial = blank_trial(plan, candidate, number, place, SystemTime::now());
        Ok(Some(Trial { seconds: self.seconds, roles: vec![role], ..trial }))
    }

    fn take_turns(
        &mut self,
        plan: &Plan,
        all_running: &mut [&mut RunningCandidate<Folder>],
        step: Together<'_>,
        _: &mut dyn FnMut(Vec<Arc<Progress>>),
    ) -> Result<Option<Interleaved>> {
        let Together { number, is_first, round, most_work, experience, .. } = step;
        let facts = &plan.steps[number].facts;
        let place = |position: usize| Place { round, pass: 0, position: position as u32 };
        let broken_off = |running: &mut RunningCandidate<Folder>, position, error: &anyhow::Error| {
            let candidate = &plan.candidates[running.candidate];
            let deployment = Some(&mut running.deployment);
            let trial = failed_trial(plan, candidate, number, place(position), error, deployment);
            Ok(Some(Interleaved { trials: vec![(running.candidate, trial)], is_broken_off: true }))
        };
        for (position, running) in all_running.iter_mut().enumerate().filter(|_| number > 0) {
            let past = running.deployment.check_past(plan, running.workload_state.as_ref(), number);
            if let Err(error) = past {
                return broken_off(running, position, &error);
            }
        }
        let names: Vec<String> = all_running
            .iter()
            .map(|running| plan.candidates[running.candidate].facts.name.0.clone())
            .collect();
        let step = facts.name.clone();
        let call = Call::Turns { round, step, candidates: names, is_first, most_work, experience };
        let called = self.call(call);
        let changes = facts.writes || number == 0;
        self.pass(self.seconds * all_running.len() as f64);
        if self.machine.borrow().is_stopped() {
            return Ok(None);
        }
        // The last of them is the one that fails.
        let last = all_running.len() - 1;
        if let Err(error) = called {
            return broken_off(all_running[last], last, &error);
        }
        let mut trials = Vec::with_capacity(all_running.len());
        if self.machine.borrow().is_silent() {
            return Ok(Some(Interleaved { trials, is_broken_off: false }));
        }
        for (position, running) in all_running.iter_mut().enumerate() {
            running.deployment.execute(&facts.name, changes, number == 0, || Ok(()))?;
            let candidate = &plan.candidates[running.candidate];
            let mut trial = self.trial_of_turns(plan, candidate, number, place(position), last + 1);
            if let Some(round) = running.image_round {
                trial.gauges.set(names::IMAGE_ROUND, f64::from(round));
            }
            trials.push((running.candidate, trial));
        }
        Ok(Some(Interleaved { trials, is_broken_off: false }))
    }
}
