//! What a request would measure, and what it needs of the machine, without measuring anything.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use basecase_analysis::{MissingBuild, Planned, PlannedDisk, PlannedMemory, PlannedProtocol, PlannedStep};
use basecase_builds::{Library, Pending};
use basecase_server::Host;

use crate::plan::{Plan, room, together};
use crate::request::{CandidateSpec, Missing, Origin, Places, Protocol, Request};
use crate::run::{RunOptions, usual_time};
use crate::workload::Outline;

/// What a request would measure. Builds that are not here are told and not got; cells and what servers ask of the memory depend on them.
/// Nothing is started, and no folder that was not there is left.
///
/// # Errors
/// What [`Plan::prepare`] refuses, as far as it can be known.
pub fn outlook(
    request: &Request,
    places: &Places,
    options: &RunOptions,
    command: &str,
    notify: &mut dyn FnMut(&str),
) -> Result<Planned> {
    request.check()?;
    let host = Host::detect();
    let _made = MadeFolders::below(&places.data)?;
    let (room, copies) = room(request, places, host)?;
    let (missing, left_out) = missing_builds(request, &places.home)?;
    let plan = missing.is_empty().then(|| Plan::prepare(request, places, command, notify)).transpose()?;
    let candidates = match &plan {
        Some(plan) => plan.candidates.iter().map(|candidate| candidate.facts.name.0.clone()).collect(),
        None => request
            .candidates
            .iter()
            .map(ToString::to_string)
            .filter(|name| !left_out.contains(name))
            .collect(),
    };
    Ok(Planned {
        name: request.name.clone(),
        id: plan.as_ref().map(|plan| plan.experiment.id.clone()),
        workload: request.workload.name().to_owned(),
        sizes: request.workload.facts(),
        host: basecase_probe::host_facts(&places.data).id,
        timing: places.timing.mark(),
        candidates,
        missing,
        steps: steps(request, places, options, plan.as_ref()),
        protocol: protocol(request, options)?,
        disk: PlannedDisk { estimated_bytes: room.needed, copies: copies.at_once(), free_bytes: room.free },
        memory: PlannedMemory {
            asked_bytes: plan.as_ref().map(|plan| memory(request, plan)),
            machine_bytes: host.memory_bytes,
        },
    })
}

/// The candidates whose builds are not here, and those that would be left out.
fn missing_builds(request: &Request, home: &Path) -> Result<(Vec<MissingBuild>, Vec<String>)> {
    let build = |spec: &CandidateSpec| match &spec.origin {
        Origin::Build(build) => Some((spec.to_string(), build.clone())),
        _ => None,
    };
    let (names, builds): (Vec<_>, Vec<_>) = request.candidates.iter().filter_map(build).unzip();
    let (mut missing, mut left_out) = (Vec::new(), Vec::new());
    if builds.is_empty() {
        return Ok((missing, left_out));
    }
    let library = Library::open(home)?;
    let mut add = |candidate: &String, pending: Option<Pending>| {
        let build =
            |pending| MissingBuild { candidate: candidate.clone(), is_compiled: pending == Pending::Compile };
        missing.extend(pending.map(build));
    };
    if request.missing == Missing::LeaveOut {
        for (name, build) in names.iter().zip(&builds) {
            match library.resolve(std::slice::from_ref(build)) {
                Ok(sources) => {
                    for source in &sources {
                        add(name, library.pending(source)?);
                    }
                }
                Err(_) => left_out.push(name.clone()),
            }
        }
    } else {
        for (name, source) in names.iter().zip(library.resolve(&builds)?) {
            add(name, library.pending(&source)?);
        }
    }
    Ok((missing, left_out))
}

/// The chosen steps.
fn steps(request: &Request, places: &Places, options: &RunOptions, plan: Option<&Plan>) -> Vec<PlannedStep> {
    let is_chosen = |name: &str| options.steps.as_ref().is_none_or(|steps| steps.contains(name));
    let counts = request.protocol.is_counts();
    let outlines = request.workload.outlines().into_iter().enumerate();
    let planned = |(number, outline): (usize, Outline)| PlannedStep {
        seconds: configured(request, places, &outline).as_secs_f64(),
        cells: plan.map_or_else(Vec::new, |plan| {
            plan.candidates.iter().map(|one| one.cells[number].key()).collect()
        }),
        is_load: number == 0,
        facts: outline.facts,
    };
    // Of what is not compared, nothing is counted.
    outlines
        .filter(|(_, outline)| is_chosen(&outline.facts.name) && (!counts || outline.facts.is_compared()))
        .map(planned)
        .collect()
}

/// How long a step takes a candidate as it is configured.
fn configured(request: &Request, places: &Places, outline: &Outline) -> Duration {
    let takes_turns = matches!(request.protocol, Protocol::Rounds(_)) && !request.workload.is_chain();
    if takes_turns && outline.facts.is_compared() {
        places.timing.of(usual_time(outline.facts.writes))
    } else {
        Duration::try_from_secs_f64(outline.guessed_seconds).unwrap_or_default()
    }
}

fn protocol(request: &Request, options: &RunOptions) -> Result<PlannedProtocol> {
    let schedule = request.protocol.schedule("", request.workload.as_ref())?;
    Ok(match schedule {
        Some(schedule) => PlannedProtocol::Rounds {
            first: schedule.interim_analyses.first().copied().unwrap_or(1),
            last: schedule.interim_analyses.last().copied().unwrap_or(1),
            budget_seconds: options.budget.map(|budget| budget.as_secs_f64()),
        },
        None if request.protocol.is_counts() => PlannedProtocol::Counts,
        None => PlannedProtocol::Classic,
    })
}

/// Bytes of memory of the servers that run at the same time.
fn memory(request: &Request, plan: &Plan) -> u64 {
    let one_at_a_time = request.protocol == Protocol::Classic
        || matches!(request.protocol, Protocol::Rounds(_)) && !plan.fits_together;
    if one_at_a_time { plan.memory.iter().copied().max().unwrap_or(0) } else { together(&plan.memory) }
}

/// Folders that were made for a while, and are removed again if nothing was put there.
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes this folder and those above it, as far as they are missing.
    fn below(folder: &Path) -> Result<MadeFolders> {
        let missing =
            folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = MadeFolders(missing.map(Path::to_path_buf).collect());
        crate::plan::take_folder(folder)?;
        Ok(made)
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One that is not empty is another's by now.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_gone_that_were_not_there() {
        let place = tempfile::tempdir().unwrap();
        let there = place.path().join("there");
        std::fs::create_dir(&there).unwrap();
        let data = there.join("a/b");
        let made = MadeFolders::below(&data).unwrap();
        assert!(data.is_dir());
        drop(made);
        assert!(there.is_dir() && !there.join("a").exists());
        let made = MadeFolders::below(&data).unwrap();
        std::fs::write(there.join("a/file"), "").unwrap();
        drop(made);
        assert!(!data.exists() && there.join("a/file").exists());
    }
}
