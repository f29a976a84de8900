//! A workload with its sizes and options: what is asked of every candidate. A folder here holds each kind.

mod insert_benchmark;
mod state;
mod workload_file;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use basecase_model::{Group, StepFacts};
use basecase_stats::InterimAnalyses;
use basecase_workload::{Dialect, Workload as Definition};

pub use self::insert_benchmark::InsertBenchmark;
pub(crate) use self::state::{ExpectedTable, WorkloadState};
pub use self::workload_file::WorkloadFile;

/// A workload with its sizes and options. Steps are counted from 0.
pub trait Workload: Debug + Send + Sync {
    /// The workload's name.
    fn name(&self) -> &str;

    /// Sizes, options, steps and their statements in words, for this dialect.
    ///
    /// # Errors
    /// When the workload does not fit the dialect.
    fn describe(&self, dialect: Dialect) -> Result<String>;

    /// Connections that work at once, at most; of the Insert Benchmark, clients.
    fn clients(&self) -> u32;

    /// Sessions that are open at once, at most.
    fn sessions(&self) -> u32;

    /// Rows that the load puts into all tables together.
    fn loaded_rows(&self) -> u64;

    /// Rows for which the disk needs room. Deleted rows leave space that is reused, and a quarter of what passes through is kept as slack.
    fn rows_on_disk(&self) -> u64;

    /// Seed of every random stream.
    fn seed(&self) -> u64;

    /// The same workload with another seed.
    fn with_seed(&self, seed: u64) -> Arc<dyn Workload>;

    /// Sizes and options as they are shown.
    fn facts(&self) -> Vec<(String, String)>;

    /// What tells a step's results from those of another size or with another past.
    fn cell_sizes(&self, step: usize) -> serde_json::Value;

    /// Names of the tables.
    fn tables(&self) -> Vec<String>;

    /// The groups of results in the order in which they are shown.
    fn groups(&self) -> Vec<Group>;

    /// The steps in the order in which they run.
    fn outlines(&self) -> Vec<Outline>;

    /// Whether each step begins with what the one before it left, so that a round is all of them. The experiment that is stored says the
    /// same by its name: [`basecase_model::Experiment::is_chain`].
    fn is_chain(&self) -> bool;

    /// Whether a step leaves other data than it begins with.
    fn changes_rows(&self, step: &StepFacts) -> bool {
        self.is_chain() || step.writes
    }

    /// The numbers of rounds after which verdicts may be given, unless the user says otherwise.
    fn interim_analyses(&self) -> InterimAnalyses;

    /// The state of one candidate before the first step. `table_options` is text behind each CREATE TABLE.
    ///
    /// # Errors
    /// When the workload does not fit the dialect.
    fn state(&self, dialect: Dialect, table_options: Option<&str>) -> Result<Box<dyn WorkloadState>>;
}

/// One step, as far as planning goes.
#[derive(Debug, Clone)]
pub struct Outline {
    /// The step as stored and shown.
    pub facts: StepFacts,
    /// Seconds that it will probably take, until one like it is measured.
    pub guessed_seconds: f64,
    /// When it is stopped, unless the user says otherwise.
    pub limit: Option<Duration>,
    /// Whether debt is settled after it.
    pub settles_after: bool,
    /// Whether debt is settled before it on a database that was rebuilt for it.
    pub settles_after_rebuild: bool,
    /// Whether it changes rows in a way that counting them does not show.
    pub changes_rows_in_place: bool,
}

/// The names of the workloads that come with basecase.
pub(crate) fn builtin_names() -> Vec<String> {
    let mut names = vec![basecase_workload::insert_benchmark::NAME.to_owned()];
    names.extend(Definition::builtin_names());
    names
}

/// The workloads that come with basecase: their names, and what each is in a line.
///
/// # Errors
/// When one of their files has a mistake.
pub fn builtin() -> Result<Vec<(String, String)>> {
    let with_about = |name: String| {
        let about = match name.as_str() {
            basecase_workload::insert_benchmark::NAME => insert_benchmark::ABOUT.to_owned(),
            _ => WorkloadFile::definition_of(&name)?.about,
        };
        Ok((name, about))
    };
    builtin_names().into_iter().map(with_about).collect()
}

/// Rows per second that a load is guessed to take before one was measured.
const LOADED_PER_SECOND: f64 = 50_000.0;
/// How much longer than its nominal time a timed step may take, by factor and in seconds.
const PATIENCE: (f64, f64) = (5.0, 600.0);

/// When a step that is to take so many seconds is stopped.
fn step_limit(nominal_seconds: f64) -> Duration {
    Duration::from_secs_f64(nominal_seconds * PATIENCE.0 + PATIENCE.1)
}

/// Seconds that loading so many rows is guessed to take.
fn guessed_load_seconds(rows: u64) -> f64 {
    rows as f64 / LOADED_PER_SECOND
}

#[cfg(test)]
mod tests {
    use basecase_workload::insert_benchmark::PRESETS;

    use super::*;

    #[test]
    fn what_is_stored_says_as_well_whether_steps_are_a_chain() {
        let file = WorkloadFile::definition_of("microbenchmarks").unwrap();
        let file = WorkloadFile::new(file, &[], &[]).unwrap();
        let chain = InsertBenchmark::new(PRESETS[0].parameters());
        let kinds: [&dyn Workload; 2] = [&chain, &file];
        for kind in kinds {
            assert_eq!(kind.is_chain(), kind.name() == basecase_model::INSERT_BENCHMARK);
        }
    }

    #[test]
    fn every_builtin_workload_is_listed_with_a_line() {
        let listed: Vec<String> = builtin().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed, builtin_names());
    }
}
