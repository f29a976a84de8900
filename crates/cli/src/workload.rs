//! Makes a workload with its sizes from arguments.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use basecase_lab::{InsertBenchmark, Sizes, Workload, WorkloadFile};
use basecase_workload::Workload as Definition;
use basecase_workload::insert_benchmark::{self, Pace};

use crate::arguments::{SizeArguments, WorkloadChoice};

/// The workload of this name with what the user gave it.
pub(crate) fn choose(
    name: &str,
    choice: &WorkloadChoice,
    sizes: &SizeArguments,
    pace: Pace,
    seed: Option<u64>,
) -> Result<Arc<dyn Workload>> {
    if name == insert_benchmark::NAME {
        if let Some(word) = choice.given() {
            bail!(
                "--{word} is for workload files, and {name} is not one\nhint: give its sizes by --preset, --rows, --writes, --seconds and --clients"
            );
        }
        let parameters = Sizes::from(sizes).parameters(pace, seed).map_err(|reason| anyhow!(reason))?;
        return Ok(Arc::new(InsertBenchmark::new(parameters)));
    }
    let definition = WorkloadFile::definition_of(name)?;
    let options = options(&definition, choice, sizes, seed)?;
    Ok(Arc::new(WorkloadFile::new(definition, &options, &choice.list)?))
}

/// All options that the user gave for the workload file. --option comes last, and so overrides the others.
fn options(
    definition: &Definition,
    choice: &WorkloadChoice,
    sizes: &SizeArguments,
    seed: Option<u64>,
) -> Result<Vec<(String, String)>> {
    if let Some(word) = sizes.given_for_insert_benchmark() {
        bail!(
            "--{word} is only for insert-benchmark\nhint: {} takes --tables, --rows, --threads, --seconds, --write-seconds and --option",
            definition.name
        );
    }
    let mut options: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        options.extend(value.map(|value| (name.to_owned(), value)));
    };
    let rows = definition.rows_option().map_or("rows", |option| &option.name);
    add("tables", choice.tables.map(|tables| tables.to_string()));
    add(rows, sizes.rows.map(|rows| rows.to_string()));
    add("threads", choice.threads.clone());
    add("seconds", sizes.seconds.map(|seconds| seconds.to_string()));
    add("write_seconds", choice.write_seconds.map(|seconds| seconds.to_string()));
    add("warm_up_seconds", choice.warm_up_seconds.map(|seconds| seconds.to_string()));
    add("seed", seed.map(|seed| seed.to_string()));
    options.extend(choice.options.iter().cloned());
    Ok(options)
}

impl WorkloadChoice {
    /// The first argument given, if any.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("list", !self.list.is_empty()),
            ("option", !self.options.is_empty()),
            ("tables", self.tables.is_some()),
            ("threads", self.threads.is_some()),
            ("write-seconds", self.write_seconds.is_some()),
            ("warm-up-seconds", self.warm_up_seconds.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(word, _)| word)
    }
}

impl SizeArguments {
    /// The first argument given that only the Insert Benchmark takes, if any.
    fn given_for_insert_benchmark(&self) -> Option<&'static str> {
        let given = [
            ("preset", self.preset.is_some()),
            ("scale", self.scale.is_some()),
            ("clients", self.clients.is_some()),
            ("writes", self.writes.is_some()),
            ("li1-rows", self.li1_rows.is_some()),
            ("li2-rows", self.li2_rows.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(word, _)| word)
    }
}
