//! Reuses or rebuilds the data that an earlier run left of a candidate.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use basecase_model::State;
use basecase_store::Detail;
use basecase_workload::insert_benchmark::Purpose;

use crate::checks;
use crate::observer::{Phase, Reason};
use crate::plan::Candidate;
use crate::run::Run;
use crate::run::bench::{Bench, Deployment as _};
use crate::run::deployment::Content;
use crate::workload::WorkloadState;

/// The warning on a resumed candidate's first trial.
pub(crate) const ON_REBUILT: &str = "the database was rebuilt for this step after an interruption: same rows, without the earlier steps' queries and pauses";
/// The warning on a trial before which the user chose not to measure.
pub(crate) const ON_UNMEASURED: &str =
    "steps before this one were not measured: same rows, without those steps' queries and pauses";
/// The same if the database was found again.
pub(crate) const AFTER_RESTART: &str = "the server was restarted before this step after an interruption: its caches did not hold what the step before leaves";

impl<B: Bench> Run<'_, B> {
    /// The data that an interrupted run left, if the tables hold exactly what the last stored step left. `None` if they do not, nothing is left,
    /// or the user asked for a rebuild.
    ///
    /// # Errors
    /// When the data cannot be inspected. It is kept then, because it may be good.
    pub(crate) fn find_again(
        &mut self,
        candidate: &Candidate,
        workload_state: &mut dyn WorkloadState,
        first: usize,
    ) -> Result<Option<B::Deployment>> {
        if self.options.rebuilds {
            self.phase(candidate, Phase::Rebuild(Reason::Asked));
            return Ok(None);
        }
        self.phase(candidate, Phase::Inspect);
        if self.plan.steps[first].changes_rows_in_place {
            self.phase(candidate, Phase::Rebuild(Reason::ChangesRows));
            return Ok(None);
        }
        if unmeasured_file(candidate).exists() {
            self.phase(candidate, Phase::Rebuild(Reason::HadBegun));
            return Ok(None);
        }
        let Some(last) = self.stored(candidate, first - 1, Detail::Whole)? else {
            return Ok(None);
        };
        workload_state.resume(first, &last.state);
        let is_kept = || is_kept(candidate);
        let opened = self.open(candidate, &candidate.directory, Content::Left);
        let Some(mut deployment) = opened.with_context(is_kept)? else {
            return Ok(None);
        };
        let holds = deployment.holds(workload_state);
        if matches!(holds, Ok(true)) {
            return Ok(Some(deployment));
        }
        deployment.stop();
        holds.with_context(is_kept)?;
        self.phase(candidate, Phase::Rebuild(Reason::HadBegun));
        Ok(None)
    }

    /// Does what changes a candidate's tables without a trial. A file beside its directory says so until that is done: an UPDATE that was
    /// killed leaves as many rows as a whole one, so the tables do not tell.
    pub(crate) fn unmeasured<T>(
        &mut self,
        candidate: &Candidate,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let file = unmeasured_file(candidate);
        fs::create_dir_all(&self.plan.folder)
            .and_then(|()| File::create(&file))
            .with_context(|| format!("cannot write {}", file.display()))?;
        let done = work(self)?;
        if !self.is_stopped() {
            forget_unmeasured(candidate)?;
        }
        Ok(done)
    }

    /// Executes a step for what it leaves, without measuring it.
    pub(crate) fn execute_past(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        step: usize,
    ) -> Result<()> {
        let outline = &self.plan.steps[step];
        self.phase(candidate, Phase::RebuildStep(&outline.facts.name));
        let step_plan = workload_state.plan(step, Purpose::Rebuild)?;
        let outcome = self.execute(deployment, step_plan, outline.limit)?;
        workload_state.advance(step, &outcome);
        outcome.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Brings a fresh database to the state before step `first`. Returns what it holds then.
    pub(crate) fn rebuild(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        first: usize,
    ) -> Result<(Box<dyn WorkloadState>, State)> {
        let plan = self.plan;
        let mut workload_state = candidate.workload_state(plan.workload.as_ref())?;
        for step in workload_state.past(first) {
            if self.is_stopped() {
                return Ok((workload_state, State::default()));
            }
            self.execute_past(candidate, deployment, workload_state.as_mut(), step)?;
        }
        let state = deployment.state(workload_state.as_ref(), plan.counts_rows)?;
        let failures = checks::failures(&deployment.compare(workload_state.as_mut(), &state)?);
        anyhow::ensure!(
            failures.is_empty(),
            "the rebuilt database is not as it was: {}",
            failures.join("; ")
        );
        Ok((workload_state, state))
    }
}

/// The file that says that a candidate's tables were being changed without a trial.
fn unmeasured_file(candidate: &Candidate) -> PathBuf {
    candidate.directory.with_added_extension("unmeasured")
}

/// Removes that file: the tables are whole, or gone.
pub(crate) fn forget_unmeasured(candidate: &Candidate) -> Result<()> {
    let file = unmeasured_file(candidate);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// The message about leftover data that cannot be used at present, but is kept.
pub(crate) fn is_kept(candidate: &Candidate) -> String {
    format!(
        "what an earlier run left of {} cannot be used now, and is kept\nhint: fix the cause and repeat the command, or add --rebuild, \
         which discards that data and loads it again",
        candidate.facts.name
    )
}
