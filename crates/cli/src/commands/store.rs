//! `store`: inspects a results file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use basecase_analysis::{Counted, JudgedExperiment, KnownNoise, Stored, fleet_of, joined};
use basecase_model::{Cell, Experiment, StepCount, Trial};
use basecase_store::{Added, Store, TrialCounts};

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
        StoreCommand::Merge { store, from } => merge(store, from),
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

/// Adds what the stores of `from` hold to that at `into`.
fn merge(into: &Path, from: &[PathBuf]) -> Result<()> {
    // Each is looked at before any is added.
    let others: Vec<Store> = from.iter().map(|path| Store::open_read_only(path)).collect::<Result<_, _>>()?;
    let mut store = Store::create_or_open(into)?;
    let _lock = store.lock_for_run(&output::command_line())?;
    for (other, added) in others.iter().zip(store.merge_all(&others)?) {
        let Added { experiments, trials, counts } = added;
        let path = other.path().display();
        output::print(&format!(
            "{path}: added experiments {experiments}, trials {trials}, counts {counts}\n"
        ))?;
    }
    Ok(())
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

/// The same with what was counted. Counts of which several nodes have a share are one experiment, unless one node's is named.
pub(crate) fn load_with_counts(store: &Store, wanted: Option<&str>) -> Result<(Stored, Counted)> {
    let (experiment, trials) = load_from(store, wanted)?;
    let fleet = fleet_of(&experiment).filter(|_| wanted.is_none() && experiment.schedule.is_none());
    if let Some(fleet) = fleet
        && let Some((whole, counted)) = counts_of_fleet(store, fleet)?
    {
        return Ok(((whole, trials), counted));
    }
    let counted = counted(store, &experiment)?;
    Ok(((experiment, trials), counted))
}

/// What the nodes of a fleet have counted, as one experiment; `None` of nothing.
pub(crate) fn counts_of_fleet(store: &Store, fleet: &str) -> Result<Option<(Experiment, Counted)>> {
    let parts = store.experiments()?.into_iter().filter(|experiment| fleet_of(experiment) == Some(fleet));
    let with_counts = |experiment: Experiment| -> Result<(Experiment, Vec<StepCount>)> {
        let counts = store.counts(&experiment.id)?;
        Ok((experiment, counts))
    };
    Ok(joined(&parts.map(with_counts).collect::<Result<Vec<_>>>()?))
}

/// The experiment with this id or name, or the newest, of those that can be explained by trying a setting: not one that tries a setting itself.
pub(crate) fn explained(store: &Store, wanted: Option<&str>) -> Result<Experiment> {
    if wanted.is_some() {
        let experiment = find(store, wanted)?;
        if tries_setting(&experiment) {
            bail!(
                "experiment {} tries a setting itself\nhint: name the experiment that it explains; `basecase store ls` lists them",
                experiment.id
            );
        }
        return Ok(experiment);
    }
    let mut others = store.experiments()?;
    others.retain(|experiment| !tries_setting(experiment));
    find_among(store, others, None)
}

/// Whether `explain --try` made an experiment.
pub(crate) fn tries_setting(experiment: &Experiment) -> bool {
    experiment.command.split_whitespace().nth(1) == Some("explain")
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

/// Experiments in rounds, judged. Of a base case that many of them share, each has those trials that were measured together with
/// its other candidates.
pub(crate) fn load_judged(store: &Store, experiments: &[Experiment]) -> Result<Vec<JudgedExperiment>> {
    let base = |experiment: &'_ Experiment| -> String {
        experiment.candidates.first().map(|facts| facts.name.0.clone()).unwrap_or_default()
    };
    let bases: Vec<String> = experiments.iter().map(base).collect();
    let ids =
        experiments.iter().zip(&bases).map(|(experiment, base)| (experiment.id.as_str(), base.as_str()));
    let judged = |place: usize, trials| JudgedExperiment::of((experiments[place].clone(), trials));
    Ok(store.of_rounds(&ids.collect::<Vec<_>>(), judged)?)
}

/// The place of the newest of some experiments. Of times with counts beside them, which one command measures, it is that of times: it has
/// the counts as well.
fn newest(store: &Store, experiments: &[Experiment]) -> Result<usize> {
    let last = experiments.len().saturating_sub(1);
    let Some(newest) = experiments.last() else { return Ok(last) };
    let of_its_command =
        |one: &Experiment| one.command == newest.command && one.name == newest.name && one.id != newest.id;
    let Some(times) = experiments.iter().rposition(of_its_command) else { return Ok(last) };
    let trials = store.trial_counts()?;
    let is_counts_only = !trials.contains_key(&newest.id) && !store.counts(&newest.id)?.is_empty();
    let has_times = trials.contains_key(&experiments[times].id);
    Ok(if is_counts_only && has_times { times } else { last })
}

/// The experiment with this id or name, or the newest.
pub(crate) fn find(store: &Store, wanted: Option<&str>) -> Result<Experiment> {
    find_among(store, store.experiments()?, wanted)
}

/// The same of some of its experiments.
fn find_among(store: &Store, mut experiments: Vec<Experiment>, wanted: Option<&str>) -> Result<Experiment> {
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
    let counts = store.trial_counts()?;
    for experiment in store.experiments()? {
        let TrialCounts { complete, failed } = counts.get(&experiment.id).copied().unwrap_or_default();
        rows.push(serde_json::json!({
            "id": experiment.id,
            "name": experiment.name,
            "created_at": experiment.created_at,
            "candidates": experiment.candidates.iter().map(|one| one.name.0.as_str()).collect::<Vec<_>>(),
            "trials": experiment.candidates.len() * experiment.steps.len(),
            "complete": complete,
            "failed": failed,
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

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;
    use tempfile::TempDir;

    use super::*;

    /// A store with a folder that goes with it.
    struct Fixture {
        store: Store,
        _folder: TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Fixture {
                store: Store::create_or_open(&folder.path().join("s.sqlite")).unwrap(),
                _folder: folder,
            }
        }

        /// Stores an experiment of this command.
        fn add(&mut self, id: &str, command: &str) -> Experiment {
            let experiment = Experiment { id: id.into(), command: command.into(), ..fixture::counted().0 };
            self.store.save_experiment(&experiment).unwrap();
            experiment
        }

        /// Adds a trial to an experiment.
        fn time(&mut self, experiment: &str) {
            let cell = cell("times");
            let trial = Trial { cell: cell.key(), measured_by: experiment.into(), ..fixture::empty_trial() };
            self.store.save_trial(experiment, &cell, &trial).unwrap();
        }

        /// Adds counts to an experiment.
        fn count(&mut self, experiment: &str) {
            let cell = cell("counts");
            let start = fixture::counted().1.starts.remove(0);
            let start = StepCount { cell: cell.key(), ..start };
            self.store.save_counts(experiment, &[(&cell, &start)]).unwrap();
        }

        /// The id of the experiment that is meant where none is named.
        fn newest(&self) -> String {
            find(&self.store, None).unwrap().id
        }
    }

    fn cell(protocol: &str) -> Cell {
        Cell {
            build: "b".into(),
            engine: None,
            config: "c".into(),
            workload: "w".into(),
            step: "s".into(),
            parameters: serde_json::json!({ "protocol": protocol }),
            host: "h".into(),
            protocol_revision: 3,
        }
    }

    #[test]
    fn the_newest_of_times_with_counts_beside_them_is_that_of_times() {
        let mut fixture = Fixture::new();
        fixture.add("times", "basecase compare a b --counts");
        fixture.time("times");
        fixture.add("counts", "basecase compare a b --counts");
        assert_eq!(fixture.newest(), "counts", "which has nothing yet, as times that are measured next");
        fixture.count("counts");
        assert_eq!(fixture.newest(), "times");
    }

    #[test]
    fn the_newest_of_other_commands_is_the_last() {
        let mut fixture = Fixture::new();
        assert!(find(&fixture.store, None).unwrap_err().to_string().contains("holds no experiments"));
        fixture.add("times", "basecase compare a b");
        fixture.time("times");
        fixture.add("counts", "basecase count a b");
        fixture.count("counts");
        assert_eq!(fixture.newest(), "counts");
        assert_eq!(find(&fixture.store, Some("times")).unwrap().id, "times");
    }

    #[test]
    fn counts_without_times_of_their_command_are_the_newest() {
        let mut fixture = Fixture::new();
        fixture.add("failed", "basecase compare a b --counts");
        fixture.add("counts", "basecase compare a b --counts");
        fixture.count("counts");
        assert_eq!(fixture.newest(), "counts");
    }

    #[test]
    fn counts_are_judged_by_the_margin_that_was_agreed() {
        let mut fixture = Fixture::new();
        let of_old_store = fixture.add("one", "basecase count a b");
        assert_eq!(of_old_store.work_margin, None);
        let margin = |experiment: &Experiment| counted(&fixture.store, experiment).unwrap().margin;
        assert_eq!(margin(&of_old_store), Counted::DETECT.ln_1p());
        let agreed = Experiment { work_margin: Some(0.001), ..of_old_store };
        assert_eq!(margin(&agreed), 0.001_f64.ln_1p());
    }
}
