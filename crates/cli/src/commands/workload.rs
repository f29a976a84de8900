//! `workload`: lists, shows and checks workloads.

use std::fmt::Write as _;

use anyhow::Result;
use basecase_lab::{WorkloadFile, builtin_workloads};
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::Pace;

use crate::arguments::{ShowWorkload, Workload, WorkloadCommand};
use crate::output;
use crate::workload::choose;

pub(crate) fn run(arguments: &Workload) -> Result<()> {
    match &arguments.command {
        WorkloadCommand::List => output::print(&list()?),
        WorkloadCommand::Show(show) => {
            let ShowWorkload { name, dbms, engine, choice, sizes } = show.as_ref();
            let dialect = Dialect::of(*dbms, *engine);
            let workload = choose(name, choice, sizes, Pace::Bursts, None)?;
            output::print(&workload.describe(dialect)?)
        }
        WorkloadCommand::Check { file } => {
            let workload = WorkloadFile::read(file)?;
            let parameters = workload.options(&[])?;
            let steps = workload.steps(&parameters, &[])?;
            for (step, dialect) in steps.iter().flat_map(|step| Dialect::ALL.map(|dialect| (step, dialect))) {
                workload.describe(&parameters, std::slice::from_ref(step), dialect)?;
            }
            let (steps, options) = (steps.len(), workload.options.len());
            output::print(&format!("{}: {steps} steps, {options} options, no mistakes\n", file.display()))
        }
    }
}

fn list() -> Result<String> {
    let mut text = String::new();
    for (name, about) in builtin_workloads()? {
        writeln!(text, "{name:<24} {about}")?;
    }
    text.push_str("\nor a file of your own: ./mine.toml\n");
    Ok(text)
}
