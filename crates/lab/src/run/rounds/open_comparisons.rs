//! The comparisons that are still open in an experiment in rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use basecase_model::{CalendarTime, Experiment, StepFacts, Trial, names};
use basecase_stats::{JudgedMetric, Judgement, Luck, Outlook, StepVariances};

/// How many times what is left of a budget steps are planned for: how long a verdict takes is known from a few rounds only, and steps that
/// share a start are cheaper together.
const HOPE: f64 = 2.0;

/// The remaining cost of verdicts on a step.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    step: usize,
    /// Whether all candidates have a verdict, and only the size of the change is open.
    has_verdicts: bool,
    /// How long the verdicts take that take the least time each.
    seconds: f64,
    /// How many there are of them.
    verdicts: usize,
}

impl Cost {
    /// Of a step whose open contenders need so many more rounds, of so many seconds each.
    fn new(step: usize, has_verdicts: bool, mut rounds: Vec<f64>, seconds: f64) -> Self {
        rounds.sort_by(f64::total_cmp);
        let of_first = |(before, rounds): (usize, &f64)| (before + 1, rounds * seconds);
        let cheapest = rounds.iter().enumerate().map(of_first).min_by(|one, other| {
            let each = |(verdicts, seconds): &(usize, f64)| seconds / *verdicts as f64;
            each(one).total_cmp(&each(other))
        });
        let (verdicts, seconds) = cheapest.unwrap_or((1, 0.0));
        Cost { step, has_verdicts, seconds, verdicts }
    }

    fn of_each(&self) -> f64 {
        self.seconds / self.verdicts as f64
    }
}

/// The steps that may be decided in the remaining time: those first whose verdicts take the least time each, those with a verdict last, and
/// always at least one. The steps of a chain share its rounds.
fn affordable(mut costs: Vec<Cost>, left: Duration, is_chain: bool) -> Vec<usize> {
    costs.sort_by(|one, other| {
        one.has_verdicts.cmp(&other.has_verdicts).then(one.of_each().total_cmp(&other.of_each()))
    });
    let mut all = 0.0_f64;
    let fits = |cost: &&Cost| {
        all = if is_chain { all.max(cost.seconds) } else { all + cost.seconds };
        all <= HOPE * left.as_secs_f64()
    };
    let count = costs.iter().take_while(fits).count();
    costs.truncate(count.max(1));
    let mut steps: Vec<usize> = costs.into_iter().map(|cost| cost.step).collect();
    steps.sort_unstable();
    steps
}

/// The trials of an experiment in rounds, and the comparisons that they leave open.
pub(crate) struct OpenComparisons {
    experiment: Experiment,
    /// In the order in which they were measured.
    trials: Vec<Trial>,
    /// Candidates and the steps that they failed in this run, and would fail again.
    out: BTreeSet<(usize, usize)>,
    /// The steps that are to be decided.
    wanted: Vec<usize>,
    /// The steps that somebody else has decided, by name; `None` where these trials decide.
    decided: Option<BTreeSet<String>>,
}

impl OpenComparisons {
    /// Starts from these trials. All compared steps are to be decided, or only the one of this name.
    pub(crate) fn new(experiment: &Experiment, trials: Vec<Trial>, only: Option<&str>) -> Self {
        let steps = experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let is_wanted = |(_, step): &(usize, &StepFacts)| only.is_none_or(|name| step.name == name);
        let wanted = steps.filter(is_wanted).map(|(number, _)| number).collect();
        OpenComparisons {
            experiment: experiment.clone(),
            trials,
            out: BTreeSet::new(),
            wanted,
            decided: None,
        }
    }

    /// Takes in a new trial. A candidate that failed a step is not asked for it again.
    pub(crate) fn add(&mut self, trial: Trial) {
        if !trial.is_complete() {
            let step = self.experiment.steps.iter().position(|step| step.name == trial.step);
            let candidate = (0..self.candidates()).find(|candidate| self.name(*candidate) == trial.candidate);
            self.out.extend(candidate.zip(step));
        }
        self.trials.push(trial);
    }

    /// Takes all trials, old and new.
    pub(crate) fn renew(&mut self, trials: Vec<Trial>) {
        self.trials = trials;
    }

    /// Takes the decisions of somebody who sees more rounds than these: steps by name. From then on nothing is decided here.
    pub(crate) fn take_decisions(&mut self, decided: BTreeSet<String>) {
        self.decided = Some(decided);
    }

    /// Whether a contender needs no more rounds of a step.
    fn is_settled(&self, judgement: &Judgement, step: usize, candidate: usize) -> bool {
        match &self.decided {
            Some(decided) => decided.contains(&self.experiment.steps[step].name),
            None => judgement.is_settled(step, candidate),
        }
    }

    /// Sets how much of the budget has passed.
    pub(crate) fn set_calendar_time(&mut self, calendar_time: CalendarTime) {
        self.experiment.calendar_time = Some(calendar_time);
    }

    /// Where the scatter of each step comes from, by the number of the step; `None` where too few rounds tell.
    pub(crate) fn variances(&self) -> Vec<Option<StepVariances>> {
        let lucks = self.experiment.steps.iter().map(|step| {
            let contenders = (1..self.candidates()).filter(|_| !step.writes && step.is_compared());
            contenders.filter_map(|one| Luck::of(&self.experiment, &self.trials, step, one)).collect()
        });
        StepVariances::of_steps(&lucks.collect::<Vec<_>>())
    }

    /// How long the slices of a round of these steps were that count, over all candidates, in seconds.
    pub(crate) fn counted_seconds(&self, round: u32, steps: &[usize]) -> f64 {
        let is_of = |trial: &&Trial| {
            let is_asked = |step: &usize| self.experiment.steps[*step].name == trial.step;
            trial.place.round == round && steps.iter().any(is_asked)
        };
        let slices = self.trials.iter().filter(is_of).flat_map(|trial| &trial.slices);
        slices.map(|slice| slice.length_us / 1e6).sum()
    }

    /// How this experiment loaded a candidate's tables, if it did.
    pub(crate) fn load(&self, candidate: usize) -> Option<&Trial> {
        let Experiment { id, steps, .. } = &self.experiment;
        let is_load = |trial: &&Trial| {
            trial.is_complete() && trial.step == steps[0].name && trial.candidate == self.name(candidate)
        };
        self.trials.iter().filter(is_load).find(|trial| trial.measured_by == *id)
    }

    /// The rounds for which data was loaded that this experiment has measured with.
    pub(crate) fn loaded_for(&self) -> BTreeSet<u32> {
        let own = self.trials.iter().filter(|trial| trial.measured_by == self.experiment.id);
        own.filter_map(|trial| trial.gauges.get(names::IMAGE_ROUND)).map(|round| round as u32).collect()
    }

    /// How long it took about to load the data of all candidates, one after the other: twice their own time, for starting, settling and
    /// stopping.
    pub(crate) fn time_of_loads(&self) -> Duration {
        let loads = (0..self.candidates()).filter_map(|candidate| self.load(candidate));
        Duration::try_from_secs_f64(2.0 * loads.map(|load| load.seconds).sum::<f64>())
            .unwrap_or(Duration::MAX)
    }

    /// Excludes a candidate from all steps.
    pub(crate) fn dismiss(&mut self, candidate: usize) {
        self.out.extend((0..self.experiment.steps.len()).map(|step| (candidate, step)));
    }

    /// The candidates that are to be measured in a step; none when nothing is left to compare.
    pub(crate) fn runners(&self, step: usize) -> Vec<usize> {
        let is_in = |candidate: &usize| !self.out.contains(&(*candidate, step));
        let runners: Vec<usize> = (0..self.candidates()).filter(is_in).collect();
        if runners.first() == Some(&0) && runners.len() > 1 { runners } else { Vec::new() }
    }

    /// The candidates that are to be measured in any of these steps.
    pub(crate) fn runners_of_any(&self, steps: &[usize]) -> BTreeSet<usize> {
        steps.iter().flat_map(|step| self.runners(*step)).collect()
    }

    /// What the trials say so far.
    ///
    /// # Errors
    /// When a trial holds impossible values.
    pub(crate) fn judgement(&self) -> Result<Judgement> {
        Ok(Judgement::of(&self.experiment, &self.trials)?)
    }

    /// All comparisons that are to be decided: steps with contenders.
    pub(crate) fn wanted_comparisons(&self) -> impl Iterator<Item = (usize, usize)> {
        let contenders = |step: &usize| self.runners(*step).into_iter().skip(1);
        self.wanted.iter().flat_map(move |step| contenders(step).map(|candidate| (*step, candidate)))
    }

    /// The steps that are not decided yet.
    pub(crate) fn open_steps(&self, judgement: &Judgement) -> Vec<usize> {
        let is_open = |step: &usize| {
            let mut contenders = self.runners(*step).into_iter().skip(1);
            contenders.any(|candidate| !self.is_settled(judgement, *step, candidate))
        };
        self.wanted.iter().copied().filter(is_open).collect()
    }

    /// The first round that an open step lacks, with all open steps that lack it; `None` when nothing is open. If the remaining time does not
    /// suffice for all of them, only those nearest to a verdict.
    pub(crate) fn next_round(
        &self,
        judgement: &Judgement,
        left: Option<Duration>,
    ) -> Option<(u32, Vec<usize>)> {
        let mut open = self.open_steps(judgement);
        if let Some(left) = left {
            let costs = open.into_iter().map(|step| self.cost(judgement, step)).collect();
            open = affordable(costs, left, self.experiment.is_chain());
        }
        let first_missing = |step: &usize| (0..).find(|round| !self.has(*step, *round)).unwrap_or(0);
        let round = open.iter().map(first_missing).min()?;
        Some((round, open.into_iter().filter(|step| !self.has(*step, round)).collect()))
    }

    /// How long a round of these steps takes, judging by the rounds so far, without starting servers and copying data. A chain includes the
    /// steps that lead to them.
    pub(crate) fn seconds_of_round(&self, steps: &[usize]) -> f64 {
        let last = steps.iter().max();
        let is_run = |step: &usize| {
            steps.contains(step) || self.experiment.is_chain() && last.is_some_and(|last| step <= last)
        };
        (0..self.experiment.steps.len()).filter(is_run).map(|step| self.seconds(step)).sum()
    }

    /// How long a round of a step takes; 0 when there is none yet.
    fn seconds(&self, step: usize) -> f64 {
        let name = &self.experiment.steps[step].name;
        let of_step = self.trials.iter().filter(|trial| trial.step == *name);
        let seconds: Vec<f64> = of_step.filter_map(|trial| trial.gauges.get(names::ROUND_SECONDS)).collect();
        seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
    }

    /// The remaining cost of a verdict on a step, including the steps of a chain that lead to it.
    fn cost(&self, judgement: &Judgement, step: usize) -> Cost {
        let decision = |candidate: usize| judgement.decision(JudgedMetric::Throughput, step, candidate);
        let analyses = self.experiment.schedule.iter().flat_map(|schedule| &schedule.interim_analyses);
        let last_round = analyses.max().copied().unwrap_or(1);
        let open =
            || self.runners(step).into_iter().skip(1).filter(|one| !self.is_settled(judgement, step, *one));
        let rounds = |candidate: usize| match decision(candidate).map(|decision| decision.outlook) {
            Some(Outlook::MoreRounds(rounds)) => rounds as f64,
            // No number of rounds is known to decide it.
            Some(Outlook::OnTheMargin) => f64::from(last_round),
            Some(Outlook::Settled) | None => 1.0,
        };
        let has_verdicts =
            open().all(|one| decision(one).is_some_and(|decision| decision.verdict.is_change()));
        Cost::new(step, has_verdicts, open().map(rounds).collect(), self.seconds_of_round(&[step]))
    }

    /// Whether a round of a step was measured. Candidates that took turns were measured together; one that was missing joins later rounds.
    /// Where each was measured by itself, all that did not fail have a complete trial.
    pub(crate) fn has(&self, step: usize, round: u32) -> bool {
        let name = &self.experiment.steps[step].name;
        let is_of = |trial: &&Trial| trial.is_complete() && trial.place.round == round && trial.step == *name;
        let mut together: BTreeMap<&str, BTreeMap<&str, &Trial>> = BTreeMap::new();
        for trial in self.trials.iter().filter(is_of) {
            together.entry(&trial.measured_by).or_default().insert(&trial.candidate, trial);
        }
        let took_turns = |trial: &&Trial| trial.gauges.get(names::ROUND_SECONDS).is_some();
        together.iter().any(|(experiment, present)| {
            // Another experiment with fewer candidates has nothing to say of those that it lacks.
            let is_own = *experiment == self.experiment.id;
            let is_comparison = is_own && present.len() > 1 && present.contains_key(self.name(0));
            let has_or_failed = |candidate: usize| {
                present.contains_key(self.name(candidate))
                    || self.out.contains(&(candidate, step))
                    || self.had_failed(candidate, step, round)
            };
            is_comparison && present.values().all(took_turns) || (0..self.candidates()).all(has_or_failed)
        })
    }

    /// Whether this experiment has a complete trial in the place of this one.
    pub(crate) fn has_own(&self, trial: &Trial) -> bool {
        let place = |trial: &Trial| (trial.cell.clone(), trial.place.round);
        let is_own = |known: &&Trial| known.is_complete() && known.measured_by == self.experiment.id;
        self.trials.iter().filter(is_own).any(|known| place(known) == place(trial))
    }

    /// Whether a candidate's latest trial up to a round, of any step or of this one, is a failure. Another run tries it again in later
    /// rounds.
    fn had_failed(&self, candidate: usize, step: usize, round: u32) -> bool {
        let (name, step) = (self.name(candidate), &self.experiment.steps[step].name);
        let known =
            || self.trials.iter().filter(|trial| trial.candidate == name && trial.place.round <= round);
        let is_failure = |last: Option<&Trial>| last.is_some_and(|trial| !trial.is_complete());
        is_failure(known().next_back()) || is_failure(known().rfind(|trial| trial.step == *step))
    }

    fn candidates(&self) -> usize {
        self.experiment.candidates.len()
    }

    fn name(&self, candidate: usize) -> &str {
        &self.experiment.candidates[candidate].name.0
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::{Place, TrialStatus};

    use super::*;

    /// Three candidates with a load and one step.
    fn experiment() -> Experiment {
        let step = |name: &str| serde_json::json!({"name": name, "label": name, "title": "", "headline": "queries", "sla_target": null, "headline_items": null});
        let candidate = |name: &str| {
            serde_json::json!({
                "name": name,
                "build": {
                    "dbms": "postgres", "short": "", "requested": "", "version": "", "provider": "", "artifact": "",
                    "sha256": null, "compiler": null, "flags": null, "details": {}
                },
                "config": {"name": "", "settings": [], "sha256": ""}
            })
        };
        let (candidates, steps) = (["a", "b", "c"].map(candidate), ["load", "s"].map(step));
        serde_json::from_value(serde_json::json!({
            "id": "e", "name": "", "created_at": "", "command": "", "basecase_version": "", "protocol_revision": 1,
            "workload": "w", "parameters": [], "clients": 1, "loaded_rows": 1, "seed": 1,
            "host": {
                "id": "", "cpu_model": "", "cores": 1, "memory_bytes": 1, "kernel": "", "os": "", "filesystem": "",
                "device": null, "details": {}
            },
            "candidates": candidates, "steps": steps
        }))
        .unwrap()
    }

    fn trial(candidate: &str, step: &str, is_complete: bool) -> Trial {
        let place = Place { round: 0, pass: 0, position: 0 };
        let mut trial = Trial {
            measured_by: "e".to_owned(),
            ..Trial::empty(format!("{candidate} {step}"), step, candidate, place, String::new())
        };
        if !is_complete {
            trial.status = TrialStatus::Failed { reason: String::new(), log_tail: String::new() };
        }
        if step != "load" {
            trial.gauges.set(names::ROUND_SECONDS, 1.0);
        }
        trial
    }

    #[test]
    fn defect_21_a_round_is_not_measured_again_for_one_that_comes_later() {
        let mut trials = vec![
            trial("a", "load", true),
            trial("b", "load", false),
            trial("c", "load", true),
            trial("a", "s", true),
            trial("c", "s", true),
        ];
        let comparisons = |trials: &[Trial]| OpenComparisons::new(&experiment(), trials.to_vec(), None);
        assert!(comparisons(&trials).has(1, 0));
        trials.push(trial("b", "load", true));
        let open_comparisons = comparisons(&trials);
        assert!(open_comparisons.has(1, 0), "it has its first round beside the others' second");
        assert!(open_comparisons.has_own(&trials[3]) && !open_comparisons.has_own(&trial("b", "s", true)));
        assert!(open_comparisons.load(1).is_some());
        // As a bisection does, whose probes share the first and the last candidate.
        let of_another = |trial: &Trial| Trial { measured_by: "another".to_owned(), ..trial.clone() };
        let others: Vec<Trial> = trials.iter().map(of_another).collect();
        assert!(!comparisons(&others).has(1, 0), "another experiment did not have the second candidate");
        // Each by itself: a round goes on until all have it.
        trials.iter_mut().for_each(|trial| trial.gauges = basecase_model::Measures::new());
        assert!(!comparisons(&trials).has(1, 0));
    }

    #[test]
    fn who_failed_a_step_is_not_asked_for_it_again() {
        let mut open_comparisons = OpenComparisons::new(&experiment(), Vec::new(), None);
        open_comparisons.add(trial("c", "s", true));
        assert_eq!(open_comparisons.runners(1), [0, 1, 2]);
        open_comparisons.add(trial("b", "s", false));
        assert_eq!([open_comparisons.runners(0), open_comparisons.runners(1)], [vec![0, 1, 2], vec![0, 2]]);
    }

    #[test]
    fn what_is_nearest_to_a_verdict_comes_first_when_time_binds() {
        let cost = |step, has_verdicts, seconds| Cost { step, has_verdicts, seconds, verdicts: 1 };
        let costs =
            vec![cost(0, false, 50.0), cost(1, true, 1.0), cost(2, false, 10.0), cost(3, false, 15.0)];
        let in_seconds =
            |seconds: u64| affordable(costs.clone(), Duration::from_secs_f64(seconds as f64 / HOPE), false);
        assert_eq!(in_seconds(76), [0, 1, 2, 3]);
        assert_eq!(in_seconds(75), [0, 2, 3], "the size of a change can wait");
        assert_eq!(in_seconds(30), [2, 3]);
        assert_eq!(in_seconds(0), [2], "one in any case");
        assert!(affordable(Vec::new(), Duration::ZERO, false).is_empty());
        let in_chain =
            |seconds: u64| affordable(costs.clone(), Duration::from_secs_f64(seconds as f64 / HOPE), true);
        assert_eq!(in_chain(50), [0, 1, 2, 3], "each round is one of all of them");
        assert_eq!(in_chain(20), [2, 3]);
    }

    #[test]
    fn a_step_is_as_near_to_a_verdict_as_most_of_its_contenders() {
        let cost = |rounds: &[f64]| Cost::new(0, false, rounds.to_vec(), 10.0);
        let (one, several) = (cost(&[40.0, 4.0]), cost(&[2.0, 40.0, 3.0, 3.0]));
        assert_eq!((one.seconds, one.verdicts), (40.0, 1), "one on the margin is not waited for");
        assert_eq!((several.seconds, several.verdicts), (30.0, 3));
        assert!(several.of_each() < one.of_each());
        assert_eq!(cost(&[]).seconds, 0.0);
    }
}
