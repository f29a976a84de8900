//! The result of a bisection: with which of many candidates a step changed.

mod counts;

use basecase_model::{Experiment, Trial};
use basecase_stats::{Bisection, BisectionEnd, Decision, JudgedMetric};

pub use self::counts::BisectedCounts;
use crate::effect::Effect;
use crate::results::Results;
use crate::rounds::Rounds;

/// A search for the candidate with which a step changed.
pub struct Bisected<'a> {
    /// All candidates in their order, as the user wrote them; the first is the base case.
    pub candidates: Vec<String>,
    /// The step's name in results.
    pub label: &'a str,
    /// What was found about the candidates that were measured.
    pub found: Found<'a>,
    /// The state of the search.
    pub bisection: &'a Bisection,
    /// One of its experiments, all of which limit the memory alike; `None` if there is none yet.
    pub experiment: Option<&'a Experiment>,
}

/// What a search decided by.
pub enum Found<'a> {
    /// The throughput of candidates.
    Throughput(Vec<Probed>),
    /// The work of candidates.
    Work(BisectedCounts<'a>),
}

/// What the rounds together with the first candidate say about another one.
#[derive(Debug)]
pub struct Probed {
    candidate: usize,
    /// The decision on its throughput.
    pub decision: Decision,
    /// How long one of its rounds takes, seconds.
    pub round_s: Option<f64>,
}

/// Where a candidate belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It is the first, with which the others are compared.
    First,
    /// It was not measured.
    NotMeasured,
    /// It was measured, but it is undecided where it belongs.
    NotDecided,
    /// It is like the first.
    LikeFirst,
    /// It is like neither end.
    LikeNeither,
    /// It is like the last: the change is in it.
    LikeLast,
}

impl Probed {
    /// For the candidate with this number, which is the second one of the experiment, on the step of this name; `None` if there is no round
    /// of both.
    pub fn new(candidate: usize, step: &str, experiment: &Experiment, trials: &[Trial]) -> Option<Self> {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        let judged = results.judged(results.step_named(step)?, 1)?;
        Some(Probed { candidate, decision: judged.throughput.clone(), round_s: judged.round_s })
    }

    /// Its throughput divided by that of the first; `None` without a round.
    pub fn effect(&self) -> Option<Effect> {
        Effect::of_decision(JudgedMetric::Throughput, &self.decision)
    }
}

impl Bisected<'_> {
    /// What rounds say about a candidate, if it was measured in any.
    pub fn probed(&self, candidate: usize) -> Option<&Probed> {
        match &self.found {
            Found::Throughput(probes) => probes.iter().find(|probe| probe.candidate == candidate),
            Found::Work(_) => None,
        }
    }

    /// The throughput or the work of a candidate, divided by that of the first; `None` if it was not measured.
    pub fn effect(&self, candidate: usize) -> Option<Effect> {
        match &self.found {
            Found::Throughput(_) => self.probed(candidate)?.effect(),
            Found::Work(counts) => counts.effect(0, candidate).filter(|_| candidate > 0),
        }
    }

    fn is_measured(&self, candidate: usize) -> bool {
        match &self.found {
            Found::Throughput(_) => self.probed(candidate).is_some(),
            Found::Work(counts) => counts.cell(candidate).is_some(),
        }
    }

    /// The name of a candidate.
    pub fn name(&self, candidate: usize) -> &str {
        self.candidates.get(candidate).map_or("", String::as_str)
    }

    /// Where a candidate belongs.
    pub fn side(&self, candidate: usize) -> Side {
        if candidate == 0 {
            Side::First
        } else if !self.is_measured(candidate) {
            Side::NotMeasured
        } else if self.bisection.end() == Some(BisectionEnd::Open(candidate)) {
            Side::NotDecided
        } else {
            match self.bisection.bracket() {
                Some((_, since)) if candidate >= since => Side::LikeLast,
                Some((before, _)) if candidate > before => Side::LikeNeither,
                _ => Side::LikeFirst,
            }
        }
    }
}
