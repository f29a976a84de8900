//! Values in a config that are sized for the machine.
//!
//! `{memory:25%}` is a quarter of the memory that a control group allows, or of the machine's nominal memory, in whole MB as
//! the dbms writes them. `{cores:50%}` is half of the cores, at least 1. Bounds may follow, as in `{memory:25%,
//! 128MB..96GB}` and `{cores:50%, 2..8}`, and then a unit that the amount is rounded down to: `{memory:25%, 1GB..96GB, by
//! 512MB}`.

use super::host::Host;

/// Reads a bound, in the unit of the amount.
type ReadBound = fn(&str) -> Option<u64>;

/// Computes a sized value for `host`, with `megabyte` as the suffix for MiB; `None` if `value` is not in braces.
///
/// # Errors
/// If it is in braces and cannot be read.
pub(crate) fn evaluate(value: &str, megabyte: &'static str, host: Host) -> Result<Option<String>, String> {
    let Some(inner) = value.strip_prefix('{') else { return Ok(None) };
    let bad = || {
        format!(
            "{value:?} does not have the form {{memory:25%}}, {{memory:25%, 128MB..96GB}}, {{memory:25%, 1GB..96GB, by 512MB}} or {{cores:50%, 2..8}}"
        )
    };
    let inner = inner.strip_suffix('}').ok_or_else(bad)?;
    let (share, bounds) = match inner.split_once(',') {
        Some((share, bounds)) => (share, Some(bounds)),
        None => (inner, None),
    };
    let (what, percent) = share.split_once(':').ok_or_else(bad)?;
    let percent: u64 = percent.trim().strip_suffix('%').and_then(|text| text.parse().ok()).ok_or_else(bad)?;
    if percent == 0 || percent > 100 {
        return Err(format!("{value:?} asks for {percent} %, which is not between 1 and 100"));
    }
    let (total, unit, read): (u64, &str, ReadBound) = match what.trim() {
        "memory" => (host.sizing_mib(), megabyte, megabytes),
        "cores" => (u64::from(host.cores), "", |text| text.parse().ok()),
        _ => return Err(bad()),
    };
    let mut amount = (total * percent / 100).max(1);
    if let Some(bounds) = bounds {
        let (bounds, unit_of_amount) = match bounds.split_once(',') {
            Some((bounds, unit)) => (bounds, Some(unit)),
            None => (bounds, None),
        };
        let (low, high) = bounds.split_once("..").ok_or_else(bad)?;
        let (low, high) = (read(low.trim()).ok_or_else(bad)?, read(high.trim()).ok_or_else(bad)?);
        if low > high {
            return Err(format!("{value:?} has a lower bound above its upper one"));
        }
        amount = amount.clamp(low, high);
        if let Some(unit) = unit_of_amount {
            let unit = unit.trim().strip_prefix("by ").and_then(|unit| read(unit.trim())).ok_or_else(bad)?;
            if unit == 0 || unit > low {
                return Err(format!("{value:?} has a unit that is 0 or above its lower bound"));
            }
            amount -= amount % unit;
        }
    }
    Ok(Some(format!("{amount}{unit}")))
}

/// `percent` of the memory, with `megabyte` as the suffix for MiB.
pub(crate) fn share_of_memory(megabyte: &str, host: Host, percent: u64) -> String {
    format!("{}{megabyte}", (host.sizing_mib() * percent / 100).max(1))
}

fn megabytes(text: &str) -> Option<u64> {
    if let Some(number) = text.strip_suffix("MB") {
        return number.trim().parse().ok();
    }
    text.strip_suffix("GB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(cores: u32, gib: u64, value: &str) -> Result<Option<String>, String> {
        evaluate(value, "MB", Host { cores, memory_bytes: gib << 30, is_limited: false })
    }

    #[test]
    fn shares_of_memory_and_cores() {
        assert_eq!(on(2, 24, "{memory:25%}").unwrap().as_deref(), Some("6144MB"));
        assert_eq!(on(8, 32, "{cores:50%, 2..8}").unwrap().as_deref(), Some("4"));
        assert_eq!(on(2, 1, "{memory:25%, 128MB..96GB}").unwrap().as_deref(), Some("256MB"));
        assert_eq!(on(2, 1024, "{memory:25%, 128MB..96GB}").unwrap().as_deref(), Some("98304MB"));
        assert_eq!(on(1, 1, "{cores:50%}").unwrap().as_deref(), Some("1"));
        assert_eq!(on(1, 1, "6GB").unwrap(), None);
        for (gib, amount) in [(1, "1024MB"), (7, "1536MB"), (24, "6144MB"), (500, "98304MB")] {
            let sized = on(2, gib, "{memory:25%, 1GB..96GB, by 512MB}").unwrap();
            assert_eq!(sized.as_deref(), Some(amount), "{gib}");
        }
        let host = Host { cores: 2, memory_bytes: 24 << 30, is_limited: false };
        assert_eq!(evaluate("{memory:25%}", "M", host).unwrap().as_deref(), Some("6144M"));
    }

    #[test]
    fn defect_23_shares_of_a_limit_are_not_rounded_up() {
        let host = Host { cores: 2, memory_bytes: 400 << 20, is_limited: true };
        let sized = |value| evaluate(value, "MB", host).unwrap();
        assert_eq!(sized("{memory:25%}").as_deref(), Some("100MB"));
        assert_eq!(sized("{memory:25%, 128MB..96GB}").as_deref(), Some("128MB"));
    }

    #[test]
    fn other_forms_are_refused() {
        for value in [
            "{",
            "{memory}",
            "{memory:25}",
            "{disk:5%}",
            "{memory:0%}",
            "{memory:101%}",
            "{cores:5%, 2}",
            "{cores:5%, 2..4, 2}",
        ] {
            assert!(on(2, 24, value).is_err(), "{value}");
        }
        assert!(on(2, 24, "{memory:5%, 2GB..1GB}").unwrap_err().contains("lower bound"));
    }
}
