//! What the host waited for, from `/proc/pressure`, `/proc/vmstat` and `/proc/net/dev`.

use std::fs;

use basecase_model::{Measures, names};

/// Adds the host's counts since boot to `measures`. Kernels without pressure stall information have no such files.
pub(crate) fn read_into(measures: &mut Measures) {
    for (name, resource) in [
        (names::HOST_CPU_PRESSURE_US, "cpu"),
        (names::HOST_IO_PRESSURE_US, "io"),
        (names::HOST_MEMORY_PRESSURE_US, "memory"),
    ] {
        set(measures, name, parse_pressure(&text(&format!("/proc/pressure/{resource}"))));
    }
    let memory = text("/proc/vmstat");
    set(measures, names::HOST_PAGE_FAULTS, parse_line(&memory, "pgfault"));
    set(measures, names::HOST_MAJOR_FAULTS, parse_line(&memory, "pgmajfault"));
    set(measures, names::HOST_LOOPBACK_BYTES, parse_loopback(&text("/proc/net/dev")));
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn set(measures: &mut Measures, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        measures.set(name, value as f64);
    }
}

/// Microseconds in which some task waited, see the kernel's `Documentation/accounting/psi.rst`.
pub fn parse_pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// The number of a line `name number`.
pub(crate) fn parse_line(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The bytes that the loopback interface received, which are those that it sent.
fn parse_loopback(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_by_the_names_of_the_kernel() {
        let pressure =
            "some avg10=29.40 avg60=14.49 avg300=16.23 total=11764556976\nfull avg10=0.00 total=7\n";
        assert_eq!(parse_pressure(pressure), Some(11_764_556_976));
        assert_eq!(parse_line("pgfaults_x 3\npgfault 12\n", "pgfault"), Some(12));
        let network = "Inter-| Receive\n face |bytes packets\n  eth0: 5 1\n    lo: 1234 9 0\n";
        assert_eq!(parse_loopback(network), Some(1234));
        assert_eq!((parse_pressure(""), parse_loopback("lo")), (None, None));
    }

    #[test]
    fn reads_this_host() {
        let mut measures = Measures::new();
        read_into(&mut measures);
        assert!(measures.get(names::HOST_PAGE_FAULTS).unwrap() > 0.0);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(some|total=|lo:|[0-9 \\n]|.){0,60}") {
            let _ = (parse_pressure(&text), parse_line(&text, "pgfault"), parse_loopback(&text));
        }
    }
}
