//! A workload with its sizes and options: what is asked of every candidate.

use std::time::Duration;

use anyhow::Result;
use basecase_model::{Group, StepFacts};
use basecase_workload::insert_benchmark::{self, InsertBenchmark};
use basecase_workload::{Dialect, LoadedTable};
use serde_json::json;

use crate::course::{Course, InsertBenchmarkCourse, WorkloadFileCourse};
use crate::workload_file::WorkloadFile;

/// A workload with its sizes and options.
#[derive(Debug, Clone)]
pub enum Task {
    /// The ten steps of the Insert Benchmark.
    InsertBenchmark(insert_benchmark::InsertBenchmarkParameters),
    /// Steps of a workload file, built in or the user's own.
    WorkloadFile(Box<WorkloadFile>),
}

/// One step, as far as planning goes.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    /// The step as stored and shown.
    pub(crate) facts: StepFacts,
    /// Seconds that it will probably take, as long as none like it was measured.
    pub(crate) guessed_seconds: f64,
    /// When it is stopped, unless the user says otherwise.
    pub(crate) limit: Option<Duration>,
    /// Whether debt is settled after it.
    pub(crate) settles_after: bool,
    /// Whether debt is settled before it on a database that was rebuilt for it.
    pub(crate) settles_after_rebuild: bool,
    /// Whether it changes rows in a way that counting them does not show.
    pub(crate) changes_rows_in_place: bool,
}

/// Rows per second that a load is guessed to take before one was measured.
const LOADED_PER_SECOND: f64 = 50_000.0;
/// Rows per second that random inserts with deletes are guessed to take before they were measured.
const WRITTEN_PER_SECOND: f64 = 5_000.0;
/// How much longer than its nominal time a timed step may take, by factor and in seconds.
const PATIENCE: (f64, f64) = (5.0, 600.0);

/// When a step that is to take so many seconds is stopped.
pub(crate) fn step_limit(nominal_seconds: f64) -> Duration {
    Duration::from_secs_f64(nominal_seconds * PATIENCE.0 + PATIENCE.1)
}

impl Task {
    /// The workload's name.
    pub fn name(&self) -> &str {
        match self {
            Task::InsertBenchmark(_) => insert_benchmark::NAME,
            Task::WorkloadFile(file) => &file.workload.name,
        }
    }

    /// Connections that work at once, at most; of the Insert Benchmark, clients.
    pub fn clients(&self) -> u32 {
        match self {
            Task::InsertBenchmark(parameters) => parameters.clients,
            Task::WorkloadFile(file) => file.parameters.most_threads(),
        }
    }

    /// Sessions that are open at once, at most.
    pub(crate) fn sessions(&self) -> u32 {
        match self {
            Task::InsertBenchmark(parameters) => parameters.clients * insert_benchmark::MOST_ROLES_PER_CLIENT,
            Task::WorkloadFile(file) => {
                file.steps.iter().map(|step| step.threads).max().unwrap_or(1).max(file.loaders)
            }
        }
    }

    /// Rows that the load puts into all tables together.
    pub fn loaded_rows(&self) -> u64 {
        match self {
            Task::InsertBenchmark(parameters) => parameters.loaded_rows(),
            Task::WorkloadFile(file) => file.tables.iter().map(|table| table.rows).sum(),
        }
    }

    /// Rows for which the disk needs room: deleted rows leave space behind that is used again, and a quarter of what passes
    /// through is kept as slack.
    pub(crate) fn rows_on_disk(&self) -> u64 {
        match self {
            Task::InsertBenchmark(parameters) => {
                let steps = insert_benchmark::InsertBenchmarkStep::all(parameters);
                let inserted: u64 =
                    steps.iter().map(insert_benchmark::InsertBenchmarkStep::inserted_rows).sum();
                let passing = inserted.saturating_sub(parameters.rows) / 4 * u64::from(parameters.clients);
                parameters.loaded_rows() + passing
            }
            Task::WorkloadFile(_) => self.loaded_rows() + self.loaded_rows() / 4,
        }
    }

    /// Seed of every random stream.
    pub fn seed(&self) -> u64 {
        match self {
            Task::InsertBenchmark(parameters) => parameters.seed,
            Task::WorkloadFile(file) => file.parameters.seed,
        }
    }

    /// Sizes and options as they are shown.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        match self {
            Task::InsertBenchmark(parameters) => parameters.facts(),
            Task::WorkloadFile(file) => file.facts(),
        }
    }

    /// What tells a step's results from those of another size or with another past.
    pub(crate) fn cell_sizes(&self, step: usize) -> serde_json::Value {
        match self {
            Task::InsertBenchmark(parameters) => json!(parameters),
            Task::WorkloadFile(file) => file.cell_sizes(step),
        }
    }

    /// Names of the tables.
    pub(crate) fn tables(&self) -> Vec<String> {
        match self {
            Task::InsertBenchmark(parameters) => {
                (1..=parameters.clients).map(insert_benchmark::table_name).collect()
            }
            Task::WorkloadFile(file) => {
                file.tables.iter().map(|table: &LoadedTable| table.name.clone()).collect()
            }
        }
    }

    /// The groups of results in the order in which they are shown.
    pub(crate) fn groups(&self) -> Vec<Group> {
        match self {
            Task::InsertBenchmark(_) => Vec::new(),
            Task::WorkloadFile(file) => file.groups(),
        }
    }

    /// The steps in the order in which they run.
    pub(crate) fn outlines(&self) -> Vec<Outline> {
        match self {
            Task::InsertBenchmark(parameters) => {
                let steps = insert_benchmark::InsertBenchmarkStep::all(parameters);
                steps.iter().map(|step| outline(step, parameters)).collect()
            }
            Task::WorkloadFile(file) => file.outlines(),
        }
    }

    /// One candidate's way through the steps.
    ///
    /// # Errors
    /// What of the workload does not fit the dialect.
    pub(crate) fn course(&self, dialect: Dialect) -> Result<Box<dyn Course>> {
        Ok(match self {
            Task::InsertBenchmark(parameters) => {
                let parameters = parameters.clone();
                Box::new(InsertBenchmarkCourse::new(InsertBenchmark { parameters, dialect }))
            }
            Task::WorkloadFile(file) => Box::new(WorkloadFileCourse::new(file, dialect)?),
        })
    }
}

fn outline(
    step: &insert_benchmark::InsertBenchmarkStep,
    parameters: &insert_benchmark::InsertBenchmarkParameters,
) -> Outline {
    Outline {
        facts: step.facts(parameters),
        guessed_seconds: match step.rate {
            Some(rate) => step.max_rows as f64 / rate as f64,
            None if step.deletes() => step.max_rows as f64 / WRITTEN_PER_SECOND,
            None => guessed_load_seconds(parameters.loaded_rows()),
        },
        limit: step.rate.map(|_| step_limit(parameters.seconds as f64)),
        settles_after: step.settles_after(),
        settles_after_rebuild: step.rate.is_some(),
        changes_rows_in_place: false,
    }
}

/// Seconds that loading so many rows is guessed to take.
pub(crate) fn guessed_load_seconds(rows: u64) -> f64 {
    rows as f64 / LOADED_PER_SECOND
}
