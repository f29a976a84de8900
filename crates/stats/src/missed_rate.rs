//! Rounds in which background writers missed their required rate.

use crate::decision::{Decision, Flag};
use crate::judge::Judge;
use crate::pair::Pair;
use crate::verdict::{Outlook, Qualifier, Verdict};

/// In how many rounds of a comparison background writers missed their rate, over all slices of the round and with the tolerance of single
/// runs. Such a round says nothing about throughput: a candidate that writes less has more capacity left for queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissedRate {
    /// Rounds in which only the base case missed it.
    pub by_base: usize,
    /// Rounds in which only the contender missed it.
    pub by_contender: usize,
    /// Rounds in which both missed it.
    pub by_both: usize,
}

impl MissedRate {
    pub(crate) fn of(pairs: &[Pair<'_>]) -> MissedRate {
        let mut missed = MissedRate::default();
        for pair in pairs {
            match pair.keep_rate() {
                (true, true) => {}
                (false, true) => missed.by_base += 1,
                (true, false) => missed.by_contender += 1,
                (false, false) => missed.by_both += 1,
            }
        }
        missed
    }

    /// Rounds in which either side missed it.
    pub fn rounds(self) -> usize {
        self.by_base + self.by_contender + self.by_both
    }

    /// The verdict if one kind makes up more than half of the rounds, whatever the other rounds say: in those the contender may just have
    /// been lucky. If the base case missed its rate, a slower contender stays slower.
    fn verdict(self, rounds: usize, of_others: Verdict) -> Option<Verdict> {
        let is_most = |count: usize| 2 * count > rounds;
        if is_most(self.by_contender) {
            Some(Verdict::Regression)
        } else if is_most(self.by_base) && of_others != Verdict::Regression {
            Some(Verdict::Improvement)
        } else {
            (is_most(self.by_both) && of_others == Verdict::NotEnoughData).then_some(Verdict::NotEnoughData)
        }
    }
}

impl Judge {
    /// Corrects a decision on throughput for rounds that do not count. They may decide by themselves from the first interim analysis on.
    pub(crate) fn heed_dropped(&self, decision: &mut Decision, pairs: &[Pair<'_>]) {
        let all = pairs.len();
        let missed = MissedRate::of(pairs);
        decision.missed_rate = missed;
        decision.rounds_dropped = all - decision.rounds;
        if missed.rounds() > 0 {
            decision.flags.push(Flag::InvalidSla);
        }
        if let Some(verdict) = missed.verdict(all, decision.verdict).filter(|_| all >= self.first_analysis())
        {
            decision.verdict = verdict;
            decision.qualifier = Some(Qualifier::MissedRate);
            decision.outlook = Outlook::Settled;
            decision.leaves = true;
        }
        decision.leaves |= self.last_analysis().is_some_and(|last| all >= last);
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::{OperationClass, Place, RoleRecord, StepFacts, Trial};

    use super::*;
    use crate::{AnalysisPlan, Comparison, JudgedMetric};

    /// Trials of one second with these numbers of inserts and a thousand queries, of a step whose target is a hundred inserts.
    fn trial(inserts: u64) -> Trial {
        let role = |name, class, items| RoleRecord {
            items,
            ended_us: 1_000_000,
            ..RoleRecord::idle(1, name, class, 1000)
        };
        let roles = vec![
            role("writer", OperationClass::Insert, inserts),
            role("client", OperationClass::Query, 1000),
        ];
        let place = Place { round: 0, pass: 0, position: 0 };
        Trial { seconds: 1.0, roles, ..Trial::empty(String::new(), "", "", place, String::new()) }
    }

    /// The decision on rounds with these numbers of inserts of base case and contender.
    fn decided(rounds: &[(u64, u64)]) -> Decision {
        let step = StepFacts { sla_target: Some(100.0), ..StepFacts::EMPTY };
        let trials: Vec<[Trial; 2]> =
            rounds.iter().map(|(base, contender)| [trial(*base), trial(*contender)]).collect();
        let pairs: Vec<Pair<'_>> =
            trials.iter().map(|[base, contender]| Pair::whole(&step, base, contender)).collect();
        let judge = Judge::new(AnalysisPlan::default()).unwrap();
        let told = pairs.iter().filter_map(|pair| pair.round(JudgedMetric::Throughput)).collect();
        let comparison = Comparison { rounds: told, margin: 0.02 };
        let mut decision = judge.decide(&[comparison]).unwrap().remove(0);
        judge.heed_dropped(&mut decision, &pairs);
        decision
    }

    #[test]
    fn defect_09_a_rate_that_the_contender_misses_and_the_base_case_keeps_is_a_regression() {
        for (contender, by_contender, kept) in [([94; 8], 8, 0), ([90, 96, 90, 96, 90, 96, 90, 90], 5, 3)] {
            let rounds: Vec<(u64, u64)> = contender.iter().map(|inserts| (100, *inserts)).collect();
            let decision = decided(&rounds);
            assert_eq!(decision.verdict, Verdict::Regression, "{decision:?}");
            assert_eq!((decision.qualifier, decision.leaves), (Some(Qualifier::MissedRate), true));
            assert_eq!(decision.missed_rate, MissedRate { by_contender, ..MissedRate::default() });
            assert_eq!((decision.rounds, decision.rounds_dropped), (kept, by_contender));
            assert_eq!((decision.outlook, decision.flags), (Outlook::Settled, vec![Flag::InvalidSla]));
        }
    }

    #[test]
    fn defect_09_a_missed_rate_is_decided_by_more_than_half_of_the_rounds_and_not_before_the_first_analysis()
    {
        let half = decided(&[(100, 90), (100, 90), (100, 90), (100, 100), (100, 100), (100, 100)]);
        assert_eq!(half.qualifier, None, "{half:?}");
        assert_eq!((half.rounds, half.rounds_dropped), (3, 3));
        let few = decided(&[(100, 90); 4]);
        assert_eq!((few.verdict, few.qualifier, few.leaves), (Verdict::NotEnoughData, None, false));
        assert_eq!(few.rounds_dropped, 4);
    }

    #[test]
    fn defect_09_a_rate_that_the_base_case_misses_is_an_improvement_and_one_that_both_miss_is_told() {
        let base = decided(&[(90, 100); 6]);
        assert_eq!((base.verdict, base.qualifier), (Verdict::Improvement, Some(Qualifier::MissedRate)));
        let both = decided(&[(90, 90); 6]);
        assert_eq!((both.verdict, both.qualifier), (Verdict::NotEnoughData, Some(Qualifier::MissedRate)));
        assert!(base.leaves && both.leaves, "more rounds would not decide");
        let slower = MissedRate { by_base: 4, ..MissedRate::default() };
        assert_eq!(slower.verdict(7, Verdict::Regression), None, "a slower contender stays slower");
    }

    #[test]
    fn defect_09_rounds_that_never_count_end_with_the_last_analysis() {
        let last = Judge::new(AnalysisPlan::default()).unwrap().last_rounds();
        let mixed: Vec<(u64, u64)> =
            [(90, 100), (100, 90), (90, 90)].into_iter().cycle().take(last).collect();
        let decision = decided(&mixed);
        assert_eq!((decision.verdict, decision.qualifier), (Verdict::NotEnoughData, None));
        assert!(decision.leaves && !decided(&mixed[1..]).leaves);
    }
}
