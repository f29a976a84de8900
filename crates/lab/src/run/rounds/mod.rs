//! Rounds: all candidates freshly started from the same data, again and again until each step is decided.

pub(crate) mod chunk_scheduler;
mod images;
pub(crate) mod interleaving;
pub(crate) mod open_comparisons;
pub(crate) mod quiet;
pub(crate) mod slice_scheduler;

use std::cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use basecase_model::{Cell, Measures, Trial};
use basecase_server::{copy_data, keep_data, remove_data, take_data};
use basecase_stats::Orders;

use self::images::{image_of, kept_of, read_state, remove_folder};
use self::interleaving::{Interleaved, RunningCandidate, StepRun};
use self::slice_scheduler::MOST_WORK;
use crate::observer::{Event, Phase};
use crate::plan::{Candidate, Plan};
use crate::run::bench::{Bench, Deployment as _, Together};
use crate::run::deployment::Content;
use crate::run::resume::is_kept;
use crate::run::rounds::open_comparisons::OpenComparisons;
use crate::run::{Run, failed_trial, limits};

impl<B: Bench> Run<'_, B> {
    /// Rounds in which the candidates take turns in each step, which begins with what the load left.
    pub(crate) fn rounds(&mut self, plan: &mut Plan, candidates: &mut [Candidate]) -> Result<()> {
        self.until_decided(plan, candidates, |run, plan, candidates, open_comparisons, steps| {
            run.round(plan, candidates, open_comparisons, steps)
        })?;
        if !self.options.keep_data && !self.stop.load(Ordering::Relaxed) {
            remove_folder(&plan.folder.join(SLOTS))?;
            let is_spent = |(index, _): &(usize, &Candidate)| !self.unopened.contains(index);
            let spent = candidates.iter().enumerate().filter(is_spent);
            spent.map(|(_, candidate)| &candidate.directory).try_for_each(|folder| remove_folder(folder))?;
        }
        Ok(())
    }

    /// Rounds in which all candidates go through all steps, since each begins with what the one before it left.
    pub(crate) fn chains(&mut self, plan: &mut Plan, candidates: &mut [Candidate]) -> Result<()> {
        self.until_decided(plan, candidates, |run, plan, candidates, open_comparisons, steps| {
            if plan.fits_together {
                // Who fails leaves the others' chains cut off.
                while run.chain(plan, candidates, open_comparisons, steps)? {}
                Ok(())
            } else {
                run.separate_chains(plan, candidates, open_comparisons, steps)
            }
        })?;
        if !self.options.keep_data && !self.stop.load(Ordering::Relaxed) {
            remove_folder(&plan.folder.join(SLOTS))?;
        }
        Ok(())
    }

    /// All steps from the load to the last that is open, in which the candidates take turns. Returns whether the others have to begin anew,
    /// because one that failed broke them off.
    fn chain(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        open_comparisons: &mut OpenComparisons,
        steps: &[usize],
    ) -> Result<bool> {
        let slots = orders(plan).balanced("slots", self.round as usize, candidates.len());
        let asked = open_comparisons.runners_of_any(steps);
        let mut all_running =
            self.start_candidates(plan, candidates, open_comparisons, (&slots, &asked), 0, Data::Loaded)?;
        let mut is_broken_off = false;
        for number in 0..=steps.iter().copied().max().unwrap_or(0) {
            if number > 0 && plan.steps[number - 1].settles_after {
                self.settle_candidates(plan, candidates, open_comparisons, &mut all_running, number)?;
            }
            let step_run = StepRun { number, is_first: number == 0 };
            is_broken_off =
                self.take_turns(plan, candidates, open_comparisons, &mut all_running, step_run)?;
            // Who failed one step is out of all that follow from it.
            let is_up = |index: &usize| all_running.iter().any(|running| running.candidate == *index);
            asked.iter().filter(|index| !is_up(index)).for_each(|index| open_comparisons.dismiss(*index));
            if is_broken_off || all_running.len() < 2 || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        all_running
            .into_iter()
            .try_for_each(|running| self.stop_candidate(plan, candidates, running, Data::Loaded))?;
        Ok(is_broken_off)
    }

    /// Each candidate all steps by itself, where the memory does not hold all servers.
    fn separate_chains(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        open_comparisons: &mut OpenComparisons,
        steps: &[usize],
    ) -> Result<()> {
        for index in orders(plan).balanced("chains", self.round as usize, candidates.len()) {
            if self.stop.load(Ordering::Relaxed) || !open_comparisons.runners_of_any(steps).contains(&index) {
                continue;
            }
            let failures = self.summary.failed.len();
            self.summary.all += plan.steps.len();
            self.bench.forget(&candidates[index]);
            self.candidate(plan, index, &mut candidates[index])?;
            if self.summary.failed.len() > failures {
                open_comparisons.dismiss(index);
            }
        }
        open_comparisons.renew(self.store.trials(&plan.experiment.id)?);
        Ok(())
    }

    /// Runs rounds until every step is decided, there may be no more, or the time is over.
    fn until_decided(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        mut round_of: impl FnMut(
            &mut Self,
            &mut Plan,
            &mut [Candidate],
            &mut OpenComparisons,
            &[usize],
        ) -> Result<()>,
    ) -> Result<()> {
        let Some(schedule) = plan.experiment.schedule.clone() else { return Ok(()) };
        let trials = self.store.trials(&plan.experiment.id)?;
        let mut open_comparisons =
            OpenComparisons::new(&plan.experiment, trials, self.options.only_step.as_deref());
        let began = self.bench.now();
        let mut last: Option<Done> = None;
        let mut judgement = open_comparisons.judgement()?;
        loop {
            let left = self.options.budget.map(|budget| budget.saturating_sub(self.bench.now() - began));
            // Of the first round nothing is known, and one there is in any case.
            let known_left = left.filter(|_| last.is_some());
            let Some((round, steps)) = open_comparisons.next_round(&judgement, known_left) else { break };
            // What is wanted again right after it was done has failed.
            if last.as_ref().is_some_and(|last| (last.round, &last.steps) == (round, &steps)) {
                break;
            }
            let seconds = last.as_ref().map(|last| last.seconds_of_next(&open_comparisons, &steps));
            let is_over = seconds.zip(left).is_some_and(|(seconds, left)| seconds > left.as_secs_f64());
            let most = self.options.most_rounds.into_iter().chain(schedule.looks.last().copied()).min();
            if is_over || most.is_some_and(|most| round >= most) {
                break;
            }
            let round_began = self.bench.now();
            self.round = round;
            let labels = steps.iter().map(|step| plan.steps[*step].facts.label.as_str());
            self.observer.notice(Event::RoundBegins { round, steps: labels.collect() });
            let to_first_look = schedule.looks.first().map_or(0, |look| look.saturating_sub(round));
            let turns: usize = steps.iter().map(|step| open_comparisons.runners(*step).len()).sum();
            self.most_work = most_work(left, to_first_look as usize * turns, plan.timing.of(MOST_WORK));
            round_of(self, plan, candidates, &mut open_comparisons, &steps)?;
            let seconds = (self.bench.now() - round_began).as_secs_f64();
            last = Some(Done { round, steps: steps.clone(), seconds });
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            judgement = open_comparisons.judgement()?;
            let open = open_comparisons.open_steps(&judgement);
            let is_decided =
                |step: &&usize| !open.contains(step) && !open_comparisons.runners(**step).is_empty();
            self.observer.notice(Event::RoundEnds {
                round,
                seconds,
                decided: steps.iter().filter(is_decided).count(),
                open: open.len(),
            });
        }
        Ok(())
    }

    /// One round of these steps.
    fn round(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        open_comparisons: &mut OpenComparisons,
        steps: &[usize],
    ) -> Result<()> {
        let orders = orders(plan);
        for index in open_comparisons.runners_of_any(steps) {
            let provided = self.provide_image(plan, candidates, open_comparisons, index);
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            match provided {
                Ok(true) => {}
                Ok(false) => open_comparisons.dismiss(index),
                Err(error) => {
                    self.unopened.insert(index);
                    self.save_failure(plan, &candidates[index], 0, index, &error)?;
                    open_comparisons.dismiss(index);
                }
            }
        }
        let order = |name: &str, of: &[usize]| -> Vec<usize> {
            orders.shuffled(name, self.round as usize, of.len()).into_iter().map(|place| of[place]).collect()
        };
        let (writes, reads): (Vec<usize>, Vec<usize>) =
            steps.iter().partition(|step| plan.steps[**step].facts.writes);
        let slots = orders.balanced("slots", self.round as usize, candidates.len());
        let (reads, writes) = (order("steps that read", &reads), order("steps that write", &writes));
        if !reads.is_empty() {
            self.server_run(plan, candidates, open_comparisons, &slots, &reads, Data::Kept)?;
        }
        for step in writes {
            if !self.stop.load(Ordering::Relaxed) {
                self.server_run(plan, candidates, open_comparisons, &slots, &[step], Data::Copied)?;
            }
        }
        Ok(())
    }

    /// Brings the candidates up, measures these steps and brings them down again. One that fails is left behind.
    fn server_run(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        open_comparisons: &mut OpenComparisons,
        slots: &[usize],
        steps: &[usize],
        data: Data,
    ) -> Result<()> {
        let asked = open_comparisons.runners_of_any(steps);
        let mut all_running =
            self.start_candidates(plan, candidates, open_comparisons, (slots, &asked), steps[0], data)?;
        for (nth, &number) in steps.iter().enumerate() {
            let step_run = StepRun { number, is_first: nth == 0 };
            // Without whoever failed, the others have their turns all over again.
            while self.take_turns(plan, candidates, open_comparisons, &mut all_running, step_run)? {}
        }
        all_running.into_iter().try_for_each(|running| self.stop_candidate(plan, candidates, running, data))
    }

    /// Brings candidates up in the order of these slots, for steps from `first` on. One that fails is left behind.
    fn start_candidates(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        open_comparisons: &mut OpenComparisons,
        (slots, asked): (&[usize], &BTreeSet<usize>),
        first: usize,
        data: Data,
    ) -> Result<Vec<RunningCandidate<B::Deployment>>> {
        // All of them before any starts: what two candidates have in common cannot be forgotten while one of them runs.
        asked.iter().for_each(|index| self.bench.forget(&candidates[*index]));
        let mut all_running = Vec::with_capacity(asked.len());
        for (slot, &index) in slots.iter().filter(|index| asked.contains(index)).enumerate() {
            match self.start_candidate(plan, &mut candidates[index], index, slot, data) {
                Ok(running) => all_running.push(running),
                Err(error) => {
                    self.unopened.insert(index);
                    self.save_failure(plan, &candidates[index], first, slot, &error)?;
                    open_comparisons.dismiss(index);
                }
            }
        }
        Ok(all_running)
    }

    /// Settles what the step before this one left. Who cannot is left behind.
    fn settle_candidates(
        &mut self,
        plan: &Plan,
        candidates: &[Candidate],
        open_comparisons: &mut OpenComparisons,
        all_running: &mut Vec<RunningCandidate<B::Deployment>>,
        number: usize,
    ) -> Result<()> {
        let mut settled = Vec::with_capacity(all_running.len());
        for (position, mut running) in all_running.drain(..).enumerate() {
            let candidate = &candidates[running.candidate];
            match self.settle(plan, candidate, &mut running.site) {
                Ok(gauges) => {
                    running.settled = gauges;
                    settled.push(running);
                }
                Err(error) => {
                    self.save_failure(plan, candidate, number, position, &error)?;
                    open_comparisons.dismiss(running.candidate);
                    self.stop_candidate(plan, candidates, running, Data::Loaded)?;
                }
            }
        }
        *all_running = settled;
        Ok(())
    }

    /// Measures a step of those that are up and still take part in it, and brings down who fails. Returns whether the others have
    /// nothing of it, because one that failed broke it off.
    fn take_turns(
        &mut self,
        plan: &Plan,
        candidates: &[Candidate],
        open_comparisons: &mut OpenComparisons,
        all_running: &mut Vec<RunningCandidate<B::Deployment>>,
        step_run: StepRun,
    ) -> Result<bool> {
        let number = step_run.number;
        let runners = open_comparisons.runners(number);
        let mut present: Vec<&mut RunningCandidate<B::Deployment>> =
            all_running.iter_mut().filter(|running| runners.contains(&running.candidate)).collect();
        let has_base = present.iter().any(|running| running.candidate == 0);
        if self.stop.load(Ordering::Relaxed) || present.len() < 2 || !has_base {
            return Ok(false);
        }
        let Some(interleaved) = self.interleave(plan, candidates, &mut present, step_run)? else {
            return Ok(false);
        };
        let Interleaved { mut trials, is_broken_off } = interleaved;
        // What leads a chain to its open steps may be known: what was decided by stays as it was.
        let is_known = open_comparisons.has(number, self.round);
        trials.retain(|(_, trial)| !trial.is_complete() || !is_known && !open_comparisons.has_own(trial));
        let together: Vec<(&Cell, &Trial)> =
            trials.iter().map(|(candidate, trial)| (&candidates[*candidate].cells[number], trial)).collect();
        self.store.save_together(&plan.experiment.id, &together)?;
        for (candidate, trial) in trials {
            self.take_in_turns(plan, number, &trial);
            if !trial.is_complete() {
                for running in all_running.extract_if(.., |running| running.candidate == candidate) {
                    // Whatever state it left is not for the next round.
                    self.stop_candidate(plan, candidates, running, Data::Copied)?;
                }
            }
            open_comparisons.add(trial);
        }
        Ok(is_broken_off)
    }

    /// Measures a step of those that are up; `None` when the user stopped it.
    fn interleave(
        &mut self,
        plan: &Plan,
        candidates: &[Candidate],
        all_running: &mut [&mut RunningCandidate<B::Deployment>],
        step_run: StepRun,
    ) -> Result<Option<Interleaved>> {
        let StepRun { number, is_first } = step_run;
        let names: Vec<&str> =
            all_running.iter().map(|running| candidates[running.candidate].facts.name.0.as_str()).collect();
        let Run { bench, observer, patience, round, .. } = self;
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
            patience,
            limits: limits(plan, outline.limit, self.stop),
        };
        let interleaved = bench.take_turns(plan, candidates, all_running, step, &mut begins)?;
        let is_whole =
            |interleaved: &Interleaved| !interleaved.trials.iter().any(|(_, trial)| self.is_cut_short(trial));
        Ok(interleaved.filter(is_whole))
    }

    /// Saves that a candidate did not come as far as this step, unless the user wants to stop, which is reason enough.
    fn save_failure(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        number: usize,
        position: usize,
        error: &anyhow::Error,
    ) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let trial =
            failed_trial(plan, candidate, number, self.place(position), error, None::<&mut B::Deployment>);
        self.store.save_trial(&plan.experiment.id, &candidate.cells[number], &trial)?;
        self.take_in_turns(plan, number, &trial);
        Ok(())
    }

    /// Brings a candidate down.
    fn stop_candidate(
        &mut self,
        plan: &Plan,
        candidates: &[Candidate],
        running: RunningCandidate<B::Deployment>,
        data: Data,
    ) -> Result<()> {
        let RunningCandidate { candidate, slot, site, .. } = running;
        self.tell_stopping(&candidates[candidate]);
        if let Some(note) = site.stop() {
            self.observer.notice(Event::Note(&note));
        }
        let slot = slot_of(plan, slot);
        match data {
            Data::Kept => keep_data(&slot, &kept_of(&candidates[candidate]))?,
            Data::Copied | Data::Loaded => remove_data(&slot)?,
        }
        Ok(())
    }

    /// Brings a candidate up in a slot.
    fn start_candidate(
        &mut self,
        plan: &mut Plan,
        candidate: &mut Candidate,
        index: usize,
        slot: usize,
        data: Data,
    ) -> Result<RunningCandidate<B::Deployment>> {
        let directory = slot_of(plan, slot);
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
        let site = self.bench.open(plan, candidate, &directory, content);
        let site = if data == Data::Loaded { site } else { site.with_context(|| is_kept(candidate)) }?;
        let name = candidate.facts.name.clone();
        let is_gone = || format!("the data of {name} is gone");
        let mut site = site.with_context(is_gone)?;
        site.identify(candidate)?;
        plan.experiment.candidates[index] = candidate.facts.clone();
        let mut workload_state = plan.workload.state(candidate.dialect)?;
        if data != Data::Loaded {
            workload_state.resume(1, &read_state(&image)?.with_context(is_gone)?);
        }
        Ok(RunningCandidate {
            candidate: index,
            slot,
            site,
            workload_state,
            copied: copied.get(),
            settled: Measures::new(),
        })
    }
}

/// A round that was run.
struct Done {
    round: u32,
    steps: Vec<usize>,
    seconds: f64,
}

impl Done {
    /// How long a round of these steps will take: this one, less the steps that it had and the next one has not.
    fn seconds_of_next(&self, open_comparisons: &OpenComparisons, steps: &[usize]) -> f64 {
        let (own, next) =
            (open_comparisons.seconds_of_round(&self.steps), open_comparisons.seconds_of_round(steps));
        (self.seconds + next - own).max(next)
    }
}

/// How long a candidate may work in each of so many turns that lead to the first look, where the usual time tells too little: as long as
/// half of what is left of a budget goes to work. Short of the first look nothing at all is told.
fn most_work(left: Option<Duration>, turns: usize, most: Duration) -> Duration {
    let share = left.filter(|_| turns > 0).map(|left| left / (2 * turns as u32));
    share.map_or(most, |share| share.min(most))
}

/// The orders that the experiment draws.
fn orders(plan: &Plan) -> Orders {
    Orders::new(plan.experiment.schedule.as_ref().map_or(0, |schedule| schedule.seed))
}

/// Where a candidate's data comes from, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// From the server run before, and kept for the next: nothing is changed.
    Kept,
    /// A copy of the image, which is thrown away.
    Copied,
    /// Nothing: the first step loads it, and it is thrown away.
    Loaded,
}

/// The folder of the directories that servers run in.
const SLOTS: &str = "slots";

/// A directory in which a server runs. A candidate has another one in every round: what depends on its path hits all alike.
pub(crate) fn slot_of(plan: &Plan, slot: usize) -> PathBuf {
    plan.folder.join(SLOTS).join(slot.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_does_for_the_first_look_before_it_does_for_more_work() {
        let of = |seconds: u64, turns| {
            most_work(Some(Duration::from_secs(seconds)), turns, MOST_WORK).as_secs_f64()
        };
        assert_eq!(of(84, 10), 4.2);
        assert_eq!(of(1, 10), 0.05, "which is no more than the usual time");
        assert_eq!(of(3600, 10), 6.0);
        assert_eq!(of(1, 0), 6.0, "the first look is behind");
        assert_eq!(most_work(None, 10, MOST_WORK), MOST_WORK);
    }
}
