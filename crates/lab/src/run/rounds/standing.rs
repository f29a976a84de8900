//! Where rounds stand: the verdicts so far, and how much is probably left.

use std::time::Duration;

use basecase_stats::{JudgedMetric, Judgement, Outlook, Verdict};

use super::Done;
use super::open_comparisons::OpenComparisons;
use crate::observer::Standing;
use crate::run::Run;
use crate::run::bench::Bench;

impl<B: Bench> Run<'_, B> {
    /// Where rounds stand after `done` of them, when these steps come next and so much of the budget is left.
    pub(super) fn standing(
        &self,
        open_comparisons: &OpenComparisons,
        judgement: &Judgement,
        (done, steps): (u32, &[usize]),
        last: Option<&Done>,
        left: Option<Duration>,
    ) -> Standing {
        let most = self.options.most_rounds.into_iter().chain(self.interim_analyses().last().copied()).min();
        let mut standing = open_comparisons.verdicts(judgement);
        let wanted = open_comparisons.rounds_wanted(judgement, most.unwrap_or(u32::MAX).saturating_sub(done));
        // Before the first round of this run, those of earlier runs tell.
        let known = Some(open_comparisons.seconds_of_round(steps)).filter(|seconds| *seconds > 0.0);
        let seconds = last.map(|last| last.seconds_of_next(open_comparisons, steps)).or(known);
        let left = left.map(|left| left.as_secs_f64());
        let affordable = left.zip(seconds).map(|(left, seconds)| whole_rounds(left, seconds));
        let rounds = wanted.map(|wanted| affordable.map_or(wanted, |rounds| rounds.min(wanted)));
        standing.rounds = rounds.map(|rounds| done + rounds);
        let of_rounds = rounds.zip(seconds).map(|(rounds, seconds)| f64::from(rounds) * seconds);
        standing.seconds_left = match (of_rounds, left) {
            (Some(seconds), Some(left)) => Some(seconds.min(left)),
            (seconds, left) => seconds.or(left),
        };
        standing
    }
}

/// How many rounds fit in the time that is left.
fn whole_rounds(left: f64, seconds: f64) -> u32 {
    // Of no length there is none; the cast holds at the largest number.
    if seconds > 0.0 { (left / seconds) as u32 } else { u32::MAX }
}

impl OpenComparisons {
    /// How many comparisons have which verdict.
    fn verdicts(&self, judgement: &Judgement) -> Standing {
        let mut standing = Standing::default();
        for (step, candidate) in self.wanted_comparisons() {
            let decision = judgement.decision(JudgedMetric::Throughput, step, candidate);
            match decision.map_or(Verdict::NotEnoughData, |decision| decision.verdict) {
                Verdict::Regression => standing.slower += 1,
                Verdict::Improvement => standing.faster += 1,
                Verdict::NoChange => standing.unchanged += 1,
                Verdict::NotEnoughData => standing.open += 1,
            }
        }
        standing
    }

    /// How many more rounds there will probably be, until the last comparison is decided, at most `most`; `None` where nothing tells yet.
    fn rounds_wanted(&self, judgement: &Judgement, most: u32) -> Option<u32> {
        let unsettled =
            self.wanted_comparisons().filter(|(step, candidate)| !judgement.is_settled(*step, *candidate));
        let wanted = |(step, candidate)| {
            let decision = judgement.decision(JudgedMetric::Throughput, step, candidate)?;
            Some(match decision.outlook {
                Outlook::Settled => 0,
                Outlook::MoreRounds(rounds) => u32::try_from(rounds).unwrap_or(most).min(most),
                Outlook::OnTheMargin => most,
            })
        };
        unsettled.map(wanted).try_fold(0, |longest, wanted| wanted.map(|wanted| wanted.max(longest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_rounds_are_measured() {
        assert_eq!([whole_rounds(100.0, 30.0), whole_rounds(20.0, 30.0)], [3, 0]);
        assert_eq!([whole_rounds(100.0, 0.0), whole_rounds(0.0, 0.0)], [u32::MAX; 2]);
    }
}
