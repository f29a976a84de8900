//! What a pipeline wants to know of an experiment in rounds.

use basecase_model::{Experiment, Trial, printable};
use basecase_stats::{Metric, Verdict};
use maud::{PreEscaped, html};

use crate::effect::Effect;
use crate::failures::{Failure, failures};
use crate::judged::Judged;
use crate::markdown::escaped;
use crate::results::Results;
use crate::rounds::Rounds;

/// The verdicts of an experiment in rounds: what failed, regressions, other changes, what is not known, the rest.
#[derive(Debug)]
pub struct Gate<'a> {
    experiment: &'a Experiment,
    cases: Vec<Case<'a>>,
}

/// One step of one contender.
#[derive(Debug)]
struct Case<'a> {
    step: &'a str,
    candidate: &'a str,
    finding: Finding,
    /// The verdict with what it leaves open, or why there is none.
    words: String,
    /// The change with its interval, or the end of the log of a server that failed.
    details: String,
    rounds: String,
}

/// What a case comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// There is no verdict, because a candidate failed.
    Failed,
    /// What the rounds say.
    Judged(Verdict),
}

impl Finding {
    const REGRESSION: Finding = Finding::Judged(Verdict::Regression);

    /// What is told first has the lowest.
    fn order(self) -> u8 {
        match self {
            Finding::Failed => 0,
            Finding::Judged(Verdict::Regression) => 1,
            Finding::Judged(Verdict::Improvement) => 2,
            Finding::Judged(Verdict::NotEnoughData) => 3,
            Finding::Judged(Verdict::NoChange) => 4,
        }
    }

    /// What stands before its words in a summary.
    fn mark(self) -> &'static str {
        match self {
            Finding::Failed => "❌ ",
            Finding::Judged(Verdict::Regression) => "🔴 ",
            Finding::Judged(Verdict::Improvement) => "🟢 ",
            Finding::Judged(Verdict::NotEnoughData) => "⚪ ",
            Finding::Judged(Verdict::NoChange) => "",
        }
    }
}

impl<'a> Gate<'a> {
    /// Judges an experiment; without verdicts when it is not in rounds.
    pub fn new(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        let mut cases: Vec<Case<'a>> = Vec::new();
        if rounds.is_some() {
            let failures = failures(&results);
            let judged = results.all_judged();
            cases.extend(judged.iter().map(|judged| Case::judged(experiment, judged, &failures)));
            let is_judged =
                |place: (usize, usize)| judged.iter().any(|judged| (judged.step, judged.candidate) == place);
            for (step, _) in results.steps().filter(|(_, facts)| facts.is_compared()) {
                let contenders = results.candidates().map(|(candidate, _)| candidate).skip(1);
                let open = contenders.filter(|candidate| !is_judged((step, *candidate)));
                cases.extend(open.map(|candidate| Case::unjudged(experiment, (step, candidate), &failures)));
            }
        }
        cases.sort_by_key(|case| case.finding.order());
        Gate { experiment, cases }
    }

    /// How many steps are decided to be slower.
    pub fn regressions(&self) -> usize {
        self.count(Finding::REGRESSION)
    }

    /// How many steps have no verdict because a candidate failed.
    pub fn failed(&self) -> usize {
        self.count(Finding::Failed)
    }

    fn count(&self, finding: Finding) -> usize {
        self.cases.iter().filter(|case| case.finding == finding).count()
    }

    fn count_judged(&self, verdict: Verdict) -> usize {
        self.count(Finding::Judged(verdict))
    }

    /// One line for people, e.g. `2 regressions, 1 improvement, 12 without change, 3 without enough data`; before them what failed, if
    /// anything did.
    pub fn headline(&self) -> String {
        let counted =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let failed = match self.failed() {
            0 => None,
            count => Some(counted(count, "step failed", "steps failed")),
        };
        let judged = [
            counted(self.regressions(), "regression", "regressions"),
            counted(self.count_judged(Verdict::Improvement), "improvement", "improvements"),
            format!("{} without change", self.count_judged(Verdict::NoChange)),
            format!("{} without enough data", self.count_judged(Verdict::NotEnoughData)),
        ];
        failed.into_iter().chain(judged).collect::<Vec<_>>().join(", ")
    }

    /// A summary in Markdown, as for a pull request: what failed, what changed and what is not known first, the rest folded away.
    pub fn summary(&self) -> String {
        let base = self.experiment.candidates.first().map_or("", |base| base.name.0.as_str());
        let is_unchanged = |case: &&Case<'_>| case.finding == Finding::Judged(Verdict::NoChange);
        let (unchanged, telling): (Vec<_>, Vec<_>) = self.cases.iter().partition(is_unchanged);
        let table = |cases: &[&Case<'_>]| {
            let rows: String = cases.iter().map(|case| case.row()).collect();
            format!("| step | candidate | verdict | change | rounds |\n|---|---|---|---:|---:|\n{rows}")
        };
        let mut text = format!("### {}\n\nCompared with {}.\n", self.headline(), escaped(base));
        if !telling.is_empty() {
            text.push_str(&format!("\n{}", table(&telling)));
        }
        if !unchanged.is_empty() {
            let count = unchanged.len();
            let steps = if count == 1 { "step" } else { "steps" };
            text.push_str(&format!(
                "\n<details><summary>{count} {steps} without change</summary>\n\n{}\n</details>\n",
                table(&unchanged)
            ));
        }
        text
    }

    /// The verdicts as JUnit test cases: a decided regression is a failure, what failed is an error, what is not decided is skipped.
    pub fn junit(&self) -> String {
        let suite = html! {
            testsuites {
                testsuite name=(self.experiment.name) tests=(self.cases.len()) failures=(self.regressions())
                    skipped=(self.count_judged(Verdict::NotEnoughData)) errors=(self.failed()) {
                    @for case in &self.cases {
                        testcase classname=(case.candidate) name=(case.step) {
                            @match case.finding {
                                Finding::Failed => error message=(case.words) { (case.details) },
                                Finding::Judged(Verdict::Regression) => failure message=(case.words) { (case.details) },
                                Finding::Judged(Verdict::NotEnoughData) => skipped message=(case.words) {},
                                Finding::Judged(Verdict::Improvement | Verdict::NoChange) => {
                                    system-out { (case.words) ": " (case.details) }
                                }
                            }
                        }
                    }
                }
            }
        };
        let PreEscaped(text) = suite;
        // XML has no way to write most control characters.
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", printable(&text))
    }
}

impl<'a> Case<'a> {
    /// Of a contender that has rounds of a step. Too few of them, where a trial of it failed, are no verdict.
    fn judged(experiment: &'a Experiment, judged: &Judged<'_>, failures: &[Failure<'_>]) -> Self {
        let place = (judged.step, judged.candidate);
        let is_open = judged.throughput.verdict == Verdict::NotEnoughData;
        let failure = failure_of(experiment, place, failures, |failure, step| failure.step.name == step);
        if let Some(failure) = failure.filter(|_| is_open) {
            let rounds = judged.rounds();
            return Case { rounds, ..Case::failed(experiment, place, failure) };
        }
        let change = Effect::of_decision(Metric::Throughput, judged.throughput)
            .map(|effect| format!("{} % {}", effect.percent_text(), effect.percent_interval()));
        Case {
            finding: Finding::Judged(judged.throughput.verdict),
            words: judged.verdict(),
            details: change.unwrap_or_default(),
            rounds: judged.rounds(),
            ..Case::empty(experiment, place)
        }
    }

    /// Of a contender that has no round of a step beside the base case.
    fn unjudged(experiment: &'a Experiment, place: (usize, usize), failures: &[Failure<'_>]) -> Self {
        let own = failure_of(experiment, place, failures, |failure, step| failure.step.name == step);
        let other = || failure_of(experiment, place, failures, |_, _| true);
        match own.or_else(other) {
            Some(failure) => Case::failed(experiment, place, failure),
            None => Case { words: "not enough data, no round".into(), ..Case::empty(experiment, place) },
        }
    }

    fn failed(experiment: &'a Experiment, place: (usize, usize), failure: &Failure<'_>) -> Self {
        let reason = failure.reason.lines().next().unwrap_or_default();
        let words = format!("failed: {}: {reason}", failure.place());
        let details = [failure.reason, failure.log_tail].join("\n");
        Case { finding: Finding::Failed, words, details, ..Case::empty(experiment, place) }
    }

    /// Of which nothing is known.
    fn empty(experiment: &'a Experiment, (step, candidate): (usize, usize)) -> Self {
        Case {
            step: experiment.steps.get(step).map_or("", |step| &step.label),
            candidate: experiment.candidates.get(candidate).map_or("", |facts| &facts.name.0),
            finding: Finding::Judged(Verdict::NotEnoughData),
            words: String::new(),
            details: String::new(),
            rounds: "0".to_owned(),
        }
    }

    fn row(&self) -> String {
        let change = if self.finding == Finding::Failed { "" } else { &self.details };
        let cells = [self.step, self.candidate, &self.words, change].map(escaped);
        let [step, candidate, words, change] = cells;
        format!("| {step} | {candidate} | {}{words} | {change} | {} |\n", self.finding.mark(), self.rounds)
    }
}

/// The failure that leaves a contender without a verdict on a step: its own, else the base case's.
fn failure_of<'f, 'r>(
    experiment: &Experiment,
    (step, candidate): (usize, usize),
    failures: &'f [Failure<'r>],
    counts: impl Fn(&Failure<'_>, &str) -> bool,
) -> Option<&'f Failure<'r>> {
    let step = experiment.steps.get(step)?;
    let of = |candidate: usize| {
        let facts = experiment.candidates.get(candidate)?;
        failures.iter().find(|failure| failure.candidate.name == facts.name && counts(failure, &step.name))
    };
    of(candidate).or_else(|| of(0))
}

#[cfg(test)]
mod tests {
    use basecase_model::TrialStatus;

    use super::*;
    use crate::fixture;

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
        let gate = Gate::new(&experiment, &trials);
        let steps = experiment.steps.iter().filter(|step| step.is_compared()).count();
        assert_eq!((gate.failed(), gate.cases.len()), (steps, 2 * steps));
        assert!(
            gate.headline().starts_with(&format!("{steps} steps failed, 0 regressions")),
            "{}",
            gate.headline()
        );
        insta::assert_snapshot!(gate.summary());
        let junit = gate.junit();
        assert!(junit.contains(&format!("errors=\"{steps}\"")), "{junit}");
        assert_eq!(junit.matches("<error message=").count(), steps, "{junit}");
        assert!(
            junit.contains("[U+001B][31mno &lt;memory&gt;[U+0000]") && junit.contains("hint: see its log"),
            "{junit}"
        );
    }

    #[test]
    fn defect_10_what_failed_is_an_error_only_where_there_is_no_verdict() {
        let (experiment, trials) = fixture::in_rounds();
        let [_, second, third] = names(&experiment);
        let errors = |failed: &dyn Fn(&Trial) -> bool| {
            let mut trials = trials.clone();
            trials.iter_mut().filter(|trial| failed(trial)).for_each(fail);
            Gate::new(&experiment, &trials).failed()
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
            let gate = Gate::new(&experiment, &trials);
            assert_eq!((gate.failed(), gate.regressions()), (2 * steps, 0), "{}", gate.headline());
            assert_eq!(
                gate.cases.iter().all(|case| case.words.starts_with(&format!("failed: {base} in "))),
                !all
            );
        }
        let gate = Gate::new(&experiment, &[]);
        assert_eq!((gate.failed(), gate.cases.len()), (0, 2 * steps), "nothing is known yet");
        let (once, trials) = fixture::sample();
        assert_eq!(Gate::new(&once, &trials).cases.len(), 0);
    }
}
