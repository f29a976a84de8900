//! What a pipeline wants to know of an experiment in rounds.

use basecase_model::{Experiment, Trial};
use basecase_stats::{Decision, Judgement, Metric, Outlook, Qualifier, Verdict};
use maud::{PreEscaped, html};

/// The verdicts of an experiment in rounds, in the order of steps and candidates.
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
    decision: Decision,
}

impl<'a> Gate<'a> {
    /// Judges an experiment; without verdicts when it is not in rounds.
    pub fn new(experiment: &'a Experiment, trials: &[Trial]) -> Self {
        let judgement = Judgement::of(experiment, trials).unwrap_or_default();
        let mut cases = Vec::new();
        for (number, step) in experiment.steps.iter().enumerate() {
            for (index, candidate) in experiment.candidates.iter().enumerate().skip(1) {
                if let Some(decision) = judgement.decision(Metric::Throughput, number, index) {
                    let (step, candidate) = (step.label.as_str(), candidate.name.0.as_str());
                    cases.push(Case { step, candidate, decision: decision.clone() });
                }
            }
        }
        Gate { experiment, cases }
    }

    /// How many steps are decided to be slower.
    pub fn regressions(&self) -> usize {
        self.count(Verdict::Regression)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.decision.verdict == verdict).count()
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
        let rank = |case: &&Case<'_>| match case.decision.verdict {
            Verdict::Regression => 0,
            Verdict::Improvement => 1,
            Verdict::NotEnoughData => 2,
            Verdict::NoChange => 3,
        };
        let mut cases: Vec<&Case<'_>> = self.cases.iter().collect();
        cases.sort_by_key(rank);
        let (unchanged, telling): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|case| case.decision.verdict == Verdict::NoChange);
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
                            @match case.decision.verdict {
                                Verdict::Regression => failure message=(case.verdict()) { (case.change()) },
                                Verdict::NotEnoughData => skipped message=(case.verdict()) {},
                                Verdict::Improvement | Verdict::NoChange => system-out { (case.verdict()) ": " (case.change()) },
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
        let mark = match self.decision.verdict {
            Verdict::Regression => "🔴 ",
            Verdict::Improvement => "🟢 ",
            Verdict::NotEnoughData => "⚪ ",
            Verdict::NoChange => "",
        };
        let (verdict, change) = (self.verdict(), self.change());
        format!(
            "| {} | {} | {mark}{verdict} | {change} | {} |\n",
            self.step, self.candidate, self.decision.rounds
        )
    }

    /// The verdict with what it leaves open.
    fn verdict(&self) -> String {
        let Decision { verdict, qualifier, margin, outlook, .. } = &self.decision;
        let percent = |logarithm: f64| logarithm.exp_m1() * 100.0;
        match (verdict, qualifier) {
            (Verdict::NoChange, _) => format!("no change beyond ±{:.0} %", percent(*margin)),
            (_, Some(Qualifier::AtLeast(least))) => {
                format!("{verdict} of at least {:.1} %", percent(*least).abs())
            }
            (Verdict::NotEnoughData, _) => match outlook {
                Outlook::MoreRounds(1) => format!("{verdict}: about 1 more round"),
                Outlook::MoreRounds(rounds) => format!("{verdict}: about {rounds} more rounds"),
                Outlook::OnTheMargin | Outlook::Settled => verdict.to_string(),
            },
            _ => verdict.to_string(),
        }
    }

    /// The change in % with its interval.
    fn change(&self) -> String {
        let percent = |logarithm: f64| format!("{:+.1} %", logarithm.exp_m1() * 100.0);
        let Some(estimate) = self.decision.estimate.map(percent) else { return String::new() };
        match self.decision.interval {
            Some(interval) => {
                format!("{estimate} ({} to {})", percent(interval.lower), percent(interval.upper))
            }
            None => estimate,
        }
    }
}
