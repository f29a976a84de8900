//! The base cases that versions were compared with: one, or several of which each took the place of the one before.

use std::ops::Range;

use crate::effect::Effect;
use crate::results::Results;

/// The base cases of a history.
pub(super) struct Anchors<'b, 'a> {
    /// An experiment that has the first of them as its base case.
    pub(super) first: &'b Results<'a>,
    /// The later ones.
    successors: Vec<Successor<'b, 'a>>,
}

struct Successor<'b, 'a> {
    /// An experiment that has it as its base case.
    holder: &'b Results<'a>,
    handover: Succession<'b, 'a>,
}

/// Where a base case was measured together with the one whose place it took.
struct Succession<'b, 'a> {
    measured: &'b Results<'a>,
    /// The later of the two, or the earlier if it is reversed.
    candidate: usize,
    /// Whether the later one is the base case there.
    is_reversed: bool,
}

impl<'b, 'a> Anchors<'b, 'a> {
    /// The base case of the chosen experiment and those before it. One comes before another if it was the base case of an experiment that
    /// began before the first one with the other, and if they were measured together on all steps of these names.
    pub(super) fn of(chosen: &'b Results<'a>, others: &'b [Results<'a>], steps: &[&str]) -> Self {
        let search = Search { chosen, others, steps };
        let mut successors = Vec::new();
        let mut first = chosen;
        while let Some((earlier, handover)) = search.before(first) {
            successors.push(Successor { holder: first, handover });
            first = earlier;
        }
        successors.reverse();
        Anchors { first, successors }
    }

    /// The names of all but the first.
    pub(super) fn later_names(&self) -> impl Iterator<Item = &'a str> {
        let name = |successor: &Successor<'b, 'a>| {
            let (_, facts) = successor.holder.candidates().next()?;
            Some(facts.name.0.as_str())
        };
        self.successors.iter().filter_map(name)
    }

    /// An experiment for each of them that has it as its base case.
    pub(super) fn holders(&self) -> impl Iterator<Item = &'b Results<'a>> {
        [self.first].into_iter().chain(self.successors.iter().map(|successor| successor.holder))
    }

    /// The index of the one that is the base case of an experiment on the step of that name, and the number of the step there.
    pub(super) fn in_experiment(&self, measured: &Results<'_>, step: &str) -> Option<(usize, usize)> {
        self.holders()
            .enumerate()
            .find_map(|(place, holder)| Some((place, step_of(measured, 0, holder, step)?)))
    }

    /// Converts what is relative to one of them to what is relative to the first.
    pub(super) fn relative_to_first(&self, effect: Effect, anchor: usize, step: &str) -> Option<Effect> {
        let mut handovers = self.successors.iter().take(anchor).map(|successor| &successor.handover);
        handovers.try_fold(effect, |effect, handover| Some(effect.times(handover.effect(step)?)))
    }

    /// The rounds of the step of that name in which each but the first was measured together with the one before.
    pub(super) fn handovers(&self, step: &str) -> Vec<basecase_stats::AnchorHandover<'a>> {
        let rounds = |(anchor, successor): (usize, &Successor<'b, 'a>)| {
            let Succession { measured, candidate, is_reversed } = successor.handover;
            let rounds =
                measured.step_named(step).map_or(&[][..], |step| measured.round_effects(step, candidate));
            let version = basecase_stats::HistoryPoint { rounds, anchor };
            basecase_stats::AnchorHandover { version, is_reversed }
        };
        self.successors.iter().enumerate().map(rounds).collect()
    }
}

impl Succession<'_, '_> {
    /// The later one divided by the earlier.
    fn effect(&self, step: &str) -> Option<Effect> {
        let effect = self.measured.relative_effect(self.measured.step_named(step)?, self.candidate)?;
        Some(if self.is_reversed { effect.inverse() } else { effect })
    }
}

/// Experiments in which earlier base cases are searched for.
struct Search<'b, 'a, 's> {
    chosen: &'b Results<'a>,
    others: &'b [Results<'a>],
    steps: &'s [&'s str],
}

impl<'b, 'a> Search<'b, 'a, '_> {
    /// The base case before that of this experiment, given as an experiment that has it, and how it was followed; the latest if there are
    /// several.
    fn before(&self, holder: &'b Results<'a>) -> Option<(&'b Results<'a>, Succession<'b, 'a>)> {
        let with_base = || self.all().filter(|measured| self.is_same(measured, 0, holder));
        let began = |measured: &&'b Results<'a>| measured.experiment.created_at.as_str();
        let first = with_base().map(|measured| began(&measured)).min()?;
        let earlier = || self.all().filter(|measured| began(measured) < first);
        let as_contender = |measured: &'b Results<'a>| {
            let candidate = contenders(measured).find(|number| self.is_same(measured, *number, holder))?;
            Some((measured, Succession { measured, candidate, is_reversed: false }))
        };
        let as_base = |measured: &'b Results<'a>| {
            contenders(measured).find_map(|candidate| {
                let mut earlier = earlier().filter(|earlier| self.is_same(measured, candidate, earlier));
                Some((earlier.next()?, Succession { measured, candidate, is_reversed: true }))
            })
        };
        let began_last = |found: &(&'b Results<'a>, Succession<'b, 'a>)| began(&found.1.measured);
        let found = earlier().filter_map(as_contender).max_by_key(began_last);
        found.or_else(|| with_base().filter_map(as_base).max_by_key(began_last))
    }

    fn all(&self) -> impl Iterator<Item = &'b Results<'a>> {
        self.others.iter().chain([self.chosen])
    }

    /// Whether a candidate of an experiment is the base case of another one on all of the steps.
    fn is_same(&self, measured: &Results<'_>, candidate: usize, holder: &Results<'_>) -> bool {
        self.steps.iter().all(|step| step_of(measured, candidate, holder, step).is_some())
    }
}

fn contenders(measured: &Results<'_>) -> Range<usize> {
    1..measured.experiment.candidates.len()
}

/// The number of the step in an experiment whose base case is this candidate; `None` if the step, build, config, size, host or protocol
/// differs.
fn step_of(measured: &Results<'_>, candidate: usize, holder: &Results<'_>, step: &str) -> Option<usize> {
    let own = measured.step_named(step)?;
    let wanted = holder.trial(holder.step_named(step)?, 0)?;
    measured.trial(own, candidate).filter(|trial| trial.cell == wanted.cell).map(|_| own)
}
