//! What the rounds say about a contender on a step, and about all of its steps.

use std::fmt;

use basecase_stats::{Decision, JudgedMetric, Qualifier, Sessions, Suite, Verdict};

use crate::effect::Effect;
use crate::results::Results;
use crate::rounds::Conduct;

/// The flag of a step during which others used much of the machine.
pub const NOISY_MACHINE: &str = "noisy_machine";

/// The flag of a step with one connection that the operating system was free to place with its server.
pub const UNPINNED: &str = "unpinned";

/// A contender on a step, judged.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    /// The step, by number.
    pub step: usize,
    /// The contender, by number.
    pub candidate: usize,
    /// The decision on its throughput: its verdict.
    pub throughput: &'a Decision,
    /// The decision on the server's CPU time per operation, if known.
    pub cpu: Option<&'a Decision>,
    conduct: Option<&'a Conduct>,
    /// How long one of its rounds takes, including the steps of a chain that lead to it.
    pub round_s: Option<f64>,
}

/// What throughput and CPU time per operation together say about the cause of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribution {
    /// Slower, with more CPU time per operation.
    MoreCpu,
    /// Slower, with the same CPU time.
    Waiting,
    /// As fast, with more CPU time: a machine without idle processors would show it.
    Hidden,
    /// Faster, with less CPU time per operation.
    LessCpu,
    /// Faster, with the same CPU time.
    LessWaiting,
}

impl Attribution {
    /// The words for it, in tables and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Attribution::MoreCpu => "more CPU per operation",
            Attribution::Waiting => "waiting",
            Attribution::Hidden => "hidden: will show at saturation",
            Attribution::LessCpu => "less CPU per operation",
            Attribution::LessWaiting => "less waiting",
        }
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The place of a verdict among others: changes first, then what is open, then what is unchanged.
pub(crate) fn order(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Regression | Verdict::Improvement => 0,
        Verdict::NotEnoughData => 1,
        Verdict::NoChange => 2,
    }
}

/// The summary over the steps of a contender.
#[derive(Clone, Copy)]
pub struct JudgedSuite<'a> {
    /// The contender, by number.
    pub candidate: usize,
    /// How many of its steps changed, and how many of these are expected to be false at most.
    pub suite: &'a Suite,
    /// Geometric mean of the ratios of its steps.
    pub effect: Effect,
    /// Steps that are judged.
    pub steps: usize,
    /// Those without change.
    pub unchanged: usize,
    /// Those without enough data.
    pub open: usize,
}

impl<'a> Results<'a> {
    /// A contender on a step; `None` if there is no round of both.
    pub fn judged(&self, step: usize, candidate: usize) -> Option<Judged<'a>> {
        let rounds = self.rounds?;
        let decision = |metric| rounds.judgement.decision(metric, step, candidate);
        let seconds = |step: usize| rounds.conduct(step)?.round_s;
        let of_chain = || (0..=step).filter_map(seconds).sum();
        Some(Judged {
            step,
            candidate,
            throughput: decision(JudgedMetric::Throughput)?,
            cpu: decision(JudgedMetric::ServerCpu),
            conduct: rounds.conduct(step),
            round_s: seconds(step).map(|own| if self.experiment.is_chain() { of_chain() } else { own }),
        })
    }

    /// What the sessions of a contender and of the base case tell on a step; `None` if they were not told apart.
    pub fn sessions(&self, step: usize, candidate: usize) -> Option<&'a Sessions> {
        self.rounds?.judgement.sessions(step, candidate)
    }

    /// All judged steps: changes first, then open ones, then unchanged ones, the largest effect first.
    pub fn all_judged(&self) -> Vec<Judged<'a>> {
        let of_step =
            |(step, _)| self.candidates().filter_map(move |(candidate, _)| self.judged(step, candidate));
        let mut all: Vec<Judged<'a>> = self.steps().flat_map(of_step).collect();
        let size = |judged: &Judged<'_>| judged.throughput.estimate.map_or(0.0, f64::abs);
        all.sort_by(|one, other| one.order().cmp(&other.order()).then(size(other).total_cmp(&size(one))));
        all
    }

    /// The changes, the largest losses first.
    pub fn changes(&self) -> Vec<Judged<'a>> {
        let mut changes = self.all_judged();
        changes.retain(|judged| judged.throughput.verdict.is_change());
        let effect = |judged: &Judged<'_>| judged.throughput.estimate.unwrap_or(0.0);
        changes.sort_by(|one, other| effect(one).total_cmp(&effect(other)));
        changes
    }

    /// The summary over the steps of each contender.
    pub fn suites(&self) -> Vec<JudgedSuite<'a>> {
        let suite = |(candidate, _)| self.judged_suite(candidate);
        self.candidates().filter_map(suite).collect()
    }

    fn judged_suite(&self, candidate: usize) -> Option<JudgedSuite<'a>> {
        let suite = self.rounds?.judgement.suite(JudgedMetric::Throughput, candidate)?;
        let verdict = |(step, _)| Some(self.judged(step, candidate)?.throughput.verdict);
        let verdicts: Vec<Verdict> = self.steps().filter_map(verdict).collect();
        let count = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
        Some(JudgedSuite {
            candidate,
            suite,
            effect: Effect::of_suite(JudgedMetric::Throughput, suite)?,
            steps: verdicts.len(),
            unchanged: count(Verdict::NoChange),
            open: count(Verdict::NotEnoughData),
        })
    }
}

impl Judged<'_> {
    /// The label of its step.
    pub fn step_name<'r>(&self, results: &Results<'r>) -> &'r str {
        results.experiment.steps.get(self.step).map_or("", |step| &step.label)
    }

    /// The contender's name.
    pub fn candidate_name<'r>(&self, results: &Results<'r>) -> &'r str {
        results.experiment.candidates.get(self.candidate).map_or("", |facts| &facts.name.0)
    }

    /// The change in throughput; `None` if it has no size, as where the target rate was missed.
    pub fn effect(&self) -> Option<Effect> {
        let effect = Effect::of_decision(JudgedMetric::Throughput, self.throughput);
        effect.filter(|_| !self.has_missed_rate())
    }

    /// Whether a target rate that was missed decided the verdict.
    pub fn has_missed_rate(&self) -> bool {
        self.throughput.qualifier == Some(Qualifier::MissedRate)
    }

    fn order(&self) -> u8 {
        order(self.throughput.verdict)
    }

    /// What throughput and CPU time per operation together say about the cause; `None` if they say nothing.
    pub fn attribution(&self) -> Option<Attribution> {
        use Verdict::{Improvement, NoChange, Regression};
        if self.has_missed_rate() {
            return None;
        }
        match (self.throughput.verdict, self.cpu.map(|cpu| cpu.verdict)) {
            (Regression, Some(Regression)) => Some(Attribution::MoreCpu),
            (Regression, Some(NoChange)) => Some(Attribution::Waiting),
            (NoChange, Some(Regression)) => Some(Attribution::Hidden),
            (Improvement, Some(Improvement)) => Some(Attribution::LessCpu),
            (Improvement, Some(NoChange)) => Some(Attribution::LessWaiting),
            _ => None,
        }
    }

    /// Anything odd about its rounds, or about the machine meanwhile.
    pub fn flags(&self) -> Vec<&'static str> {
        let is_set =
            |flag, is_set: fn(&Conduct) -> bool| self.conduct.filter(|conduct| is_set(conduct)).map(|_| flag);
        let of_machine =
            [is_set(NOISY_MACHINE, Conduct::is_noisy), is_set(UNPINNED, |conduct| conduct.is_unpinned)];
        self.throughput
            .flags
            .iter()
            .map(|flag| flag.as_str())
            .chain(of_machine.into_iter().flatten())
            .collect()
    }
}
