//! What measurements say of an interval's ends, and of its halves.

use super::{Aim, Span};
use crate::decision::Decision;
use crate::interval::Interval;
use crate::verdict::{Qualifier, Verdict};
use crate::work::{WorkCourse, WorkDecision, WorkError, WorkPlan, WorkVerdict};

/// A part of a change that is smaller than this share of it is not looked for.
const SMALL_PART: f64 = 1.0 / 3.0;
/// A half with this share of a change has it, though it is by itself too small to matter.
const LARGE_PART: f64 = 2.0 / 3.0;

/// What a search decides by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BisectionEvidence<'a> {
    /// The throughput of the probe's version relative to `before` of [`super::BisectionProbe`], with its margin; for the ends, of the last
    /// version relative to the first, with the smallest change that matters.
    Throughput(&'a Decision),
    /// What was counted of all versions so far.
    Work {
        /// The windows of each version.
        course: &'a WorkCourse,
        /// The smallest change that matters, as a logarithm.
        margin: f64,
    },
}

/// The effect of a version relative to an earlier one, as a logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shift {
    pub(super) estimate: f64,
    /// What is not contradicted.
    bounds: Interval,
}

/// What is known of first and last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ends {
    /// Whether they differ is not known.
    Undecided,
    /// They are equal. `detect` is the smallest change that matters, as a logarithm.
    Same { shift: Shift, detect: f64 },
    /// They differ.
    Differ { shift: Shift, detect: f64 },
}

/// What is known of one half of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Half {
    /// Its ends are equal, or differ by too little to be searched.
    Same(Shift),
    /// Its ends differ.
    Differs(Shift),
    /// Its ends seem to differ, by this.
    Undecided(Shift),
}

impl Ends {
    fn same(shift: Option<Shift>, margin: f64) -> Ends {
        Ends::Same { shift: shift.unwrap_or_default(), detect: margin }
    }

    /// A change that is smaller than the margin, and certain all the same, is searched as well.
    fn differ(shift: Shift, margin: f64) -> Ends {
        Ends::Differ { shift, detect: margin.min(shift.size()) }
    }
}

impl Default for Shift {
    fn default() -> Self {
        Shift::exactly(0.0)
    }
}

impl Shift {
    fn exactly(estimate: f64) -> Shift {
        Shift { estimate, bounds: Interval::around(estimate, 0.0) }
    }

    fn of_decision(decision: &Decision) -> Option<Shift> {
        let estimate = decision.estimate.filter(|estimate| estimate.is_finite())?;
        Some(Shift { estimate, bounds: decision.interval.unwrap_or(Interval::ALL) })
    }

    /// What remains of it beside a part.
    fn without(self, part: Shift) -> Shift {
        let bounds = Interval {
            lower: self.bounds.lower - part.bounds.upper,
            upper: self.bounds.upper - part.bounds.lower,
        };
        Shift { estimate: self.estimate - part.estimate, bounds }
    }

    /// Whether it is not 0.
    fn is_certain(self) -> bool {
        self.bounds.lower > 0.0 || self.bounds.upper < 0.0
    }

    fn size(self) -> f64 {
        self.estimate.abs()
    }
}

impl BisectionEvidence<'_> {
    /// What it says of first and last.
    pub(super) fn ends(self, last: usize) -> Result<Ends, WorkError> {
        match self {
            BisectionEvidence::Throughput(decision) => Ok(ends_by_throughput(decision)),
            BisectionEvidence::Work { course, margin } => {
                let family = [course.comparison(0, last)];
                let decisions = WorkPlan { margin, ..WorkPlan::default() }.decide(&family)?;
                Ok(decisions.first().map_or(Ends::Undecided, ends_by_work))
            }
        }
    }

    /// What it says of both halves of an interval whose middle is this version; `None` if the version cannot be put on a side.
    pub(super) fn halves(
        self,
        span: &Span,
        version: usize,
        detect: f64,
    ) -> Result<Option<[Half; 2]>, WorkError> {
        match self {
            BisectionEvidence::Throughput(decision) => Ok(halves_by_throughput(decision, span, detect)),
            BisectionEvidence::Work { course, margin } => {
                let family =
                    [course.comparison(span.before, version), course.comparison(version, span.since)];
                let decisions = WorkPlan { margin, ..WorkPlan::default() }.decide(&family)?;
                Ok(halves_by_work(&decisions, span, detect))
            }
        }
    }
}

/// The verdict on the effect that is searched for.
fn verdict_on(decision: &Decision) -> Verdict {
    match decision.qualifier {
        // It has no effect size.
        Some(Qualifier::MissedRate) => Verdict::NotEnoughData,
        _ => decision.verdict,
    }
}

fn ends_by_throughput(decision: &Decision) -> Ends {
    match (verdict_on(decision), Shift::of_decision(decision)) {
        (Verdict::NoChange, shift) => Ends::same(shift, decision.margin),
        (verdict, Some(shift)) if verdict.is_change() && decision.leaves => {
            Ends::differ(shift, decision.margin)
        }
        _ => Ends::Undecided,
    }
}

fn ends_by_work(decision: &WorkDecision) -> Ends {
    match (decision.verdict, decision.effect.map(Shift::exactly)) {
        (WorkVerdict::SameWork, shift) => Ends::same(shift, decision.margin),
        (verdict, Some(shift)) if verdict.is_change() => Ends::differ(shift, decision.margin),
        _ => Ends::Undecided,
    }
}

/// The margin is half of the interval's change, so a version is on one side if its interval lies on one side of the midpoint. The upper
/// half was not compared: it has what the lower one leaves, as far as that is certain.
fn halves_by_throughput(decision: &Decision, span: &Span, detect: f64) -> Option<[Half; 2]> {
    let verdict = verdict_on(decision);
    let lower = Shift::of_decision(decision)?;
    let upper = span.shift.without(lower);
    let is_change = verdict.is_change() && decision.leaves;
    let is_clear = verdict.is_change() && !matches!(decision.qualifier, Some(Qualifier::AtLeast(_)));
    let least = match span.aim {
        Aim::Change => detect.max(SMALL_PART * span.shift.size()),
        Aim::Samples(_) => detect,
    };
    let certain = |part: Shift| {
        let is_searched = part.is_certain() && part.size() >= least;
        if is_searched { Half::Differs(part) } else { Half::Same(part) }
    };
    let seeming = |part: Shift| match certain(part) {
        Half::Same(part) if part.size() >= least => Half::Undecided(part),
        half => half,
    };
    match span.aim {
        Aim::Samples(_) => match verdict {
            Verdict::NoChange => Some([Half::Same(lower), Half::Same(upper)]),
            _ => (is_clear && is_change).then(|| [certain(lower), certain(upper)]),
        },
        Aim::Change if verdict == Verdict::NoChange => {
            if decision.qualifier == Some(Qualifier::TinyShift) {
                Some([certain(lower), Half::Differs(upper)])
            } else {
                Some([Half::Same(lower), Half::Differs(span.shift)])
            }
        }
        Aim::Change if is_clear && lower.estimate.signum() == span.shift.estimate.signum() => {
            Some([Half::Differs(lower), certain(upper)])
        }
        Aim::Change => {
            let halves = [seeming(lower), seeming(upper)];
            let is_any = halves.iter().any(|half| !matches!(half, Half::Same(_)));
            (is_change && is_any).then_some(halves)
        }
    }
}

/// Both halves are compared. In an interval whose ends differ, at least one half has to.
fn halves_by_work(decisions: &[WorkDecision], span: &Span, detect: f64) -> Option<[Half; 2]> {
    let [lower, upper] = decisions else { return None };
    let shifts = [Shift::exactly(lower.effect?), Shift::exactly(upper.effect?)];
    let half = |decision: &WorkDecision, shift: Shift| {
        // Without an interval, as of one window alone, nothing is known but the estimate.
        let is_change =
            decision.verdict.is_change() || decision.interval.is_none() && span.aim == Aim::Change;
        let differs = is_change && shift.size() > decision.margin;
        if differs { Half::Differs(shift) } else { Half::Same(shift) }
    };
    let halves = [half(lower, shifts[0]), half(upper, shifts[1])];
    if span.aim != Aim::Change || halves.iter().any(|half| matches!(half, Half::Differs(_))) {
        return Some(halves);
    }
    // A change that hardly matters by itself is told from one that crept in by small steps.
    let whole = shifts[0].estimate + shifts[1].estimate;
    let has_it = |shift: Shift| shift.estimate / whole >= LARGE_PART && shift.size() >= LARGE_PART * detect;
    match shifts.map(has_it) {
        [true, false] => Some([Half::Differs(shifts[0]), halves[1]]),
        [false, true] => Some([halves[0], Half::Differs(shifts[1])]),
        _ => None,
    }
}
