//! Runs a request and reports the results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use basecase_analysis::{Counted, KnownNoise};
use basecase_builds::default_home;
use basecase_lab::{
    Event, Observer, Phase, Places, Plan, ProfileOrder, Protocol, Request, RunOptions, Summary,
};
use basecase_model::{Experiment, Trial};
use basecase_report::{Options, TextFormat, kept_apart};
use basecase_store::Store;

use super::doctor::note_disturbances;
use super::dry_run;
use super::fleet;
use super::store::{counted, known_noise};
use crate::Outcome;
use crate::arguments::{CountsEngineArgument, PlaceArguments, ProbeArgument};
use crate::node::{self, Delivering};
use crate::output;
use crate::reporter::Reporter;

/// An experiment with its trials, measured now or before.
pub(crate) struct Measured {
    pub(crate) experiment: Experiment,
    pub(crate) trials: Vec<Trial>,
    /// How much work an operation is, if that was counted as well.
    pub(crate) counted: Counted,
    noise: KnownNoise,
    summary: Summary,
}

/// Runs the part of a request that is not in the store yet. `arguments` override `options`.
pub(crate) fn measure(
    request: &Request,
    arguments: &PlaceArguments,
    options: RunOptions,
    reporter: &Reporter,
) -> Result<Measured> {
    measure_for(request, arguments, options, Some(&arguments.out), reporter)
}

/// The same where no pages will be written.
pub(crate) fn measure_without_pages(
    request: &Request,
    arguments: &PlaceArguments,
    options: RunOptions,
    reporter: &Reporter,
) -> Result<Measured> {
    measure_for(request, arguments, options, None, reporter)
}

/// The same for pages in the folder `out`.
fn measure_for(
    request: &Request,
    arguments: &PlaceArguments,
    options: RunOptions,
    out: Option<&Path>,
    reporter: &Reporter,
) -> Result<Measured> {
    // First, because it needs nothing else.
    let profile = profile_order(arguments)?;
    check_engine(request, arguments)?;
    let command = output::command_line();
    node::restore(&arguments.fleet, &arguments.store)?;
    // Before any download, so that a problem with the store is found early.
    let mut store = Store::create_or_open(&arguments.store)?;
    let _lock = store.lock_for_run(&command)?;
    let mut observer = Delivering::around(reporter.observer(), &arguments.fleet, &arguments.store);
    let plan = prepare(request, arguments, &command, observer.as_mut())?;
    let apart = kept_apart(&plan.experiment, &store.experiments()?);
    for note in plan.notes.iter().chain(&apart) {
        observer.notice(Event::Note(note));
    }
    let data = data_folder(arguments.data.as_deref())?;
    note_disturbances(&data, request.protocol.is_counts(), observer.as_mut());
    // Before hours of work, so that an unwritable folder is found early.
    out.map_or(Ok(()), make_folder)?;
    let counts = arguments.counts || request.protocol.is_counts();
    let options = RunOptions {
        keep_data: arguments.keep_data,
        rebuilds: arguments.rebuild,
        loads: Some(arguments.loads),
        counters_only: arguments.probe == ProbeArgument::Off,
        profile,
        budget: arguments.budget,
        work_margin: counts.then_some(arguments.counts_detect),
        ..options
    };
    let chosen = options.steps.clone();
    let mut summary = {
        // Only during the run: outside it, a signal may end the process at once, as nothing would be lost.
        let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
        basecase_lab::run(&plan, &mut store, options, basecase_stop::flag(), observer.as_mut())?
    };
    if arguments.counts && !request.protocol.is_counts() && !summary.interrupted {
        let beside = Beside { request, arguments, command: &command, chosen: chosen.clone() };
        if let Some(counted) = beside.count(&mut store, &summary.experiment, observer.as_mut())? {
            summary.failed.extend(counted.failed);
            summary.interrupted |= counted.interrupted;
        }
    }
    let mut experiment = summary.experiment.clone();
    let trials = store.trials(&experiment.id)?;
    if let Some(chosen) = chosen {
        // Steps that nobody asked for would be empty rows, unless an earlier run measured them.
        let is_measured = |step: &str| trials.iter().any(|trial| trial.step == step);
        experiment.steps.retain(|step| chosen.contains(&step.name) || is_measured(&step.name));
    }
    let noise = known_noise(&store, &experiment)?;
    let counted = counted(&store, &experiment)?;
    Ok(Measured { experiment, trials, counted, noise, summary })
}

/// Counts beside times: another experiment in the same store, whose cells belong to the one of times as well.
struct Beside<'a> {
    request: &'a Request,
    arguments: &'a PlaceArguments,
    command: &'a str,
    chosen: Option<BTreeSet<String>>,
}

impl Beside<'_> {
    /// Counts what is missing. Where nothing can be counted, times are what is left, and the user is told why.
    fn count(
        self,
        store: &mut Store,
        experiment: &Experiment,
        observer: &mut dyn Observer,
    ) -> Result<Option<Summary>> {
        let request = counted_beside(self.request, self.arguments);
        let plan = match prepare(&request, self.arguments, self.command, observer) {
            Ok(plan) => plan,
            Err(error) => {
                observer.notice(Event::Note(&format!("--counts: {error:#}")));
                return Ok(None);
            }
        };
        store.save_cells(&experiment.id, &plan.cells())?;
        let options = RunOptions {
            keep_data: self.arguments.keep_data,
            steps: self.chosen,
            work_margin: Some(self.arguments.counts_detect),
            // The experiment of times has the margin of this command; counts that were there before it have their own.
            keeps_margins: true,
            ..RunOptions::default()
        };
        let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
        basecase_lab::run(&plan, store, options, basecase_stop::flag(), observer).map(Some)
    }
}

/// What is counted beside the times of a request.
pub(crate) fn counted_beside(request: &Request, arguments: &PlaceArguments) -> Request {
    let protocol = Protocol::Counts(arguments.counts_engine.into());
    Request { protocol, replicates: Vec::new(), ..request.clone() }
}

/// Refuses an engine that is asked for and missing, rather than go on without counts.
fn check_engine(request: &Request, arguments: &PlaceArguments) -> Result<()> {
    let is_counted = arguments.counts || request.protocol.is_counts();
    match arguments.counts_engine {
        CountsEngineArgument::Auto => Ok(()),
        _ if !is_counted => {
            bail!("--counts-engine says what counts, and nothing is to be counted\nhint: add --counts")
        }
        engine => basecase_lab::check_counts_engine(engine.into()),
    }
}

/// Checks a request that will run later.
pub(crate) fn check(request: &Request, arguments: &PlaceArguments, reporter: &Reporter) -> Result<()> {
    prepare(request, arguments, &output::command_line(), reporter.observer().as_mut()).map(|_| ())
}

/// Whether a request is still the experiment with this id: the same builds, configs, workload and machine.
pub(crate) fn check_same(
    request: &Request,
    arguments: &PlaceArguments,
    id: &str,
    reporter: &Reporter,
) -> Result<bool> {
    let plan = prepare(request, arguments, &output::command_line(), reporter.observer().as_mut())?;
    Ok(plan.experiment.id == id)
}

pub(crate) fn places(arguments: &PlaceArguments) -> Result<Places> {
    let home = default_home()?;
    Ok(Places {
        data: data_folder(arguments.data.as_deref())?,
        home,
        transport: arguments.transport.map(Into::into),
        timing: arguments.timing,
        program: std::env::current_exe().context("this program does not know its own file")?,
    })
}

/// The folder for servers' data: the one that is named, or else that in the home.
pub(crate) fn data_folder(named: Option<&Path>) -> Result<PathBuf> {
    Ok(match named {
        Some(folder) => folder.to_path_buf(),
        None => default_home()?.join("data"),
    })
}

fn prepare(
    request: &Request,
    arguments: &PlaceArguments,
    command: &str,
    observer: &mut dyn Observer,
) -> Result<Plan> {
    basecase_client::set_connect_patience(arguments.connect_timeout);
    Plan::prepare(request, &places(arguments)?, command, &mut |words| {
        observer.notice(Event::Phase { candidate: None, phase: Phase::Prepare(words) });
    })
}

/// Runs a request, writes its pages and prints its report.
pub(crate) fn perform(
    request: &Request,
    arguments: &PlaceArguments,
    options: RunOptions,
    reporter: &Reporter,
) -> Result<Outcome> {
    fleet::check(arguments)?;
    if arguments.dry_run {
        return dry_run::show(request, arguments, &options, reporter);
    }
    if arguments.fleet.scheduler.is_some() {
        return fleet::coordinate(request, arguments, reporter);
    }
    let (mut request, mut options) = (request.clone(), options);
    if !node::on_node(&mut request, &mut options, &arguments.fleet) {
        reporter.note("other nodes count all there is, and nothing is left for this one");
        return Ok(Outcome::Done);
    }
    let measured = measure(&request, arguments, options, reporter)?;
    let Measured { experiment, trials, .. } = &measured;
    let options = Options {
        noise: measured.noise.clone(),
        counted: measured.counted.clone(),
        ..report_options(arguments)
    };
    let format = text_format(arguments);
    let printed = output::print_report(&basecase_report::render(experiment, trials, format, &options));
    let written = measured.write_pages(&options, arguments, reporter);
    let outcome = measured.summarize(arguments, reporter);
    let delivered = node::deliver(&arguments.fleet, &arguments.store);
    printed.and(written).and(delivered)?;
    Ok(outcome)
}

/// What a run prints: the answer, unless something else is asked for.
pub(crate) fn text_format(arguments: &PlaceArguments) -> TextFormat {
    match arguments {
        PlaceArguments { json: true, .. } => TextFormat::JSON,
        PlaceArguments { full: true, .. } => TextFormat::TEXT,
        _ => TextFormat::ANSWER,
    }
}

/// What the arguments of a run say of its report.
pub(crate) fn report_options(arguments: &PlaceArguments) -> Options {
    Options {
        ansi: output::may_colour() && !arguments.json,
        thresholds: arguments.thresholds,
        columns: output::columns(),
        history: arguments.history.clone(),
        ..Options::default()
    }
}

impl Measured {
    /// Whether the user stopped the run.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.summary.interrupted
    }

    /// Writes the pages of the report and prints their location.
    pub(crate) fn write_pages(
        &self,
        options: &Options,
        arguments: &PlaceArguments,
        reporter: &Reporter,
    ) -> Result<()> {
        let page = basecase_report::write_pages(&self.experiment, &self.trials, options, &arguments.out)?;
        reporter.page_written(&absolute(&page));
        Ok(())
    }

    /// Prints where the results are, and what failed.
    pub(crate) fn summarize(&self, arguments: &PlaceArguments, reporter: &Reporter) -> Outcome {
        reporter.summary(&self.summary, &arguments.store, &absolute(&arguments.store));
        self.outcome()
    }

    /// Whether all trials completed.
    pub(crate) fn outcome(&self) -> Outcome {
        let is_whole = !self.summary.interrupted && self.summary.failed.is_empty();
        if is_whole { Outcome::Done } else { Outcome::CouldNotRun }
    }
}

/// The profile that `--profile` asks for.
///
/// # Errors
/// When this user may not profile.
fn profile_order(arguments: &PlaceArguments) -> Result<Option<ProfileOrder>> {
    let kinds = Some(arguments.profile.clone()).filter(|kinds| !kinds.is_empty());
    kinds.map(|kinds| ProfileOrder::tried(kinds, arguments.profile_measured)).transpose()
}

pub(crate) fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| {
        format!(
            "cannot create the folder {}\nhint: use --out to name a folder that this user may write to",
            path.display()
        )
    })
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
