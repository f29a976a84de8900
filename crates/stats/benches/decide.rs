//! The cost of judging a family, which happens after every round.

#![expect(clippy::expect_used, reason = "a benchmark without its plan has nothing to measure")]

use basecase_stats::{AnalysisPlan, Comparison, Judge, Orders, Sequential};

fn main() {
    divan::main();
}

/// 42 steps of five contenders: effects of up to ±2 % in random order, with a change of 3 % in every tenth comparison.
fn family(rounds: usize) -> Vec<Comparison> {
    let orders = Orders::new(7);
    let comparison = |index: usize| {
        let shift = if index.is_multiple_of(10) { 0.03 } else { 0.0 };
        let order = orders.shuffled("effects", index, rounds);
        let effect = |place: &usize| 0.04 * *place as f64 / rounds as f64 - 0.02 - shift;
        Comparison::of_effects(&order.iter().map(effect).collect::<Vec<_>>(), 0.02)
    };
    (0..42 * 5).map(comparison).collect()
}

#[divan::bench(args = [5, 20, 40])]
fn scheduled(bencher: divan::Bencher<'_, '_>, rounds: usize) {
    let judge = Judge::new(AnalysisPlan::default()).expect("the usual plan");
    let family = family(rounds);
    bencher.bench_local(|| judge.decide(&family));
}

#[divan::bench(args = [5, 20, 40, 100])]
fn anytime(bencher: divan::Bencher<'_, '_>, rounds: usize) {
    let plan = AnalysisPlan { sequential: Sequential::Anytime, ..AnalysisPlan::default() };
    let judge = Judge::new(plan).expect("the usual plan");
    let family = family(rounds);
    bencher.bench_local(|| judge.decide(&family));
}

/// With 25 passes of four slices in each round.
#[divan::bench(args = [5, 40])]
fn with_slices(bencher: divan::Bencher<'_, '_>, rounds: usize) {
    let judge = Judge::new(AnalysisPlan::default()).expect("the usual plan");
    let mut family = family(rounds);
    for (index, round) in family.iter_mut().flat_map(|comparison| &mut comparison.rounds).enumerate() {
        let order = Orders::new(8).shuffled("slices", index, 50);
        round.base = order.iter().map(|place| 10.0 + 0.001 * *place as f64).collect();
        round.contender = round.base.iter().map(|slice| slice + round.effect).collect();
        round.passes = order.chunks(2).map(|pair| round.effect + 0.001 * pair[0] as f64).collect();
    }
    bencher.bench_local(|| judge.decide(&family));
}

/// Done once per experiment.
#[divan::bench]
fn boundaries() -> Judge {
    Judge::new(AnalysisPlan::default()).expect("the usual plan")
}
