//! The data that sessions begin with, made by servers at full speed.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use basecase_model::State;
use basecase_server::{copy_data, move_data, remove_data};
use basecase_workload::insert_benchmark::Purpose;

use crate::plan::{Candidate, Plan};
use crate::request::Pin;
use crate::run::bench::Bench;
use crate::run::deployment::{Content, LiveDeployment};
use crate::run::limits;
use crate::run::measure::settling::settle_deployment;
use crate::run::rounds::images::{read_state, remove_folder, write_state};
use crate::run::servers::Servers;

/// The data that a step begins with. Steps of a workload file all begin with what the load left.
pub(super) fn image_of(plan: &Plan, candidate: &Candidate, step: usize) -> PathBuf {
    let name = if plan.workload.is_chain() { plan.steps[step].facts.name.as_str() } else { "load" };
    candidate.directory.join("counts").join(name)
}

/// Makes the images of these steps that are not there yet.
///
/// # Errors
/// When a server cannot be started, or a step fails that leads to one of them.
pub(super) fn provide(plan: &Plan, candidate: &Candidate, steps: &[usize], stop: &AtomicBool) -> Result<()> {
    let is_there = |step: &usize| {
        let image = image_of(plan, candidate, *step);
        read_state(&image).is_ok_and(|state| state.is_some())
    };
    if steps.iter().all(is_there) {
        return Ok(());
    }
    let workshop = candidate.directory.join("counts").join("made");
    remove_data(&workshop)?;
    let last = if plan.workload.is_chain() { steps.iter().copied().max().unwrap_or(0) } else { 1 };
    let mut content = Content::Fresh;
    let mut workload_state = candidate.workload_state(plan.workload.as_ref())?;
    for step in 0..=last {
        let mut deployment = LiveDeployment::open(plan, candidate, &workshop, content, Pin::default())?
            .context("the data that was just made is gone")?;
        if let Some(before) = step.checked_sub(1) {
            let step_plan = workload_state.plan(before, Purpose::Rebuild)?;
            let limits = limits(plan, plan.steps[before].limit, stop);
            let outcome = Servers.execute(&mut deployment, step_plan, &limits)?;
            workload_state.advance(before, &outcome);
            outcome.failure.map_or(Ok(()), Err)?;
            settle_deployment(plan, &mut deployment, stop)?;
        }
        let is_empty = step == 0;
        let state = if is_empty {
            State::default()
        } else {
            deployment.state(workload_state.as_ref(), plan.counts_rows)?
        };
        deployment.shut_down();
        basecase_stop::check()?;
        keep(plan, candidate, step, &workshop, step == last, &state)?;
        content = Content::Left;
    }
    Ok(())
}

/// Keeps what the steps before `step` left: a copy, or after the last of them the data itself.
fn keep(
    plan: &Plan,
    candidate: &Candidate,
    step: usize,
    workshop: &Path,
    is_last: bool,
    state: &State,
) -> Result<()> {
    if !is_last && !plan.workload.is_chain() {
        return Ok(());
    }
    let image = image_of(plan, candidate, step);
    remove_folder(&image)?;
    if is_last {
        move_data(workshop, &image)?;
    } else {
        copy_data(workshop, &image)?;
    }
    write_state(&image, state)
}

/// Removes everything that counting a candidate left.
pub(super) fn remove(candidate: &Candidate) -> Result<()> {
    remove_folder(&candidate.directory.join("counts"))?;
    // It holds what an experiment of times with the same cells left, or nothing.
    let _ = std::fs::remove_dir(&candidate.directory);
    Ok(())
}
