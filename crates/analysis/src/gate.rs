//! What a pipeline wants to know about an experiment in rounds, or with counts.

use basecase_model::Experiment;
use basecase_stats::{Verdict, WorkVerdict};

use crate::counts::{Counts, Work};
use crate::failures::{Failure, failures};
use crate::judged::Judged;
use crate::results::Results;

/// The verdicts of an experiment in rounds, or with counts: failures, regressions, other changes, open cases, the rest.
pub struct Gate<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Every contender on every compared step, in that order; empty if the experiment is neither in rounds nor counted.
    pub cases: Vec<GateCase<'a>>,
    /// The counts of the experiment.
    pub counts: Option<&'a Counts<'a>>,
}

/// One step of one contender.
pub struct GateCase<'a> {
    /// The step, by number.
    pub step: usize,
    /// The contender, by number.
    pub candidate: usize,
    /// What was judged; `None` if there is no round of both.
    pub judged: Option<Judged<'a>>,
    /// The failure, if there is no verdict because of it.
    pub failure: Option<Failure<'a>>,
    /// The work of an operation; `None` if it was not counted.
    pub work: Option<&'a Work>,
    /// Why nothing was counted, of an experiment with counts alone.
    pub uncounted: Option<&'a str>,
    /// Whether the experiment has times, so that there is more than the work.
    pub is_timed: bool,
}

/// How many cases have each verdict on their work, whatever their times say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkVerdicts {
    /// More work.
    pub more: usize,
    /// Less work.
    pub less: usize,
    /// The same work.
    pub same: usize,
    /// Not enough data.
    pub open: usize,
}

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// There is no verdict, because a candidate failed.
    Failed,
    /// What the rounds say.
    Judged(Verdict),
    /// More work, and no improvement in time that outweighs it.
    MoreWork,
    /// What the counts of an experiment without times say, unless it is more work.
    Counted(WorkVerdict),
}

impl Conclusion {
    /// The lowest is reported first.
    fn order(self) -> u8 {
        match self {
            Conclusion::Failed => 0,
            Conclusion::Judged(Verdict::Regression) => 1,
            Conclusion::MoreWork | Conclusion::Counted(WorkVerdict::MoreWork) => 2,
            Conclusion::Judged(Verdict::Improvement) | Conclusion::Counted(WorkVerdict::LessWork) => 3,
            Conclusion::Judged(Verdict::NotEnoughData) | Conclusion::Counted(WorkVerdict::NotEnoughData) => 4,
            Conclusion::Judged(Verdict::NoChange) | Conclusion::Counted(WorkVerdict::SameWork) => 5,
        }
    }
}

impl<'a> Gate<'a> {
    /// Judges an experiment; without verdicts if it is neither in rounds nor counted.
    pub fn of(results: &Results<'a>) -> Self {
        let counts = results.counts;
        if results.rounds.is_none() {
            let mut cases: Vec<GateCase<'a>> =
                counts.map(|counts| GateCase::counted(results, counts)).unwrap_or_default();
            cases.sort_by_key(|case| case.conclusion().order());
            return Gate { experiment: results.experiment, cases, counts };
        }
        let failures = failures(results);
        let judged = results.all_judged();
        let mut cases: Vec<GateCase<'a>> =
            judged.iter().map(|judged| GateCase::judged(results, *judged, &failures)).collect();
        let is_judged =
            |place: (usize, usize)| judged.iter().any(|judged| (judged.step, judged.candidate) == place);
        for (step, _) in results.compared_steps() {
            let contenders = results.candidates().map(|(candidate, _)| candidate).skip(1);
            let open = contenders.filter(|candidate| !is_judged((step, *candidate)));
            cases.extend(open.map(|candidate| GateCase::unjudged(results, (step, candidate), &failures)));
        }
        cases.sort_by_key(|case| case.conclusion().order());
        Gate { experiment: results.experiment, cases, counts }
    }

    /// The number of cases that fail the gate: regressions, and steps that need more work without being decided to be faster.
    pub fn worse(&self) -> usize {
        self.regressions() + self.more_work()
    }

    /// The number of steps that need more work and are neither regressions nor decided to be faster.
    pub fn more_work(&self) -> usize {
        self.count(Conclusion::MoreWork)
    }

    /// The number of regressions.
    pub fn regressions(&self) -> usize {
        self.count(Conclusion::Judged(Verdict::Regression))
    }

    /// The number of steps without a verdict because a candidate failed.
    pub fn failed(&self) -> usize {
        self.count(Conclusion::Failed)
    }

    /// How many cases have each verdict on their work; `None` if nothing was counted.
    pub fn work_verdicts(&self) -> Option<WorkVerdicts> {
        self.counts?;
        let count = |verdict| {
            self.cases.iter().filter(|case| case.work.is_some_and(|work| work.verdict() == verdict)).count()
        };
        Some(WorkVerdicts {
            more: count(WorkVerdict::MoreWork),
            less: count(WorkVerdict::LessWork),
            same: count(WorkVerdict::SameWork),
            open: count(WorkVerdict::NotEnoughData),
        })
    }

    /// The number of cases with this result. How the base case compares with itself is none of them.
    pub fn count(&self, conclusion: Conclusion) -> usize {
        let counted = self.cases.iter().filter(|case| !self.is_base_again(case));
        counted.filter(|case| case.conclusion() == conclusion).count()
    }

    /// Whether a case compares the base case with itself, which tells how far verdicts can be trusted here: the last candidate, behind others,
    /// is the base case again.
    pub fn is_base_again(&self, case: &GateCase<'_>) -> bool {
        let candidates = &self.experiment.candidates;
        let name = |candidate: usize| candidates.get(candidate).map(|facts| &facts.name);
        let is_last = case.candidate > 1 && case.candidate + 1 == candidates.len();
        is_last && name(case.candidate).zip(name(0)).is_some_and(|(name, base)| name.is_again(base))
    }

    /// On how many steps the base case was compared with itself, and on how many of these a change was called; `None` if it never was.
    pub fn noise(&self) -> Option<(usize, usize)> {
        let again: Vec<_> = self.cases.iter().filter(|case| self.is_base_again(case)).collect();
        let is_change = |case: &&&GateCase<'_>| match case.conclusion() {
            Conclusion::Judged(verdict) => verdict.is_change(),
            Conclusion::Counted(verdict) => verdict.is_change(),
            Conclusion::MoreWork => true,
            Conclusion::Failed => false,
        };
        (!again.is_empty()).then(|| (again.len(), again.iter().filter(is_change).count()))
    }
}

impl<'a> GateCase<'a> {
    /// For a contender that has rounds of a step. Too few rounds because a trial failed are no verdict.
    fn judged(results: &Results<'a>, judged: Judged<'a>, failures: &[Failure<'a>]) -> Self {
        let Judged { step, candidate, .. } = judged;
        let is_open = judged.throughput.verdict == Verdict::NotEnoughData;
        let failure =
            if is_open { failure_of(results, (step, candidate), failures, Within::Step) } else { None };
        let work = results.work(step, candidate);
        GateCase { step, candidate, judged: Some(judged), failure, work, uncounted: None, is_timed: true }
    }

    /// For a contender that has no round of a step together with the base case.
    fn unjudged(results: &Results<'a>, place: (usize, usize), failures: &[Failure<'a>]) -> Self {
        let of_step = failure_of(results, place, failures, Within::Step);
        let failure = of_step.or_else(|| failure_of(results, place, failures, Within::Experiment));
        let (step, candidate) = place;
        let work = results.work(step, candidate);
        GateCase { step, candidate, judged: None, failure, work, uncounted: None, is_timed: true }
    }

    /// For each contender on each step of an experiment without rounds.
    fn counted(results: &Results<'a>, counts: &'a Counts<'a>) -> Vec<Self> {
        let of_step = |step: usize| {
            let case = move |candidate: usize| GateCase {
                step,
                candidate,
                judged: None,
                failure: None,
                work: counts.work(step, candidate),
                uncounted: [candidate, 0].into_iter().find_map(|one| counts.cell(step, one)?.failure()),
                is_timed: false,
            };
            (1..results.experiment.candidates.len()).map(case)
        };
        counts.steps().flat_map(of_step).collect()
    }

    /// Its result.
    pub fn conclusion(&self) -> Conclusion {
        let work = self.work.map(Work::verdict);
        let time = self.judged.map(|judged| judged.throughput.verdict);
        match (&self.failure, time, work) {
            (Some(_), _, _) => Conclusion::Failed,
            (None, None, None) if self.uncounted.is_some() => Conclusion::Failed,
            (None, Some(verdict @ (Verdict::Regression | Verdict::Improvement)), _) => {
                Conclusion::Judged(verdict)
            }
            (None, _, Some(WorkVerdict::MoreWork)) => Conclusion::MoreWork,
            (None, Some(verdict), _) => Conclusion::Judged(verdict),
            (None, None, work) if !self.is_timed => {
                Conclusion::Counted(work.unwrap_or(WorkVerdict::NotEnoughData))
            }
            (None, None, _) => Conclusion::Judged(Verdict::NotEnoughData),
        }
    }

    /// Whether the step needs more work, and is decided to be faster all the same: worth a warning.
    pub fn is_faster_with_more_work(&self) -> bool {
        let needs_more = self.work.is_some_and(|work| work.verdict() == WorkVerdict::MoreWork);
        needs_more && self.conclusion() == Conclusion::Judged(Verdict::Improvement)
    }
}

/// Where a failure is searched for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Step,
    Experiment,
}

/// The failure that leaves a contender without a verdict on a step: its own, or else the base case's.
fn failure_of<'a>(
    results: &Results<'a>,
    (step, candidate): (usize, usize),
    failures: &[Failure<'a>],
    within: Within,
) -> Option<Failure<'a>> {
    let step = results.experiment.steps.get(step)?;
    let counts = |failure: &&Failure<'a>| within == Within::Experiment || failure.step.name == step.name;
    let failure = |candidate: usize| {
        let facts = results.experiment.candidates.get(candidate)?;
        let own = |failure: &&Failure<'a>| failure.candidate.name == facts.name;
        failures.iter().filter(counts).find(own).cloned()
    };
    failure(candidate).or_else(|| failure(0))
}

#[cfg(test)]
mod tests {
    use basecase_model::{Trial, TrialStatus};

    use super::*;
    use crate::fixture;
    use crate::rounds::Rounds;

    /// The parts of a gate that are compared.
    struct Counted {
        failed: usize,
        regressions: usize,
        cases: usize,
        /// Candidates whose failures leave cases without a verdict.
        at_fault: Vec<String>,
    }

    fn counted(experiment: &Experiment, trials: &[Trial]) -> Counted {
        let rounds = Rounds::of(experiment, trials);
        let gate = Gate::of(&Results::of(experiment, trials, rounds.as_ref()));
        let failures = gate.cases.iter().filter_map(|case| case.failure.as_ref());
        Counted {
            failed: gate.failed(),
            regressions: gate.regressions(),
            cases: gate.cases.len(),
            at_fault: failures.map(|failure| failure.candidate.name.0.clone()).collect(),
        }
    }

    const REASON: &str = "the server closed the connection\nhint: see its log";

    fn fail(trial: &mut Trial) {
        let log_tail = "PANIC: \u{1b}[31mno <memory>\u{0}\n".into();
        trial.status = TrialStatus::Failed { reason: REASON.into(), log_tail };
        trial.slices.clear();
    }

    /// Names of the base case and of the two contenders.
    fn names(experiment: &Experiment) -> [String; 3] {
        [0, 1, 2].map(|candidate| experiment.candidates[candidate].name.0.clone())
    }

    #[test]
    fn defect_10_a_candidate_that_never_came_up_has_an_error_for_each_step() {
        let (experiment, mut trials) = fixture::in_rounds();
        let [_, _, last] = names(&experiment);
        trials.retain(|trial| trial.candidate != last || trial.step == experiment.steps[0].name);
        trials.iter_mut().filter(|trial| trial.candidate == last).for_each(fail);
        let gate = counted(&experiment, &trials);
        let steps = experiment.steps.iter().filter(|step| step.is_compared()).count();
        assert_eq!((gate.failed, gate.cases, gate.regressions), (steps, 2 * steps, 0));
    }

    #[test]
    fn defect_10_what_failed_is_an_error_only_where_there_is_no_verdict() {
        let (experiment, trials) = fixture::in_rounds();
        let [_, second, third] = names(&experiment);
        let errors = |failed: &dyn Fn(&Trial) -> bool| {
            let mut trials = trials.clone();
            trials.iter_mut().filter(|trial| failed(trial)).for_each(fail);
            counted(&experiment, &trials).failed
        };
        let step = &experiment.steps[1].name;
        assert_eq!(errors(&|_| false), 0);
        assert_eq!(errors(&|trial| trial.candidate == third && trial.step == *step), 1);
        let once = |trial: &Trial| trial.candidate == third && trial.step == *step && trial.place.round == 4;
        assert_eq!(errors(&once), 1, "four rounds are not enough");
        let noisy = &experiment.steps[3].name;
        assert_eq!(
            errors(&|trial| trial.candidate == second && trial.step == *noisy && trial.place.round == 9),
            0
        );
    }

    #[test]
    fn more_work_fails_a_gate_without_times() {
        let (experiment, counted) = fixture::counted();
        let counts = Counts::of(&experiment, &counted);
        let gate = Gate::of(&Results::of(&experiment, &[], None).counting(counts.as_ref()));
        assert_eq!((gate.worse(), gate.more_work(), gate.failed(), gate.cases.len()), (3, 3, 1, 11));
        assert_eq!(gate.count(Conclusion::Counted(WorkVerdict::LessWork)), 1);
        assert_eq!(gate.cases[0].uncounted.map(|reason| reason.contains("window")), Some(true));
    }

    #[test]
    fn more_work_fails_a_gate_unless_times_decide_an_improvement() {
        let (experiment, trials, mut counted) = fixture::counted_in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let gate = |counted: &crate::Counted| {
            let counts = Counts::of(&experiment, counted);
            let results = Results::of(&experiment, &trials, rounds.as_ref()).counting(counts.as_ref());
            let gate = Gate::of(&results);
            let warned = gate.cases.iter().filter(|case| case.is_faster_with_more_work()).count();
            (gate.regressions(), gate.more_work(), gate.worse(), warned)
        };
        // Two regressions of one contender need more work, and so does the other contender on these steps, without a change in time.
        assert_eq!(gate(&counted), (2, 2, 4, 0));
        let [_, second, third] = names(&experiment);
        let faster = experiment.steps.iter().find(|step| step.name.starts_with("hot-points")).unwrap();
        let of_step = counted.starts.iter_mut().filter(|start| start.step == faster.name);
        for start in of_step.filter(|start| start.candidate == second || start.candidate == third) {
            start.windows.iter_mut().for_each(|window| window.instructions += window.instructions / 20);
        }
        assert_eq!(gate(&counted), (2, 3, 5, 1), "the one that is faster is a warning, the other fails");
        let counts = Counts::of(&experiment, &counted);
        let results = Results::of(&experiment, &trials, rounds.as_ref()).counting(counts.as_ref());
        let work = Gate::of(&results).work_verdicts().unwrap();
        assert_eq!(
            work.more, 6,
            "two regressions, three without a change in time, and the one that is faster"
        );
        assert_eq!(Gate::of(&Results::of(&experiment, &trials, rounds.as_ref())).work_verdicts(), None);
    }

    #[test]
    fn defect_10_all_that_failed_and_a_base_case_that_did_are_told() {
        let (experiment, trials) = fixture::in_rounds();
        let [base, ..] = names(&experiment);
        let steps = experiment.steps.iter().filter(|step| step.is_compared()).count();
        for all in [true, false] {
            let mut trials = trials.clone();
            trials.iter_mut().filter(|trial| all || trial.candidate == base).for_each(fail);
            let gate = counted(&experiment, &trials);
            assert_eq!((gate.failed, gate.regressions), (2 * steps, 0));
            assert_eq!(gate.at_fault.iter().all(|name| *name == base), !all);
        }
        let gate = counted(&experiment, &[]);
        assert_eq!((gate.failed, gate.cases), (0, 2 * steps), "nothing is known yet");
        let (once, trials) = fixture::sample();
        assert_eq!(counted(&once, &trials).cases, 0);
    }
}
