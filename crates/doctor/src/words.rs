//! Numbers in words.

/// E.g. `1.5 GiB` or `20 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// A share as per cent, with three digits at most.
pub(crate) fn per_cent(share: f64) -> String {
    let value = share * 100.0;
    if value < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// Microseconds, in a unit that suits them.
pub(crate) fn time(us: f64) -> String {
    match us {
        us if us < 1.0 => format!("{:.0} ns", us * 1e3),
        us if us < 99.5 => format!("{us:.0} µs"),
        us if us < 9_950.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.0} ms", us / 1e3),
    }
}

/// The value at this share of sorted values, e.g. 0.5 for the median; `None` without values.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        assert_eq!([size(20 << 20), size(3 << 29)], ["20 MiB", "1.5 GiB"]);
        assert_eq!([0.0, 0.0312, 0.5].map(per_cent), ["0.0 %", "3.1 %", "50 %"]);
        assert_eq!([0.0213, 63.4, 1_940.0, 23_400.0].map(time), ["21 ns", "63 µs", "1.9 ms", "23 ms"]);
    }

    #[test]
    fn quantiles_are_values() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!([0.5, 0.95, 1.0].map(|share| quantile(&values, share)), [50.0, 95.0, 100.0].map(Some));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
