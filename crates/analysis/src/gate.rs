//! What a pipeline wants to know about an experiment in rounds.

use basecase_model::Experiment;
use basecase_stats::Verdict;

use crate::failures::{Failure, failures};
use crate::judged::Judged;
use crate::results::Results;

/// The verdicts of an experiment in rounds: failures, regressions, other changes, open cases, the rest.
pub struct Gate<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Every contender on every compared step, in that order; empty if the experiment is not in rounds.
    pub cases: Vec<GateCase<'a>>,
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
}

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// There is no verdict, because a candidate failed.
    Failed,
    /// What the rounds say.
    Judged(Verdict),
}

impl Conclusion {
    /// The lowest is reported first.
    fn order(self) -> u8 {
        match self {
            Conclusion::Failed => 0,
            Conclusion::Judged(Verdict::Regression) => 1,
            Conclusion::Judged(Verdict::Improvement) => 2,
            Conclusion::Judged(Verdict::NotEnoughData) => 3,
            Conclusion::Judged(Verdict::NoChange) => 4,
        }
    }
}

impl<'a> Gate<'a> {
    /// Judges an experiment; without verdicts if it is not in rounds.
    pub fn of(results: &Results<'a>) -> Self {
        let failures = if results.rounds.is_some() { failures(results) } else { Vec::new() };
        let judged = results.all_judged();
        let mut cases: Vec<GateCase<'a>> =
            judged.iter().map(|judged| GateCase::judged(results, *judged, &failures)).collect();
        let is_judged =
            |place: (usize, usize)| judged.iter().any(|judged| (judged.step, judged.candidate) == place);
        let compared = results.steps().filter(|(_, facts)| results.rounds.is_some() && facts.is_compared());
        for (step, _) in compared {
            let contenders = results.candidates().map(|(candidate, _)| candidate).skip(1);
            let open = contenders.filter(|candidate| !is_judged((step, *candidate)));
            cases.extend(open.map(|candidate| GateCase::unjudged(results, (step, candidate), &failures)));
        }
        cases.sort_by_key(|case| case.conclusion().order());
        Gate { experiment: results.experiment, cases }
    }

    /// The number of regressions.
    pub fn regressions(&self) -> usize {
        self.count(Conclusion::Judged(Verdict::Regression))
    }

    /// The number of steps without a verdict because a candidate failed.
    pub fn failed(&self) -> usize {
        self.count(Conclusion::Failed)
    }

    /// The number of cases with this result.
    pub fn count(&self, conclusion: Conclusion) -> usize {
        self.cases.iter().filter(|case| case.conclusion() == conclusion).count()
    }
}

impl<'a> GateCase<'a> {
    /// For a contender that has rounds of a step. Too few rounds because a trial failed are no verdict.
    fn judged(results: &Results<'a>, judged: Judged<'a>, failures: &[Failure<'a>]) -> Self {
        let Judged { step, candidate, .. } = judged;
        let is_open = judged.throughput.verdict == Verdict::NotEnoughData;
        let failure =
            if is_open { failure_of(results, (step, candidate), failures, Within::Step) } else { None };
        GateCase { step, candidate, judged: Some(judged), failure }
    }

    /// For a contender that has no round of a step together with the base case.
    fn unjudged(results: &Results<'a>, place: (usize, usize), failures: &[Failure<'a>]) -> Self {
        let of_step = failure_of(results, place, failures, Within::Step);
        let failure = of_step.or_else(|| failure_of(results, place, failures, Within::Experiment));
        let (step, candidate) = place;
        GateCase { step, candidate, judged: None, failure }
    }

    /// Its result.
    pub fn conclusion(&self) -> Conclusion {
        match (&self.failure, &self.judged) {
            (Some(_), _) => Conclusion::Failed,
            (None, Some(judged)) => Conclusion::Judged(judged.throughput.verdict),
            (None, None) => Conclusion::Judged(Verdict::NotEnoughData),
        }
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
