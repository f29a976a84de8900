//! `workload`: lists and shows workloads.

use std::fmt::Write as _;

use anyhow::{Result, anyhow, bail};
use basecase_lab::file::Sizes;
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::{self, PRESETS, Pace};

use crate::arguments::{Workload, WorkloadCommand};
use crate::output;

pub(crate) fn run(arguments: &Workload) -> Result<()> {
    match &arguments.command {
        WorkloadCommand::List => output::print(&format!(
            "{}  ten steps: load, index, random inserts and deletes, range and point queries beside paced writes\n",
            insert_benchmark::NAME
        )),
        WorkloadCommand::Show { name, dbms, sizes } => {
            if name != insert_benchmark::NAME {
                bail!("there is no workload {name:?}\nhint: the workloads are {}", insert_benchmark::NAME);
            }
            let parameters =
                Sizes::from(sizes).parameters(Pace::Bursts, None).map_err(|reason| anyhow!(reason))?;
            let mut text = insert_benchmark::describe(&parameters, Dialect::of(*dbms, None));
            text.push_str("\npresets\n");
            for preset in PRESETS {
                let sizes = preset.parameters();
                writeln!(
                    text,
                    "  {:<12} {:>2} client(s), {:>11} rows, {:>9} writes, {:>4} s  {}",
                    preset.name, sizes.clients, sizes.rows, sizes.writes, sizes.seconds, preset.about
                )?;
            }
            output::print(&text)
        }
    }
}
