//! Changes in histories of thirty versions.

use super::simulation::{Noise, Simulation};
use crate::change_point::{Change, History, calibrated_penalty, change_points, usual_penalty};

/// Thirty versions of five rounds with a standard deviation of 1 %, and changes at some versions.
fn history(index: usize, changes: &[(usize, f64)]) -> History {
    let mut simulation = Simulation::new("history", index);
    let rounds = |version: usize| {
        let level: f64 = changes.iter().filter(|(at, _)| *at <= version).map(|(_, by)| by).sum();
        simulation.effects(Noise::Gaussian, 5).iter().map(|noise| level + 0.01 * noise).collect()
    };
    History { versions: (0..30).map(rounds).collect(), margin: 0.02 }
}

fn changes_of(history: History) -> Vec<Change> {
    change_points(&[history], |history| usual_penalty(history.versions.len()), 0.05).remove(0)
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
    let changes = change_points(&together, |history| usual_penalty(history.versions.len()), 0.05);
    assert_eq!(changes.len(), 21);
    assert!(changes[20].len() == 1 && changes[20][0].version.abs_diff(15) <= 1, "{:?}", changes[20]);
}

#[test]
fn small_changes_are_not_told_and_odd_histories_have_none() {
    assert_eq!(changes_of(history(3, &[(15, 0.008)])), []);
    assert_eq!(changes_of(History::default()), []);
    assert_eq!(changes_of(History { versions: vec![vec![0.0], vec![5.0], vec![5.0]], margin: 0.02 }), []);
    assert_eq!(changes_of(History { versions: vec![vec![0.1; 5]; 4], margin: 0.02 }), []);
}

#[test]
fn a_calibrated_penalty_lets_one_of_twenty_histories_through() {
    let penalty = calibrated_penalty(&history(0, &[]), 0.05, 200, 1);
    assert!((6.0..=12.0).contains(&penalty), "{penalty}");
    assert_eq!(penalty, calibrated_penalty(&history(0, &[]), 0.05, 200, 1));
    assert!(penalty <= calibrated_penalty(&history(0, &[]), 0.01, 200, 1));
}
