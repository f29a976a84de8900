//! `workload`: lists, shows and checks workloads.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use basecase_lab::file::Sizes;
use basecase_model::{Dbms, Engine};
use basecase_workload::insert_benchmark::{self, PRESETS, Pace};
use basecase_workload::{Dialect, Workload as Definition};

use crate::arguments::{SizeArguments, Workload, WorkloadCommand};
use crate::output;

/// Every kind of SQL that a workload file must do for.
const DIALECTS: [(Dbms, Option<Engine>); 4] = [
    (Dbms::Postgres, None),
    (Dbms::Mysql, Some(Engine::Innodb)),
    (Dbms::Mariadb, Some(Engine::Rocksdb)),
    (Dbms::Sqlite, None),
];

pub(crate) fn run(arguments: &Workload) -> Result<()> {
    match &arguments.command {
        WorkloadCommand::List => output::print(&list()?),
        WorkloadCommand::Show { name, dbms, engine, options, list, sizes } => {
            let dialect = Dialect::of(*dbms, *engine);
            if name == insert_benchmark::NAME {
                if !options.is_empty() || !list.is_empty() {
                    bail!(
                        "--option and --list are for workload files, and {name} is none\nhint: give its sizes by --preset, --rows, --writes, --seconds and --clients"
                    );
                }
                return output::print(&insert_benchmark(sizes, dialect)?);
            }
            output::print(&of_file(&definition(name)?, options, list, dialect)?)
        }
        WorkloadCommand::Check { file } => {
            let workload = read(file)?;
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
        "{:<24} ten steps: load, index, random inserts and deletes, range and point queries beside paced writes\n",
        insert_benchmark::NAME
    );
    for name in Definition::builtin_names() {
        writeln!(text, "{name:<24} {}", definition(&name)?.about)?;
    }
    text.push_str(
        "\ncompare and run take insert-benchmark; the others can be shown and checked, and are not run yet\n",
    );
    Ok(text)
}

/// The built-in workload or the file of this name.
fn definition(name: &str) -> Result<Definition> {
    if name.contains('/') || name.ends_with(".toml") {
        return read(Path::new(name));
    }
    let Some(workload) = Definition::builtin(name) else {
        let mut known = vec![insert_benchmark::NAME.to_owned()];
        known.extend(Definition::builtin_names());
        bail!(
            "there is no workload {name:?}\nhint: the workloads are {}; or give a file: ./{name}.toml",
            known.join(", ")
        );
    };
    Ok(workload?)
}

fn read(file: &Path) -> Result<Definition> {
    let text = std::fs::read_to_string(file).with_context(|| {
        format!(
            "cannot read workload file {}\nhint: docs/formats.md describes workload files",
            file.display()
        )
    })?;
    Ok(Definition::load(&text, &file.display().to_string())?)
}

fn of_file(
    workload: &Definition,
    options: &[(String, String)],
    list: &[String],
    dialect: Dialect,
) -> Result<String> {
    let given: Vec<(&str, &str)> =
        options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let words: Vec<&str> = list.iter().map(String::as_str).collect();
    let parameters = workload.options(&given)?;
    let steps = workload.steps(&parameters, &words)?;
    Ok(workload.describe(&parameters, &steps, dialect)?)
}

fn insert_benchmark(sizes: &SizeArguments, dialect: Dialect) -> Result<String> {
    let parameters = Sizes::from(sizes).parameters(Pace::Bursts, None).map_err(|reason| anyhow!(reason))?;
    let mut text = insert_benchmark::describe(&parameters, dialect);
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
