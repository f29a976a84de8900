//! What the method promises, on invented windows whose truth is known.

use proptest::prelude::*;

use super::*;
use crate::tests::simulation::Simulation;

/// Steps of a family, as in the list of 32.
const STEPS: usize = 32;
/// Starts of each candidate, and windows of each start.
const STARTS: u32 = 2;
const WINDOWS: usize = 2;

/// Windows of a candidate whose starts and windows scatter by these standard deviations.
fn side(simulation: &mut Simulation, effect: f64, starts_sd: f64, windows_sd: f64) -> Vec<WorkWindow> {
    let mut windows = Vec::new();
    for start in 1..=STARTS {
        let luck = starts_sd * simulation.gaussian();
        for _ in 0..WINDOWS {
            let logarithm = effect + luck + windows_sd * simulation.gaussian();
            windows.push(WorkWindow { start, instructions: 300_000.0 * logarithm.exp() });
        }
    }
    windows
}

/// From 0.001 % to 0.3 %, each order of magnitude as often.
fn scatter(simulation: &mut Simulation) -> f64 {
    0.000_01 * 300_f64.powf(simulation.uniform())
}

fn family(simulation: &mut Simulation, effect: impl Fn(usize) -> f64) -> Vec<WorkComparison> {
    (0..STEPS)
        .map(|step| {
            let (starts, windows) = (scatter(simulation), scatter(simulation));
            WorkComparison {
                kind: WorkKind::Read,
                base: side(simulation, 0.0, starts, windows),
                contender: side(simulation, effect(step), starts, windows),
            }
        })
        .collect()
}

fn decide(family: &[WorkComparison]) -> Vec<WorkDecision> {
    WorkPlan::default().decide(family).unwrap()
}

#[test]
fn identical_candidates_get_no_verdict_of_change_and_intervals_hold() {
    const FAMILIES: usize = 400;
    let (mut with_change, mut same, mut missed) = (0, 0, 0);
    for index in 0..FAMILIES {
        let decisions = decide(&family(&mut Simulation::new("work A/A", index), |_| 0.0));
        with_change += usize::from(decisions.iter().any(|decision| decision.verdict.is_change()));
        same += decisions.iter().filter(|decision| decision.verdict == WorkVerdict::SameWork).count();
        missed += decisions.iter().filter(|decision| !decision.interval.unwrap().contains(0.0)).count();
    }
    let all = (FAMILIES * STEPS) as f64;
    println!(
        "families with a change {with_change}, same {:.3}, missed {:.4}",
        same as f64 / all,
        missed as f64 / all
    );
    assert!(with_change * 20 <= FAMILIES, "{with_change} families of {FAMILIES}");
    assert!(missed as f64 <= 0.05 * all, "{missed}");
    assert!(same as f64 >= 0.75 * all, "{same}");
}

#[test]
fn half_a_per_cent_and_two_are_found_and_intervals_hold_their_sizes() {
    const FAMILIES: usize = 200;
    let sizes = [0.005, 0.01, 0.02];
    let (mut found, mut missed, mut wrong, mut changes) = ([0; 3], 0, 0, 0);
    for index in 0..FAMILIES {
        // Three steps of 32 change.
        let effect = |step: usize| sizes.get(step).copied().unwrap_or(0.0);
        let decisions = decide(&family(&mut Simulation::new("work power", index), effect));
        for (step, decision) in decisions.iter().enumerate() {
            let is_change = decision.verdict.is_change();
            changes += usize::from(is_change);
            wrong += usize::from(is_change && step >= sizes.len());
            missed += usize::from(!decision.interval.unwrap().contains(effect(step)));
            if let Some(found) = found.get_mut(step) {
                *found += usize::from(decision.verdict == WorkVerdict::MoreWork);
            }
        }
    }
    println!("found {found:?} of {FAMILIES}; {wrong} of {changes} changes false; {missed} intervals missed");
    assert!(found[0] * 10 >= FAMILIES * 6, "{found:?}");
    assert!(found[2] * 20 >= FAMILIES * 19, "{found:?}");
    assert!(wrong * 20 <= changes, "{wrong} of {changes}");
    assert!(missed * 20 <= FAMILIES * STEPS, "{missed}");
}

#[test]
fn a_single_step_is_judged_by_itself() {
    const SERIES: usize = 4000;
    for sd in [0.000_01, 0.000_2, 0.001, 0.003] {
        let (mut changes, mut missed, mut same, mut found) = (0, 0, 0, 0);
        for index in 0..SERIES {
            let mut simulation = Simulation::new("one step", index);
            let mut one = |effect| {
                let base = side(&mut simulation, 0.0, sd, 0.5 * sd);
                let contender = side(&mut simulation, effect, sd, 0.5 * sd);
                decide(&[WorkComparison { kind: WorkKind::Write, base, contender }]).remove(0)
            };
            let decision = one(0.0);
            changes += usize::from(decision.verdict.is_change());
            same += usize::from(decision.verdict == WorkVerdict::SameWork);
            missed += usize::from(!decision.interval.unwrap().contains(0.0));
            found += usize::from(one(0.02).verdict == WorkVerdict::MoreWork);
        }
        println!("sd {sd}: changes {changes}, missed {missed}, same {same}, 2 % found {found} of {SERIES}");
        assert!(missed * 20 <= SERIES && changes <= missed, "sd {sd}: {missed} {changes}");
        assert!(sd > 0.000_5 || same * 100 >= SERIES * 99, "sd {sd}: {same}");
        assert!(sd > 0.002 || found * 10 >= SERIES * 9, "sd {sd}: {found}");
    }
}

/// Windows of two starts.
fn windows(counts: [f64; 4]) -> Vec<WorkWindow> {
    counts
        .iter()
        .zip([1, 1, 2, 2])
        .map(|(instructions, start)| WorkWindow { start, instructions: *instructions })
        .collect()
}

#[test]
fn six_statements_as_measured() {
    // Postgres 17.11 and 18.6 by the first form of `tools/crude_counts.py`, which froze rows: two starts, two windows each; of writes, two windows of their own starts.
    let reads = [
        ([235_531.3, 235_671.0, 235_552.0, 235_427.1], [234_172.1, 234_256.2, 234_042.2, 234_101.4]),
        ([35_590.3, 35_611.4, 35_508.1, 35_627.5], [36_368.9, 36_443.3, 36_416.2, 36_348.2]),
        (
            [1_242_777.0, 1_242_840.2, 1_242_964.9, 1_242_701.9],
            [1_178_041.8, 1_177_767.1, 1_177_837.8, 1_177_722.5],
        ),
        (
            [4_965_104.7, 4_967_319.0, 4_964_952.1, 4_967_018.3],
            [4_959_839.7, 4_963_303.5, 4_959_928.5, 4_963_346.8],
        ),
    ];
    let writes = [([79_170.4, 79_173.9], [81_694.6, 81_819.5]), ([66_070.7, 65_823.4], [67_499.0, 67_433.1])];
    let of_own_starts = |counts: [f64; 2]| -> Vec<WorkWindow> {
        counts
            .iter()
            .zip(1..)
            .map(|(instructions, start)| WorkWindow { start, instructions: *instructions })
            .collect()
    };
    let mut family = Vec::new();
    for (base, contender) in reads {
        let (base, contender) = (windows(base), windows(contender));
        family.push(WorkComparison { kind: WorkKind::Read, base, contender });
    }
    for (base, contender) in writes {
        let (base, contender) = (of_own_starts(base), of_own_starts(contender));
        family.push(WorkComparison { kind: WorkKind::Write, base, contender });
    }
    let decisions = decide(&family);
    let told: Vec<(WorkVerdict, String)> = decisions
        .iter()
        .map(|decision| {
            let Interval { lower, upper } = decision.interval.unwrap();
            (
                decision.verdict,
                format!(
                    "{:+.2} ({:+.2} to {:+.2})",
                    100.0 * decision.effect.unwrap(),
                    100.0 * lower,
                    100.0 * upper
                ),
            )
        })
        .collect();
    println!("{told:#?}");
    let verdicts: Vec<WorkVerdict> = told.iter().map(|(verdict, _)| *verdict).collect();
    use WorkVerdict::{LessWork, MoreWork, SameWork};
    assert_eq!(verdicts, [LessWork, MoreWork, LessWork, SameWork, MoreWork, MoreWork], "{told:#?}");
}

/// A step that is known to be quiet.
fn quiet_step(simulation: &mut Simulation) -> WorkComparison {
    let mut side = || side(simulation, 0.0, 0.000_02, 0.000_02);
    WorkComparison { kind: WorkKind::Read, base: side(), contender: side() }
}

#[test]
fn the_luck_of_one_session_widens_its_own_interval() {
    let mut simulation = Simulation::new("luck", 0);
    let mut family: Vec<WorkComparison> = (0..31).map(|_| quiet_step(&mut simulation)).collect();
    let calm = windows([10_274_261.0, 10_274_326.0, 10_274_237.0, 10_274_240.0]);
    let lucky = windows([10_293_901.0, 10_274_261.0, 10_274_326.0, 10_274_237.0]);
    family.push(WorkComparison { kind: WorkKind::Read, base: calm.clone(), contender: lucky });
    let decisions = decide(&family);
    let last = &decisions[31];
    // The mean is 0.05 % higher, and as uncertain as that.
    let interval = last.interval.unwrap();
    assert!(interval.lower < -0.000_2 && interval.upper > 0.001, "{last:?}");
    assert_eq!((last.verdict, last.contender.apart), (WorkVerdict::SameWork, Some(0)));
    assert!(decisions[..31].iter().all(|decision| decision.interval.unwrap().half_width() < 0.0006));
    // In both starts at once, their means agree and windows do not.
    let twice = windows([10_293_901.0, 10_274_261.0, 10_274_326.0, 10_293_890.0]);
    family[31] = WorkComparison { kind: WorkKind::Read, base: calm, contender: twice };
    assert!(decide(&family)[31].interval.unwrap().half_width() > 0.001);
}

#[test]
fn a_planted_tenth_of_a_per_cent_is_found_at_a_twentieth() {
    let mut simulation = Simulation::new("planted", 0);
    let mut family: Vec<WorkComparison> = (0..31).map(|_| quiet_step(&mut simulation)).collect();
    let contender = side(&mut simulation, 0.001, 0.000_02, 0.000_02);
    family.push(WorkComparison { kind: WorkKind::Read, base: family[0].base.clone(), contender });
    let plan = WorkPlan { margin: 1.0005_f64.ln(), ..WorkPlan::default() };
    let decision = plan.decide(&family).unwrap().remove(31);
    assert_eq!((decision.verdict, decision.qualifier), (WorkVerdict::MoreWork, Some(Qualifier::Clear)));
    assert!((decision.effect.unwrap() - 0.001).abs() < 0.0005, "{decision:?}");
}

#[test]
fn one_start_alone_borrows_from_the_others_and_says_nothing_without_them() {
    let mut simulation = Simulation::new("one start", 0);
    let mut family: Vec<WorkComparison> = (0..9).map(|_| quiet_step(&mut simulation)).collect();
    let one_start = |windows: &[WorkWindow]| windows[..2].to_vec();
    let short = WorkComparison {
        kind: WorkKind::Read,
        base: one_start(&family[0].base),
        contender: one_start(&family[0].contender),
    };
    let alone = decide(std::slice::from_ref(&short)).remove(0);
    assert_eq!((alone.verdict, alone.interval), (WorkVerdict::NotEnoughData, None));
    assert!(alone.effect.is_some());
    // Reads say nothing of writes.
    family.push(WorkComparison { kind: WorkKind::Write, ..short.clone() });
    assert_eq!(decide(&family)[9].verdict, WorkVerdict::NotEnoughData);
    family[9] = short;
    assert_eq!(decide(&family)[9].verdict, WorkVerdict::SameWork);
    let empty = WorkComparison { kind: WorkKind::Read, base: Vec::new(), contender: Vec::new() };
    assert_eq!(decide(&[empty]).remove(0).effect, None);
}

#[test]
fn what_is_no_count_is_refused() {
    for instructions in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let base = vec![WorkWindow { start: 1, instructions }];
        let comparison = WorkComparison { kind: WorkKind::Read, base, contender: Vec::new() };
        let error = WorkPlan::default().decide(&[comparison]).unwrap_err().to_string();
        assert!(error.starts_with("comparison 1: a window has "), "{error}");
    }
    let plan = WorkPlan { margin: 0.0, ..WorkPlan::default() };
    assert!(plan.decide(&[]).unwrap_err().to_string().starts_with("a margin of 0 is not possible\nhint:"));
}

fn any_side() -> impl Strategy<Value = Vec<WorkWindow>> {
    let window =
        (1..4_u32, 1.0..1e9_f64).prop_map(|(start, instructions)| WorkWindow { start, instructions });
    prop::collection::vec(window, 0..7)
}

fn any_family() -> impl Strategy<Value = Vec<WorkComparison>> {
    let kind = prop_oneof![Just(WorkKind::Read), Just(WorkKind::Write)];
    let comparison = (kind, any_side(), any_side()).prop_map(|(kind, base, contender)| WorkComparison {
        kind,
        base,
        contender,
    });
    prop::collection::vec(comparison, 0..8)
}

fn mirrored(family: &[WorkComparison]) -> Vec<WorkComparison> {
    let swap = |one: &WorkComparison| WorkComparison {
        kind: one.kind,
        base: one.contender.clone(),
        contender: one.base.clone(),
    };
    family.iter().map(swap).collect()
}

proptest! {
    #[test]
    fn a_comparison_the_other_way_round_says_the_opposite(family in any_family()) {
        for (one, other) in decide(&family).iter().zip(decide(&mirrored(&family))) {
            let opposite = match one.verdict {
                WorkVerdict::MoreWork => WorkVerdict::LessWork,
                WorkVerdict::LessWork => WorkVerdict::MoreWork,
                same => same,
            };
            prop_assert_eq!(opposite, other.verdict);
            prop_assert!((one.p - other.p).abs() < 1e-9);
            if let Some((one, other)) = one.interval.zip(other.interval) {
                prop_assert!((one.lower + other.upper).abs() < 1e-9 * one.reach().max(1.0));
            }
        }
    }

    #[test]
    fn decisions_are_sound(family in any_family()) {
        for decision in decide(&family) {
            prop_assert!((0.0..=1.0).contains(&decision.p) && decision.p <= decision.adjusted_p + 1e-12);
            if let Some(interval) = decision.interval {
                prop_assert!(interval.contains(decision.effect.unwrap()));
                prop_assert!(interval.half_width() >= 1.95 * FLOOR);
            }
            if decision.verdict.is_change() {
                let selected = decision.selected_interval.unwrap();
                prop_assert!(!decision.interval.unwrap().contains(0.0) && selected.contains(decision.effect.unwrap()));
            }
            if decision.verdict == WorkVerdict::SameWork {
                prop_assert!(decision.interval.unwrap().reach() < decision.margin);
            }
        }
    }

    #[test]
    fn twice_the_work_of_both_is_the_same_ratio(base in any_side(), contender in any_side()) {
        let doubled = |windows: &[WorkWindow]| -> Vec<WorkWindow> {
            windows.iter().map(|window| WorkWindow { instructions: 2.0 * window.instructions, ..*window }).collect()
        };
        let of = |base, contender| decide(&[WorkComparison { kind: WorkKind::Read, base, contender }]).remove(0);
        let (one, other) = (of(base.clone(), contender.clone()), of(doubled(&base), doubled(&contender)));
        prop_assert_eq!(one.verdict, other.verdict);
        prop_assert!((one.effect.unwrap_or(0.0) - other.effect.unwrap_or(0.0)).abs() < 1e-9);
    }

    #[test]
    fn the_order_of_windows_says_nothing(base in any_side(), contender in any_side()) {
        let reversed = |windows: &[WorkWindow]| -> Vec<WorkWindow> { windows.iter().rev().copied().collect() };
        let of = |base, contender| decide(&[WorkComparison { kind: WorkKind::Read, base, contender }]).remove(0);
        let (one, other) = (of(base.clone(), contender.clone()), of(reversed(&base), reversed(&contender)));
        prop_assert_eq!((one.verdict, one.effect, one.interval), (other.verdict, other.effect, other.interval));
        prop_assert_eq!(needs_more_windows(&base), needs_more_windows(&reversed(&base)));
    }
}
