//! The processors: how steady their speed is, and how much of them there is.

use std::collections::BTreeMap;

use basecase_probe::{CpuTicks, ProcessorSet};
use basecase_stats::NOISY_STEAL;

use crate::finding::Finding;
use crate::host::Host;
use crate::words::{per_cent, time};

const PROCESSORS: &str = "sys/devices/system/cpu";
const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
/// Clocks whose every reading waits for a device.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// The share of stolen time from which on it is worth a word.
const SOME_STEAL: f64 = 0.005;
/// How long a reading of the clock may take, ns: above the first it limits, above the second it disturbs. Without a system call it takes 20
/// to 60, with one at least 100, and with a device 1000.
const CLOCK_NS: [f64; 2] = [100.0, 500.0];

/// Who chooses the frequency, and how.
pub(crate) fn governor(host: &Host) -> Finding {
    let mut governors: BTreeMap<String, usize> = BTreeMap::new();
    for name in host.names(PROCESSORS) {
        if let Some(governor) = host.read(&format!("{PROCESSORS}/{name}/cpufreq/scaling_governor")) {
            *governors.entry(governor).or_default() += 1;
        }
    }
    let all: usize = governors.values().sum();
    let other = governors.into_iter().find(|(governor, _)| governor != "performance");
    match other {
        _ if all == 0 => Finding::unknown("governor", not_shown(host, "no governor")),
        None => Finding::fine("governor", "performance"),
        Some((governor, count)) => Finding::disturbs(
            "governor",
            format!("{governor} on {count} of {all} processors: the frequency follows the load"),
            "cpupower frequency-set -g performance",
        ),
    }
}

/// Frequencies above the nominal one.
pub(crate) fn turbo(host: &Host) -> Finding {
    let intel = host.read(&format!("{PROCESSORS}/intel_pstate/no_turbo")).map(|off| off == "0");
    let boost = host.read(&format!("{PROCESSORS}/cpufreq/boost")).map(|on| on == "1");
    let command = match intel {
        Some(_) => format!("echo 1 > /{PROCESSORS}/intel_pstate/no_turbo"),
        None => format!("echo 0 > /{PROCESSORS}/cpufreq/boost"),
    };
    match intel.or(boost) {
        None => Finding::unknown("turbo", not_shown(host, "no turbo")),
        Some(false) => Finding::fine("turbo", "off"),
        Some(true) => {
            Finding::limits("turbo", "on: the speed depends on heat and on how many cores work", command)
        }
    }
}

/// Processors that share a core.
pub(crate) fn smt(host: &Host) -> Finding {
    match host.read(&format!("{PROCESSORS}/smt/active")).as_deref() {
        Some("1") => Finding::limits(
            "SMT",
            "on: two processors share a core, and slow each other",
            format!(
                "echo off > /{PROCESSORS}/smt/control, or give client and servers whole cores with --pin"
            ),
        ),
        Some("0") if host.is_guest() => Finding::fine("SMT", "off, as far as a virtual machine can tell"),
        Some("0") => Finding::fine("SMT", "off"),
        _ => Finding::unknown("SMT", "the kernel does not tell"),
    }
}

/// How many processors the machine has.
pub(crate) fn online(host: &Host) -> u32 {
    let told = host.read(&format!("{PROCESSORS}/online"));
    let set = told.and_then(|text| text.parse::<ProcessorSet>().ok());
    let count = set.and_then(|set| u32::try_from(set.numbers().len()).ok());
    count.unwrap_or(host.usable_cores)
}

/// How many processors there are for client, servers and all else.
pub(crate) fn count(host: &Host) -> Finding {
    let (usable, all) = (host.usable_cores, online(host));
    let finding = match usable {
        1 => Finding::disturbs(
            "processors",
            "1: client and server take turns on it",
            "count instead of timing (basecase count), or take a larger machine",
        ),
        _ if usable < all => Finding::limits(
            "processors",
            format!("basecase may use {usable} of {all}"),
            "see taskset and the control group that basecase runs in",
        ),
        2 | 3 => Finding::limits(
            "processors",
            format!("{usable}: client, server and all else share them"),
            "keep to one connection, or take a larger machine",
        ),
        _ => Finding::fine("processors", usable.to_string()),
    };
    finding.with("usable", f64::from(usable)).with("online", f64::from(all))
}

/// Whether others come before basecase, or after it.
pub(crate) fn niceness(host: &Host) -> Finding {
    // The name of the program may hold blanks and parentheses: see proc_pid_stat(5).
    let told = host.read("proc/self/stat");
    let behind_name = told.as_deref().and_then(|text| text.rsplit_once(')')).map(|(_, rest)| rest);
    let niceness = behind_name.and_then(|rest| rest.split_whitespace().nth(16)?.parse::<i32>().ok());
    match niceness {
        None => Finding::unknown("niceness", "the kernel does not tell"),
        Some(nice) if nice > 0 => Finding::disturbs(
            "niceness",
            format!("{nice:+}: all others come before basecase and its servers"),
            "start basecase without nice",
        ),
        Some(0) => Finding::fine("niceness", "0, as usual"),
        Some(nice) => Finding::fine("niceness", format!("{nice:+}: basecase comes before others")),
    }
}

/// Time that the hypervisor gave to others since boot.
pub(crate) fn steal_since_boot(host: &Host) -> Finding {
    match host.read("proc/stat").as_deref().and_then(CpuTicks::parse) {
        None => Finding::unknown("steal", "the kernel does not tell"),
        Some(ticks) => {
            let all = ticks.user + ticks.system + ticks.idle + ticks.iowait + ticks.steal;
            steal(ticks.steal as f64 / all.max(1) as f64, "the time since boot")
        }
    }
}

/// The share of all processors' time that the hypervisor gave to others.
pub(crate) fn steal(share: f64, period: &str) -> Finding {
    let found = format!("the hypervisor gave {} of {period} to others", per_cent(share));
    let advice = "measure at another time, or on a machine of your own; rounds leave out what it hits";
    Finding::by_size("steal", share, [SOME_STEAL, NOISY_STEAL], found, advice)
        .of_share(share)
        .with("steal_pct", share * 100.0)
}

/// The clock behind all times, with the time of a reading where that was measured, in ns.
pub(crate) fn clock(host: &Host, reading_ns: Option<f64>) -> Finding {
    let source = host.read(&format!("{CLOCK}/current_clocksource"));
    let is_slow = source.as_deref().is_some_and(|name| SLOW_CLOCKS.contains(&name));
    let name = source.as_deref().unwrap_or("an unknown source");
    let advice = if is_slow {
        "see dmesg for why the kernel avoids tsc; another machine may have it"
    } else {
        "each reading is a system call, as in some sandboxes: run outside of them"
    };
    match reading_ns {
        Some(ns) => {
            let found = format!("{name}: a reading takes {}", time(ns / 1e3));
            Finding::by_size("clock", ns, CLOCK_NS, found, advice).with("reading_ns", ns)
        }
        None if source.is_none() => Finding::unknown("clock", "the kernel does not tell"),
        None if is_slow => {
            Finding::disturbs("clock", format!("{name}: each reading waits for a device"), advice)
        }
        None => Finding::fine("clock", name),
    }
}

fn not_shown(host: &Host, what: &str) -> String {
    let whose = if host.is_guest() { "a virtual machine shows" } else { "the kernel shows" };
    let end = if host.is_guest() { ": its host decides" } else { "" };
    format!("{whose} {what}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::host;

    const GUEST: (&str, &str) = ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu hypervisor sse\n");

    fn governor_file(number: u32) -> String {
        format!("{PROCESSORS}/cpu{number}/cpufreq/scaling_governor")
    }

    #[test]
    fn a_governor_that_saves_power_disturbs() {
        let (zero, one) = (governor_file(0), governor_file(1));
        let found = |governors: [&str; 2]| {
            let (_folder, host) = host(&[(&zero, governors[0]), (&one, governors[1])]);
            governor(&host)
        };
        let one_of_two = found(["performance\n", "powersave\n"]);
        assert_eq!(one_of_two.severity, Severity::Disturbs);
        assert!(one_of_two.found.starts_with("powersave on 1 of 2 processors"), "{one_of_two:?}");
        assert_eq!(found(["performance\n", "performance\n"]).severity, Severity::Fine);
        let guest = governor(&host(&[GUEST]).1);
        assert_eq!((guest.severity, guest.advice), (Severity::Unknown, None));
        assert!(guest.found.contains("virtual machine"), "{}", guest.found);
    }

    #[test]
    fn turbo_and_shared_cores_limit() {
        let (intel, amd, smt_file) = (
            format!("{PROCESSORS}/intel_pstate/no_turbo"),
            format!("{PROCESSORS}/cpufreq/boost"),
            format!("{PROCESSORS}/smt/active"),
        );
        let severity = |file: &str, text: &str, find: fn(&Host) -> Finding| {
            let (_folder, host) = host(&[(file, text)]);
            find(&host).severity
        };
        assert_eq!(severity(&intel, "0\n", turbo), Severity::Limits);
        assert_eq!(severity(&intel, "1\n", turbo), Severity::Fine);
        assert_eq!(severity(&amd, "1\n", turbo), Severity::Limits);
        assert_eq!(severity(&amd, "0\n", turbo), Severity::Fine);
        assert_eq!(severity("other", "", turbo), Severity::Unknown);
        assert_eq!(severity(&smt_file, "1\n", smt), Severity::Limits);
        assert_eq!(severity(&smt_file, "0\n", smt), Severity::Fine);
        assert_eq!(severity("other", "", smt), Severity::Unknown);
    }

    #[test]
    fn few_processors_limit_and_a_single_one_disturbs() {
        let online = format!("{PROCESSORS}/online");
        let severity = |usable_cores| {
            let (_folder, host) = host(&[(&online, "0-7\n")]);
            count(&Host { usable_cores, ..host }).severity
        };
        assert_eq!([1, 2, 8].map(severity), [Severity::Disturbs, Severity::Limits, Severity::Fine]);
        let (_folder, small) = host(&[(&online, "0-1\n")]);
        let found = count(&Host { usable_cores: 2, ..small });
        assert_eq!((found.severity, found.values["online"]), (Severity::Limits, 2.0));
    }

    #[test]
    fn niceness_stands_behind_a_name_of_any_letters() {
        let found = |nice: &str| {
            let stat = format!("7 (a b) c) S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 {nice} 1 0 5\n");
            let (_folder, host) = host(&[("proc/self/stat", &stat)]);
            niceness(&host)
        };
        // The priority stands before it.
        assert_eq!(found("10").found, "+10: all others come before basecase and its servers");
        assert_eq!([found("0"), found("-5")].map(|found| found.severity), [Severity::Fine; 2]);
        assert_eq!(niceness(&host(&[]).1).severity, Severity::Unknown);
    }

    #[test]
    fn steal_is_a_share_of_all_time() {
        let found = |line: &str| steal_since_boot(&host(&[("proc/stat", line)]).1);
        let stolen = found("cpu  500 0 200 200 0 0 0 100 0 0\ncpu0 1 1\n");
        assert_eq!((stolen.severity, stolen.share), (Severity::Disturbs, Some(0.1)));
        assert_eq!(stolen.found, "the hypervisor gave 10 % of the time since boot to others");
        assert_eq!(found("cpu  500 0 200 299 0 0 0 1 0 0\n").severity, Severity::Fine);
        assert_eq!(found("").severity, Severity::Unknown);
    }

    #[test]
    fn a_slow_clock_disturbs_by_its_name_or_by_its_time() {
        let file = format!("{CLOCK}/current_clocksource");
        let found = |name: &str, ns| clock(&host(&[(&file, name)]).1, ns).severity;
        assert_eq!(found("hpet\n", None), Severity::Disturbs);
        assert_eq!(found("tsc\n", None), Severity::Fine);
        assert_eq!(found("tsc\n", Some(25.0)), Severity::Fine);
        assert_eq!(found("tsc\n", Some(250.0)), Severity::Limits, "a system call, as in some sandboxes");
        assert_eq!(found("hpet\n", Some(1200.0)), Severity::Disturbs);
        assert_eq!(clock(&host(&[]).1, None).severity, Severity::Unknown);
    }
}
