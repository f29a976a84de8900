//! A workload file with the user's options and steps: each step begins with what the load left.

mod state;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use basecase_model::{Group, Headline, StepFacts, hexadecimal};
use basecase_stats::InterimAnalyses;
use basecase_workload::{
    Dialect, FileParameters, FileStep, LOAD, LoadedTable, Maintenance, StepPlan, UNLISTED,
    Workload as Definition, WorkloadError,
};
use serde_json::json;
use sha2::{Digest, Sha256};

use self::state::WorkloadFileState;
use super::{Outline, Workload, WorkloadState, builtin_names, guessed_load_seconds, step_limit};

/// A workload file with the user's options and the steps that the user asks for.
#[derive(Debug, Clone)]
pub struct WorkloadFile {
    definition: Definition,
    parameters: FileParameters,
    /// The steps after the load.
    steps: Vec<FileStep>,
    tables: Vec<LoadedTable>,
    /// Threads that load tables.
    loaders: u32,
    /// Lists, groups and steps as the user named them.
    list: Vec<String>,
}

impl WorkloadFile {
    /// The workload of this name: one that comes with basecase, or a file when the name has a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// When there is none, or the file cannot be read or has a mistake, which is named with line and column.
    pub fn definition_of(name: &str) -> Result<Definition> {
        if name.contains('/') || name.ends_with(".toml") {
            return Self::read(Path::new(name));
        }
        let Some(workload) = Definition::builtin(name) else {
            bail!(
                "there is no workload {name:?}\nhint: the workloads are {}; or give a file: ./{name}.toml",
                builtin_names().join(", ")
            );
        };
        Ok(workload?)
    }

    /// Reads a workload file.
    ///
    /// # Errors
    /// As [`WorkloadFile::definition_of`].
    pub fn read(file: &Path) -> Result<Definition> {
        let text = basecase_probe::read_text(file).with_context(|| {
            format!(
                "cannot read workload file {}\nhint: docs/formats.md describes workload files",
                file.display()
            )
        })?;
        Ok(Definition::load(&text, &file.display().to_string())?)
    }

    /// Chooses the steps that `list` names, with these options.
    ///
    /// # Errors
    /// An unknown option, step, list or group, with the nearest known one; an impossible value of an option; steps that contradict the
    /// options.
    pub fn new(
        definition: Definition,
        options: &[(String, String)],
        list: &[String],
    ) -> Result<Self, WorkloadError> {
        let given: Vec<(&str, &str)> =
            options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let parameters = definition.options(&given)?;
        let words: Vec<&str> = list.iter().map(String::as_str).collect();
        let steps = definition.steps(&parameters, &words)?;
        let tables = definition.loaded_tables(&parameters, &steps)?;
        let loaders = parameters.most_threads().min(tables.len().try_into().unwrap_or(u32::MAX)).max(1);
        Ok(WorkloadFile { definition, parameters, steps, tables, loaders, list: list.to_vec() })
    }

    /// The load of all tables.
    fn load(&self, dialect: Dialect) -> Result<StepPlan, WorkloadError> {
        self.definition.load_plan(&self.parameters, &self.steps, dialect, self.loaders)
    }

    /// A step after the load.
    fn plan(&self, step: &FileStep, dialect: Dialect) -> Result<StepPlan, WorkloadError> {
        self.definition.plan(&self.parameters, step, dialect)
    }

    /// The beginning of the file's SHA-256.
    fn digest(&self) -> String {
        hexadecimal(&Sha256::digest(self.definition.text())[..16])
    }

    fn outline(&self, step: &FileStep) -> Outline {
        let timing = &self.parameters.timing;
        let seconds = timing.warm_up_seconds + timing.seconds_of(step.duration);
        Outline {
            facts: StepFacts {
                name: step.label.clone(),
                label: step.label.clone(),
                title: step.about.clone(),
                headline: Headline::Queries,
                sla_target: None,
                headline_items: None,
                group: step.group.clone(),
                scanned_rows: step.scanned_rows,
                threads: Some(step.threads),
                writes: step.writes(),
            },
            guessed_seconds: seconds,
            limit: Some(step_limit(seconds)),
            settles_after: step.maintenance_after,
            settles_after_rebuild: true,
            changes_rows_in_place: step.writes(),
        }
    }
}

impl Workload for WorkloadFile {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn describe(&self, dialect: Dialect) -> Result<String> {
        Ok(self.definition.describe(&self.parameters, &self.steps, dialect)?)
    }

    fn clients(&self) -> u32 {
        self.parameters.most_threads()
    }

    fn sessions(&self) -> u32 {
        self.steps.iter().map(|step| step.threads).max().unwrap_or(1).max(self.loaders)
    }

    fn loaded_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    fn rows_on_disk(&self) -> u64 {
        self.loaded_rows() + self.loaded_rows() / 4
    }

    fn seed(&self) -> u64 {
        self.parameters.seed
    }

    fn with_seed(&self, seed: u64) -> Arc<dyn Workload> {
        let mut other = self.clone();
        other.parameters.seed = seed;
        Arc::new(other)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.parameters.facts(&self.definition);
        if !self.list.is_empty() {
            facts.push(("list".to_owned(), self.list.join(",")));
        }
        facts.push(("definition".to_owned(), self.digest()));
        facts
    }

    fn cell_sizes(&self, step: usize) -> serde_json::Value {
        let options: serde_json::Map<String, serde_json::Value> = self
            .parameters
            .facts(&self.definition)
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        // What was done to the tables before this step.
        let mut past = Sha256::new();
        for earlier in self.steps.iter().take(step.saturating_sub(1)) {
            past.update(format!("{} {} {}\n", earlier.label, earlier.threads, earlier.maintenance_after));
        }
        json!({ "options": options, "definition": self.digest(), "past": hexadecimal(&past.finalize()[..16]) })
    }

    fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    fn groups(&self) -> Vec<Group> {
        let list =
            self.list.iter().find(|word| self.definition.lists().any(|(name, _)| name == word.as_str()));
        let list = list.map(String::as_str).or_else(|| self.definition.lists().next().map(|(name, _)| name));
        let Some(list) = list else {
            let steps = self.steps.iter().map(|step| step.label.clone()).collect();
            return vec![Group { name: self.definition.name.clone(), steps }];
        };
        // With several numbers of threads, a step is listed once with each.
        let labels_of = |label: &String| -> Vec<String> {
            self.steps
                .iter()
                .filter(|step| step.base_label() == label)
                .map(|step| step.label.clone())
                .collect()
        };
        let groups = self.definition.groups(list).into_iter();
        let groups =
            groups.map(|(name, labels)| Group { name, steps: labels.iter().flat_map(labels_of).collect() });
        let unlisted = self.steps.iter().filter(|step| step.group.as_deref() == Some(UNLISTED));
        let unlisted =
            Group { name: UNLISTED.to_owned(), steps: unlisted.map(|step| step.label.clone()).collect() };
        groups.chain([unlisted]).filter(|group| !group.steps.is_empty()).collect()
    }

    fn outlines(&self) -> Vec<Outline> {
        // A list says where debt is settled. Steps without one should not pay for the load.
        let settles = match self.parameters.maintenance {
            Maintenance::Listed => !self.steps.iter().any(|step| step.maintenance_after),
            Maintenance::Each => true,
            Maintenance::Off => false,
        };
        let load = Outline {
            facts: StepFacts {
                name: LOAD.to_owned(),
                label: LOAD.to_owned(),
                title: "load the tables and create their indexes".to_owned(),
                headline: Headline::Inserts,
                sla_target: None,
                headline_items: None,
                group: None,
                scanned_rows: None,
                threads: Some(self.loaders),
                writes: true,
            },
            guessed_seconds: guessed_load_seconds(self.loaded_rows()),
            limit: None,
            settles_after: settles,
            settles_after_rebuild: false,
            changes_rows_in_place: false,
        };
        std::iter::once(load).chain(self.steps.iter().map(|step| self.outline(step))).collect()
    }

    fn is_chain(&self) -> bool {
        false
    }

    fn interim_analyses(&self) -> InterimAnalyses {
        InterimAnalyses::general()
    }

    fn state(&self, dialect: Dialect, table_options: Option<&str>) -> Result<Box<dyn WorkloadState>> {
        Ok(Box::new(WorkloadFileState::new(self, dialect, table_options)?))
    }
}
