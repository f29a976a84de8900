//! The Insert Benchmark: ten steps, each of which begins with what the one before it left.

mod state;

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Result;
use basecase_model::Group;
use basecase_stats::InterimAnalyses;
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::{self, InsertBenchmarkParameters, InsertBenchmarkStep, PRESETS};
use serde_json::json;

use self::state::InsertBenchmarkState;
use super::{Outline, Workload, WorkloadState, guessed_load_seconds, step_limit};

/// What it is, in a line.
pub(super) const ABOUT: &str =
    "ten steps: load, index, random inserts and deletes, range and point queries beside paced writes";

/// Rows per second that random inserts with deletes are guessed to take before they were measured.
const WRITTEN_PER_SECOND: f64 = 5_000.0;

/// The Insert Benchmark at one size.
#[derive(Debug, Clone)]
pub struct InsertBenchmark {
    parameters: InsertBenchmarkParameters,
}

impl InsertBenchmark {
    /// At this size.
    pub fn new(parameters: InsertBenchmarkParameters) -> Self {
        InsertBenchmark { parameters }
    }

    fn outline(&self, step: &InsertBenchmarkStep) -> Outline {
        Outline {
            facts: step.facts(&self.parameters),
            guessed_seconds: match step.rate {
                Some(rate) => step.max_rows as f64 / rate as f64,
                None if step.deletes() => step.max_rows as f64 / WRITTEN_PER_SECOND,
                None => guessed_load_seconds(self.parameters.loaded_rows()),
            },
            limit: step.rate.map(|_| step_limit(self.parameters.seconds as f64)),
            settles_after: step.settles_after(),
            settles_after_rebuild: step.rate.is_some(),
            changes_rows_in_place: false,
        }
    }
}

impl Workload for InsertBenchmark {
    fn name(&self) -> &str {
        insert_benchmark::NAME
    }

    fn describe(&self, dialect: Dialect) -> Result<String> {
        let mut text = insert_benchmark::describe(&self.parameters, dialect);
        text.push_str("\npresets\n");
        for preset in PRESETS {
            let sizes = preset.parameters();
            writeln!(
                text,
                "  {:<12} {:>2} client(s), {:>11} rows, {:>9} writes, {:>4} s  {}",
                preset.name, sizes.clients, sizes.rows, sizes.writes, sizes.seconds, preset.about
            )?;
        }
        Ok(text)
    }

    fn clients(&self) -> u32 {
        self.parameters.clients
    }

    fn sessions(&self) -> u32 {
        self.parameters.clients * insert_benchmark::MOST_ROLES_PER_CLIENT
    }

    fn loaded_rows(&self) -> u64 {
        self.parameters.loaded_rows()
    }

    fn rows_on_disk(&self) -> u64 {
        let inserted: u64 =
            InsertBenchmarkStep::all(&self.parameters).iter().map(InsertBenchmarkStep::inserted_rows).sum();
        let passing = inserted.saturating_sub(self.parameters.rows) / 4 * u64::from(self.parameters.clients);
        self.parameters.loaded_rows() + passing
    }

    fn seed(&self) -> u64 {
        self.parameters.seed
    }

    fn with_seed(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(InsertBenchmark::new(InsertBenchmarkParameters { seed, ..self.parameters.clone() }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.parameters.facts()
    }

    fn cell_sizes(&self, _: usize) -> serde_json::Value {
        json!(self.parameters)
    }

    fn tables(&self) -> Vec<String> {
        (1..=self.parameters.clients).map(insert_benchmark::table_name).collect()
    }

    fn groups(&self) -> Vec<Group> {
        Vec::new()
    }

    fn outlines(&self) -> Vec<Outline> {
        InsertBenchmarkStep::all(&self.parameters).iter().map(|step| self.outline(step)).collect()
    }

    fn is_chain(&self) -> bool {
        true
    }

    fn interim_analyses(&self) -> InterimAnalyses {
        InterimAnalyses::write_heavy()
    }

    fn state(&self, dialect: Dialect, table_options: Option<&str>) -> Result<Box<dyn WorkloadState>> {
        let parameters = self.parameters.clone();
        let benchmark = insert_benchmark::InsertBenchmark { parameters, dialect };
        Ok(Box::new(InsertBenchmarkState::new(benchmark, table_options)))
    }
}
