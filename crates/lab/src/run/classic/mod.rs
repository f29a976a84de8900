//! Each candidate once, from start to end.

pub(crate) mod forecast;

use anyhow::{Context, Result};
use basecase_model::{Measures, Observation, Trial};
use basecase_store::Detail;

use super::bench::{Bench, Deployment as _};
use super::deployment::Content;
use super::measure::settling::unrest;
use super::resume::{AFTER_RESTART, ON_REBUILT, ON_UNMEASURED, forget_unmeasured};
use super::{Run, failed_trial, is_wanted};
use crate::message::explain;
use crate::observer::Phase;
use crate::plan::Candidate;
use crate::workload::WorkloadState;

/// How far a candidate has come.
struct CandidateProgress {
    /// The step that an error belongs to.
    next: usize,
    /// Whether the data is exactly what the steps before that one left, and so is worth keeping whatever fails.
    is_whole: bool,
}

/// How the data came about that a candidate's first missing step begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// The step is the first of all.
    Fresh,
    /// An interrupted run left it.
    FoundAgain,
    /// The steps before were executed again.
    Rebuilt,
    /// Steps before were executed without being measured, because the user did not choose them.
    Unmeasured,
}

impl Beginning {
    /// What the trial of that step says of it.
    fn warning(self) -> Option<&'static str> {
        match self {
            Beginning::Fresh => None,
            Beginning::FoundAgain => Some(AFTER_RESTART),
            Beginning::Rebuilt => Some(ON_REBUILT),
            Beginning::Unmeasured => Some(ON_UNMEASURED),
        }
    }

    /// Whether the steps before left the rows, and none of their queries and pauses.
    fn is_rebuilt(self) -> bool {
        matches!(self, Beginning::Rebuilt | Beginning::Unmeasured)
    }
}

impl<B: Bench> Run<'_, B> {
    /// Each candidate once, from start to end.
    pub(crate) fn classic(&mut self, observations: &[Observation]) -> Result<()> {
        for &observation in observations {
            self.observation = observation;
            for (index, candidate) in self.plan.candidates.iter().enumerate() {
                if !self.is_stopped() && is_wanted(observations, observation, candidate) {
                    self.candidate(index)?;
                }
            }
        }
        Ok(())
    }

    /// Runs what is missing of one candidate.
    pub(crate) fn candidate(&mut self, index: usize) -> Result<()> {
        let candidate = &self.plan.candidates[index];
        let due = self.find_trials(candidate)?;
        let Some(&first) = due.first() else {
            if !self.options.keep_data
                && let Err(error) = self.bench.sweep(self.plan, candidate)
            {
                self.note(&format!("cannot clean up: {}", explain(&error)));
            }
            return Ok(());
        };
        // A failure outside a step belongs to the step that could not be reached.
        let mut progress = CandidateProgress { next: first, is_whole: false };
        let mut deployment = None;
        let result = self.steps(index, &due, &mut progress, &mut deployment);
        let is_interrupted = self.is_stopped();
        let is_worth_keeping = result.is_err() && progress.is_whole;
        if let Err(error) = result
            && !is_interrupted
        {
            let place = self.place(index);
            let trial = failed_trial(self.plan, candidate, progress.next, place, &error, deployment.as_mut());
            self.save(candidate, progress.next, &trial)?;
        }
        let Some(deployment) = deployment else { return Ok(()) };
        let note = if is_interrupted || self.options.keep_data || is_worth_keeping {
            self.tell_stopping(candidate);
            deployment.stop()
        } else {
            self.phase(candidate, candidate.closing());
            // Whatever cannot be cleaned up must not keep the next candidate from running.
            let discarded = deployment.discard().and_then(|note| forget_unmeasured(candidate).map(|()| note));
            discarded.unwrap_or_else(|error| Some(format!("cannot clean up: {}", explain(&error))))
        };
        if let Some(note) = note {
            self.note(&note);
        }
        if is_worth_keeping && !is_interrupted {
            let name = &candidate.facts.name;
            self.note(&format!(
                "the data of {name} is kept: it is complete, and the same command continues from it"
            ));
        }
        Ok(())
    }

    /// Takes in the trials that the store has of a candidate. Returns the steps that are yet to be measured.
    fn find_trials(&mut self, candidate: &Candidate) -> Result<Vec<usize>> {
        let mut due = Vec::new();
        for step in self.chosen_steps() {
            let Some(trial) = self.stored(candidate, step, Detail::Brief)? else {
                due.push(step);
                continue;
            };
            self.forecast.learn(step, trial.seconds);
            self.summary.found += 1;
            self.tell_stored(step, &trial, true);
        }
        Ok(due)
    }

    /// Brings a candidate to the state before its first missing step, and runs the steps from there: those that are due are
    /// measured. What is brought up is put into `open`, whatever fails later.
    fn steps(
        &mut self,
        index: usize,
        due: &[usize],
        progress: &mut CandidateProgress,
        open: &mut Option<B::Deployment>,
    ) -> Result<()> {
        let candidate = &self.plan.candidates[index];
        let first = progress.next;
        let mut workload_state = candidate.workload_state(self.plan.workload.as_ref())?;
        if first > 0 {
            *open = self.find_again(candidate, workload_state.as_mut(), first)?;
            progress.is_whole = open.is_some();
        }
        let mut beginning = if open.is_some() { Beginning::FoundAgain } else { Beginning::Fresh };
        if open.is_none() {
            self.phase(candidate, candidate.opening());
            *open = self.open(candidate, &candidate.directory, Content::Fresh)?;
            forget_unmeasured(candidate)?;
        }
        let deployment = open.as_mut().context("the candidate was not opened")?;
        self.identify(index, deployment)?;
        if first > 0 && beginning == Beginning::Fresh {
            let is_chosen = self.options.steps.is_some();
            beginning = if is_chosen { Beginning::Unmeasured } else { Beginning::Rebuilt };
            (workload_state, _) =
                self.unmeasured(candidate, |run| run.rebuild(candidate, deployment, first))?;
            progress.is_whole = !self.is_stopped();
        }
        let mut beginning = Some(beginning);
        for number in first..=due.last().copied().unwrap_or(first) {
            progress.next = number;
            if !due.contains(&number) {
                progress.is_whole = false;
                self.pass_over(candidate, deployment, workload_state.as_mut(), number)?;
                if self.is_stopped() {
                    return Ok(());
                }
                beginning = Some(Beginning::Unmeasured);
                continue;
            }
            let beginning = beginning.take();
            let settled = self.settle_before(candidate, deployment, number, beginning)?;
            if self.is_stopped() {
                return Ok(());
            }
            progress.is_whole = false;
            let settled = self.reload(candidate, deployment, workload_state.as_mut(), number)?.or(settled);
            let measured = self.step(candidate, deployment, workload_state.as_mut(), number, index)?;
            let Some(mut trial) = measured else { return Ok(()) };
            self.tell_beginning(&mut trial, settled, beginning);
            self.save(candidate, number, &trial)?;
            if !trial.is_complete() {
                return Ok(());
            }
            progress.is_whole = true;
        }
        Ok(())
    }

    /// Brings the tables to the state after a step that is not measured: it is executed if it writes.
    fn pass_over(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        number: usize,
    ) -> Result<()> {
        // What it settled belongs to no trial.
        self.reload(candidate, deployment, workload_state, number)?;
        if !workload_state.past(number + 1).contains(&number) || self.is_stopped() {
            return Ok(());
        }
        self.unmeasured(candidate, |run| run.execute_past(candidate, deployment, workload_state, number))
    }

    /// Settles what was put off before a step, where the workload says so. `beginning` is that of the candidate's first step.
    fn settle_before(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        number: usize,
        beginning: Option<Beginning>,
    ) -> Result<Option<Measures>> {
        let steps = &self.plan.steps;
        let is_due = number > 0 && steps[number - 1].settles_after
            || beginning.is_some_and(Beginning::is_rebuilt) && steps[number].settles_after_rebuild;
        is_due.then(|| self.settle(candidate, deployment)).transpose()
    }

    /// Adds to a trial what it began with.
    fn tell_beginning(&self, trial: &mut Trial, settled: Option<Measures>, beginning: Option<Beginning>) {
        if let Some(settled) = settled {
            trial.warnings.extend(unrest(self.plan.settle, &settled));
            trial.gauges.extend(settled);
        }
        trial.warnings.extend(beginning.and_then(Beginning::warning).map(str::to_owned));
    }

    /// Reloads the tables for a step that begins with freshly loaded ones, and tells how they settled.
    fn reload(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        number: usize,
    ) -> Result<Option<Measures>> {
        let Some(load) = workload_state.reload(number)? else { return Ok(None) };
        self.phase(candidate, Phase::Reload);
        let outcome = self.execute(deployment, load, None)?;
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        workload_state.reset();
        self.settle(candidate, deployment).map(Some)
    }
}
