//! Searches whose truth is known.

mod broken;
mod rounds;
mod work;

use std::sync::LazyLock;

use proptest::prelude::*;

use super::ChangeKind::{Began, Unbuilt, Undecided};
use super::*;
use crate::decision::Decision;
use crate::tests::simulation::Simulation;
use crate::work::{WorkCourse, WorkKind, WorkWindow};
use crate::{AnalysisPlan, Comparison, Judge};

/// The smallest change that matters: 0.5 %.
const DETECT: f64 = 0.004_987_5;

/// Versions at these levels, logarithms, some of which are broken.
struct Versions {
    levels: Vec<f64>,
    broken: Vec<bool>,
}

impl Versions {
    /// Versions of which each change begins with a version and has an effect.
    fn with_changes(versions: usize, changes: &[(usize, f64)]) -> Versions {
        let level = |version: usize| {
            changes.iter().filter(|(began, _)| *began <= version).map(|(_, effect)| effect).sum()
        };
        Versions { levels: (0..versions).map(level).collect(), broken: vec![false; versions] }
    }

    /// Breaks versions other than the ends.
    fn breaking(mut self, mut is_broken: impl FnMut(usize) -> bool) -> Versions {
        let last = self.levels.len() - 1;
        for version in 1..last {
            self.broken[version] |= is_broken(version);
        }
        self
    }

    /// The narrowest range of working versions around a change.
    fn range(&self, began: usize) -> (usize, usize) {
        let before = (0..began).rev().find(|version| !self.broken[*version]).unwrap();
        (before, (began..self.levels.len()).find(|version| !self.broken[*version]).unwrap())
    }

    /// Searches by work whose windows scatter by this much. Returns the versions that were tried as well.
    fn search(
        &self,
        mut bisection: Bisection,
        noise: f64,
        simulation: &mut Simulation,
    ) -> (Bisection, Vec<usize>) {
        let mut course = WorkCourse { kind: WorkKind::Read, versions: vec![Vec::new(); self.levels.len()] };
        let mut tried = Vec::new();
        while let Some(probe) = bisection.probe() {
            let asked = match probe {
                BisectionProbe::Ends => vec![0, self.levels.len() - 1],
                BisectionProbe::Middle { version, before, since, .. } => {
                    assert!(before < version && version < since);
                    vec![version]
                }
            };
            tried.extend(&asked);
            if let Some(broken) = asked.iter().find(|version| self.broken[**version]) {
                bisection.skip(*broken);
                continue;
            }
            for version in asked {
                let window = |start| WorkWindow {
                    start,
                    instructions: 36_000.0 * (self.levels[version] + noise * simulation.gaussian()).exp(),
                };
                course.versions[version] = [0, 0, 1, 1].map(window).to_vec();
            }
            bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: DETECT })).unwrap();
        }
        (bisection, tried)
    }
}

/// The places of the changes, and how well they are known.
fn places(bisection: &Bisection) -> Vec<(usize, usize, ChangeKind)> {
    bisection.changes().iter().map(|change| (change.before, change.since, change.kind)).collect()
}

/// Searches by work among versions at these levels, whose windows scatter by 0.01 %.
fn search_by_work(levels: &[f64]) -> Bisection {
    let versions = Versions { levels: levels.to_vec(), broken: vec![false; levels.len()] };
    let bisection = Bisection::new(levels.len()).unwrap();
    versions.search(bisection, 1e-4, &mut Simulation::new("bisection by work", levels.len())).0
}

/// The sum of all changes.
fn sum(bisection: &Bisection) -> f64 {
    bisection.changes().iter().filter_map(|change| change.effect).sum()
}

/// A search whose ends differ by 3 %, by work.
fn begun(versions: usize) -> Bisection {
    let mut bisection = Bisection::new(versions).unwrap();
    learn_levels(&mut bisection, versions, |version| if version == 0 { 0.0 } else { 0.03 });
    bisection
}

/// Tells it what is counted at these levels.
fn learn_levels(bisection: &mut Bisection, versions: usize, level: impl Fn(usize) -> f64) {
    let window =
        |level: f64| [0, 1].map(|start| WorkWindow { start, instructions: 1e6 * level.exp() }).to_vec();
    let versions = (0..versions).map(|version| window(level(version))).collect();
    let course = WorkCourse { kind: WorkKind::Read, versions };
    bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: DETECT })).unwrap();
}

static JUDGE: LazyLock<Judge> = LazyLock::new(|| Judge::new(AnalysisPlan::default()).unwrap());

/// Decides on an effect, given rounds with this much noise.
fn decide(effect: f64, noise: f64, margin: f64, simulation: &mut Simulation) -> Decision {
    let mut comparison = Comparison { rounds: Vec::new(), margin: margin.ln_1p() };
    loop {
        comparison.rounds.push((effect + noise * simulation.gaussian()).into());
        if JUDGE.looks_after(comparison.rounds.len()) {
            let decision = JUDGE.decide(std::slice::from_ref(&comparison)).unwrap().remove(0);
            if decision.leaves {
                return decision;
            }
        }
    }
}

#[test]
fn an_undecided_interval_leaves_the_others() {
    let mut bisection = begun(9);
    learn_levels(&mut bisection, 9, |version| 0.001 * (version * version) as f64);
    assert_eq!(bisection.open(), [(0, 4), (4, 8)]);
    bisection.learn(None).unwrap();
    assert_eq!(
        (places(&bisection), bisection.open().len(), bisection.end()),
        (vec![(4, 8, Undecided(6))], 1, None)
    );
}

/// What may happen at a probe.
#[derive(Debug, Clone)]
enum Event {
    Skip,
    SkipOther(usize),
    Nothing,
    Rounds(f64),
    Counts(Vec<f64>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Skip),
        (0usize..70).prop_map(Event::SkipOther),
        Just(Event::Nothing),
        prop_oneof![-0.2..0.2, Just(f64::NAN), Just(f64::INFINITY)].prop_map(Event::Rounds),
        prop::collection::vec(-0.1..0.1, 1..70).prop_map(Event::Counts),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_search_ends(
        versions in 2usize..70,
        is_even_if_equal: bool,
        preferred in prop::collection::vec(any::<bool>(), 0..80),
        events in prop::collection::vec(event(), 1..40),
    ) {
        let mut bisection = Bisection::new(versions).unwrap().preferring(preferred);
        if is_even_if_equal {
            bisection = bisection.even_if_equal();
        }
        let mut decision = decide(-0.1, 0.005, 0.02, &mut Simulation::new("whatever", 0));
        let mut probes = 0;
        for event in events.iter().cycle() {
            let Some(probe) = bisection.probe() else { break };
            prop_assert!(bisection.ahead().iter().all(|version| *version < versions));
            match (event, probe) {
                (Event::Skip, BisectionProbe::Ends) => bisection.skip(versions - 1),
                (Event::Skip, BisectionProbe::Middle { version, .. }) => bisection.skip(version),
                // It may be neither a version nor new.
                (Event::SkipOther(version), _) => {
                    bisection.skip(*version);
                    bisection.skip(*version);
                    bisection.learn(None).unwrap();
                }
                (Event::Nothing, _) => bisection.learn(None).unwrap(),
                (Event::Rounds(estimate), _) => {
                    decision.estimate = Some(*estimate);
                    bisection.learn(Some(BisectionEvidence::Throughput(&decision))).unwrap();
                }
                (Event::Counts(levels), _) => {
                    learn_levels(&mut bisection, versions, |version| levels[version % levels.len()]);
                }
            }
            probes += 1;
            prop_assert!(probes <= 4 * versions, "{:?}", bisection);
            let changes = bisection.changes().iter();
            let places: Vec<usize> = changes.flat_map(|change| [change.before, change.since]).collect();
            prop_assert!(places.is_sorted(), "changes overlap: {:?}", bisection);
            prop_assert!(bisection.changes().iter().all(|change| change.before < change.since));
        }
        prop_assert!(bisection.end().is_some() && bisection.open().is_empty());
    }
}
