//! What a pipeline wants to know of an experiment in rounds.

use basecase_model::{Experiment, Trial};
use basecase_stats::{Metric, Verdict};
use maud::{PreEscaped, html};

use crate::effect::Effect;
use crate::judged::Judged;
use crate::results::Results;
use crate::rounds::Rounds;

/// The verdicts of an experiment in rounds: regressions, other changes, what is not known, the rest.
#[derive(Debug)]
pub struct Gate<'a> {
    experiment: &'a Experiment,
    cases: Vec<Case<'a>>,
}

/// One step of one candidate.
#[derive(Debug)]
struct Case<'a> {
    step: &'a str,
    candidate: &'a str,
    verdict: Verdict,
    /// The verdict with what it leaves open.
    words: String,
    /// The change with its interval.
    change: String,
    rounds: String,
}

impl<'a> Gate<'a> {
    /// Judges an experiment; without verdicts when it is not in rounds.
    pub fn new(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        let case = |judged: Judged<'_>| Case {
            step: experiment.steps.get(judged.step).map_or("", |step| &step.label),
            candidate: experiment.candidates.get(judged.candidate).map_or("", |facts| &facts.name.0),
            verdict: judged.throughput.verdict,
            words: judged.verdict(),
            change: Effect::of_decision(Metric::Throughput, judged.throughput)
                .map(|effect| format!("{} % {}", effect.percent_text(), effect.percent_interval()))
                .unwrap_or_default(),
            rounds: judged.rounds(),
        };
        let mut cases: Vec<Case<'a>> = results.all_judged().into_iter().map(case).collect();
        cases.sort_by_key(|case| case.verdict != Verdict::Regression);
        Gate { experiment, cases }
    }

    /// How many steps are decided to be slower.
    pub fn regressions(&self) -> usize {
        self.count(Verdict::Regression)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// One line for people, e.g. `2 regressions, 1 improvement, 12 without change, 3 without enough data`.
    pub fn headline(&self) -> String {
        let counted =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        [
            counted(self.count(Verdict::Regression), "regression", "regressions"),
            counted(self.count(Verdict::Improvement), "improvement", "improvements"),
            format!("{} without change", self.count(Verdict::NoChange)),
            format!("{} without enough data", self.count(Verdict::NotEnoughData)),
        ]
        .join(", ")
    }

    /// A summary in Markdown, as for a pull request: what changed and what is not known first, the rest folded away.
    pub fn summary(&self) -> String {
        let base = self.experiment.candidates.first().map_or("", |base| base.name.0.as_str());
        let (unchanged, telling): (Vec<_>, Vec<_>) =
            self.cases.iter().partition(|case| case.verdict == Verdict::NoChange);
        let table = |cases: &[&Case<'_>]| {
            let rows: String = cases.iter().map(|case| case.row()).collect();
            format!("| step | candidate | verdict | change | rounds |\n|---|---|---|---:|---:|\n{rows}")
        };
        let mut text = format!("### {}\n\nCompared with `{base}`.\n", self.headline());
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

    /// The verdicts as JUnit test cases: a decided regression is a failure, what is not decided is skipped.
    pub fn junit(&self) -> String {
        let suite = html! {
            testsuites {
                testsuite name=(self.experiment.name) tests=(self.cases.len()) failures=(self.regressions())
                    skipped=(self.count(Verdict::NotEnoughData)) errors="0" {
                    @for case in &self.cases {
                        testcase classname=(case.candidate) name=(case.step) {
                            @match case.verdict {
                                Verdict::Regression => failure message=(case.words) { (case.change) },
                                Verdict::NotEnoughData => skipped message=(case.words) {},
                                Verdict::Improvement | Verdict::NoChange => system-out { (case.words) ": " (case.change) },
                            }
                        }
                    }
                }
            }
        };
        let PreEscaped(text) = suite;
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n")
    }
}

impl Case<'_> {
    fn row(&self) -> String {
        let mark = match self.verdict {
            Verdict::Regression => "🔴 ",
            Verdict::Improvement => "🟢 ",
            Verdict::NotEnoughData => "⚪ ",
            Verdict::NoChange => "",
        };
        let Case { step, candidate, words, change, rounds, .. } = self;
        format!("| {step} | {candidate} | {mark}{words} | {change} | {rounds} |\n")
    }
}
