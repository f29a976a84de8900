//! All that is looked at, in its order.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use basecase_server::Callgrind;
use basecase_stop::Stopped;

use crate::finding::{Finding, Severity, sort};
use crate::host::Host;
use crate::watch::{clock_reading_ns, watch};
use crate::{disk, memory, processor, quota, rights, text, tools};

/// How long the machine is watched.
const WATCHED: Duration = Duration::from_secs(20);
/// What disturbs counts as well, which do not mind slow or uneven processors.
const OF_COUNTS: [&str; 2] = ["memory", "disk space"];

/// What was found on a machine, the worst first.
#[derive(Debug)]
pub struct Examination {
    /// Where servers' data would lie.
    pub data: PathBuf,
    /// How long it took.
    pub seconds: f64,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Looks at everything, which takes less than half a minute. `notify` gets a line before each part that takes a while.
///
/// # Errors
/// When the user wants to stop.
pub fn examine(host: &Host, notify: &mut dyn FnMut(&str)) -> Result<Examination, Stopped> {
    let began = Instant::now();
    // First, for what comes after it disturbs.
    notify(&format!("watching the processors and others' work for {} s", WATCHED.as_secs()));
    let watched = watch(host, WATCHED);
    basecase_stop::check()?;
    notify(&format!("writing to the disk under {}", host.data_above().display()));
    let sync = disk::sync(host);
    basecase_stop::check()?;
    notify("trying programs and rights");
    let mut findings = watched.findings(host);
    findings.extend(of_files(host));
    findings.extend([
        processor::turbo(host),
        processor::smt(host),
        processor::clock(host, Some(clock_reading_ns())),
        memory::nodes(host),
        sync,
        disk::filesystem(host),
        tools::clients(host),
        tools::compilers(host),
        tools::valgrind(&Callgrind::find()),
        rights::counter(),
        rights::profiles(),
        rights::control_groups(host),
        rights::io_uring(),
        rights::open_files(),
    ]);
    sort(&mut findings);
    Ok(Examination { data: host.data.clone(), seconds: began.elapsed().as_secs_f64(), findings })
}

/// What a run should say of a machine before it begins, by files alone: what disturbs, the worst first. Of counts alone, what disturbs them.
pub fn disturbances(host: &Host, counts_alone: bool) -> Vec<Finding> {
    let mut findings = of_files(host);
    findings.extend([
        processor::steal_since_boot(host),
        processor::clock(host, None),
        disk::filesystem(host),
    ]);
    findings.retain(|finding| finding.severity == Severity::Disturbs);
    findings.retain(|finding| !counts_alone || OF_COUNTS.contains(&finding.name));
    sort(&mut findings);
    findings
}

/// What files alone tell, for an examination and for a run.
fn of_files(host: &Host) -> Vec<Finding> {
    vec![
        processor::governor(host),
        processor::count(host),
        processor::niceness(host),
        quota::quota(host),
        memory::available(host),
        memory::swap(host),
        memory::huge_pages(host),
        memory::addresses(host),
        disk::space(host),
    ]
}

impl Examination {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// For people, in lines of so many letters.
    pub fn text(&self, columns: usize) -> String {
        text::render(self, columns)
    }

    /// For programs: one object.
    pub fn json(&self) -> serde_json::Value {
        let count = |severity| self.count(severity);
        serde_json::json!({
            "data": self.data.display().to_string(),
            "seconds": self.seconds,
            "disturbs": count(Severity::Disturbs),
            "limits": count(Severity::Limits),
            "unknown": count(Severity::Unknown),
            "fine": count(Severity::Fine),
            "findings": self.findings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Space;
    use crate::host::invented::host;

    const SWAP_IN_USE: &str =
        "MemTotal: 16777216 kB\nMemAvailable: 9000000 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n";

    #[test]
    fn three_planted_faults_are_what_a_run_says_and_a_good_machine_says_nothing() {
        let governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
        let huge_pages = "sys/kernel/mm/transparent_hugepage/enabled";
        let (_folder, faulty) = host(&[
            (governor, "powersave\n"),
            (huge_pages, "[always] madvise never\n"),
            ("proc/meminfo", SWAP_IN_USE),
        ]);
        let said = disturbances(&faulty, false);
        let names: Vec<&str> = said.iter().map(|finding| finding.name).collect();
        assert_eq!(names, ["swap", "governor", "huge pages"], "what has a share is first");
        assert_eq!(
            said[0].line(),
            "swap: 1.0 GiB of 2.0 GiB are in use (swapoff -a, or --memory SIZE, whose servers never swap)"
        );
        let (_folder, good) = host(&[(governor, "performance\n"), (huge_pages, "always [madvise] never\n")]);
        assert_eq!(disturbances(&good, false), []);
    }

    #[test]
    fn counts_mind_space_alone() {
        let (_folder, host) = host(&[("proc/meminfo", SWAP_IN_USE)]);
        let full = Host { space: Ok(Space { free_bytes: 1 << 30, all_bytes: 100 << 30 }), ..host };
        let names = |counts_alone| {
            disturbances(&full, counts_alone).iter().map(|finding| finding.name).collect::<Vec<_>>()
        };
        assert_eq!(names(true), ["disk space"]);
        assert_eq!(names(false), ["swap", "disk space"]);
    }

    #[test]
    fn json_has_the_counts_and_each_finding() {
        let findings = vec![Finding::disturbs("a", "b", "c").of_share(0.5).with("d_pct", 1.5)];
        let examination = Examination { data: "/data".into(), seconds: 25.0, findings };
        let finding = serde_json::json!({
            "name": "a", "severity": "disturbs", "found": "b", "advice": "c", "share": 0.5, "values": { "d_pct": 1.5 }
        });
        let expected = serde_json::json!({
            "data": "/data", "seconds": 25.0, "disturbs": 1, "limits": 0, "unknown": 0, "fine": 0, "findings": [finding]
        });
        assert_eq!(examination.json(), expected);
    }
}
