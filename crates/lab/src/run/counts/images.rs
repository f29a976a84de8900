//! The data that sessions begin with, made by servers at full speed.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use basecase_model::State;
use basecase_server::{copy_data_sparsely, remove_data};
use basecase_workload::insert_benchmark::Purpose;

use crate::plan::{Candidate, Plan};
use crate::request::Pin;
use crate::run::bench::Bench;
use crate::run::deployment::{Content, LiveDeployment};
use crate::run::limits;
use crate::run::measure::settling::settle_deployment;
use crate::run::rounds::images::{read_state, remove_folder, write_state};
use crate::run::servers::Servers;

/// The data that a step begins with in the start of this number. Steps of a workload file all begin with what the load left, which is
/// always the same. In a chain several clients write at once, and chance decides which pages they fill: what that does to the work is
/// the same for all that begins with an image, so each start has images of its own.
pub(super) fn image_of(plan: &Plan, candidate: &Candidate, start: u32, step: usize) -> PathBuf {
    let name = if plan.workload.is_chain() {
        format!("{}-{start}", plan.steps[step].facts.name)
    } else {
        "load".to_owned()
    };
    candidate.directory.join("counts").join(name)
}

/// Whether all images of these steps are there.
pub(super) fn are_there(plan: &Plan, candidate: &Candidate, start: u32, steps: &[usize]) -> bool {
    let is_there = |step: &usize| {
        let image = image_of(plan, candidate, start, *step);
        read_state(&image).is_ok_and(|state| state.is_some())
    };
    steps.iter().all(is_there)
}

/// Makes the images of these steps, and removes those of the start before.
///
/// # Errors
/// When a server cannot be started, or a step fails that leads to one of them.
pub(super) fn provide(
    plan: &Plan,
    candidate: &Candidate,
    start: u32,
    steps: &[usize],
    stop: &AtomicBool,
) -> Result<()> {
    if let Some(before) = start.checked_sub(1).filter(|_| plan.workload.is_chain()) {
        (0..plan.steps.len()).try_for_each(|step| remove_folder(&image_of(plan, candidate, before, step)))?;
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
        if step == last || plan.workload.is_chain() {
            let image = image_of(plan, candidate, start, step);
            remove_folder(&image)?;
            // Also of the last step: every start copies an image, and the made data has all the zeros.
            copy_data_sparsely(&workshop, &image)?;
            write_state(&image, &state)?;
        }
        content = Content::Left;
    }
    Ok(remove_data(&workshop)?)
}

/// Removes everything that counting a candidate left.
pub(super) fn remove(candidate: &Candidate) -> Result<()> {
    remove_folder(&candidate.directory.join("counts"))?;
    // It holds what an experiment of times with the same cells left, or nothing.
    let _ = std::fs::remove_dir(&candidate.directory);
    Ok(())
}
