//! Versions that cannot be built or measured.

use super::*;

/// Searches with versions that are broken in this way: the largest number of tries, the share of answers that are as narrow as can be,
/// and by how many versions more than that 95 % of them are wide at most.
fn broken(versions: usize, runs: usize, is_broken: impl Fn(usize, f64, bool) -> bool) -> (usize, f64, usize) {
    let (mut most, mut narrowest, mut wider) = (0, 0, Vec::new());
    for seed in 0..runs {
        let mut simulation = Simulation::new("broken versions", seed);
        let began = 1 + (simulation.uniform() * (versions - 1) as f64) as usize;
        let place = simulation.uniform();
        let truth = Versions::with_changes(versions, &[(began, 0.03)])
            .breaking(|version| is_broken(version, place, simulation.happens(0.2)));
        let (found, tried) = truth.search(Bisection::new(versions).unwrap(), 1e-4, &mut simulation);
        let [change] = found.changes() else { panic!("{found:?}") };
        assert!(change.before < began && began <= change.since, "{change:?}, but it began with {began}");
        assert_eq!(change.kind == Began, change.before + 1 == change.since);
        assert!(found.skipped().iter().all(|version| truth.broken[*version]));
        let (before, since) = truth.range(began);
        narrowest += usize::from((before, since) == (change.before, change.since));
        wider.push((change.since - change.before) - (since - before));
        most = most.max(tried.len());
    }
    wider.sort_unstable();
    let wider = wider[runs * 95 / 100];
    println!(
        "{versions} versions: at most {most} tries, {narrowest} of {runs} as narrow as can be, 95 % at most {wider} wider"
    );
    (most, narrowest as f64 / runs as f64, wider)
}

#[test]
fn a_fifth_of_versions_may_be_broken() {
    for versions in [8, 20, 100, 300, 1000, 3000] {
        let (most, narrowest, wider) = broken(versions, 400, |_, _, is_broken| is_broken);
        assert!(most <= 2 + (2.0 * (versions as f64).log2()) as usize, "{most} tries");
        assert!(narrowest >= 0.95 && wider == 0, "{narrowest} of {versions}, {wider} wider");
    }
}

#[test]
fn a_quarter_of_versions_may_be_broken_in_one_range() {
    for versions in [8, 20, 100, 300, 1000, 3000] {
        let (most, narrowest, wider) = broken(versions, 400, |version, place, _| {
            let begin = 1.0 + place * (0.75 * versions as f64 - 1.0);
            (begin..begin + versions as f64 / 4.0).contains(&(version as f64))
        });
        assert!(most <= 2 + (2.0 * (versions as f64).log2()) as usize, "{most} tries");
        assert!(narrowest >= 0.7 && wider <= 1 + versions / 100, "{narrowest} of {versions}, {wider} wider");
    }
}

#[test]
fn a_fifth_and_a_range_may_be_broken() {
    for versions in [100, 1000] {
        let (most, narrowest, wider) = broken(versions, 400, |version, place, is_broken| {
            let begin = 1.0 + place * (0.75 * versions as f64 - 1.0);
            is_broken || (begin..begin + versions as f64 / 4.0).contains(&(version as f64))
        });
        assert!(most <= 2 + (2.0 * (versions as f64).log2()) as usize, "{most} tries");
        assert!(narrowest >= 0.6 && wider <= versions / 4, "{narrowest} of {versions}, {wider} wider");
    }
}

#[test]
fn without_an_end_nothing_is_searched() {
    for end in [0, 8] {
        let mut bisection = Bisection::new(9).unwrap();
        bisection.skip(end);
        assert_eq!((bisection.end(), bisection.probe()), (Some(BisectionEnd::NoEnd(end)), None));
        bisection.skip(4);
        bisection.learn(None).unwrap();
        assert_eq!((bisection.end(), bisection.skipped().len()), (Some(BisectionEnd::NoEnd(end)), 0));
    }
}

#[test]
fn if_all_between_are_broken_the_range_is_named() {
    let mut bisection = begun(5);
    for version in [2, 1, 3] {
        assert_eq!(bisection.open(), [(0, 4)]);
        bisection.skip(version);
    }
    assert_eq!((places(&bisection), bisection.end()), (vec![(0, 4, Unbuilt)], Some(BisectionEnd::Found)));
    let mut known_before = Bisection::new(3).unwrap();
    known_before.skip(1);
    assert_eq!((known_before.probe(), known_before.open()), (Some(BisectionProbe::Ends), vec![]));
    learn_levels(&mut known_before, 3, |version| version as f64);
    assert_eq!(places(&known_before), [(0, 2, Unbuilt)]);
}

#[test]
fn a_version_that_can_be_measured_no_more_leaves_its_intervals() {
    let mut bisection = begun(9);
    learn_levels(&mut bisection, 9, |version| 0.03 * version as f64);
    assert_eq!(bisection.open(), [(0, 4), (4, 8)]);
    bisection.skip(4);
    assert_eq!(places(&bisection), [(0, 4, Unbuilt), (4, 8, Unbuilt)]);
    assert_eq!(bisection.end(), Some(BisectionEnd::Found));
}

#[test]
fn a_range_known_to_be_broken_is_left_out() {
    for (began, widest) in [(300, 1), (500, 255), (700, 1)] {
        let truth = Versions::with_changes(1000, &[(began, 0.03)]).breaking(|at| (400..650).contains(&at));
        let mut bisection = Bisection::new(1000).unwrap();
        (400..650).for_each(|version| bisection.skip(version));
        let (found, tried) = truth.search(bisection, 1e-4, &mut Simulation::new("known", began));
        assert!(tried.iter().all(|version| !truth.broken[*version]));
        let [change] = found.changes() else { panic!("{found:?}") };
        assert!(tried.len() <= 2 + 19, "{} tries", tried.len());
        assert!(change.before < began && began <= change.since, "{change:?}");
        assert!(change.since - change.before <= widest, "{change:?}");
    }
}

#[test]
fn versions_that_fail_ahead_are_no_tries() {
    let is_broken = |version: usize| !version.is_multiple_of(50);
    let truth = Versions::with_changes(3000, &[(1234, 0.03)]).breaking(is_broken);
    let mut bisection = Bisection::new(3000).unwrap();
    (1..2999).filter(|version| is_broken(*version)).for_each(|version| bisection.skip(version));
    let (found, tried) = truth.search(bisection, 1e-4, &mut Simulation::new("ahead", 0));
    assert_eq!(places(&found), [(1200, 1250, Unbuilt)]);
    assert!(tried.len() <= 2 + 7, "{} tries", tried.len());
}
