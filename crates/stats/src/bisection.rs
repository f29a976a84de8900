//! Finds the version with which a change began, without measuring all of them.

use crate::decision::Decision;
use crate::verdict::{Qualifier, Verdict};
use crate::work::{WorkCourse, WorkError, WorkPlan, WorkVerdict};

/// Largest margin of a middle version, as a share: half of the logarithm of 2.25.
const LARGEST_MARGIN: f64 = 0.5;
/// Smallest margin of a middle version.
const SMALLEST_MARGIN: f64 = 0.001;
/// A middle version does the work of an end if it is within this part of the change of it.
const NEAR: f64 = 1.0 / 3.0;

/// A binary search among versions 0, 1 …. The middle version is compared with the first; it belongs to the half whose end it is nearer to.
///
/// The margin of a middle version is half of the change, so its whole interval has to lie on one side of the midpoint. It is put on the
/// wrong side only if its interval is off by half of the change.
///
/// Work is known so well that more can be asked: a middle version belongs to an end if its whole interval is within a third of the change
/// of it. So at least a third of the change lies between the two versions that the search ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    /// The effect of the last version relative to the first, as a logarithm; `None` until it is known.
    change: Option<f64>,
    /// The latest version known to be like the first.
    before: usize,
    /// The earliest version known to be like the last.
    since: usize,
    end: Option<BisectionEnd>,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectionEnd {
    /// The change began with this version, and the one before it is like the first.
    Began(usize),
    /// The last version is not different from the first.
    Unchanged,
    /// It is undecided where this version belongs; more rounds may tell.
    Open(usize),
    /// This version's verdict is settled: it is like neither the first nor the last.
    Between(usize),
}

/// What a search decides by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BisectionEvidence<'a> {
    /// The throughput of the version relative to the first, with the margin of [`BisectionProbe`].
    Throughput(&'a Decision),
    /// What was counted of all versions so far.
    Work {
        /// The windows of each version.
        course: &'a WorkCourse,
        /// The smallest change from first to last that matters, as a logarithm.
        margin: f64,
    },
}

/// Where a version belongs.
enum Standing {
    LikeFirst,
    /// It differs from the first by this effect, as a logarithm.
    LikeLast(f64),
    LikeNeither,
    Open,
}

/// The version to compare with the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BisectionProbe {
    /// The last version: is there a change at all?
    Last,
    /// A middle version, with this margin as a share.
    Middle {
        /// Its number.
        version: usize,
        /// Half of the change: 0.02 is 2 %.
        margin: f64,
    },
}

impl Bisection {
    /// A search among `versions` versions; `None` for fewer than three, where nothing lies in between.
    pub fn new(versions: usize) -> Option<Self> {
        (versions > 2).then(|| Bisection { change: None, before: 0, since: versions - 1, end: None })
    }

    /// What to measure next; `None` when the search has ended.
    pub fn probe(&self) -> Option<BisectionProbe> {
        if self.end.is_some() {
            return None;
        }
        let Some(change) = self.change else { return Some(BisectionProbe::Last) };
        let margin = (change.abs() / 2.0).exp_m1().clamp(SMALLEST_MARGIN, LARGEST_MARGIN);
        Some(BisectionProbe::Middle { version: self.middle(), margin })
    }

    /// Learns what was found about the version that [`Bisection::probe`] named; `None` if nothing was.
    ///
    /// # Errors
    /// If counts cannot be judged.
    pub fn learn(&mut self, evidence: Option<BisectionEvidence<'_>>) -> Result<(), WorkError> {
        let version = if self.change.is_some() { self.middle() } else { self.since };
        let standing = match evidence {
            None => Standing::Open,
            Some(BisectionEvidence::Throughput(decision)) => self.standing_by_throughput(decision),
            Some(BisectionEvidence::Work { course, margin }) => {
                self.standing_by_work(course, version, margin)?
            }
        };
        match (self.change, standing) {
            (None, Standing::LikeFirst) => self.end = Some(BisectionEnd::Unchanged),
            (None, Standing::LikeLast(effect)) => self.change = Some(effect),
            (Some(_), Standing::LikeFirst) => self.before = version,
            (Some(_), Standing::LikeLast(_)) => self.since = version,
            (Some(_), Standing::LikeNeither) => self.end = Some(BisectionEnd::Between(version)),
            (_, Standing::Open) | (None, Standing::LikeNeither) => {
                self.end = Some(BisectionEnd::Open(version));
            }
        }
        if self.end.is_none() && self.before + 1 == self.since {
            self.end = Some(BisectionEnd::Began(self.since));
        }
        Ok(())
    }

    fn standing_by_throughput(&self, decision: &Decision) -> Standing {
        let verdict = match decision.qualifier {
            // It has no effect size, and it is not the change that is searched for.
            Some(Qualifier::MissedRate) => Verdict::NotEnoughData,
            _ => decision.verdict,
        };
        let is_clear = verdict.is_change() && !matches!(decision.qualifier, Some(Qualifier::AtLeast(_)));
        let estimate = decision.estimate.unwrap_or(0.0);
        match (self.change, verdict) {
            (_, Verdict::NoChange) => Standing::LikeFirst,
            (None, verdict) if verdict.is_change() && decision.leaves => Standing::LikeLast(estimate),
            (Some(change), _) if is_clear && change.signum() == estimate.signum() => {
                Standing::LikeLast(estimate)
            }
            (Some(_), _) if decision.leaves => Standing::LikeNeither,
            _ => Standing::Open,
        }
    }

    fn standing_by_work(
        &self,
        course: &WorkCourse,
        version: usize,
        margin: f64,
    ) -> Result<Standing, WorkError> {
        let last = course.versions.len().saturating_sub(1);
        let margin = self.change.map_or(margin, |change| NEAR * change.abs());
        let pairs = [(0, version), (last, version)];
        let ends = if self.change.is_some() { &pairs[..] } else { &pairs[..1] };
        let family: Vec<_> = ends.iter().map(|(end, version)| course.comparison(*end, *version)).collect();
        let decisions = WorkPlan { margin, ..WorkPlan::default() }.decide(&family)?;
        let is_away = |qualifier| qualifier == Some(Qualifier::Clear);
        Ok(match &decisions[..] {
            [from_first] => match (from_first.verdict, from_first.effect) {
                (WorkVerdict::SameWork, _) => Standing::LikeFirst,
                (verdict, Some(effect)) if verdict.is_change() => Standing::LikeLast(effect),
                _ => Standing::Open,
            },
            [from_first, from_last] => match (from_first.verdict, from_last.verdict) {
                (WorkVerdict::SameWork, verdict) if verdict.is_change() => Standing::LikeFirst,
                (verdict, WorkVerdict::SameWork) if verdict.is_change() => {
                    from_first.effect.map_or(Standing::Open, Standing::LikeLast)
                }
                _ if is_away(from_first.qualifier) && is_away(from_last.qualifier) => Standing::LikeNeither,
                _ => Standing::Open,
            },
            _ => Standing::Open,
        })
    }

    /// The latest version known to be like the first, and the earliest known to be like the last; `None` until these are known to differ.
    pub fn bracket(&self) -> Option<(usize, usize)> {
        self.change.map(|_| (self.before, self.since))
    }

    /// The result; `None` while there is something to measure.
    pub fn end(&self) -> Option<BisectionEnd> {
        self.end
    }

    fn middle(&self) -> usize {
        self.before.midpoint(self.since)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::orders::Stream;
    use crate::tests::simulation::Simulation;
    use crate::work::{WorkKind, WorkWindow};
    use crate::{AnalysisPlan, Comparison, Judge};

    static JUDGE: LazyLock<Judge> = LazyLock::new(|| Judge::new(AnalysisPlan::default()).unwrap());

    /// Decides on an effect, given rounds with this much noise.
    fn decide(effect: f64, noise: f64, margin: f64, stream: &mut Stream) -> Decision {
        let mut comparison = Comparison { rounds: Vec::new(), margin: margin.ln_1p() };
        loop {
            // The sum of twelve uniform numbers less six is nearly Gaussian.
            let sum: f64 = (0..12).map(|_| stream.below(1 << 20) as f64 / f64::from(1 << 20)).sum();
            comparison.rounds.push((effect + noise * (sum - 6.0)).into());
            if JUDGE.looks_after(comparison.rounds.len()) {
                let decision = JUDGE.decide(std::slice::from_ref(&comparison)).unwrap().remove(0);
                if decision.leaves {
                    return decision;
                }
            }
        }
    }

    /// Searches among versions with these effects relative to the first. Returns the result and the number of versions measured.
    fn search(effects: &[f64], noise: f64, seed: u64) -> (BisectionEnd, usize) {
        let mut stream = Stream::new(seed, "bisection", "", 0);
        let mut bisection = Bisection::new(effects.len()).unwrap();
        let mut measured = 0;
        while let Some(probe) = bisection.probe() {
            let (version, margin) = match probe {
                BisectionProbe::Last => (effects.len() - 1, 0.02),
                BisectionProbe::Middle { version, margin } => (version, margin),
            };
            measured += 1;
            let decision = decide(effects[version], noise, margin, &mut stream);
            bisection.learn(Some(BisectionEvidence::Throughput(&decision))).unwrap();
        }
        (bisection.end().unwrap(), measured)
    }

    #[test]
    fn the_first_slower_version_is_found() {
        for (effect, least) in [(-0.05, 60), (0.7, 60), (-0.03, 58)] {
            let found = |seed: u64| {
                let began = 1 + seed as usize % 29;
                let effects: Vec<f64> =
                    (0..30).map(|version| if version < began { 0.0 } else { effect }).collect();
                let (end, measured) = search(&effects, 0.01, seed);
                assert!(measured <= 6, "{measured} of 30");
                end == BisectionEnd::Began(began)
            };
            let right = (0..60).filter(|seed| found(*seed)).count();
            assert!(right >= least, "{right} of 60 at {effect}");
        }
    }

    #[test]
    fn where_nothing_changed_nothing_is_looked_for() {
        assert_eq!(search(&[0.0; 9], 0.005, 1), (BisectionEnd::Unchanged, 1));
        assert_eq!(Bisection::new(2), None);
    }

    #[test]
    fn a_version_half_way_is_named() {
        assert_eq!(search(&[0.0, -0.0501, -0.1], 0.01, 3).0, BisectionEnd::Between(1));
        assert_eq!(search(&[0.0, 0.2, -0.1], 0.01, 3).0, BisectionEnd::Between(1), "it is faster");
    }

    #[test]
    fn what_is_not_decided_stays_open() {
        let mut bisection = Bisection::new(5).unwrap();
        bisection.learn(None).unwrap();
        assert_eq!((bisection.end(), bisection.probe()), (Some(BisectionEnd::Open(4)), None));
        assert_eq!(bisection.bracket(), None);
        let mut bisection = Bisection::new(5).unwrap();
        let decision = decide(-0.1, 0.005, 0.02, &mut Stream::new(1, "bisection", "", 0));
        bisection.learn(Some(BisectionEvidence::Throughput(&decision))).unwrap();
        assert!(matches!(bisection.probe(), Some(BisectionProbe::Middle { version: 2, .. })));
        bisection.learn(None).unwrap();
        assert_eq!((bisection.end(), bisection.bracket()), (Some(BisectionEnd::Open(2)), Some((0, 4))));
    }

    /// Searches by work among versions at these levels, logarithms, whose windows scatter by 0.01 %.
    fn search_by_work(levels: &[f64]) -> BisectionEnd {
        let mut simulation = Simulation::new("bisection by work", levels.len());
        let mut course = WorkCourse { kind: WorkKind::Read, versions: vec![Vec::new(); levels.len()] };
        let mut count = |level: f64| -> Vec<WorkWindow> {
            let window = |start| WorkWindow {
                start,
                instructions: 36_000.0 * (level + 0.0001 * simulation.gaussian()).exp(),
            };
            [0, 0, 1, 1].map(window).to_vec()
        };
        course.versions[0] = count(levels[0]);
        let mut bisection = Bisection::new(levels.len()).unwrap();
        while let Some(probe) = bisection.probe() {
            let version = match probe {
                BisectionProbe::Last => levels.len() - 1,
                BisectionProbe::Middle { version, .. } => version,
            };
            course.versions[version] = count(levels[version]);
            let evidence = BisectionEvidence::Work { course: &course, margin: 1.005_f64.ln() };
            bisection.learn(Some(evidence)).unwrap();
        }
        bisection.end().unwrap()
    }

    #[test]
    fn work_decides_where_a_version_belongs() {
        for began in 1..9 {
            let levels: Vec<f64> = (0..9).map(|version| if version < began { 0.0 } else { 0.03 }).collect();
            assert_eq!(search_by_work(&levels), BisectionEnd::Began(began));
        }
        assert_eq!(search_by_work(&[0.0, 0.001, 0.002]), BisectionEnd::Unchanged);
        assert_eq!(search_by_work(&[0.0, 0.005, 0.005, 0.04, 0.038]), BisectionEnd::Began(3), "near enough");
        assert_eq!(search_by_work(&[0.0, 0.0, 0.02, 0.04, 0.04]), BisectionEnd::Between(2));
        assert_eq!(search_by_work(&[0.0, -0.05, 0.04]), BisectionEnd::Between(1), "less, and then more");
    }

    #[test]
    fn a_version_that_could_not_be_counted_stays_open() {
        let window = WorkWindow { start: 0, instructions: 100.0 };
        let course = WorkCourse { kind: WorkKind::Read, versions: vec![vec![window], vec![], vec![]] };
        let mut bisection = Bisection::new(3).unwrap();
        bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: 0.005 })).unwrap();
        assert_eq!(bisection.end(), Some(BisectionEnd::Open(2)));
    }

    proptest! {
        #[test]
        fn without_noise_every_place_is_found(versions in 3usize..200, place: prop::sample::Index) {
            let began = 1 + place.index(versions - 1);
            let effects: Vec<f64> = (0..versions).map(|version| if version < began { 0.0 } else { -0.2 }).collect();
            let (end, measured) = search(&effects, 1e-4, 1);
            prop_assert_eq!(end, BisectionEnd::Began(began));
            prop_assert!(measured <= 2 + versions.ilog2() as usize);
        }
    }
}
