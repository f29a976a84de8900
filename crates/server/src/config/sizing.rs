//! Values in a config that are sized for the machine.
//!
//! `{memory:25%}` is a quarter of the memory that a control group allows, or of the machine's nominal memory, in whole MB as
//! the dbms writes them. `{cores:50%}` is half of the cores, at least 1. Bounds may follow, as in `{memory:25%,
//! 128MB..96GB}` and `{cores:50%, 2..8}`, and then one of two rules: with `by 512MB or 128MB` the amount is rounded down to
//! the first of these units that is not above it; with `or default` the setting is left out at the upper bound. A size may
//! also be a part of a value, as `write_buffer_size={memory:2%, 8MB..64MB};…`, and is then written with `m`.

use super::host::Host;

/// Reads a bound, in the unit of the amount.
type ReadBound = fn(&str) -> Option<u64>;

/// How a size begins.
const BEGINNINGS: [&str; 2] = ["{memory:", "{cores:"];
/// The suffix for MiB in RocksDB's lists of options, whatever the dbms.
const MEGABYTE_IN_LIST: &str = "m";

/// A value after sizing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sized {
    /// Nothing in it is sized.
    Fixed,
    /// What it has become.
    To(String),
    /// The setting is left out, so that the server's default holds.
    Default,
}

/// Computes a sized value for `host`, with `megabyte` as the suffix for MiB.
///
/// # Errors
/// If it has braces and cannot be read.
pub(crate) fn evaluate(value: &str, megabyte: &'static str, host: Host) -> Result<Sized, String> {
    if value.starts_with('{') {
        let amount = amount(value, megabyte, host)?;
        return Ok(amount.map_or(Sized::Default, Sized::To));
    }
    let (mut sized, mut rest) = (String::new(), value);
    while let Some(start) = BEGINNINGS.iter().filter_map(|beginning| rest.find(beginning)).min() {
        let end = rest[start..].find('}').map_or(rest.len(), |length| start + length + 1);
        let part = &rest[start..end];
        let amount = amount(part, MEGABYTE_IN_LIST, host)?;
        sized += &rest[..start];
        sized += &amount.ok_or_else(|| format!("{part:?} is a part of a value, so it cannot be left out"))?;
        rest = &rest[end..];
    }
    Ok(if sized.is_empty() { Sized::Fixed } else { Sized::To(sized + rest) })
}

/// The size in braces; `None` if the setting is to be left out.
fn amount(value: &str, megabyte: &'static str, host: Host) -> Result<Option<String>, String> {
    let bad = || {
        format!(
            "{value:?} does not have the form {{memory:25%}}, {{memory:25%, 128MB..96GB}}, {{memory:25%, 1GB..96GB, by 512MB}} or {{cores:50%, 2..8}}"
        )
    };
    let inner = value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).ok_or_else(bad)?;
    let mut parts = inner.splitn(3, ',').map(str::trim);
    let (what, percent) = parts.next().and_then(|share| share.split_once(':')).ok_or_else(bad)?;
    let percent: u64 = percent.trim().strip_suffix('%').and_then(|text| text.parse().ok()).ok_or_else(bad)?;
    if percent == 0 || percent > 100 {
        return Err(format!("{value:?} asks for {percent} %, which is not between 1 and 100"));
    }
    let (total, unit, read): (u64, &str, ReadBound) = match what.trim() {
        "memory" => (host.sizing_mib(), megabyte, megabytes),
        "cores" => (u64::from(host.cores), "", |text| text.parse().ok()),
        _ => return Err(bad()),
    };
    let amount = (total * percent / 100).max(1);
    let Some(bounds) = parts.next() else { return Ok(Some(format!("{amount}{unit}"))) };
    let (low, high) = bounds.split_once("..").ok_or_else(bad)?;
    let (low, high) = (read(low.trim()).ok_or_else(bad)?, read(high.trim()).ok_or_else(bad)?);
    if low > high {
        return Err(format!("{value:?} has a lower bound above its upper one"));
    }
    let amount = amount.clamp(low, high);
    let amount = match parts.next() {
        None => Some(amount),
        Some("or default") => Some(amount).filter(|amount| *amount < high),
        Some(rule) => {
            let units = rule.strip_prefix("by ").ok_or_else(bad)?.split(" or ").map(|unit| read(unit.trim()));
            let units: Vec<u64> = units.collect::<Option<_>>().ok_or_else(bad)?;
            if units.contains(&0) {
                return Err(format!("{value:?} has a unit that is 0"));
            }
            Some(units.iter().find(|unit| **unit <= amount).map_or(amount, |unit| amount - amount % unit))
        }
    };
    Ok(amount.map(|amount| format!("{amount}{unit}")))
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

    fn on(cores: u32, gib: u64, value: &str) -> Result<Sized, String> {
        evaluate(value, "MB", Host { cores, memory_bytes: gib << 30, is_limited: false })
    }

    fn limited(mib: u64, value: &str) -> Sized {
        evaluate(value, "M", Host { cores: 2, memory_bytes: mib << 20, is_limited: true }).unwrap()
    }

    fn to(text: &str) -> Sized {
        Sized::To(text.to_owned())
    }

    #[test]
    fn shares_of_memory_and_cores() {
        assert_eq!(on(2, 24, "{memory:25%}").unwrap(), to("6144MB"));
        assert_eq!(on(8, 32, "{cores:50%, 2..8}").unwrap(), to("4"));
        assert_eq!(on(2, 1, "{memory:25%, 128MB..96GB}").unwrap(), to("256MB"));
        assert_eq!(on(2, 1024, "{memory:25%, 128MB..96GB}").unwrap(), to("98304MB"));
        assert_eq!(on(1, 1, "{cores:50%}").unwrap(), to("1"));
        assert_eq!(on(1, 1, "6GB").unwrap(), Sized::Fixed);
        for (gib, amount) in [(1, "1024MB"), (7, "1536MB"), (24, "6144MB"), (500, "98304MB")] {
            assert_eq!(on(2, gib, "{memory:25%, 1GB..96GB, by 512MB}").unwrap(), to(amount), "{gib}");
        }
        assert_eq!(limited(24 << 10, "{memory:25%}"), to("6144M"));
    }

    #[test]
    fn defect_23_shares_of_a_limit_are_not_rounded_up() {
        assert_eq!(limited(400, "{memory:25%}"), to("100M"));
        assert_eq!(limited(400, "{memory:25%, 128MB..96GB}"), to("128M"));
    }

    #[test]
    fn amounts_below_the_largest_unit_are_rounded_to_the_next_one() {
        for (mib, amount) in [(6000, "1024M"), (2400, "512M"), (1280, "256M"), (500, "125M"), (100, "64M")] {
            assert_eq!(limited(mib, "{memory:25%, 64MB..96GB, by 512MB or 128MB}"), to(amount), "{mib}");
        }
    }

    #[test]
    fn at_the_upper_bound_a_setting_may_be_left_out() {
        let value = "{memory:1%, 2MB..64MB, or default}";
        assert_eq!((limited(500, value), limited(6399, value)), (to("5M"), to("63M")));
        assert_eq!(on(2, 24, value).unwrap(), Sized::Default);
    }

    #[test]
    fn a_part_of_a_value_is_sized() {
        let value = "size={memory:2%, 4MB..64MB};jobs={cores:100%};table={cache=1;filter=a:10}";
        assert_eq!(limited(500, value), to("size=10m;jobs=2;table={cache=1;filter=a:10}"));
        assert_eq!(limited(500, "size=10m;table={cache=1}"), Sized::Fixed);
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
            "{memory:5%, 1GB..2GB, by 0MB}",
            "{memory:5%, 1GB..2GB, by 512MB or}",
            "size={memory:5%, 1MB",
            "size={memory:99%, 1MB..2MB, or default};jobs=1",
        ] {
            assert!(on(2, 24, value).is_err(), "{value}");
        }
        assert!(on(2, 24, "{memory:5%, 2GB..1GB}").unwrap_err().contains("lower bound"));
    }
}
