//! `store`: inspects a results file.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use basecase_analysis::{Counted, KnownNoise, Stored};
use basecase_model::{Cell, Experiment, Trial};
use basecase_store::Store;

use crate::arguments::{Store as Arguments, StoreCommand};
use crate::output;
use crate::screen::trial_line;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        StoreCommand::Ls { store, json } => list(&Store::open_read_only(store)?, *json),
        StoreCommand::Show { store, experiment } => {
            let (experiment, trials) = load(store, experiment.as_deref())?;
            show(&experiment, &trials)
        }
        StoreCommand::Verify { store } => {
            let problems = Store::open_read_only(store)?.verify()?;
            if problems.is_empty() {
                return output::print(&format!("{} is intact\n", store.display()));
            }
            output::print(&format!("{}\n", problems.join("\n")))?;
            bail!(
                "the store {} is damaged\nhint: `basecase report` shows what is still readable; measure the rest again into a new store",
                store.display()
            );
        }
    }
}

/// The experiment with this id or name, or the newest, of the store at `path`, with its trials.
pub(crate) fn load(path: &Path, wanted: Option<&str>) -> Result<Stored> {
    load_from(&Store::open_read_only(path)?, wanted)
}

/// The experiment with this id or name, or the newest, with its trials.
pub(crate) fn load_from(store: &Store, wanted: Option<&str>) -> Result<Stored> {
    let experiment = find(store, wanted)?;
    let trials = store.trials(&experiment.id)?;
    Ok((experiment, trials))
}

/// The noise of single runs of an experiment, as known from rounds in the same store.
pub(crate) fn known_noise(store: &Store, experiment: &Experiment) -> Result<KnownNoise> {
    let others = load_all(store, |other| KnownNoise::is_told_by(experiment, other))?;
    Ok(KnownNoise::of(experiment, &others))
}

/// The counts of an experiment, with the margin that was agreed for them.
pub(crate) fn counted(store: &Store, experiment: &Experiment) -> Result<Counted> {
    Ok(Counted::of(experiment, store.counts(&experiment.id)?))
}

/// The wanted experiments, with their trials.
pub(crate) fn load_all(store: &Store, is_wanted: impl Fn(&Experiment) -> bool) -> Result<Vec<Stored>> {
    let with_trials = |experiment: Experiment| {
        let trials = store.trials(&experiment.id)?;
        Ok((experiment, trials))
    };
    store.experiments()?.into_iter().filter(is_wanted).map(with_trials).collect()
}

/// The place of the newest of some experiments. Of times with counts beside them, which one command measures, it is that of times: it has
/// the counts as well.
fn newest(store: &Store, experiments: &[Experiment]) -> Result<usize> {
    let last = experiments.len().saturating_sub(1);
    let Some(newest) = experiments.last() else { return Ok(last) };
    let of_its_command =
        |one: &Experiment| one.command == newest.command && one.name == newest.name && one.id != newest.id;
    let Some(times) = experiments.iter().rposition(of_its_command) else { return Ok(last) };
    let is_counts_only = store.trials(&newest.id)?.is_empty() && !store.counts(&newest.id)?.is_empty();
    let has_times = !store.trials(&experiments[times].id)?.is_empty();
    Ok(if is_counts_only && has_times { times } else { last })
}

/// The experiment with this id or name, or the newest.
fn find(store: &Store, wanted: Option<&str>) -> Result<Experiment> {
    let mut experiments = store.experiments()?;
    if experiments.is_empty() {
        let path = store.path().display();
        bail!("{path} holds no experiments\nhint: measure one with `basecase compare … --store {path}`");
    }
    let position = match wanted {
        Some(wanted) => experiments.iter().rposition(|one| one.id == wanted || one.name == wanted),
        None => Some(newest(store, &experiments)?),
    };
    let known: Vec<String> = experiments.iter().map(|one| format!("{} ({})", one.id, one.name)).collect();
    match position {
        Some(index) => Ok(experiments.swap_remove(index)),
        None => bail!(
            "{} has no experiment {:?}\nhint: it has {}",
            store.path().display(),
            wanted.unwrap_or_default(),
            known.join(", ")
        ),
    }
}

fn list(store: &Store, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for experiment in store.experiments()? {
        let trials = store.trials(&experiment.id)?;
        let complete = trials.iter().filter(|trial| trial.is_complete()).count();
        rows.push(serde_json::json!({
            "id": experiment.id,
            "name": experiment.name,
            "created_at": experiment.created_at,
            "candidates": experiment.candidates.iter().map(|one| one.name.0.as_str()).collect::<Vec<_>>(),
            "trials": experiment.candidates.len() * experiment.steps.len(),
            "complete": complete,
            "failed": trials.len() - complete,
        }));
    }
    if json {
        return output::print_json(rows);
    }
    let mut text =
        String::from("id            started                         complete  failed  trials  name\n");
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        writeln!(
            text,
            "{:<12}  {:<30}  {:>8}  {:>6}  {:>6}  {}",
            word("id"),
            word("created_at"),
            row["complete"].to_string(),
            row["failed"].to_string(),
            row["trials"].to_string(),
            word("name")
        )?;
    }
    output::print(&text)
}

fn show(experiment: &Experiment, trials: &[Trial]) -> Result<()> {
    let mut text = format!(
        "experiment {} ({})\nstarted    {} by basecase {}, protocol revision {}\ncommand    {}\nworkload   {}\nseed       {}\n",
        experiment.id,
        experiment.name,
        experiment.created_at,
        experiment.basecase_version,
        experiment.protocol_revision,
        experiment.command,
        experiment.workload,
        experiment.seed
    );
    for (name, value) in &experiment.parameters {
        writeln!(text, "           {name}: {value}")?;
    }
    let host = &experiment.host;
    writeln!(
        text,
        "host       {}, {} cores, {:.1} GiB, {}, {}",
        host.cpu_model,
        host.cores,
        host.memory_bytes as f64 / f64::from(1 << 30),
        host.kernel,
        host.filesystem
    )?;
    for candidate in &experiment.candidates {
        let build = &candidate.build;
        writeln!(
            text,
            "candidate  {}: {} {} from {} ({}), {}",
            candidate.name,
            build.dbms,
            build.version,
            build.provider,
            build.artifact,
            build.toolchain()
        )?;
    }
    for trial in trials {
        if let Some(step) = experiment.steps.iter().find(|step| step.name == trial.step) {
            let digits = Cell::SHOWN_DIGITS;
            writeln!(text, "{}  {:.digits$}  {}", trial.started_at, trial.cell, trial_line(trial, step))?;
        }
    }
    output::print(&text)
}
