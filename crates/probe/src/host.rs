//! The facts of the machine that results depend on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use basecase_model::{HostFacts, hexadecimal};
use sha2::{Digest, Sha256};

use crate::confinement::{memory_limit_bytes, usable_cores};
use crate::{device_under, filesystem_under, memory, processor};

/// The value of a fact that this host does not report.
const UNKNOWN: &str = "unknown";

/// The machine, as seen by a dbms whose data lies in `data_directory`.
///
/// `id` is the first 16 hexadecimal digits of the SHA-256 of [`HostFacts::decisive`]. The host name is not among these
/// facts, so equal machines share results.
pub fn host_facts(data_directory: &Path) -> HostFacts {
    let processor = read("/proc/cpuinfo").unwrap_or_default();
    let mut facts = HostFacts {
        id: String::new(),
        cpu_model: parse_field(&processor, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
        cores: processor::online().unwrap_or_else(usable_cores),
        memory_bytes: memory::total_bytes().unwrap_or(0),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(unknown),
        os: read("/etc/os-release").as_deref().and_then(parse_os).unwrap_or_else(unknown),
        filesystem: filesystem_under(data_directory).unwrap_or_else(unknown),
        device: device_under(data_directory),
        details: details(&processor),
    };
    facts.id = identity(&facts);
    facts
}

fn identity(facts: &HostFacts) -> String {
    let values: Vec<String> = facts.decisive().into_iter().filter_map(|(_, value)| value).collect();
    let digest = Sha256::digest(values.join("\n").as_bytes());
    hexadecimal(&digest[..8])
}

fn details(processor: &str) -> BTreeMap<String, String> {
    let is_guest = parse_field(processor, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let smt = read("/sys/devices/system/cpu/smt/active").and_then(|active| match active.as_str() {
        "0" => Some("off".to_owned()),
        "1" => Some("on".to_owned()),
        _ => None,
    });
    let huge_pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    // Less than the machine has, if basecase itself is confined.
    let cores = Some(usable_cores()).filter(|cores| Some(*cores) != processor::online());
    let memory = memory_limit_bytes();
    [
        (HostFacts::AVAILABLE_CORES, cores.map(|cores| cores.to_string())),
        (HostFacts::AVAILABLE_MEMORY, memory.map(|bytes| format!("{} MiB", bytes >> 20))),
        (HostFacts::NICENESS, niceness().map(|niceness| format!("{niceness:+}"))),
        ("governor", governor),
        ("smt", smt),
        ("transparent_hugepage", huge_pages.as_deref().and_then(parse_choice).map(str::to_owned)),
        ("virtualisation", is_guest.then(|| "hypervisor".to_owned())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// The nice value of this process, -20 to 19, if it is not 0.
fn niceness() -> Option<i32> {
    rustix::process::getpriority_process(None).ok().filter(|niceness| *niceness != 0)
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The first `name : value` of `/proc/cpuinfo`.
pub fn parse_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// `PRETTY_NAME` of os-release(5), without its quotes.
fn parse_os(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The word in brackets of `always [madvise] never`.
pub fn parse_choice(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_as_the_kernel_writes_them() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.50GHz\nflags\t\t: fpu hypervisor\n";
        assert_eq!(parse_field(text, "model name"), Some("Some CPU @ 2.50GHz"));
        assert_eq!(parse_field(text, "model"), None);
        assert_eq!(details(text).get("virtualisation").map(String::as_str), Some("hypervisor"));
        assert_eq!(parse_os("NAME=x\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
        assert_eq!(parse_choice("always [madvise] never"), Some("madvise"));
    }

    #[test]
    fn identity_follows_what_changes_numbers() {
        let facts = host_facts(Path::new("/"));
        assert_eq!(facts.id.len(), 16);
        assert!(facts.cores > 0 && facts.memory_bytes > 0);
        let same = |other: HostFacts| identity(&other) == facts.id;
        let gib = facts.memory_bytes >> 30 << 30;
        assert_eq!(
            identity(&HostFacts { memory_bytes: gib + 4096, ..facts.clone() }),
            identity(&HostFacts { memory_bytes: gib + 8192, ..facts.clone() })
        );
        assert!(same(HostFacts { os: "another".into(), ..facts.clone() }));
        assert!(!same(HostFacts { kernel: "another".into(), ..facts.clone() }));
        assert!(!same(HostFacts { cores: facts.cores + 1, ..facts.clone() }));
        assert!(!same(HostFacts { device: Some("another".into()), ..facts.clone() }));
        for name in [HostFacts::AVAILABLE_CORES, HostFacts::AVAILABLE_MEMORY, HostFacts::NICENESS] {
            let mut other = facts.clone();
            other.details.insert(name.to_owned(), "another".to_owned());
            assert!(!same(other), "{name}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(PRETTY_NAME=|:|\\[|\\]|\"|.|\\n){0,40}") {
            let _ = (parse_field(&text, "a"), parse_os(&text), parse_choice(&text));
        }
    }
}
