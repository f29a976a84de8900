//! What is found in simulated sessions whose truth is known.

use basecase_model::{SessionRecord, names};

use super::*;
use crate::tests::simulation::Simulation;

/// How sessions are simulated. Counters and times are logarithms.
#[derive(Debug, Clone, Copy)]
struct Course {
    starts: usize,
    sessions: usize,
    /// Standard deviation of a counter per operation from session to session, and from start to start.
    counter: (f64, f64),
    /// The share of the contender's sessions in which a query takes twenty page faults and not one.
    faulty: f64,
    /// How much longer a query takes then.
    cost: f64,
    /// Standard deviation of times from session to session, and from start to start.
    time: (f64, f64),
}

const USUAL: Course =
    Course { starts: 6, sessions: 15, counter: (0.3, 0.0), faulty: 0.0, cost: 0.0, time: (0.03, 0.01) };

const OPERATIONS: f64 = 2000.0;

/// What an operation usually takes of each counter that may tell sessions apart.
const COUNTERS: [(&str, f64); 7] = [
    (names::SERVER_MINOR_FAULTS, 1.0),
    (names::SERVER_MAJOR_FAULTS, 1.0),
    (names::SERVER_READ_BYTES, 8192.0),
    (names::SERVER_VOLUNTARY_SWITCHES, 1.0),
    (names::SERVER_INVOLUNTARY_SWITCHES, 1.0),
    (names::SERVER_CPU_SYSTEM_US, 200.0),
    (names::SERVER_CPU_US, 1000.0),
];

/// The records of base and contender with the effect of each pair.
fn simulated(course: Course, index: usize) -> Vec<Simulated> {
    let mut simulation = Simulation::new("sessions", index);
    let mut all = Vec::new();
    for start in 0..course.starts {
        let luck = course.time.1 * simulation.gaussian();
        let levels = [0, 1].map(|_| course.counter.1 * simulation.gaussian());
        for number in 0..course.sessions {
            let is_faulty = simulation.happens(course.faulty);
            let mut effect = luck + course.time.0 * simulation.gaussian();
            let records = [0, 1].map(|side| {
                let mut record = SessionRecord {
                    number: number as u32,
                    operations: OPERATIONS as u64,
                    ..SessionRecord::default()
                };
                for (name, usual) in COUNTERS {
                    let is_more = side == 1 && is_faulty && name == names::SERVER_MINOR_FAULTS;
                    let more = if is_more { 20f64.ln() } else { 0.0 };
                    let amount =
                        usual * (levels[side] + course.counter.0 * simulation.gaussian() + more).exp();
                    record.counters.set(name, (OPERATIONS * amount).round());
                }
                record
            });
            if is_faulty {
                effect -= course.cost;
            }
            all.push((start, records, effect));
        }
    }
    all
}

/// A start, the records of base and contender, and their effect.
type Simulated = (usize, [SessionRecord; 2], f64);

fn among(simulated: &[Simulated], margin: f64) -> Option<Sessions> {
    let pairs: Vec<SessionPair<'_>> = simulated
        .iter()
        .map(|(start, records, effect)| SessionPair {
            start: *start,
            records: records.each_ref(),
            effect: *effect,
        })
        .collect();
    Sessions::among(&pairs, margin)
}

fn found(course: Course, index: usize) -> Sessions {
    among(&simulated(course, index), 0.02).unwrap()
}

#[test]
fn one_mode_is_seldom_taken_for_two() {
    for (starts, sessions, runs) in [(3, 5, 600), (5, 4, 400), (5, 13, 150), (12, 2, 300), (20, 8, 60)] {
        for counter in [(0.3, 0.0), (1.0, 0.0), (0.1, 0.5)] {
            let course = Course { starts, sessions, counter, ..USUAL };
            let is_wrong = |index: &usize| found(course, *index).modes.iter().any(Option::is_some);
            let wrong = (0..runs).filter(is_wrong).count();
            assert!(50 * wrong <= runs, "{wrong} of {runs}: {course:?}");
        }
    }
}

#[test]
fn a_third_of_the_sessions_is_found_with_its_share_and_its_effect() {
    const RUNS: usize = 200;
    for (starts, sessions, time) in [(6, 15, (0.03, 0.01)), (4, 8, (0.02, 0.02)), (12, 8, (0.03, 0.03))] {
        let course = Course { starts, sessions, faulty: 1.0 / 3.0, cost: 0.08, time, ..USUAL };
        let all: Vec<Sessions> = (0..RUNS).map(|index| found(course, index)).collect();
        let modes: Vec<&SessionModes> = all.iter().filter_map(|found| found.modes[1].as_ref()).collect();
        assert!(modes.len() * 100 >= 95 * RUNS, "{} of {RUNS} found: {course:?}", modes.len());
        let faults = Telltale::Counter(names::SERVER_MINOR_FAULTS);
        assert!(modes.iter().all(|found| found.telltale == faults));
        let (mut shares, mut effects) = (0, 0);
        for [usual, faulty] in modes.iter().map(|found| &found.modes) {
            let [low, high] = faulty.share_interval;
            shares += usize::from((low..=high).contains(&(1.0 / 3.0)));
            let holds =
                |mode: &SessionMode, truth| mode.effect.interval.is_some_and(|own| own.contains(truth));
            effects += usize::from(holds(usual, 0.0)) + usize::from(holds(faulty, -0.08));
            assert!(faulty.per_operation > Some(10.0) && usual.per_operation < Some(2.0));
        }
        assert!(shares * 100 >= 92 * modes.len(), "{shares} shares of {}: {course:?}", modes.len());
        assert!(
            effects * 100 >= 2 * 92 * modes.len(),
            "{effects} effects of {}: {course:?}",
            2 * modes.len()
        );
    }
}

#[test]
fn a_fault_has_the_price_that_was_planted() {
    const RUNS: usize = 200;
    for (starts, sessions, time) in [(6, 15, (0.03, 0.01)), (5, 13, (0.05, 0.0)), (4, 8, (0.02, 0.02))] {
        let course = Course { starts, sessions, faulty: 1.0 / 3.0, cost: 0.08, time, counter: (0.05, 0.0) };
        let (mut faults, mut switches) = (0, 0);
        for found in (0..RUNS).map(|index| found(course, index)) {
            // Nineteen faults more cost 8 %, and a switch costs nothing.
            let holds = |name, truth| found.price(name).is_some_and(|price| price.interval.contains(truth));
            faults += usize::from(holds(names::SERVER_MINOR_FAULTS, 0.08 / 19.0));
            switches += usize::from(holds(names::SERVER_VOLUNTARY_SWITCHES, 0.0));
        }
        assert!(faults * 100 >= 92 * RUNS && switches * 100 >= 92 * RUNS, "{faults}, {switches}: {course:?}");
    }
}

#[test]
fn groups_that_both_sides_share_are_the_machines() {
    let course = Course { faulty: 1.0 / 3.0, ..USUAL };
    let mut records = simulated(course, 1);
    let modes = |records: &[Simulated]| among(records, 0.02).unwrap().modes;
    assert!(modes(&records)[1].is_some());
    records.iter_mut().for_each(|(_, [base, contender], _)| base.counters = contender.counters.clone());
    assert_eq!(modes(&records), [None, None]);
}

#[test]
fn sessions_that_no_counter_tells_apart_may_still_differ_in_speed() {
    let mut records = simulated(USUAL, 1);
    records.iter_mut().enumerate().for_each(|(number, (_, _, effect))| {
        *effect = if number % 4 == 0 { 0.3 } else { 0.0 } + 0.1 * *effect;
    });
    let [base, contender] = among(&records, 0.02).unwrap().modes;
    let contender = contender.unwrap();
    assert_eq!((base, contender.telltale), (None, Telltale::Throughput));
    assert!((contender.difference() - 0.3).abs() < 0.01);
    // Far below what matters, it is not told.
    assert_eq!(among(&records, 0.4).unwrap().modes, [None, None]);
}

#[test]
fn few_sessions_and_starts_with_one_session_each_tell_nothing() {
    for (starts, sessions) in [(3, 3), (20, 1)] {
        let records = simulated(Course { starts, sessions, ..USUAL }, 1);
        assert_eq!(among(&records, 0.02), None);
    }
}
