//! Properties that hold for any rounds.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::{anytime, read_plain, rounds_of, scheduled};
use crate::comparison::{Comparison, Round};
use crate::decision::{Decision, Flag};
use crate::judge::Judge;
use crate::round_conditions::RoundConditions;
use crate::verdict::{Outlook, Qualifier, Verdict};

static SCHEDULED: LazyLock<Judge> = LazyLock::new(scheduled);
static ANYTIME: LazyLock<Judge> = LazyLock::new(anytime);

fn judges() -> [&'static Judge; 2] {
    [&SCHEDULED, &ANYTIME]
}

fn decide(judge: &Judge, effects: &[f64]) -> Decision {
    judge.decide(&[Comparison::of_effects(effects, 0.02)]).unwrap().remove(0)
}

fn effects() -> impl Strategy<Value = Vec<f64>> {
    (-0.05..0.05f64)
        .prop_flat_map(|shift| prop::collection::vec((-0.05..0.05f64).prop_map(move |d| d + shift), 0..45))
}

proptest! {
    #[test]
    fn base_and_contender_may_be_exchanged(effects in effects()) {
        let mirrored: Vec<f64> = effects.iter().map(|effect| -effect).collect();
        for judge in judges() {
            let (decision, mirror) = (decide(judge, &effects), decide(judge, &mirrored));
            let expected = match decision.verdict {
                Verdict::Regression => Verdict::Improvement,
                Verdict::Improvement => Verdict::Regression,
                other => other,
            };
            prop_assert_eq!(mirror.verdict, expected);
            prop_assert_eq!(mirror.outlook, decision.outlook);
            prop_assert_eq!(mirror.adjusted_p, decision.adjusted_p);
            let ends = |decision: &Decision| decision.interval.map(|interval| (interval.lower, interval.upper));
            prop_assert_eq!(ends(&mirror), ends(&decision).map(|(lower, upper)| (-upper, -lower)));
        }
    }

    #[test]
    fn the_order_before_the_first_analysis_does_not_matter(mut effects in prop::collection::vec(-0.05..0.05f64, 5)) {
        let before = decide(&SCHEDULED, &effects).interval.unwrap();
        effects.reverse();
        let after = decide(&SCHEDULED, &effects).interval.unwrap();
        prop_assert!((before.lower - after.lower).abs() < 1e-12 && (before.upper - after.upper).abs() < 1e-12);
    }

    #[test]
    fn intervals_hold_their_estimates_and_agree_with_p_values(effects in effects()) {
        for judge in judges() {
            let decision = decide(judge, &effects);
            prop_assert!(decision.rounds_used <= decision.rounds);
            let Some(interval) = decision.interval else {
                prop_assert_eq!(decision.verdict, Verdict::NotEnoughData);
                continue;
            };
            let is_unstable = decision.flags.contains(&Flag::Unstable);
            prop_assert!(interval.contains(decision.estimate.unwrap()));
            prop_assert_eq!(!interval.contains(0.0) || is_unstable, decision.repeated_p <= 0.05 || is_unstable);
            prop_assert!(decision.repeated_p <= decision.adjusted_p);
            prop_assert_eq!(interval.reach(), decision.smallest_margin.unwrap());
            prop_assert_eq!(decision.selected_interval.is_some(), decision.verdict.is_change());
            if decision.verdict == Verdict::NoChange {
                prop_assert!(decision.leaves && decision.outlook == Outlook::Settled && interval.reach() < 0.02);
            }
        }
    }

    #[test]
    fn an_estimate_is_what_a_decision_says_of_the_same_effects(effects in effects()) {
        for judge in judges() {
            let decision = decide(judge, &effects);
            let estimate = judge.estimate(rounds_of(&effects));
            prop_assert_eq!(estimate.map(|told| told.effect), decision.estimate);
            prop_assert_eq!(estimate.and_then(|told| told.interval), decision.interval);
        }
    }

    #[test]
    fn more_rounds_that_are_taken_alike_never_widen_the_interval(effects in effects()) {
        for judge in judges() {
            let readings = (0..=effects.len()).filter_map(|rounds| read_plain(judge, &rounds_of(&effects[..rounds])));
            let intervals: Vec<_> = readings.map(|reading| (reading.interval, reading.repeated_p)).collect();
            for pair in intervals.windows(2) {
                prop_assert!(pair[0].0.lower <= pair[1].0.lower && pair[1].0.upper <= pair[0].0.upper);
                prop_assert!(pair[1].1 <= pair[0].1);
            }
        }
    }

    #[test]
    fn defect_12_an_interim_analysis_is_not_changed_by_rounds_that_come_later(
        rounds in prop::collection::vec((-0.05..0.05f64, -0.1..0.02f64), 1..45),
        holds_together in any::<bool>(),
        first in 1..45usize,
    ) {
        let round = |(index, (effect, stalls)): (usize, &(f64, f64))| {
            let wave = if holds_together && index / 4 % 2 == 0 { 0.05 } else { 0.0 };
            Round { effect: effect + wave, stalls: *stalls, ..Round::default() }
        };
        let rounds: Vec<Round> = rounds.iter().enumerate().map(round).collect();
        let first = first.min(rounds.len());
        let comparison = |rounds: &[Round]| Comparison { rounds: rounds.to_vec(), margin: 0.02 };
        for judge in judges() {
            let (before, after) = (judge.interim_data(&comparison(&rounds[..first])), judge.interim_data(&comparison(&rounds)));
            prop_assert_eq!(&before, &after[..before.len()]);
            // Between two interim analyses nothing is judged again.
            let analysed = judge.interim_data(&comparison(&rounds[..first])).last().map_or(first, |data| data.rounds);
            let decide = |count: usize| judge.decide(&[comparison(&rounds[..count])]).unwrap().remove(0);
            let (at_analysis, now) = (decide(analysed), decide(first));
            prop_assert_eq!((now.verdict, now.qualifier, now.interval), (at_analysis.verdict, at_analysis.qualifier, at_analysis.interval));
            prop_assert_eq!((now.repeated_p, now.rounds_merged), (at_analysis.repeated_p, at_analysis.rounds_merged));
        }
    }

    #[test]
    fn any_number_is_judged_or_refused(
        family in prop::collection::vec((prop::collection::vec(any::<f64>(), 0..15), any::<f64>()), 0..4),
    ) {
        let family: Vec<Comparison> =
            family.iter().map(|(effects, margin)| Comparison::of_effects(effects, *margin)).collect();
        for judge in judges() {
            let _ = judge.decide(&family);
        }
    }

    #[test]
    fn any_logarithm_is_judged(
        rounds in prop::collection::vec(
            (-700.0..700.0f64, [prop::collection::vec(-700.0..700.0f64, 0..6), prop::collection::vec(-1e-9..1e-9f64, 0..6), prop::collection::vec(-700.0..700.0f64, 0..6)]),
            0..45,
        ),
        margin in 1e-6..1.0f64,
    ) {
        let round = |(effect, [passes, base, contender]): &(f64, [Vec<f64>; 3])| Round {
            effect: *effect,
            stalls: 0.0,
            passes: passes.clone(),
            base: base.clone(),
            contender: contender.clone(),
            conditions: RoundConditions::default(),
        };
        let rounds: Vec<Round> = rounds.iter().map(round).collect();
        for judge in judges() {
            let decision = judge.decide(&[Comparison { rounds: rounds.clone(), margin }]).unwrap().remove(0);
            let numbers = [
                decision.estimate, decision.level, decision.between_round_sd, decision.start_sd, decision.pass_sd,
                decision.run_sd, decision.detectable, decision.smallest_margin,
                decision.interval.map(|interval| interval.lower), decision.interval.map(|interval| interval.upper),
                Some(decision.repeated_p), Some(decision.adjusted_p),
            ];
            prop_assert!(numbers.iter().flatten().all(|number| number.is_finite()), "{:?}", decision);
            prop_assert_eq!(decision.estimate.is_some(), !rounds.is_empty());
        }
    }
}

#[test]
fn what_is_no_ratio_has_no_estimate() {
    for wrong in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        assert_eq!(judges()[0].estimate(rounds_of(&[0.1, wrong, 0.1, 0.1, 0.1])), None);
    }
    assert_eq!(judges()[0].estimate(Vec::new()), None);
}

#[test]
fn few_rounds_and_equal_values_are_judged() {
    for judge in judges() {
        assert_eq!(judge.decide(&[]).unwrap(), []);
        let none = decide(judge, &[]);
        assert_eq!(
            (none.verdict, none.rounds, none.interval, none.between_round_sd),
            (Verdict::NotEnoughData, 0, None, None)
        );
        assert!(!none.leaves && matches!(none.outlook, Outlook::MoreRounds(5 | 6)));
        let one = decide(judge, &[-0.3]);
        assert_eq!((one.verdict, one.estimate, one.repeated_p), (Verdict::NotEnoughData, Some(-0.3), 1.0));
        assert!(matches!(one.outlook, Outlook::MoreRounds(4 | 5)), "{:?}", one.outlook);
        for rounds in [6, 8, 12, 40] {
            let equal = decide(judge, &vec![-0.3; rounds]);
            assert_eq!((equal.verdict, equal.qualifier), (Verdict::Regression, Some(Qualifier::Clear)));
            assert!(equal.interval.unwrap().contains(-0.3) && equal.repeated_p < 0.05, "{equal:?}");
            let zero = decide(judge, &vec![0.0; rounds]);
            assert_eq!((zero.verdict, zero.leaves), (Verdict::NoChange, true));
        }
    }
}

#[test]
fn between_two_interim_analyses_the_earlier_one_stands() {
    let effects = [-0.031, -0.029, -0.034, -0.027, -0.030, -0.028, 0.2];
    let (six, seven) = (decide(&SCHEDULED, &effects[..6]), decide(&SCHEDULED, &effects));
    assert_eq!((seven.rounds, seven.rounds_used), (7, 6));
    assert_eq!((seven.interval, seven.verdict), (six.interval, six.verdict));
}

#[test]
fn defect_12_stalls_between_two_interim_analyses_do_not_change_the_earlier_one() {
    let stalls = [-0.05, -0.015, -0.05, -0.01, -0.05, -0.015, -0.03];
    let round = |(index, stalls): (usize, f64)| Round {
        effect: 0.001 * (index % 3) as f64,
        stalls,
        ..Round::default()
    };
    let rounds: Vec<Round> = stalls.into_iter().enumerate().map(round).collect();
    let decide = |count: usize| {
        let comparison = Comparison { rounds: rounds[..count].to_vec(), margin: 0.02 };
        SCHEDULED.decide(&[comparison]).unwrap().remove(0)
    };
    let (six, seven) = (decide(6), decide(7));
    assert_eq!((seven.rounds, seven.rounds_used, seven.flags.clone()), (7, 6, six.flags.clone()));
    assert_eq!((seven.interval, seven.verdict), (six.interval, six.verdict));
}

#[test]
fn a_contradiction_is_not_enough_data() {
    let effects: Vec<f64> =
        (0..40).map(|round| if round < 8 { 0.1 } else { -0.1 } + 0.001 * f64::from(round % 3)).collect();
    let decision = decide(&SCHEDULED, &effects[..16]);
    // Rounds that move this way correlate: merged, they are too few to contradict each other.
    assert!(decision.flags.contains(&Flag::MergedRounds) || decision.flags.contains(&Flag::Unstable));
    let jumping: Vec<f64> =
        (0..20).map(|round| if round < 6 { 0.1 } else { -0.5 * f64::from(round % 2) }).collect();
    let decision = decide(&SCHEDULED, &jumping);
    assert_eq!(decision.verdict, Verdict::NotEnoughData);
    assert!(decision.flags.contains(&Flag::Unstable), "{decision:?}");
    assert!(decision.interval.is_some());
}

#[test]
fn flags_tell_of_modes_trends_and_orders() {
    let round = |index: usize| {
        let slow = if index.is_multiple_of(3) { -0.2 } else { 0.0 };
        let base = vec![10.0 + slow, 10.001 + slow, 10.0 + slow, 10.001 + slow];
        let contender = (0..4).map(|slice| 10.0 - 0.02 * f64::from(slice) + 0.0001 * index as f64).collect();
        let passes = vec![-0.03 + 0.001 * index as f64, -0.03];
        Round { effect: -0.03, passes, base, contender, ..Round::default() }
    };
    let comparison = Comparison { rounds: (0..12).map(round).collect(), margin: 0.02 };
    let decision = SCHEDULED.decide(&[comparison]).unwrap().remove(0);
    assert_eq!(decision.flags, [Flag::Bimodal, Flag::NotSteady, Flag::OrderEffect]);
    assert!((decision.base_modes.unwrap().slow_share - 1.0 / 3.0).abs() < 1e-12);
    assert!(decision.pass_sd.is_some() && decision.run_sd.is_some());
}

#[test]
fn a_step_that_leaves_early_does_not_take_the_others_with_it() {
    let quiet: Vec<f64> = (0..5).map(|round| 0.001 * f64::from(round - 2)).collect();
    let loud: Vec<f64> = (0..5).map(|round| 0.05 * f64::from(round - 2)).collect();
    let family = [Comparison::of_effects(&quiet, 0.02), Comparison::of_effects(&loud, 0.02)];
    let decisions = SCHEDULED.decide(&family).unwrap();
    assert!(decisions[0].leaves && !decisions[1].leaves);
    assert!(
        matches!(decisions[1].outlook, Outlook::MoreRounds(rounds) if rounds > 100),
        "{:?}",
        decisions[1].outlook
    );
}
