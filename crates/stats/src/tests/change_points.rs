//! Changes in histories of thirty versions.

use std::collections::BTreeMap;

use proptest::prelude::{any, prop};

use super::simulation::{Noise, Simulation};
use crate::change_point::{Change, History, HistoryError, calibrated_penalty, change_points, usual_penalty};

/// Thirty versions of five rounds with a standard deviation of 1 %, and changes at some versions.
fn history(index: usize, changes: &[(usize, f64)]) -> History {
    let mut simulation = Simulation::new("history", index);
    let rounds = |version: usize| {
        let level: f64 = changes.iter().filter(|(at, _)| *at <= version).map(|(_, by)| by).sum();
        simulation.effects(Noise::Gaussian, 5).iter().map(|noise| level + 0.01 * noise).collect()
    };
    History::new((0..30).map(rounds).collect(), 0.02).unwrap()
}

fn changes_of(history: History) -> Vec<Change> {
    change_points(&[history], |history| usual_penalty(history.versions()), 0.05).remove(0)
}

#[test]
fn few_histories_without_changes_show_one() {
    let shown = (0..400).filter(|index| !changes_of(history(*index, &[])).is_empty()).count();
    assert!(shown <= 20, "{shown} of 400");
}

#[test]
fn planted_changes_are_found_where_they_are() {
    let planted = [(8, -0.02), (15, 0.03), (22, -0.05)];
    let (mut found, mut held, mut spurious) = ([0; 3], 0, 0);
    for index in 0..200 {
        let changes = changes_of(history(10_000 + index, &planted));
        let at = |change: &Change, version: usize| change.version.abs_diff(version) <= 1;
        for (place, (version, by)) in planted.iter().enumerate() {
            if let Some(change) = changes.iter().find(|change| at(change, *version)) {
                found[place] += 1;
                held += usize::from(change.interval.contains(*by));
            }
        }
        spurious +=
            changes.iter().filter(|change| planted.iter().all(|(version, _)| !at(change, *version))).count();
    }
    println!("found {found:?} of 200, intervals that hold {held} of 600, spurious {spurious}");
    assert!(found.iter().all(|found| *found >= 180), "{found:?}");
    assert!(held >= 540 && spurious <= 20, "{held} {spurious}");
}

#[test]
fn histories_are_confirmed_together() {
    let clear = history(1, &[(15, -0.05)]);
    let together: Vec<History> = (0..20).map(|index| history(500 + index, &[])).chain([clear]).collect();
    let changes = change_points(&together, |history| usual_penalty(history.versions()), 0.05);
    assert_eq!(changes.len(), 21);
    assert!(changes[20].len() == 1 && changes[20][0].version.abs_diff(15) <= 1, "{:?}", changes[20]);
}

#[test]
fn small_changes_are_not_told_and_odd_histories_have_none() {
    assert_eq!(changes_of(history(3, &[(15, 0.008)])), []);
    assert_eq!(changes_of(History::default()), []);
    assert_eq!(changes_of(History::new(vec![vec![0.0], vec![5.0], vec![5.0]], 0.02).unwrap()), []);
    assert_eq!(changes_of(History::new(vec![vec![0.1; 5]; 4], 0.02).unwrap()), []);
}

/// An anchor and this many versions whose rounds each have a noise of 1 %, with a change at the first version after the anchor.
fn anchored(index: usize, versions: usize, by: f64) -> Vec<Change> {
    let mut simulation = Simulation::new("anchored", index);
    let anchor = simulation.effects(Noise::Gaussian, 8);
    let effects = |_| -> Vec<f64> {
        let own = simulation.effects(Noise::Gaussian, 8);
        own.iter().zip(&anchor).map(|(own, anchor)| by + 0.01 * (own - anchor)).collect()
    };
    let effects = (0..versions).map(effects).collect();
    changes_of(History::anchored(effects, 0.02).unwrap())
}

#[test]
fn the_luck_of_the_anchor_is_no_change_and_in_the_interval() {
    for versions in [1, 2, 5, 20] {
        let shown = (0..400).filter(|index| !anchored(*index, versions, 0.0).is_empty()).count();
        let found: Vec<Change> = (0..400).flat_map(|index| anchored(index, versions, -0.05)).collect();
        let at_first: Vec<&Change> = found.iter().filter(|change| change.version == 1).collect();
        let held = at_first.iter().filter(|change| change.interval.contains(-0.05)).count();
        println!(
            "{versions}: shown {shown}, found {}, held {held}, others {}",
            at_first.len(),
            found.len() - at_first.len()
        );
        assert!(shown <= 28, "{shown} of 400 with {versions}");
        assert!(at_first.len() >= 390 && held * 100 >= at_first.len() * 92, "{held} of {}", at_first.len());
        assert!(found.len() - at_first.len() <= 20, "{} others", found.len() - at_first.len());
    }
}

#[test]
fn levels_against_the_anchor_stay() {
    let history = History::anchored(vec![vec![0.1, 0.3], vec![], vec![-0.5, -0.1]], 0.02).unwrap();
    let means: Vec<Option<f64>> = history.means().collect();
    let expected = [Some(0.0), Some(0.2), None, Some(-0.3)];
    let is_near = |(mean, expected): (&Option<f64>, &Option<f64>)| match (mean, expected) {
        (Some(mean), Some(expected)) => (mean - expected).abs() < 1e-12,
        (mean, expected) => mean == expected,
    };
    assert!(means.iter().zip(&expected).all(is_near), "{means:?}");
    assert_eq!((history.versions(), history.rounds()), (4, 2));
}

proptest::proptest! {
    #[test]
    fn any_history_is_judged_or_refused(
        versions in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..6), 0..8),
        scale in 1e-12..1.0f64,
        margin: f64,
    ) {
        let _ = History::new(versions.clone(), margin).map(changes_of);
        let scaled = |value: &f64| if value.is_finite() { scale * value.clamp(-700.0, 700.0) } else { 0.0 };
        let versions = versions.iter().map(|rounds| rounds.iter().map(scaled).collect()).collect();
        let history = History::new(versions, 0.02).unwrap();
        proptest::prop_assert!(calibrated_penalty(&history, 0.05, 5, 1) >= 0.0);
        for change in changes_of(history) {
            proptest::prop_assert!(change.magnitude.abs() >= 0.01 && change.interval.contains(change.magnitude));
        }
    }
}

#[test]
fn what_is_no_history_is_refused() {
    let error = History::new(vec![vec![0.1], vec![0.1, f64::NAN]], 0.02).unwrap_err();
    assert!(error.to_string().starts_with("round 2 of version 2: NaN"), "{error}");
    assert_eq!(History::new(vec![], -1.0), Err(HistoryError::Margin(-1.0)));
}

#[test]
fn a_calibrated_penalty_lets_one_of_twenty_histories_through() {
    let penalty = calibrated_penalty(&history(0, &[]), 0.05, 200, 1);
    assert!((6.0..=12.0).contains(&penalty), "{penalty}");
    assert_eq!(penalty, calibrated_penalty(&history(0, &[]), 0.05, 200, 1));
    assert!(penalty <= calibrated_penalty(&history(0, &[]), 0.01, 200, 1));
}

/// One version a night in five rounds, the first six nights against one anchor and the rest against another, which is faster by 3 % and was
/// compared with the first in five rounds. All rounds vary by 1 %.
fn with_handover(index: usize, levels: &[f64]) -> Vec<Change> {
    let mut simulation = Simulation::new("handover", index);
    let mut effects = |night: usize, level: f64| -> BTreeMap<(usize, usize), f64> {
        let noise = simulation.effects(Noise::Gaussian, 5).into_iter().enumerate();
        noise.map(|(round, noise)| ((night, round), level + 0.01 * noise)).collect()
    };
    let (before, after) = levels.split_at(6);
    let mut versions: Vec<_> =
        before.iter().enumerate().map(|(night, level)| (0, effects(night, *level))).collect();
    let handover = effects(6, 0.03);
    versions.extend(after.iter().enumerate().map(|(night, level)| (1, effects(7 + night, *level - 0.03))));
    let handovers = [handover.into_values().collect()];
    changes_of(History::of_anchors(versions, &handovers, 0.02).unwrap())
}

#[test]
fn the_error_of_a_handover_is_no_change_and_in_the_interval() {
    let shown = (0..400).filter(|index| !with_handover(*index, &[0.0; 12]).is_empty()).count();
    let found: Vec<Change> =
        (0..400).flat_map(|index| with_handover(index, &[[0.0; 6], [-0.04; 6]].concat())).collect();
    let at_handover: Vec<&Change> = found.iter().filter(|change| change.version == 6).collect();
    let held = at_handover.iter().filter(|change| change.interval.contains(-0.04)).count();
    println!("shown {shown} of 400, found {}, held {held}", at_handover.len());
    assert!(shown <= 20, "{shown} of 400");
    assert!(at_handover.len() >= 390 && held * 100 >= at_handover.len() * 93, "{held}");
}

#[test]
fn behind_a_handover_of_one_round_no_version_has_a_level() {
    let version = |anchor, level: f64| (anchor, BTreeMap::from([((anchor, 0), level), ((anchor, 1), level)]));
    let levels = |handover: Vec<f64>| -> Vec<Option<f64>> {
        let versions = vec![version(0, 0.1), version(1, 0.2)];
        History::of_anchors(versions, &[handover], 0.02).unwrap().means().collect()
    };
    assert_eq!(levels(vec![0.5]), [Some(0.1), None]);
    assert_eq!(levels(vec![0.5, 0.75]), [Some(0.1), Some(0.825)]);
}

/// Two versions a night measured against the anchor, in five rounds whose anchor is lucky or unlucky by 2 %.
fn nightly(index: usize, levels: &[f64]) -> Vec<Change> {
    let mut simulation = Simulation::new("nightly", index);
    let mut versions = Vec::new();
    for (night, levels) in levels.chunks(2).enumerate() {
        let anchor = simulation.effects(Noise::Gaussian, 5);
        for level in levels {
            let own = simulation.effects(Noise::Gaussian, 5);
            let effects = own.iter().zip(&anchor).map(|(own, anchor)| level + 0.01 * own - 0.02 * anchor);
            versions.push((0, (0..5).map(|round| (night, round)).zip(effects).collect()));
        }
    }
    changes_of(History::of_anchors(versions, &[], 0.02).unwrap())
}

#[test]
fn what_versions_of_one_night_have_in_common_counts_once() {
    let shown = (0..400).filter(|index| !nightly(*index, &[0.0; 12]).is_empty()).count();
    let found = (0..200).filter(|index| {
        let changes = nightly(*index, &[[0.0; 6], [-0.08; 6]].concat());
        changes.iter().any(|change| change.version == 6 && change.interval.contains(-0.08))
    });
    let found = found.count();
    println!("shown {shown} of 400, found {found} of 200");
    assert!(shown <= 20 && found >= 180, "{shown} {found}");
}
