//! One start of the candidates' servers in a round, and the steps that are measured with it.

use std::cell;
use std::collections::BTreeSet;

use anyhow::{Context, Result};
use basecase_model::{Cell, Measures, Trial};
use basecase_server::{copy_data, keep_data, remove_data, take_data};

use super::images::{image_of, kept_of, read_round, read_state};
use super::interleaving::{Interleaved, RunningCandidate, StepRun};
use super::open_comparisons::OpenComparisons;
use super::slot_of;
use crate::observer::{Event, Phase};
use crate::plan::Candidate;
use crate::run::bench::{Bench, Deployment as _, Together};
use crate::run::deployment::Content;
use crate::run::resume::is_kept;
use crate::run::{Run, failed_trial, limits};

impl<B: Bench> Run<'_, B> {
    /// Starts the candidates, measures these steps and stops the candidates again. One that fails drops out.
    pub(super) fn server_run(
        &mut self,
        open_comparisons: &mut OpenComparisons,
        slots: &[usize],
        steps: &[usize],
        data: Data,
    ) -> Result<()> {
        let asked = open_comparisons.runners_of_any(steps);
        let mut all_running = self.start_candidates(open_comparisons, slots, &asked, steps[0], data)?;
        for (nth, &number) in steps.iter().enumerate() {
            let step_run = StepRun { number, is_first: nth == 0 };
            // Without whoever failed, the others have their turns all over again.
            while self.take_turns(open_comparisons, &mut all_running, step_run)? {}
        }
        all_running.into_iter().try_for_each(|running| self.stop_candidate(running, data))
    }

    /// Starts candidates in the order of these slots, for steps from `first` on. One that fails drops out.
    pub(super) fn start_candidates(
        &mut self,
        open_comparisons: &mut OpenComparisons,
        slots: &[usize],
        asked: &BTreeSet<usize>,
        first: usize,
        data: Data,
    ) -> Result<Vec<RunningCandidate<B::Deployment>>> {
        // All of them before any starts: what two candidates have in common cannot be forgotten while one of them runs.
        asked.iter().for_each(|index| self.bench.forget(&self.plan.candidates[*index]));
        let mut all_running = Vec::with_capacity(asked.len());
        for (slot, &index) in slots.iter().filter(|index| asked.contains(index)).enumerate() {
            if self.is_stopped() {
                break;
            }
            match self.start_candidate(index, slot, data) {
                Ok(running) => all_running.push(running),
                Err(error) => {
                    self.unopened.insert(index);
                    self.save_failure(&self.plan.candidates[index], first, slot, &error)?;
                    open_comparisons.dismiss(index);
                }
            }
        }
        Ok(all_running)
    }

    /// Measures a step of the running candidates that still take part in it, and stops those that fail. Returns whether the others have no
    /// result, because one that failed ended the step early.
    pub(super) fn take_turns(
        &mut self,
        open_comparisons: &mut OpenComparisons,
        all_running: &mut Vec<RunningCandidate<B::Deployment>>,
        step_run: StepRun,
    ) -> Result<bool> {
        let number = step_run.number;
        let runners = open_comparisons.runners(number);
        let mut present: Vec<&mut RunningCandidate<B::Deployment>> =
            all_running.iter_mut().filter(|running| runners.contains(&running.candidate)).collect();
        let has_base = present.iter().any(|running| running.candidate == 0);
        if self.is_stopped() || present.len() < 2 || !has_base {
            return Ok(false);
        }
        let Some(mut interleaved) = self.interleave(&mut present, step_run)? else {
            return Ok(false);
        };
        interleaved.trials.iter_mut().for_each(|(_, trial)| self.date(trial));
        let Interleaved { mut trials, is_broken_off } = interleaved;
        // What leads a chain to its open steps may be known: what was decided by stays as it was.
        let is_known = open_comparisons.has(number, self.round);
        trials.retain(|(_, trial)| !trial.is_complete() || !is_known && !open_comparisons.has_own(trial));
        let together: Vec<(&Cell, &Trial)> = trials
            .iter()
            .map(|(candidate, trial)| (&self.plan.candidates[*candidate].cells[number], trial))
            .collect();
        self.store.save_together(&self.plan.experiment.id, &together)?;
        for (candidate, trial) in trials {
            self.take_in_turns(number, &trial);
            if !trial.is_complete() {
                for running in all_running.extract_if(.., |running| running.candidate == candidate) {
                    // Whatever state it left is not for the next round.
                    self.stop_candidate(running, Data::Copied)?;
                }
            }
            open_comparisons.add(trial);
        }
        Ok(is_broken_off)
    }

    /// Measures a step of the running candidates; `None` when the user stopped it.
    fn interleave(
        &mut self,
        all_running: &mut [&mut RunningCandidate<B::Deployment>],
        step_run: StepRun,
    ) -> Result<Option<Interleaved>> {
        let StepRun { number, is_first } = step_run;
        let plan = self.plan;
        let names: Vec<&str> = all_running
            .iter()
            .map(|running| plan.candidates[running.candidate].facts.name.0.as_str())
            .collect();
        let Run { bench, observer, patience, round, experiences, .. } = self;
        let outline = &plan.steps[number];
        let mut begins = |progress| {
            let candidates = names.clone();
            observer.notice(Event::TurnsBegin { round: *round, step: &outline.facts, candidates, progress });
        };
        let step = Together {
            number,
            is_first,
            round: *round,
            most_work: self.most_work,
            experience: experiences.get(number).copied().flatten(),
            patience,
            limits: limits(plan, outline.limit, self.stop),
        };
        let interleaved = bench.take_turns(plan, all_running, step, &mut begins)?;
        let is_whole =
            |interleaved: &Interleaved| !interleaved.trials.iter().any(|(_, trial)| self.is_cut_short(trial));
        Ok(interleaved.filter(is_whole))
    }

    /// Saves that a candidate did not reach this step, unless it is because the user wants to stop.
    pub(super) fn save_failure(
        &mut self,
        candidate: &Candidate,
        number: usize,
        position: usize,
        error: &anyhow::Error,
    ) -> Result<()> {
        if self.is_stopped() {
            return Ok(());
        }
        let trial = failed_trial(
            self.plan,
            candidate,
            number,
            self.place(position),
            error,
            None::<&mut B::Deployment>,
        );
        self.store.save_trial(&self.plan.experiment.id, &candidate.cells[number], &trial)?;
        self.take_in_turns(number, &trial);
        Ok(())
    }

    /// Stops a candidate.
    pub(super) fn stop_candidate(
        &mut self,
        running: RunningCandidate<B::Deployment>,
        data: Data,
    ) -> Result<()> {
        let RunningCandidate { candidate, slot, deployment, .. } = running;
        let candidate = &self.plan.candidates[candidate];
        self.tell_stopping(candidate);
        if let Some(note) = deployment.stop() {
            self.note(&note);
        }
        let slot = slot_of(self.plan, slot);
        match data {
            Data::Kept => keep_data(&slot, &kept_of(candidate))?,
            Data::Copied | Data::Loaded => remove_data(&slot)?,
        }
        Ok(())
    }

    /// Starts a candidate in a slot.
    fn start_candidate(
        &mut self,
        index: usize,
        slot: usize,
        data: Data,
    ) -> Result<RunningCandidate<B::Deployment>> {
        let candidate = &self.plan.candidates[index];
        let directory = slot_of(self.plan, slot);
        let (image, kept) = (image_of(candidate), kept_of(candidate));
        self.phase(candidate, Phase::Start);
        // A server that a killed run left there is stopped first.
        let copied = cell::Cell::new(None);
        let bring = || match data {
            Data::Kept if take_data(&kept, &directory)? => Ok(()),
            Data::Kept | Data::Copied => copy_data(&image, &directory).map(|cost| copied.set(Some(cost))),
            Data::Loaded => Ok(()),
        };
        let content = if data == Data::Loaded { Content::Fresh } else { Content::Brought(&bring) };
        let opened = self.open(candidate, &directory, content);
        let opened = if data == Data::Loaded { opened } else { opened.with_context(|| is_kept(candidate)) }?;
        let is_gone = || format!("the data of {} is gone", candidate.facts.name);
        let mut deployment = opened.with_context(is_gone)?;
        self.identify(index, &mut deployment)?;
        let mut workload_state = candidate.workload_state(self.plan.workload.as_ref())?;
        if data != Data::Loaded {
            workload_state.resume(1, &read_state(&image)?.with_context(is_gone)?);
        }
        Ok(RunningCandidate {
            candidate: index,
            slot,
            deployment,
            workload_state,
            copied: copied.get(),
            image_round: read_round(&image).filter(|_| data != Data::Loaded),
            settled: Measures::new(),
        })
    }
}

/// Where a candidate's data comes from, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// From the previous server run, and kept for the next: the steps change nothing.
    Kept,
    /// A copy of the image, discarded afterwards.
    Copied,
    /// The first step loads it, and it is discarded afterwards.
    Loaded,
}
