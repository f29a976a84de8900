//! `demo`, `compare` and `run`: three ways to ask for an experiment, one way to run it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use basecase_lab::{
    CandidateSpec, Event, Observer as _, PinRequest, Places, Plan, ProfileOrder, Protocol, Request, Rounds,
    RunOptions, Sizes, Task, Verify, file,
};
use basecase_report::{Format, Options};
use basecase_server::{Settle, default_home};
use basecase_store::Store;
use basecase_workload::insert_benchmark::Pace;

use crate::Outcome;
use crate::arguments::{Compare, Demo, PlaceArguments, ProbeArgument, Run, WorkloadArguments};
use crate::output;
use crate::screen::Screen;
use crate::task::task;

/// Two SQLite configs that really differ, at a size that takes about a minute.
pub(crate) fn demo(arguments: &Demo, stop: &AtomicBool) -> Result<Outcome> {
    let candidates = ["sqlite@rollback_full", "sqlite@wal_normal"]
        .into_iter()
        .map(str::parse)
        .collect::<Result<Vec<CandidateSpec>, _>>()?;
    let sizes = Sizes { rows: Some(50_000), writes: Some(5_000), seconds: Some(3), ..Sizes::default() };
    let request = Request {
        name: "demo".to_owned(),
        candidates,
        task: Task::InsertBenchmark(sizes.parameters(Pace::Bursts, None).map_err(|reason| anyhow!(reason))?),
        pin: PinRequest::default(),
        settle: Settle::Condition,
        verify: Verify::Full,
        step_limit_seconds: None,
        extra_settings: Vec::new(),
        protocol: Protocol::Classic,
        twins: Vec::new(),
    };
    make_folder(&arguments.out)?;
    let places = PlaceArguments {
        store: arguments.out.join("results.sqlite"),
        out: arguments.out.join("report"),
        data: Some(arguments.out.join("data")),
        transport: None,
        keep_data: false,
        budget: None,
        probe: ProbeArgument::On,
        profile: Vec::new(),
        profile_measured: false,
        json: false,
    };
    perform(&request, &places, stop)
}

pub(crate) fn compare(arguments: &Compare, stop: &AtomicBool) -> Result<Outcome> {
    let mut candidates = arguments.candidates.clone();
    for candidate in candidates.iter_mut().filter(|candidate| !candidate.is_url()) {
        candidate.config = candidate.config.take().or_else(|| arguments.config.clone());
    }
    let WorkloadArguments { workload, choice } = &arguments.workload;
    let task = task(workload, choice, &arguments.sizes, arguments.pace.into(), arguments.seed)?;
    let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    let request = Request {
        name: names.join(" "),
        candidates,
        task,
        pin: arguments.pin.clone(),
        settle: arguments.settle.into(),
        verify: arguments.verify.into(),
        step_limit_seconds: arguments.step_limit,
        extra_settings: arguments.settings.clone(),
        protocol: protocol(arguments),
        twins: Vec::new(),
    };
    perform(&request, &arguments.places, stop)
}

pub(crate) fn run(arguments: &Run, stop: &AtomicBool) -> Result<Outcome> {
    perform(&file::read(&arguments.file)?, &arguments.places, stop)
}

/// What `--detect`, `--rounds`, `--slice` and `--budget` ask for.
fn protocol(arguments: &Compare) -> Protocol {
    let Compare { detect, rounds, slice, places, .. } = arguments;
    let is_classic = detect.is_none() && rounds.is_none() && slice.is_none() && places.budget.is_none();
    if is_classic {
        return Protocol::Classic;
    }
    Protocol::Rounds(Rounds { detect: *detect, most: *rounds, slice: *slice })
}

/// What `--profile` asks for.
///
/// # Errors
/// When this user may not profile.
fn profile_order(arguments: &PlaceArguments) -> Result<Option<ProfileOrder>> {
    let kinds = Some(arguments.profile.clone()).filter(|kinds| !kinds.is_empty());
    kinds.map(|kinds| ProfileOrder::tried(kinds, arguments.profile_measured)).transpose()
}

fn perform(request: &Request, arguments: &PlaceArguments, stop: &AtomicBool) -> Result<Outcome> {
    // What needs nothing else to be known as wrong.
    let profile = profile_order(arguments)?;
    let home = default_home();
    let places = Places {
        data: arguments.data.clone().unwrap_or_else(|| home.join("data")),
        home,
        transport: arguments.transport.map(Into::into),
    };
    let command = command_line();
    // The store first: whatever is wrong with it should not wait for a download.
    let mut store = Store::create_or_open(&arguments.store)?;
    let lock = store.lock_for_run(&command)?;
    let mut screen = Screen::new();
    let mut plan = Plan::prepare(request, &places, &command, &mut |text| {
        screen.notice(Event::Phase { candidate: "", text });
    })?;
    // A report that cannot be written should not be found out after hours of work.
    make_folder(&arguments.out)?;
    let summary = basecase_lab::run(
        &mut plan,
        &mut store,
        RunOptions {
            keep_data: arguments.keep_data,
            looks_away: arguments.probe == ProbeArgument::Off,
            profile,
            budget: arguments.budget,
        },
        stop,
        &mut screen,
    )?;
    drop(screen);
    drop(lock);
    let experiment = plan.experiment.clone();
    drop(plan);

    let trials = store.trials(&experiment.id)?;
    let options = Options { ansi: output::may_colour() && !arguments.json, ..Options::default() };
    let page = basecase_report::write_pages(&experiment, &trials, &options, &arguments.out)?;
    let format = if arguments.json { Format::Json } else { Format::Text };
    output::print(&basecase_report::render(&experiment, &trials, format, &options))?;
    if summary.found > 0 {
        output::complain(&format!(
            "{} of {} trials were in {} already and were not run again",
            summary.found,
            summary.all,
            arguments.store.display()
        ));
    }
    output::complain(&format!("report: {}", absolute(&page).display()));
    output::complain(&format!("store:  {}", absolute(&arguments.store).display()));
    if summary.interrupted {
        output::complain("interrupted\nhint: the same command goes on where this one stopped");
        return Ok(Outcome::CouldNotRun);
    }
    if !summary.failed.is_empty() {
        output::complain(&format!("failed: {}", summary.failed.join(", ")));
        output::complain(
            "hint: the report has each reason and the end of the server's log; the same command tries again",
        );
        return Ok(Outcome::CouldNotRun);
    }
    Ok(Outcome::Done)
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| {
        format!(
            "cannot make the folder {}\nhint: name a folder with --out in which this user may write",
            path.display()
        )
    })
}

/// The command line with the passwords of URLs left out.
fn command_line() -> String {
    let words = std::env::args().map(|word| match word.parse::<CandidateSpec>() {
        Ok(spec) if spec.is_url() => spec.to_string(),
        _ if output::may_hold_password(&word) => "url:…".to_owned(),
        _ => word,
    });
    // The path of the program is nobody's business, and its name is.
    std::iter::once("basecase".to_owned()).chain(words.skip(1)).collect::<Vec<_>>().join(" ")
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
