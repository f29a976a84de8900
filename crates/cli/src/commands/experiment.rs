//! `compare` and `run`: two ways to ask for an experiment, one way to run it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use basecase_lab::experiment_file::{self, Variant};
use basecase_lab::{
    CandidateSpec, MemoryRequest, MemorySize, Missing, Protocol, Request, Rounds, RunOptions, Sizes,
};
use basecase_workload::insert_benchmark;

use super::perform::{check, perform};
use crate::Outcome;
use crate::arguments::{Compare, PlaceArguments, Run, WorkloadArguments};
use crate::reporter::{Part, Reporter};
use crate::value::CandidateArgument;
use crate::workload::choose;

pub(crate) fn compare(arguments: &Compare, reporter: &Reporter) -> Result<Outcome> {
    perform(&request(arguments)?, &arguments.places, RunOptions::default(), reporter)
}

/// The request of `compare`.
pub(crate) fn request(arguments: &Compare) -> Result<Request> {
    request_with_seed(arguments, arguments.seed)
}

/// The request of `compare` with another seed for the workload.
pub(crate) fn request_with_seed(arguments: &Compare, seed: Option<u64>) -> Result<Request> {
    let mut candidates = arguments.candidates.iter().map(candidate).collect::<Result<Vec<_>>>()?;
    let compiling = arguments.compiling.compiling();
    let has_commit = candidates.iter().any(CandidateSpec::is_commit);
    if arguments.compiling.is_given() && !has_commit {
        bail!(
            "--build-type, --build-flags and --configure are for candidates that are commits, and there is none\nhint: name one, as in git:PATH@REF; `basecase server get --from source` compiles other sources"
        );
    }
    candidates.iter_mut().for_each(|candidate| candidate.compile_with(&compiling));
    for candidate in candidates.iter_mut().filter(|candidate| !candidate.is_url()) {
        candidate.config = candidate.config.take().or_else(|| arguments.config.clone());
    }
    let WorkloadArguments { workload, choice } = &arguments.workload;
    let workload = choose(workload, choice, &arguments.sizes, arguments.pace.into(), seed)?;
    Ok(Request {
        name: Request::named_after(&candidates),
        candidates,
        pin: arguments.pin.clone(),
        settle: arguments.settle.into(),
        settle_limit: arguments.settle_limit,
        verify: arguments.verify.into(),
        step_limit_seconds: arguments.step_limit,
        extra_settings: arguments.settings.clone(),
        memory: memory(&arguments.places)?,
        meant_io_bound: workload.name() == insert_benchmark::NAME
            && Sizes::from(&arguments.sizes).is_io_bound(),
        workload,
        protocol: protocol(arguments),
        replicates: Vec::new(),
        missing: Missing::Refuse,
        node: None,
    })
}

/// A candidate that is no range.
fn candidate(argument: &CandidateArgument) -> Result<CandidateSpec> {
    match argument {
        CandidateArgument::Candidate(spec) => Ok(*spec.clone()),
        CandidateArgument::Range(text) => bail!(
            "{text} is a range of commits, and candidates are one build each\nhint: name each, as in git:PATH@REF; `basecase bisect git:PATH {text}` searches the range"
        ),
    }
}

pub(crate) fn run(arguments: &Run, reporter: &Reporter) -> Result<Outcome> {
    let Run { places, .. } = arguments;
    let variants = selected(arguments)?;
    let steps_of = |request: &Request| {
        (!arguments.steps.is_empty()).then(|| request.steps_named(&arguments.steps)).transpose()
    };
    // A step that is decided at one size is not at another.
    if places.fleet.scheduler.is_some() && variants.len() > 1 {
        let names: Vec<String> = variants.into_iter().filter_map(|variant| variant.size).collect();
        bail!(
            "--fleet runs one size of a file at a time, and {} has several\nhint: name one with --size: {}",
            arguments.file.display(),
            names.join(", ")
        );
    }
    // So that a mistake in the last size is found before anything is downloaded.
    for Variant { request, .. } in &variants {
        steps_of(request)?;
    }
    // So that a mistake in the last size is found before the first runs.
    for later in variants.iter().skip(1).filter(|_| !places.dry_run) {
        check(&later.request, places, reporter)?;
    }
    let began = Instant::now();
    let mut worst = Outcome::Done;
    let count = variants.len();
    for (number, Variant { size, request }) in variants.into_iter().enumerate() {
        // Budget that one size does not use goes to the others.
        let left = |budget: Duration| budget.saturating_sub(began.elapsed()) / (count - number) as u32;
        let mut places = PlaceArguments { budget: places.budget.map(left), ..places.clone() };
        if let Some(size) = size.filter(|_| count > 1) {
            reporter.part(&Part::Size { name: &size, number: number + 1, of: count });
            places.out.push(size);
        }
        let options = RunOptions { steps: steps_of(&request)?, ..RunOptions::default() };
        worst = worst.max(perform(&request, &places, options, reporter)?);
        if basecase_stop::is_asked() {
            break;
        }
    }
    Ok(worst)
}

/// The limit on the memory of each server.
fn memory(places: &PlaceArguments) -> Result<Option<MemorySize>> {
    match places.memory {
        None => Ok(None),
        Some(MemoryRequest::Limit(size)) => Ok(Some(size)),
        Some(MemoryRequest::Auto) => bail!(
            "--memory auto keeps a published ratio of database to memory, and only experiment files name one\nhint: give a size, as in --memory 400M, or use basecase run with a file that has published_memory"
        ),
    }
}

/// The experiments of a file, as far as they are asked for.
pub(crate) fn selected(arguments: &Run) -> Result<Vec<Variant>> {
    let Run { file, scale, size, only, places, .. } = arguments;
    let mut variants = experiment_file::read(file, *scale, places.memory)?;
    if let Some(size) = size {
        let known: Vec<String> = variants.iter().filter_map(|variant| variant.size.clone()).collect();
        variants.retain(|variant| variant.size.as_ref() == Some(size));
        if variants.is_empty() {
            let known = if known.is_empty() { "one without a name".to_owned() } else { known.join(", ") };
            bail!("experiment file {} has no size {size}\nhint: it has {known}", file.display());
        }
    }
    for Variant { request, .. } in &mut variants {
        if !only.is_empty() {
            request.keep_only(only)?;
        }
        let protocol = std::mem::take(&mut request.protocol);
        request.protocol = protocol.with_budget(places.budget);
    }
    Ok(variants)
}

/// The protocol that `--detect`, `--rounds`, `--slice` and `--budget` ask for.
fn protocol(arguments: &Compare) -> Protocol {
    let Compare { detect, rounds, slice, places, .. } = arguments;
    let rounds = Rounds { detect: *detect, most: *rounds, slice: *slice };
    Protocol::asked(rounds).with_budget(places.budget)
}
