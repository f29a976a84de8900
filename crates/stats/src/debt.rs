//! Whether one side leaves more of its work for later.

use std::collections::BTreeSet;

use basecase_model::Measures;

use crate::pair::Pair;
use crate::sample::mean;
use crate::trend::is_other_than_zero;

/// What a server has put off at the end of a step stands under names that begin so: dead rows, changed pages, files to be compacted.
const PREFIX: &str = "end.debt.";
/// What is not its own, or is no amount.
const BESIDE: [&str; 2] = ["end.debt.host_dirty_bytes", "end.debt.autovacuum_workers"];
/// From this ratio on the debts differ.
const RATIO: f64 = 1.2;

/// Whether one side leaves more than a fifth more than the other in some respect: Student's test over rounds at 1 %, of the logarithms of
/// the ratios. A side that looks faster may only have put off more.
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

/// The logarithm of a debt, to which is added what does not matter.
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
    use basecase_model::{Place, Trial};

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
}
