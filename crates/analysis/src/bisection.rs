//! The result of a bisection: with which of many candidates a step changed.

mod confirmation;
mod counts;

use std::collections::BTreeMap;

use basecase_model::{Commit, Experiment, Trial};
use basecase_stats::{BisectedChange, Bisection, BisectionEnd, ChangeKind, Decision, JudgedMetric};

pub use self::confirmation::{Confirmation, ConfirmedTime, Reversal};
pub use self::counts::BisectedCounts;
use crate::effect::Effect;
use crate::results::Results;
use crate::rounds::Rounds;

/// A search for the candidates with which a step changed.
pub struct Bisected<'a> {
    /// All candidates in their order, as the user wrote them; the first is the base case.
    pub candidates: Vec<String>,
    /// What git tells of them, if they are commits.
    pub commits: Option<&'a [Commit]>,
    /// The step's name in results.
    pub label: &'a str,
    /// What was found about the candidates that were measured.
    pub found: Found<'a>,
    /// The state of the search.
    pub bisection: &'a Bisection,
    /// Why candidates were skipped.
    pub skipped: &'a BTreeMap<usize, String>,
    /// How many builds were compiled, and how many of those tried did not compile; `None` where nothing is compiled.
    pub builds: Option<(usize, usize)>,
    /// What became of the changes when they were confirmed, by the number of the change.
    pub confirmations: BTreeMap<usize, Confirmation<'a>>,
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

/// What the rounds together with an earlier candidate say about another one.
#[derive(Debug)]
pub struct Probed {
    candidate: usize,
    before: usize,
    /// The decision on its throughput.
    pub decision: Decision,
    /// How long one of its rounds takes, seconds.
    pub round_s: Option<f64>,
}

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateState<'a> {
    /// It is the first, with which the others are compared.
    First,
    /// It was not measured.
    NotMeasured,
    /// It cannot be had, for this reason.
    Skipped(&'a str),
    /// It was measured, but it is undecided whether a change is in it.
    NotDecided,
    /// A change begins with it: its number.
    Began(usize),
    /// It was measured.
    Measured,
}

impl Probed {
    /// For the candidate with this number, which is the second one of the experiment after that of the number `before`, on the step of this
    /// name; `None` if there is no round of both.
    pub fn new(
        candidate: usize,
        before: usize,
        step: &str,
        experiment: &Experiment,
        trials: &[Trial],
    ) -> Option<Self> {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        let judged = results.judged(results.step_named(step)?, 1)?;
        Some(Probed { candidate, before, decision: judged.throughput.clone(), round_s: judged.round_s })
    }

    /// Its throughput divided by that of the candidate before; `None` without a round.
    pub fn effect(&self) -> Option<Effect> {
        Effect::of_decision(JudgedMetric::Throughput, &self.decision)
    }
}

impl<'a> Bisected<'a> {
    /// What rounds say about a candidate, if it was measured in any.
    pub fn probed(&self, candidate: usize) -> Option<&Probed> {
        match &self.found {
            Found::Throughput(probes) => probes.iter().find(|probe| probe.candidate == candidate),
            Found::Work(_) => None,
        }
    }

    /// The throughput or the work of a candidate, divided by that of the first; `None` if it was not measured. By rounds with others than
    /// the first, it is put together of them.
    pub fn level(&self, candidate: usize) -> Option<Effect> {
        match &self.found {
            Found::Throughput(_) => {
                let probed = self.probed(candidate)?;
                let own = probed.effect()?;
                if probed.before == 0 {
                    return Some(own);
                }
                Some(self.level(probed.before)?.times(own))
            }
            Found::Work(counts) => counts.effect(0, candidate).filter(|_| candidate > 0),
        }
    }

    /// The effect of a change: throughput or work of the first candidate that has it, divided by that of the last without it.
    pub fn effect(&self, change: &BisectedChange) -> Option<Effect> {
        match &self.found {
            Found::Throughput(_) => {
                let direct = self.probed(change.since).filter(|probe| probe.before == change.before);
                let estimated = || change.effect.map(|effect| Effect { ratio: effect.exp(), interval: None });
                direct.and_then(Probed::effect).or_else(estimated)
            }
            Found::Work(counts) => counts.effect(change.before, change.since),
        }
    }

    /// Whether something was measured of a candidate.
    pub fn is_measured(&self, candidate: usize) -> bool {
        match &self.found {
            Found::Throughput(_) => self.probed(candidate).is_some(),
            Found::Work(counts) => counts.cell(candidate).is_some(),
        }
    }

    /// The name of a candidate.
    pub fn name(&self, candidate: usize) -> &str {
        self.candidates.get(candidate).map_or("", String::as_str)
    }

    /// What git tells of a candidate, if it is a commit.
    pub fn commit(&self, candidate: usize) -> Option<&'a Commit> {
        self.commits?.get(candidate)
    }

    /// What is known of a candidate.
    pub fn state(&self, candidate: usize) -> CandidateState<'_> {
        let changes = self.bisection.changes();
        let began =
            changes.iter().position(|change| change.since == candidate && change.kind == ChangeKind::Began);
        let is_open = |change: &BisectedChange| change.kind == ChangeKind::Undecided(candidate);
        if candidate == 0 {
            CandidateState::First
        } else if let Some(reason) = self.skipped.get(&candidate) {
            CandidateState::Skipped(reason)
        } else if let Some(change) = began {
            CandidateState::Began(change)
        } else if !self.is_measured(candidate) {
            CandidateState::NotMeasured
        } else if changes.iter().any(is_open) || self.bisection.end() == Some(BisectionEnd::Open) {
            CandidateState::NotDecided
        } else {
            CandidateState::Measured
        }
    }

    /// The numbers of the candidates that say something: all of a short list, and otherwise those that were tried.
    pub fn shown(&self) -> Vec<usize> {
        let is_short = self.candidates.len() <= MOST_SHOWN;
        let is_shown = |candidate: &usize| is_short || self.state(*candidate) != CandidateState::NotMeasured;
        (0..self.candidates.len()).filter(is_shown).collect()
    }
}

/// How many candidates are shown although nothing is known of some.
const MOST_SHOWN: usize = 24;
