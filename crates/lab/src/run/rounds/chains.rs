//! Rounds of steps that each begin with what the one before it left.

use anyhow::Result;

use super::SLOTS;
use super::images::remove_folder;
use super::interleaving::{RunningCandidate, StepRun};
use super::open_comparisons::OpenComparisons;
use super::server_run::Data;
use crate::run::Run;
use crate::run::bench::Bench;

impl<B: Bench> Run<'_, B> {
    /// Rounds in which all candidates go through all steps, since each begins with what the one before it left.
    pub(crate) fn chains(&mut self) -> Result<()> {
        self.until_decided(|run, open_comparisons, steps| {
            if run.plan.fits_together {
                // Who fails leaves the others' chains cut off.
                while run.chain(open_comparisons, steps)? {}
                Ok(())
            } else {
                run.separate_chains(open_comparisons, steps)
            }
        })?;
        if !self.options.keep_data && !self.is_stopped() {
            remove_folder(&self.plan.folder.join(SLOTS))?;
        }
        Ok(())
    }

    /// All steps from the load to the last that is open, in which the candidates take turns. Returns whether the others have to begin anew,
    /// because one that failed broke them off.
    fn chain(&mut self, open_comparisons: &mut OpenComparisons, steps: &[usize]) -> Result<bool> {
        let slots = self.plan.orders().balanced("slots", self.round as usize, self.plan.candidates.len());
        let asked = open_comparisons.runners_of_any(steps);
        let mut all_running = self.start_candidates(open_comparisons, &slots, &asked, 0, Data::Loaded)?;
        let mut is_broken_off = false;
        for number in 0..=steps.iter().copied().max().unwrap_or(0) {
            if number > 0 && self.plan.steps[number - 1].settles_after {
                self.settle_candidates(open_comparisons, &mut all_running, number)?;
            }
            let step_run = StepRun { number, is_first: number == 0 };
            is_broken_off = self.take_turns(open_comparisons, &mut all_running, step_run)?;
            // Who failed one step is out of all that follow from it.
            let is_up = |index: &usize| all_running.iter().any(|running| running.candidate == *index);
            asked.iter().filter(|index| !is_up(index)).for_each(|index| open_comparisons.dismiss(*index));
            if is_broken_off || all_running.len() < 2 || self.is_stopped() {
                break;
            }
        }
        all_running.into_iter().try_for_each(|running| self.stop_candidate(running, Data::Loaded))?;
        Ok(is_broken_off)
    }

    /// Each candidate goes through all steps by itself, if the memory does not hold all servers.
    fn separate_chains(&mut self, open_comparisons: &mut OpenComparisons, steps: &[usize]) -> Result<()> {
        for index in self.plan.orders().balanced("chains", self.round as usize, self.plan.candidates.len()) {
            if self.is_stopped() || !open_comparisons.runners_of_any(steps).contains(&index) {
                continue;
            }
            let failures = self.summary.failed.len();
            self.summary.all += self.plan.steps.len();
            self.bench.forget(&self.plan.candidates[index]);
            self.candidate(index)?;
            if self.summary.failed.len() > failures {
                open_comparisons.dismiss(index);
            }
        }
        open_comparisons.renew(self.store.trials(&self.plan.experiment.id)?);
        Ok(())
    }

    /// Settles what the previous step left. A candidate that fails to settle drops out.
    fn settle_candidates(
        &mut self,
        open_comparisons: &mut OpenComparisons,
        all_running: &mut Vec<RunningCandidate<B::Deployment>>,
        number: usize,
    ) -> Result<()> {
        let mut settled = Vec::with_capacity(all_running.len());
        for (position, mut running) in all_running.drain(..).enumerate() {
            let candidate = &self.plan.candidates[running.candidate];
            match self.settle(candidate, &mut running.deployment) {
                Ok(gauges) => {
                    running.settled = gauges;
                    settled.push(running);
                }
                Err(error) => {
                    self.save_failure(candidate, number, position, &error)?;
                    open_comparisons.dismiss(running.candidate);
                    self.stop_candidate(running, Data::Loaded)?;
                }
            }
        }
        *all_running = settled;
        Ok(())
    }
}
