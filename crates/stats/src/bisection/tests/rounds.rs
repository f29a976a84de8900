//! Searches in rounds.

use super::*;
use crate::{Interval, Qualifier};

/// Searches in rounds among versions at these levels, the higher the faster. Returns how many versions were measured between the ends.
fn search_in_rounds(mut bisection: Bisection, levels: &[f64], noise: f64, seed: usize) -> (Bisection, usize) {
    let mut simulation = Simulation::new("bisection in rounds", seed);
    let mut measured = 0;
    while let Some(probe) = bisection.probe() {
        let (before, version, margin) = match probe {
            BisectionProbe::Ends => (0, levels.len() - 1, 0.02),
            BisectionProbe::Middle { before, version, margin, .. } => (before, version, margin),
        };
        measured += usize::from(matches!(probe, BisectionProbe::Middle { .. }));
        let decision = decide(levels[version] - levels[before], noise, margin, &mut simulation);
        bisection.learn(Some(BisectionEvidence::Throughput(&decision))).unwrap();
    }
    (bisection, measured)
}

#[test]
fn in_rounds_the_first_slower_version_is_found() {
    for (effect, least) in [(-0.05, 60), (0.7, 60), (-0.03, 58)] {
        let found = |seed: usize| {
            let began = 1 + seed % 29;
            let levels: Vec<f64> =
                (0..30).map(|version| if version < began { 0.0 } else { effect }).collect();
            let (found, measured) = search_in_rounds(Bisection::new(30).unwrap(), &levels, 0.01, seed);
            let is_right = places(&found) == [(began - 1, began, Began)];
            assert!(!is_right || measured <= 5, "{measured} of 30");
            is_right
        };
        let right = (0..60).filter(|seed| found(*seed)).count();
        assert!(right >= least, "{right} of 60 at {effect}");
    }
}

#[test]
fn in_rounds_ends_that_are_equal_end_the_search() {
    let (found, measured) = search_in_rounds(Bisection::new(9).unwrap(), &[0.0; 9], 0.005, 1);
    assert_eq!((found.end(), measured), (Some(BisectionEnd::Unchanged), 0));
}

#[test]
fn in_rounds_a_version_half_way_has_a_change_on_either_side() {
    for levels in [[0.0, -0.0501, -0.1], [0.0, 0.2, -0.1], [0.0, -0.2, -0.1]] {
        let (found, _) = search_in_rounds(Bisection::new(3).unwrap(), &levels, 0.01, 3);
        assert_eq!(places(&found), [(0, 1, Began), (1, 2, Began)], "{levels:?}");
        assert!((sum(&found) - found.whole().unwrap()).abs() < 1e-9);
        assert!((sum(&found) + 0.1).abs() < 0.01, "{found:?}");
    }
}

#[test]
fn in_rounds_a_part_of_a_third_is_looked_for() {
    for (middle, expected) in
        [(-0.04, &[(0, 1, Began), (1, 2, Began)][..]), (-0.025, &[(1, 2, Began)]), (-0.075, &[(0, 1, Began)])]
    {
        let levels = [0.0, middle, -0.1];
        let (found, _) = search_in_rounds(Bisection::new(3).unwrap(), &levels, 0.002, 3);
        assert_eq!(places(&found), expected, "{middle}");
    }
}

#[test]
fn in_rounds_a_half_that_may_have_changed_is_told() {
    let mut bisection = Bisection::new(5).unwrap();
    let clear = decide(-0.1, 0.005, 0.02, &mut Simulation::new("bisection", 0));
    bisection.learn(Some(BisectionEvidence::Throughput(&clear))).unwrap();
    let on_the_margin = Decision {
        qualifier: Some(Qualifier::AtLeast(0.02)),
        estimate: Some(-0.06),
        interval: Some(Interval { lower: -0.1, upper: -0.02 }),
        ..clear
    };
    bisection.learn(Some(BisectionEvidence::Throughput(&on_the_margin))).unwrap();
    assert_eq!((places(&bisection), bisection.open()), (vec![(2, 4, Undecided(2))], vec![(0, 2)]));
    let missed_rate = Decision { qualifier: Some(Qualifier::MissedRate), ..on_the_margin };
    bisection.learn(Some(BisectionEvidence::Throughput(&missed_rate))).unwrap();
    assert_eq!(places(&bisection), [(0, 2, Undecided(1)), (2, 4, Undecided(2))]);
    assert_eq!(bisection.end(), Some(BisectionEnd::Found));
}

#[test]
fn in_rounds_two_changes_are_found() {
    let right = |seed: &usize| {
        let (first, second) = (1 + seed % 19, 20 + seed % 20);
        let levels: Vec<f64> = (0..40)
            .map(|version| [first, second].iter().filter(|began| **began <= version).count() as f64 * -0.06)
            .collect();
        let (found, _) = search_in_rounds(Bisection::new(40).unwrap(), &levels, 0.01, *seed);
        places(&found) == [(first - 1, first, Began), (second - 1, second, Began)]
    };
    let right = (0..60).filter(right).count();
    assert!(right >= 57, "{right} of 60");
}

#[test]
fn in_rounds_nobody_is_blamed_where_nothing_changed() {
    for seed in 0..300 {
        let bisection = Bisection::new(50).unwrap().even_if_equal();
        let (found, measured) = search_in_rounds(bisection, &[0.0; 50], 0.01, seed);
        assert!(found.changes().is_empty() && measured <= 5, "{found:?}");
    }
    let levels: Vec<f64> =
        (0..50).map(|version| if (10..40).contains(&version) { -0.08 } else { 0.0 }).collect();
    let (found, _) = search_in_rounds(Bisection::new(50).unwrap().even_if_equal(), &levels, 0.01, 1);
    assert_eq!(places(&found), [(9, 10, Began), (39, 40, Began)]);
}

#[test]
fn what_is_not_decided_stays_open() {
    let mut bisection = Bisection::new(5).unwrap();
    bisection.learn(None).unwrap();
    assert_eq!((bisection.end(), bisection.probe()), (Some(BisectionEnd::Open), None));
    assert_eq!((bisection.open(), bisection.whole()), (vec![], None));
    let mut bisection = Bisection::new(5).unwrap();
    let decision = decide(-0.1, 0.005, 0.02, &mut Simulation::new("bisection", 0));
    bisection.learn(Some(BisectionEvidence::Throughput(&decision))).unwrap();
    let Some(BisectionProbe::Middle { before: 0, version: 2, since: 4, margin }) = bisection.probe() else {
        panic!("{bisection:?}");
    };
    assert!((0.045..0.06).contains(&margin), "{margin}");
    bisection.learn(None).unwrap();
    assert_eq!(
        (bisection.end(), places(&bisection)),
        (Some(BisectionEnd::Found), vec![(0, 4, Undecided(2))])
    );
}

proptest! {
    #[test]
    fn in_rounds_every_place_is_found(versions in 2usize..200, place: prop::sample::Index) {
        let began = 1 + place.index(versions - 1);
        let levels: Vec<f64> = (0..versions).map(|version| if version < began { 0.0 } else { -0.2 }).collect();
        let (found, measured) = search_in_rounds(Bisection::new(versions).unwrap(), &levels, 1e-4, 1);
        prop_assert_eq!(places(&found), [(began - 1, began, Began)]);
        prop_assert!(measured <= 1 + versions.ilog2() as usize);
    }
}
