//! The steps of a contender by what was decided about them.

use basecase_stats::{Outlook, Verdict};

use crate::judged::Judged;
use crate::results::Results;

/// The judged steps of a contender.
pub struct Tally<'a> {
    /// The contender, by number.
    pub candidate: usize,
    /// Steps that are faster, the clearest first: that whose interval begins furthest from 0.
    pub faster: Vec<Judged<'a>>,
    /// Steps that are slower, the clearest first.
    pub slower: Vec<Judged<'a>>,
    /// Steps without change, in their order.
    pub unchanged: Vec<Judged<'a>>,
    /// Steps without enough data, in their order.
    pub open: Vec<Judged<'a>>,
}

impl<'a> Results<'a> {
    /// The steps of each contender; none if nothing is judged.
    pub fn tallies(&self) -> Vec<Tally<'a>> {
        let tally = |(candidate, _)| self.tally(candidate);
        self.candidates().filter_map(tally).collect()
    }

    fn tally(&self, candidate: usize) -> Option<Tally<'a>> {
        let judged: Vec<Judged<'a>> =
            self.steps().filter_map(|(step, _)| self.judged(step, candidate)).collect();
        let of = |verdict: Verdict| -> Vec<Judged<'a>> {
            judged.iter().filter(|judged| judged.throughput.verdict == verdict).copied().collect()
        };
        let clearest_first = |verdict: Verdict| {
            let mut found = of(verdict);
            found.sort_by(|one, other| other.throughput.nearest().total_cmp(&one.throughput.nearest()));
            found
        };
        (!judged.is_empty()).then(|| Tally {
            candidate,
            faster: clearest_first(Verdict::Improvement),
            slower: clearest_first(Verdict::Regression),
            unchanged: of(Verdict::NoChange),
            open: of(Verdict::NotEnoughData),
        })
    }
}

impl Tally<'_> {
    /// How many steps are judged.
    pub fn steps(&self) -> usize {
        self.faster.len() + self.slower.len() + self.unchanged.len() + self.open.len()
    }

    /// The largest margin within which the unchanged steps lie, as a logarithm; `None` if there are none.
    pub fn margin(&self) -> Option<f64> {
        self.unchanged.iter().map(|judged| judged.throughput.margin).max_by(f64::total_cmp)
    }
}

/// About how long the rounds take that would settle these steps, seconds; `None` if that is not known of any. The steps of a chain are
/// measured together, others one after the other.
pub fn seconds_to_settle<'j, 'a: 'j>(
    open: impl Iterator<Item = &'j Judged<'a>>,
    is_chain: bool,
) -> Option<f64> {
    let seconds = open.filter_map(|judged| match judged.throughput.outlook {
        Outlook::MoreRounds(more) => Some(more as f64 * judged.round_s?),
        Outlook::Settled | Outlook::OnTheMargin => None,
    });
    let together: fn(f64, f64) -> f64 = if is_chain { f64::max } else { |sum, one| sum + one };
    seconds.reduce(together)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::rounds::Rounds;

    #[test]
    fn every_judged_step_is_told_once_and_the_clearest_first() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let tallies = results.tallies();
        assert_eq!(tallies.len(), experiment.candidates.len() - 1);
        for tally in &tallies {
            let all = [&tally.faster, &tally.slower, &tally.unchanged, &tally.open]
                .map(|found| found.iter().map(|judged| judged.step).collect::<Vec<_>>());
            let mut steps = all.concat();
            steps.sort_unstable();
            steps.dedup();
            let judged = results.steps().filter(|(step, _)| results.judged(*step, tally.candidate).is_some());
            assert_eq!((steps.len(), tally.steps()), (judged.count(), tally.steps()));
            for found in [&tally.faster, &tally.slower] {
                assert!(
                    found.is_sorted_by(|one, other| one.throughput.nearest() >= other.throughput.nearest())
                );
            }
        }
        assert!(tallies.iter().any(|tally| !tally.slower.is_empty()));
        let open: Vec<Judged<'_>> = tallies.iter().flat_map(|tally| &tally.open).copied().collect();
        let seconds = |is_chain| seconds_to_settle(open.iter(), is_chain);
        assert!(seconds(true) <= seconds(false));
    }
}
