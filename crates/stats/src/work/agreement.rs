//! How work and time of one step agree.

use super::WorkVerdict;
use crate::interval::Interval;
use crate::verdict::Verdict;

/// What a count says of a verdict on time. Work is not all of a time: kernel and client have their part, so that a change of work makes a
/// smaller one of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Neither changed.
    BothSame,
    /// More work and slower, or less work and faster, by no more than the work: it explains the time.
    WorkExplains,
    /// More work and slower, or less work and faster, but time changed by more than the work: something else came to it.
    WorkExplainsPart,
    /// The same work, and slower: waiting, caches or the kernel.
    SameWorkSlower,
    /// The same work, and faster: waiting, caches or the kernel.
    SameWorkFaster,
    /// More work that time does not show.
    MoreWorkNotSlower,
    /// Less work that time does not show.
    LessWorkNotFaster,
    /// More work, and faster all the same: it is done in a better way, or waits less.
    MoreWorkFaster,
    /// Less work, and slower all the same: waiting, caches or the kernel.
    LessWorkSlower,
    /// More work, and times say nothing yet.
    MoreWorkTimeOpen,
    /// Less work, and times say nothing yet.
    LessWorkTimeOpen,
    /// Neither count nor time says more than this.
    Open,
}

impl Agreement {
    /// From the verdict on time with its interval (above 0 where the contender is faster), and that on work with its own (above 0 for
    /// more work).
    pub fn of(time: (Verdict, Option<Interval>), work: (WorkVerdict, Option<Interval>)) -> Agreement {
        match (work.0, time.0) {
            (WorkVerdict::MoreWork, Verdict::Regression) | (WorkVerdict::LessWork, Verdict::Improvement) => {
                if is_beyond(time.1, work.1) {
                    Agreement::WorkExplainsPart
                } else {
                    Agreement::WorkExplains
                }
            }
            (WorkVerdict::MoreWork, Verdict::Improvement) => Agreement::MoreWorkFaster,
            (WorkVerdict::MoreWork, Verdict::NoChange) => Agreement::MoreWorkNotSlower,
            (WorkVerdict::MoreWork, Verdict::NotEnoughData) => Agreement::MoreWorkTimeOpen,
            (WorkVerdict::LessWork, Verdict::Regression) => Agreement::LessWorkSlower,
            (WorkVerdict::LessWork, Verdict::NoChange) => Agreement::LessWorkNotFaster,
            (WorkVerdict::LessWork, Verdict::NotEnoughData) => Agreement::LessWorkTimeOpen,
            (WorkVerdict::SameWork, Verdict::Regression) => Agreement::SameWorkSlower,
            (WorkVerdict::SameWork, Verdict::Improvement) => Agreement::SameWorkFaster,
            (WorkVerdict::SameWork, Verdict::NoChange) => Agreement::BothSame,
            (WorkVerdict::SameWork, Verdict::NotEnoughData) | (WorkVerdict::NotEnoughData, _) => {
                Agreement::Open
            }
        }
    }
}

/// Whether time changed by more than work, as far as both intervals tell.
fn is_beyond(time: Option<Interval>, work: Option<Interval>) -> bool {
    time.zip(work).is_some_and(|(time, work)| nearest(time) > work.reach())
}

/// The smallest effect in an interval, without its sign; 0 if it contains 0.
fn nearest(interval: Interval) -> f64 {
    interval.lower.max(-interval.upper).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(lower: f64, upper: f64) -> Option<Interval> {
        Some(Interval { lower, upper })
    }

    #[test]
    fn the_examples_of_the_specification() {
        let more_work = (WorkVerdict::MoreWork, interval(0.073, 0.077));
        let slower = (Verdict::Regression, interval(-0.08, -0.05));
        assert_eq!(Agreement::of(slower, more_work), Agreement::WorkExplains);
        let same_work = (WorkVerdict::SameWork, interval(-0.001, 0.001));
        assert_eq!(Agreement::of(slower, same_work), Agreement::SameWorkSlower);
    }

    #[test]
    fn time_that_changed_by_more_than_work_has_another_cause_as_well() {
        let much_slower = (Verdict::Regression, interval(-0.12, -0.09));
        let more_work = (WorkVerdict::MoreWork, interval(0.073, 0.077));
        assert_eq!(Agreement::of(much_slower, more_work), Agreement::WorkExplainsPart);
        let faster = (Verdict::Improvement, interval(0.09, 0.12));
        let less_work = (WorkVerdict::LessWork, interval(-0.077, -0.073));
        assert_eq!(Agreement::of(faster, less_work), Agreement::WorkExplainsPart);
        assert_eq!(
            Agreement::of((Verdict::Improvement, interval(0.01, 0.12)), less_work),
            Agreement::WorkExplains
        );
        assert_eq!(Agreement::of((Verdict::Improvement, None), less_work), Agreement::WorkExplains);
    }

    #[test]
    fn what_moves_apart_is_told_apart() {
        let work = |verdict| (verdict, None);
        let time = |verdict| (verdict, None);
        for (verdict, of_time, expected) in [
            (WorkVerdict::MoreWork, Verdict::Improvement, Agreement::MoreWorkFaster),
            (WorkVerdict::MoreWork, Verdict::NoChange, Agreement::MoreWorkNotSlower),
            (WorkVerdict::MoreWork, Verdict::NotEnoughData, Agreement::MoreWorkTimeOpen),
            (WorkVerdict::LessWork, Verdict::Regression, Agreement::LessWorkSlower),
            (WorkVerdict::SameWork, Verdict::NoChange, Agreement::BothSame),
            (WorkVerdict::SameWork, Verdict::NotEnoughData, Agreement::Open),
            (WorkVerdict::NotEnoughData, Verdict::Regression, Agreement::Open),
        ] {
            assert_eq!(Agreement::of(time(of_time), work(verdict)), expected);
        }
    }
}
