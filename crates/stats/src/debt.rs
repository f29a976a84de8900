//! The work that a step puts off, and the step's result with it included.

use std::collections::BTreeSet;

use basecase_model::{Measures, Trial, names};

use crate::pair::Pair;
use crate::sample::mean;
use crate::trend::is_other_than_zero;
use crate::{JudgedMetric, Round};

/// Prefix of the gauges for work put off at the end of a step: dead rows, dirty pages, files to be compacted.
const PREFIX: &str = "end.debt.";
/// Gauges that are not the server's own, or are not amounts.
const BESIDE: [&str; 2] = ["end.debt.host_dirty_bytes", "end.debt.autovacuum_workers"];
/// The ratio from which on debts differ.
const RATIO: f64 = 1.2;

/// Whether one side leaves over a fifth more debt of some kind than the other: Student's test over rounds at 1 %, on the logarithms of the
/// ratios. A side that looks faster may only have put off more.
pub(crate) fn has_shifted(pairs: &[Pair<'_>]) -> bool {
    let gauges = pairs.iter().flat_map(|pair| pair.base.gauges.iter());
    let is_own = |name: &&str| name.starts_with(PREFIX) && !BESIDE.contains(name);
    let names: BTreeSet<&str> = gauges.map(|(name, _)| name).filter(is_own).collect();
    names.into_iter().any(|name| {
        let ratio =
            |pair: &Pair<'_>| Some(amount(&pair.contender.gauges, name)? - amount(&pair.base.gauges, name)?);
        let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
        is_other_than_zero(&ratios) && mean(&ratios).abs() > RATIO.ln()
    })
}

/// A round as if all debt had been paid at once: the time or CPU time of paying counts as part of the step. `None` if it is not known.
pub(crate) fn inclusive(pair: &Pair<'_>, round: &Round, metric: JudgedMetric) -> Option<Round> {
    let effect = round.effect + excess(pair.base, metric)? - excess(pair.contender, metric)?;
    Some(Round { conditions: round.conditions, ..Round::from(effect) })
}

/// The logarithm of how much more a trial takes with its debt included. The statements of the warm-up account for their share of the debt.
fn excess(trial: &Trial, metric: JudgedMetric) -> Option<f64> {
    let (drain, used) = match metric {
        JudgedMetric::Throughput => (trial.gauges.get(names::DRAIN_SECONDS)?, trial.seconds),
        JudgedMetric::ServerCpu => {
            (trial.gauges.get(names::DRAIN_SERVER_CPU_US)?, trial.counters.get(names::SERVER_CPU_US)?)
        }
    };
    let measured: u64 = trial.statements.iter().map(|record| record.window.executed).sum();
    let all: u64 = trial.statements.iter().map(|record| record.whole().executed).sum();
    let share = if all == 0 { 1.0 } else { measured as f64 / all as f64 };
    Some((share * drain / used).ln_1p()).filter(|excess| excess.is_finite())
}

/// The logarithm of a debt, offset by an amount that does not matter.
fn amount(gauges: &Measures, name: &str) -> Option<f64> {
    let little = match name.rsplit('_').next() {
        Some("bytes") => 16.0 * 1024.0 * 1024.0,
        Some("files") => 4.0,
        _ => 1_000.0,
    };
    Some((gauges.get(name)?.max(0.0) + little).ln())
}

#[cfg(test)]
mod tests {
    use basecase_model::{Place, Slice, StatementClass, StatementCounts, StatementRecord, Trial};

    use super::*;
    use crate::pair::tests::{STEP, pair};

    fn trials(name: &str, debts: [f64; 3]) -> Vec<Trial> {
        let place = |round| Place { round, pass: 0, position: 0 };
        let trial = |(round, debt)| {
            let mut trial = Trial::empty(String::new(), &STEP.name, "", place(round), String::new());
            trial.gauges.set(name, debt);
            trial
        };
        (0..).zip(debts).map(trial).collect()
    }

    fn shifts(name: &str, base: [f64; 3], contender: [f64; 3]) -> bool {
        let (base, contender) = (trials(name, base), trials(name, contender));
        has_shifted(
            &base.iter().zip(&contender).map(|(base, contender)| pair(base, contender)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn debts_differ_by_more_than_a_fifth_in_every_round() {
        let base = [200_000.0, 210_000.0, 190_000.0];
        assert!(shifts("end.debt.dead_rows", base, base.map(|debt| debt * 1.5 + 100.0)));
        assert!(!shifts("end.debt.dead_rows", base, base.map(|debt| debt * 1.1 + 100.0)));
        assert!(!shifts("end.debt.dead_rows", base, [10_000.0, 900_000.0, 220_000.0]), "by chance");
        assert!(!shifts("end.debt.dead_rows", [3.0, 4.0, 3.0], [40.0, 50.0, 41.0]), "next to nothing");
        assert!(!shifts("end.debt.host_dirty_bytes", base, base.map(|debt| debt * 1e6)), "the host's");
        assert!(!shifts("end.other", base, base.map(|debt| debt * 2.0)));
    }

    #[test]
    fn work_that_is_put_off_is_work() {
        let step = |rate: f64, seconds: f64, cpu_us: f64| {
            let slices = vec![Slice { rate, length_us: 3e4, ..Slice::default() }];
            let place = Place { round: 0, pass: 0, position: 0 };
            let mut trial = Trial {
                slices,
                seconds: 10.0,
                ..Trial::empty(String::new(), &STEP.name, "", place, String::new())
            };
            trial.gauges.set(names::DRAIN_SECONDS, seconds);
            trial.gauges.set(names::DRAIN_SERVER_CPU_US, cpu_us);
            trial.counters.set(names::SERVER_CPU_US, 1e6);
            trial
        };
        let effect = |base: &Trial, contender: &Trial| {
            let pair = pair(base, contender);
            let round = pair.round(JudgedMetric::Throughput).unwrap();
            inclusive(&pair, &round, JudgedMetric::Throughput).map(|round| round.effect)
        };
        let (base, faster) = (step(100.0, 0.0, 0.0), step(120.0, 2.0, 3e5));
        // In 12 seconds it did as much as the base case does in 12.
        assert!(effect(&base, &faster).unwrap().abs() < 1e-12);
        assert!((excess(&faster, JudgedMetric::ServerCpu).unwrap() - 1.3_f64.ln()).abs() < 1e-12);
        // Two thirds of its statements were in the window, so two thirds of the debt is theirs.
        let mut warmed = faster.clone();
        let executed = |executed| StatementCounts { executed, ..StatementCounts::default() };
        warmed.statements = vec![StatementRecord {
            name: "update".into(),
            class: StatementClass::Write,
            window: executed(200),
            warm_up: executed(100),
        }];
        assert!((excess(&warmed, JudgedMetric::ServerCpu).unwrap() - 1.2_f64.ln()).abs() < 1e-12);
        let unknown = Trial { gauges: Measures::new(), ..base.clone() };
        assert_eq!(effect(&base, &unknown), None);
    }
}
