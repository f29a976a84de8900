//! `workload`: lists, shows and checks workloads.

use std::fmt::Write as _;

use anyhow::Result;
use basecase_lab::{Task, WorkloadFile};
use basecase_model::{Dbms, Engine};
use basecase_workload::insert_benchmark::{self, InsertBenchmarkParameters, PRESETS, Pace};
use basecase_workload::{Dialect, Workload as Definition};

use crate::arguments::{ShowWorkload, Workload, WorkloadCommand};
use crate::output;
use crate::task::task;

/// Every dialect that a workload file must work in.
const DIALECTS: [(Dbms, Option<Engine>); 4] = [
    (Dbms::Postgres, None),
    (Dbms::Mysql, Some(Engine::Innodb)),
    (Dbms::Mariadb, Some(Engine::Rocksdb)),
    (Dbms::Sqlite, None),
];

pub(crate) fn run(arguments: &Workload) -> Result<()> {
    match &arguments.command {
        WorkloadCommand::List => output::print(&list()?),
        WorkloadCommand::Show(show) => {
            let ShowWorkload { name, dbms, engine, choice, sizes } = show.as_ref();
            let dialect = Dialect::of(*dbms, *engine);
            match task(name, choice, sizes, Pace::Bursts, None)? {
                Task::InsertBenchmark(parameters) => output::print(&insert_benchmark(&parameters, dialect)?),
                Task::WorkloadFile(file) => output::print(&file.describe(dialect)?),
            }
        }
        WorkloadCommand::Check { file } => {
            let workload = WorkloadFile::read(file)?;
            let parameters = workload.options(&[])?;
            let steps = workload.steps(&parameters, &[])?;
            let dialects = DIALECTS.map(|(dbms, engine)| Dialect::of(dbms, engine));
            for (step, dialect) in steps.iter().flat_map(|step| dialects.map(|dialect| (step, dialect))) {
                workload.describe(&parameters, std::slice::from_ref(step), dialect)?;
            }
            let (steps, options) = (steps.len(), workload.options.len());
            output::print(&format!("{}: {steps} steps, {options} options, no mistakes\n", file.display()))
        }
    }
}

fn list() -> Result<String> {
    let mut text = format!(
        "{:<24} ten steps: load, index, random inserts and deletes, range and point queries with paced writes\n",
        insert_benchmark::NAME
    );
    for name in Definition::builtin_names() {
        writeln!(text, "{name:<24} {}", WorkloadFile::definition_of(&name)?.about)?;
    }
    text.push_str("\nor a file of your own: ./mine.toml\n");
    Ok(text)
}

fn insert_benchmark(parameters: &InsertBenchmarkParameters, dialect: Dialect) -> Result<String> {
    let mut text = insert_benchmark::describe(parameters, dialect);
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
