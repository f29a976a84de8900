//! Searches by counts.

use super::*;

#[test]
fn by_work_every_place_is_found() {
    let find = |versions: usize, began: usize| {
        let mut simulation = Simulation::new("places", began);
        let truth = Versions::with_changes(versions, &[(began, 0.03)]);
        let (found, tried) = truth.search(Bisection::new(versions).unwrap(), 1e-4, &mut simulation);
        assert_eq!(places(&found), [(began - 1, began, Began)], "{began} of {versions}");
        assert_eq!(found.end(), Some(BisectionEnd::Found));
        let halvings = (versions - 1).next_power_of_two().ilog2() as usize;
        assert!(tried.len() <= 2 + halvings, "{} of {versions}", tried.len());
    };
    for versions in 2..=48 {
        (1..versions).for_each(|began| find(versions, began));
    }
    for versions in 49..=2000 {
        let elsewhere = 1 + versions * 7919 % (versions - 1);
        [1, elsewhere, versions / 2, versions - 1].into_iter().for_each(|began| find(versions, began));
    }
}

#[test]
fn two_changes_add_up_to_the_whole() {
    for seed in 0..100 {
        let mut simulation = Simulation::new("two changes", seed);
        let first = 1 + (simulation.uniform() * 298.0) as usize;
        let second = first + 1 + (simulation.uniform() * (299 - first) as f64) as usize;
        let truth = Versions::with_changes(300, &[(first, 0.03), (second, -0.02)]);
        let (found, tried) = truth.search(Bisection::new(300).unwrap(), 1e-4, &mut simulation);
        assert_eq!(places(&found), [(first - 1, first, Began), (second - 1, second, Began)]);
        assert!((sum(&found) - found.whole().unwrap()).abs() < 0.001, "{found:?}");
        assert!((found.changes()[1].effect.unwrap() + 0.02).abs() < 0.0005, "{found:?}");
        assert!(tried.len() <= 2 + 2 * 9, "{} of 300", tried.len());
    }
}

#[test]
fn changes_that_cancel_are_found_by_samples() {
    for seed in 0..50 {
        let mut simulation = Simulation::new("samples", seed);
        let first = 1 + (simulation.uniform() * 100.0) as usize;
        let second = first + 80 + (simulation.uniform() * 100.0) as usize;
        let truth = Versions::with_changes(300, &[(first, 0.03), (second, -0.03)]);
        let sampled = Bisection::new(300).unwrap().sampling(7);
        let (found, tried) = truth.search(sampled, 1e-4, &mut simulation);
        assert_eq!(places(&found), [(first - 1, first, Began), (second - 1, second, Began)]);
        assert!(tried.len() <= 2 + 7 + 2 * 6, "{} of 300", tried.len());
    }
    let truth = Versions::with_changes(300, &[(150, 0.03)]);
    let mut simulation = Simulation::new("samples", 0);
    let (found, tried) = truth.search(Bisection::new(300).unwrap().sampling(7), 1e-4, &mut simulation);
    assert_eq!(places(&found), [(149, 150, Began)]);
    let sampled = [37, 74, 112, 187, 224, 261]
        .iter()
        .filter(|at| tried.iter().any(|one| one.abs_diff(**at) < 4))
        .count();
    assert_eq!(sampled, 6, "the whole range is sampled, whatever differs: {tried:?}");
}

#[test]
fn work_decides_which_halves_differ() {
    let unchanged = search_by_work(&[0.0, 0.001, 0.002]);
    assert_eq!((unchanged.end(), places(&unchanged)), (Some(BisectionEnd::Unchanged), vec![]));
    assert!((unchanged.whole().unwrap() - 0.002).abs() < 0.001);
    let up_and_down = search_by_work(&[0.0, 0.0, 0.02, -0.04, -0.04]);
    assert_eq!(places(&up_and_down), [(1, 2, Began), (2, 3, Began)]);
    let hardly = search_by_work(&[0.0, 0.0, 0.0, 0.0053, 0.0053, 0.0053]);
    assert_eq!(places(&hardly), [(2, 3, Began)]);
    let crept = search_by_work(&[0.0, 0.002, 0.004, 0.006, 0.008]);
    assert_eq!(places(&crept), [(0, 4, Undecided(2))]);
    let little = search_by_work(&[0.0, 0.0, 0.0, 0.003, 0.003, 0.003, 0.003]);
    assert!(matches!(little.end(), Some(BisectionEnd::Unchanged)));
    let crept_and_jumped = search_by_work(&[0.0, 0.002, 0.004, 0.004, 0.034]);
    assert_eq!(places(&crept_and_jumped), [(3, 4, Began)], "0.4 % do not matter");
}

#[test]
fn two_versions_are_compared() {
    assert_eq!(Bisection::new(1), None);
    assert_eq!(places(&search_by_work(&[0.0, 0.02])), [(0, 1, Began)]);
    assert_eq!(search_by_work(&[0.0, 0.0]).end(), Some(BisectionEnd::Unchanged));
    let even_so = Bisection::new(2).unwrap().even_if_equal();
    let truth = Versions::with_changes(2, &[]);
    let (found, _) = truth.search(even_so, 1e-4, &mut Simulation::new("two", 0));
    assert_eq!(found.end(), Some(BisectionEnd::Unchanged));
}

#[test]
fn where_nothing_changed_nobody_is_blamed() {
    for seed in 0..1000 {
        let mut simulation = Simulation::new("equal ends", seed);
        let versions = 3 + (simulation.uniform() * 500.0) as usize;
        let truth = Versions::with_changes(versions, &[]).breaking(|_| simulation.happens(0.1));
        let bisection = Bisection::new(versions).unwrap().even_if_equal();
        let (found, tried) = truth.search(bisection, 3e-4, &mut simulation);
        assert_eq!((found.end(), found.changes()), (Some(BisectionEnd::Found), &[][..]));
        assert!(tried.len() <= 2 + 3.max(versions.ilog2() as usize), "{} of {versions}", tried.len());
    }
    let stays = search_by_work(&[0.0; 100]);
    assert_eq!(
        (stays.end(), stays.whole().map(|whole| whole.abs() < 0.001)),
        (Some(BisectionEnd::Unchanged), Some(true))
    );
}

#[test]
fn changes_that_cancel_are_found_if_a_sample_lies_between_them() {
    for (first, second) in [(3, 70), (26, 99), (40, 55), (24, 26)] {
        let truth = Versions::with_changes(100, &[(first, 0.03), (second, -0.03)]);
        let bisection = Bisection::new(100).unwrap().even_if_equal();
        let (found, _) = truth.search(bisection, 1e-4, &mut Simulation::new("cancel", first));
        assert_eq!(places(&found), [(first - 1, first, Began), (second - 1, second, Began)]);
        assert!(sum(&found).abs() < 0.001);
    }
}

#[test]
fn preferred_versions_are_taken_from_the_middle_third() {
    let first_of = |preferred: &[usize]| {
        let preferred = (0..91).map(|version| preferred.contains(&version)).collect();
        let bisection = Bisection { preferred, ..begun(91) };
        match bisection.probe() {
            Some(BisectionProbe::Middle { version, .. }) => version,
            probe => panic!("{probe:?}"),
        }
    };
    assert_eq!([&[][..], &[32, 75], &[28, 62], &[40, 59]].map(first_of), [45, 32, 45, 40]);
}

#[test]
fn preferred_versions_cost_few_tries() {
    let mut most = 0;
    for began in 1..300 {
        let mut simulation = Simulation::new("preferred", began);
        let preferred = (0..300).map(|_| simulation.happens(0.1)).collect();
        let bisection = Bisection::new(300).unwrap().preferring(preferred);
        let truth = Versions::with_changes(300, &[(began, 0.03)]);
        let (found, tried) = truth.search(bisection, 1e-4, &mut simulation);
        assert_eq!(places(&found), [(began - 1, began, Began)]);
        most = most.max(tried.len());
    }
    assert!(most <= 2 + 12, "{most} tries");
}

#[test]
fn versions_with_one_window_are_put_on_a_side() {
    for began in 1..30 {
        let mut bisection = Bisection::new(30).unwrap();
        while bisection.probe().is_some() {
            let window = |version: usize| {
                let instructions = if version < began { 1e6 } else { 1.006e6 };
                let starts = if [0, 29].contains(&version) { 2 } else { 1 };
                (0..starts).map(|start| WorkWindow { start, instructions }).collect()
            };
            let course = WorkCourse { kind: WorkKind::Read, versions: (0..30).map(window).collect() };
            bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: DETECT })).unwrap();
        }
        assert_eq!(places(&bisection), [(began - 1, began, Began)]);
    }
}

#[test]
fn counts_that_scatter_blame_nobody_else() {
    let right = |seed: &usize| {
        let mut simulation = Simulation::new("scatter", *seed);
        let began = 1 + seed % 99;
        let truth = Versions::with_changes(100, &[(began, 0.03)]);
        let (found, _) = truth.search(Bisection::new(100).unwrap(), 3e-3, &mut simulation);
        let is_covered = |change: &BisectedChange| change.before < began && began <= change.since;
        found.changes().iter().all(is_covered)
    };
    let right = (0..200).filter(right).count();
    assert!(right >= 190, "{right} of 200");
}

#[test]
fn what_comes_next_is_known_ahead() {
    assert_eq!(Bisection::new(17).unwrap().ahead(), [8]);
    for began in [1, 16] {
        let mut bisection = begun(17);
        while bisection.end().is_none() {
            let ahead = bisection.ahead();
            learn_levels(&mut bisection, 17, |version| if version < began { 0.0 } else { 0.03 });
            if let Some(BisectionProbe::Middle { version, .. }) = bisection.probe() {
                assert!(ahead.contains(&version), "{version} is not among {ahead:?}");
            }
        }
        assert!(bisection.ahead().is_empty());
    }
}

#[test]
fn counts_that_are_missing_or_impossible_decide_nothing() {
    let window = WorkWindow { start: 0, instructions: 100.0 };
    let course = WorkCourse { kind: WorkKind::Read, versions: vec![vec![window], vec![], vec![]] };
    let mut bisection = Bisection::new(3).unwrap();
    bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: DETECT })).unwrap();
    assert_eq!((bisection.end(), bisection.whole()), (Some(BisectionEnd::Open), None));
    let mut bisection = begun(3);
    let before = bisection.clone();
    let impossible = WorkWindow { start: 0, instructions: f64::NAN };
    let impossible = WorkCourse { kind: WorkKind::Read, versions: vec![vec![impossible]; 3] };
    let evidence = BisectionEvidence::Work { course: &impossible, margin: DETECT };
    assert!(bisection.learn(Some(evidence)).is_err());
    assert_eq!(bisection, before);
    bisection.learn(Some(BisectionEvidence::Work { course: &course, margin: DETECT })).unwrap();
    assert_eq!(places(&bisection), [(0, 2, Undecided(1))]);
}

proptest! {
    #[test]
    fn clear_changes_are_all_found(
        changes in prop::collection::btree_map(1usize..200, prop_oneof![-0.1..-0.02, 0.02..0.1], 1..4),
    ) {
        let changes: Vec<(usize, f64)> = changes.into_iter().collect();
        let sums: Vec<f64> = changes.iter().scan(0.0, |sum, change| { *sum += change.1; Some(*sum) }).collect();
        let levels = std::iter::once(&0.0).chain(&sums);
        // None of the levels is equal to another, so that nothing cancels.
        let are_apart = levels.clone().enumerate().all(|(at, one)| {
            levels.clone().skip(at + 1).all(|other| (one - other).abs() > 0.006)
        });
        prop_assume!(are_apart);
        let truth = Versions::with_changes(200, &changes);
        let (found, tried) = truth.search(Bisection::new(200).unwrap(), 1e-4, &mut Simulation::new("several", 0));
        let expected: Vec<_> = changes.iter().map(|(began, _)| (began - 1, *began, Began)).collect();
        prop_assert_eq!(places(&found), expected);
        prop_assert!((sum(&found) - found.whole().unwrap()).abs() < 0.002);
        prop_assert!(tried.len() <= 2 + 8 * changes.len());
    }
}
