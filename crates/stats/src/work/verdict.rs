//! The verdict on the work of a step.

use std::fmt;

use crate::interval::Interval;
use crate::verdict::{Qualifier, Verdict};

/// The verdict on a count. It never says slower or faster: a count does not see the kernel, caches and waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkVerdict {
    /// The contender executes more instructions for an operation.
    MoreWork,
    /// It executes fewer.
    LessWork,
    /// Any difference lies within the margin.
    SameWork,
    /// Nothing can be said yet.
    NotEnoughData,
}

impl WorkVerdict {
    /// The words for it: `more work`, `less work`, `the same work`, `not enough data`.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkVerdict::MoreWork => "more work",
            WorkVerdict::LessWork => "less work",
            WorkVerdict::SameWork => "the same work",
            WorkVerdict::NotEnoughData => "not enough data",
        }
    }

    /// Whether it reports a change.
    pub fn is_change(self) -> bool {
        matches!(self, WorkVerdict::MoreWork | WorkVerdict::LessWork)
    }

    /// The rules are those of times. `interval` is above 0 for more work.
    pub(super) fn of(
        interval: Interval,
        margin: f64,
        is_discovery: bool,
    ) -> (WorkVerdict, Option<Qualifier>) {
        let as_speed = Interval { lower: -interval.upper, upper: -interval.lower };
        let (verdict, qualifier) = Verdict::of(as_speed, margin, is_discovery);
        let verdict = match verdict {
            Verdict::Regression => WorkVerdict::MoreWork,
            Verdict::Improvement => WorkVerdict::LessWork,
            Verdict::NoChange => WorkVerdict::SameWork,
            Verdict::NotEnoughData => WorkVerdict::NotEnoughData,
        };
        (verdict, qualifier)
    }
}

impl fmt::Display for WorkVerdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
