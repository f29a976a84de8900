//! Rounds: all candidates freshly started from the same data, again and again until each step is decided.

pub(crate) mod calendar;
mod chains;
pub(crate) mod chunk_scheduler;
mod image_renewal;
pub(crate) mod images;
pub(crate) mod interleaving;
pub(crate) mod open_comparisons;
pub(crate) mod quiet;
mod server_run;
pub(crate) mod slice_scheduler;
mod standing;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use basecase_stats::{Judgement, StepVariances};

pub use self::image_renewal::LOADS;
use self::image_renewal::Loads;
use self::images::remove_folder;
use self::open_comparisons::OpenComparisons;
use self::server_run::Data;
use self::slice_scheduler::{Experience, FIRST_WARM_UP, LEAST_SHARE, MOST_WORK, WARM_UP, WORK, usual_time};
use super::Run;
use super::bench::Bench;
use crate::observer::{Event, Standing};
use crate::plan::{Candidate, Plan, Source};
use crate::request::rounds_of_node;

impl<'a, B: Bench> Run<'a, B> {
    /// Rounds in which the candidates take turns in each step, which begins with what the load left.
    pub(crate) fn rounds(&mut self) -> Result<()> {
        self.until_decided(Self::round)?;
        if !self.options.keep_data && !self.is_stopped() {
            remove_folder(&self.plan.folder.join(SLOTS))?;
            let is_spent = |(index, _): &(usize, &Candidate)| !self.unopened.contains(index);
            let spent = self.plan.candidates.iter().enumerate().filter(is_spent);
            spent.map(|(_, candidate)| &candidate.directory).try_for_each(|folder| remove_folder(folder))?;
        }
        Ok(())
    }

    /// Runs rounds until every step is decided, the limit of rounds is reached, or time runs out.
    fn until_decided(
        &mut self,
        mut round_of: impl FnMut(&mut Self, &mut OpenComparisons, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let node = self.plan.experiment.node.as_ref();
        let last_analysis = self.interim_analyses().last().map(|last| rounds_of_node(*last, node));
        let trials = self.store.trials(&self.plan.experiment.id)?;
        let mut open_comparisons =
            OpenComparisons::new(&self.summary.experiment, trials, self.options.only_step.as_deref());
        let began = self.bench.now();
        let mut last: Option<Done> = None;
        let mut judgement = open_comparisons.judgement()?;
        loop {
            if let Some(decided) = &self.options.decided {
                open_comparisons.take_decisions(decided.names());
            }
            let left = self.options.budget.map(|budget| budget.saturating_sub(self.bench.now() - began));
            // Of the first round nothing is known, and one there is in any case.
            let known_left = left.filter(|_| last.is_some());
            let Some((round, steps)) = open_comparisons.next_round(&judgement, known_left) else { break };
            // What is wanted again right after it was done has failed.
            if last.as_ref().is_some_and(|last| (last.round, &last.steps) == (round, &steps)) {
                break;
            }
            let seconds = last.as_ref().map(|last| last.seconds_of_next(&open_comparisons, &steps));
            let expected = Duration::try_from_secs_f64(seconds.unwrap_or(0.0)).unwrap_or(Duration::MAX);
            self.loads_anew = self.is_load_due(&open_comparisons, round, expected, left);
            let loading = if self.loads_anew { self.time_of_load(&open_comparisons) } else { Duration::ZERO };
            let seconds = seconds.map(|seconds| seconds + loading.as_secs_f64());
            // The round of the first interim analysis may end after the budget: without it there is no verdict at all.
            let brings_first_verdict = self.interim_analyses().first() == Some(&(round + 1))
                && left.is_some_and(|left| left > Duration::ZERO);
            let is_longer = seconds.zip(left).is_some_and(|(seconds, left)| seconds > left.as_secs_f64());
            let is_over = is_longer && !brings_first_verdict;
            let most = self.options.most_rounds.into_iter().chain(last_analysis).min();
            if is_over || most.is_some_and(|most| round >= most) {
                self.pass_time(&mut open_comparisons, is_over)?;
                break;
            }
            let round_began = self.bench.now();
            self.loading.in_round = None;
            self.experiences = self.experiences_of(&open_comparisons, last.as_ref());
            let standing = self.standing(&open_comparisons, &judgement, (round, &steps), last.as_ref(), left);
            self.begin_round(&open_comparisons, (round, &steps), last.as_ref(), left, standing);
            round_of(self, &mut open_comparisons, &steps)?;
            self.pass_time(&mut open_comparisons, false)?;
            let seconds = (self.bench.now() - round_began).as_secs_f64();
            self.loading.of_last = self.loading.in_round.or(self.loading.of_last);
            let done = self.done(&open_comparisons, round, steps, seconds);
            if self.is_stopped() {
                return Ok(());
            }
            judgement = open_comparisons.judgement()?;
            let left = self.options.budget.map(|budget| budget.saturating_sub(self.bench.now() - began));
            self.end_round(&open_comparisons, &judgement, &done, seconds, left);
            last = Some(done);
        }
        Ok(())
    }

    /// The round of these steps that took so long, with loading.
    fn done(&self, open_comparisons: &OpenComparisons, round: u32, steps: Vec<usize>, seconds: f64) -> Done {
        let seconds = seconds - self.loading.in_round.unwrap_or_default().as_secs_f64();
        let share = (self.most_work.as_secs_f64() / self.plan.timing.of(WORK).as_secs_f64()).min(1.0);
        let shortened = self.usual_seconds(open_comparisons, &steps) * share;
        Done { round, steps, seconds, fixed_seconds: (seconds - shortened).max(0.0) }
    }

    /// What the rounds so far tell of each step.
    fn experiences_of(
        &self,
        open_comparisons: &OpenComparisons,
        last: Option<&Done>,
    ) -> Vec<Option<Experience>> {
        let Some(last) = last.filter(|_| !self.plan.workload.is_chain()) else { return Vec::new() };
        let turns: usize = last.steps.iter().map(|step| open_comparisons.runners(*step).len()).sum();
        let fixed = last.seconds - open_comparisons.counted_seconds(last.round, &last.steps);
        let fixed_time = Duration::try_from_secs_f64(fixed / turns.max(1) as f64).unwrap_or_default();
        let of_step = |variances: StepVariances| Experience { variances, fixed_time };
        open_comparisons.variances().into_iter().map(|variances| variances.map(of_step)).collect()
    }

    /// Whether the data is loaded anew for this round, which takes so long without that. Chains load in every round, and a server that
    /// basecase did not start keeps what it has.
    fn is_load_due(
        &self,
        open_comparisons: &OpenComparisons,
        round: u32,
        expected: Duration,
        left: Option<Duration>,
    ) -> bool {
        let is_ours =
            |candidate: &Candidate| matches!(candidate.source, Source::Build(..) | Source::Embedded(..));
        if self.plan.workload.is_chain() || !self.plan.candidates.iter().all(is_ours) {
            return false;
        }
        let rounds = open_comparisons.loaded_for();
        let Some(last) = rounds.last() else { return false };
        let loads = Loads {
            count: rounds.len() as u32,
            wanted: self.options.loads.unwrap_or(LOADS),
            rounds_since: round.saturating_sub(*last),
            last: self.time_of_load(open_comparisons),
            round: expected,
            left,
        };
        loads.is_due()
    }

    /// How long loading the data of all candidates takes: the last time, or as far as their own times tell.
    fn time_of_load(&self, open_comparisons: &OpenComparisons) -> Duration {
        self.loading.of_last.unwrap_or_else(|| open_comparisons.time_of_loads())
    }

    /// The numbers of rounds after which there is an interim analysis.
    fn interim_analyses(&self) -> &'a [u32] {
        self.plan.experiment.schedule.as_ref().map_or(&[], |schedule| &schedule.interim_analyses)
    }

    /// Tells that a round begins, and works out how long each candidate may work in it when so much time is left.
    fn begin_round(
        &mut self,
        open_comparisons: &OpenComparisons,
        (round, steps): (u32, &[usize]),
        last: Option<&Done>,
        left: Option<Duration>,
        standing: Standing,
    ) {
        self.round = round;
        let labels = steps.iter().map(|step| self.plan.steps[*step].facts.label.as_str());
        self.observer.notice(Event::RoundBegins { round, steps: labels.collect(), standing });
        let to_first_analysis =
            self.interim_analyses().first().map_or(0, |rounds| rounds.saturating_sub(round));
        let turns: usize = steps.iter().map(|step| open_comparisons.runners(*step).len()).sum();
        let most_work = most_work(left, to_first_analysis as usize * turns, self.plan.timing.of(MOST_WORK));
        let seconds = left.filter(|_| to_first_analysis > 0);
        let seconds = seconds.map(|left| left.as_secs_f64() / f64::from(to_first_analysis));
        let usual = self.usual_seconds(open_comparisons, steps);
        let share =
            seconds.map_or(1.0, |seconds| fitting_share(seconds, last.map(|last| last.fixed_seconds), usual));
        self.most_work =
            if share < 1.0 { most_work.min(self.plan.timing.of(WORK).mul_f64(share)) } else { most_work };
    }

    /// How long work and warm-up of a round of these steps usually take, which a short budget shortens.
    fn usual_seconds(&self, open_comparisons: &OpenComparisons, steps: &[usize]) -> f64 {
        let writes = |step: &usize| self.plan.steps[*step].facts.writes;
        let runners = |step: &usize| open_comparisons.runners(*step).len() as u32;
        // Steps that read share a start, and each that writes has its own.
        let (writing, reading): (Vec<usize>, Vec<usize>) = steps.iter().partition(|step| writes(step));
        let starts: u32 = writing.iter().chain(reading.first()).map(runners).sum();
        let in_steps: Duration = steps.iter().map(|step| usual_time(writes(step)) * runners(step)).sum();
        self.plan.timing.of(in_steps + (FIRST_WARM_UP - WARM_UP) * starts).as_secs_f64()
    }

    /// Tells that a round is over, which took so many seconds, and where that leaves the experiment.
    fn end_round(
        &mut self,
        open_comparisons: &OpenComparisons,
        judgement: &Judgement,
        done: &Done,
        seconds: f64,
        left: Option<Duration>,
    ) {
        let open = open_comparisons.open_steps(judgement);
        let is_decided = |step: &&usize| !open.contains(step) && !open_comparisons.runners(**step).is_empty();
        let next = open_comparisons.next_round(judgement, left).map_or_else(Vec::new, |(_, steps)| steps);
        self.observer.notice(Event::RoundEnds {
            round: done.round,
            seconds,
            decided: done.steps.iter().filter(is_decided).count(),
            open: open.len(),
            standing: self.standing(open_comparisons, judgement, (done.round + 1, &next), Some(done), left),
        });
    }

    /// One round of these steps.
    fn round(&mut self, open_comparisons: &mut OpenComparisons, steps: &[usize]) -> Result<()> {
        let orders = self.plan.orders();
        for index in open_comparisons.runners_of_any(steps) {
            let provided = self.provide_image(open_comparisons, index);
            if self.is_stopped() {
                return Ok(());
            }
            match provided {
                Ok(true) => {}
                Ok(false) => open_comparisons.dismiss(index),
                Err(error) => {
                    self.unopened.insert(index);
                    self.save_failure(&self.plan.candidates[index], 0, index, &error)?;
                    open_comparisons.dismiss(index);
                }
            }
        }
        let order = |name: &str, of: &[usize]| -> Vec<usize> {
            orders.shuffled(name, self.round as usize, of.len()).into_iter().map(|place| of[place]).collect()
        };
        let (writes, reads): (Vec<usize>, Vec<usize>) =
            steps.iter().partition(|step| self.plan.steps[**step].facts.writes);
        let slots = orders.balanced("slots", self.round as usize, self.plan.candidates.len());
        let (reads, writes) = (order("steps that read", &reads), order("steps that write", &writes));
        if !reads.is_empty() {
            self.server_run(open_comparisons, &slots, &reads, Data::Kept)?;
        }
        for step in writes {
            if !self.is_stopped() {
                self.server_run(open_comparisons, &slots, &[step], Data::Copied)?;
            }
        }
        Ok(())
    }
}

/// How long loading data takes, over all candidates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loading {
    /// In the present round; `None` if nothing is loaded in it.
    in_round: Option<Duration>,
    /// The last time, if there was one in this run.
    of_last: Option<Duration>,
}

/// A round that was run.
struct Done {
    round: u32,
    steps: Vec<usize>,
    /// Without loading data.
    seconds: f64,
    /// The part of it that no budget shortens: starts, and whatever is beside work and warm-up.
    fixed_seconds: f64,
}

impl Done {
    /// How long a round of these steps will take: as long as this one, corrected for the steps in which they differ.
    fn seconds_of_next(&self, open_comparisons: &OpenComparisons, steps: &[usize]) -> f64 {
        let (own, next) =
            (open_comparisons.seconds_of_round(&self.steps), open_comparisons.seconds_of_round(steps));
        (self.seconds + next - own).max(next)
    }
}

/// How long a candidate may work in each of the `turns` before the first interim analysis, if the usual time is not precise enough: half of
/// the remaining budget, spread over them. Without a first interim analysis there is no verdict at all.
fn most_work(left: Option<Duration>, turns: usize, most: Duration) -> Duration {
    let share = left.filter(|_| turns > 0).map(|left| left / (2 * turns as u32));
    share.map_or(most, |share| share.min(most))
}

/// The share of the usual `usual` seconds of work and warm-up that leaves so many seconds for each round, of which `fixed` are for other things:
/// a quarter, as long as nothing is known.
fn fitting_share(seconds: f64, fixed: Option<f64>, usual: f64) -> f64 {
    let free = seconds - fixed.unwrap_or(seconds / 4.0);
    (free / usual.max(f64::MIN_POSITIVE)).clamp(LEAST_SHARE, 1.0)
}

/// The folder of the directories that servers run in.
const SLOTS: &str = "slots";

/// A directory in which a server runs. A candidate gets a different one in every round, so that effects of its path hit all candidates alike.
pub(crate) fn slot_of(plan: &Plan, slot: usize) -> PathBuf {
    plan.folder.join(SLOTS).join(slot.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_reaches_the_first_interim_analysis_before_it_buys_more_work() {
        let seconds_of_work = |seconds: u64, turns| {
            most_work(Some(Duration::from_secs(seconds)), turns, MOST_WORK).as_secs_f64()
        };
        assert_eq!(seconds_of_work(84, 10), 4.2);
        assert_eq!(seconds_of_work(1, 10), 0.05, "which is no more than the usual time");
        assert_eq!(seconds_of_work(3600, 10), 6.0);
        assert_eq!(seconds_of_work(1, 0), 6.0, "the first interim analysis is over");
        assert_eq!(most_work(None, 10, MOST_WORK), MOST_WORK);
    }

    #[test]
    fn what_is_not_work_is_learnt_from_the_round_before() {
        assert_eq!(fitting_share(8.0, None, 8.0), 0.75);
        assert_eq!(fitting_share(8.0, Some(4.0), 8.0), 0.5);
        assert_eq!(fitting_share(8.0, Some(9.0), 8.0), LEAST_SHARE);
        assert_eq!(fitting_share(80.0, Some(4.0), 8.0), 1.0);
    }
}
