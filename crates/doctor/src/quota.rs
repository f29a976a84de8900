//! The time of processors that control groups let this process have.

use basecase_probe::{Hierarchy, group_folders};

use crate::finding::Finding;
use crate::host::Host;
use crate::words::per_cent;

/// What one control group allows.
struct Quota {
    /// How many processors' time, e.g. 1.5.
    processors: f64,
    /// How many periods there were, and in how many of them its processes were held back.
    periods: [u64; 2],
}

/// Whether processes are held back once they have used their part of a period.
pub(crate) fn quota(host: &Host) -> Finding {
    let Some(told) = host.read("proc/self/cgroup") else {
        return Finding::unknown("quota", "the kernel shows no control groups");
    };
    let folders = group_folders(&told, "cpu");
    let quotas = folders.iter().filter_map(|(hierarchy, folder)| {
        let folder = folder.strip_prefix("/").unwrap_or(folder).display().to_string();
        read(host, *hierarchy, &folder)
    });
    let Some(least) = quotas.min_by(|one, other| one.processors.total_cmp(&other.processors)) else {
        return Finding::fine("quota", "no control group limits the time of processors");
    };
    let [periods, held_back] = least.periods;
    let share = held_back as f64 / periods.max(1) as f64;
    Finding::disturbs(
        "quota",
        format!(
            "a control group allows {:.1} processors' time, and held back in {} of its periods so far",
            least.processors,
            per_cent(share)
        ),
        "run outside of it, or raise the quota: docker run --cpus, CPUQuota= of systemd, limits.cpu of Kubernetes",
    )
    .of_share(share)
    .with("quota_processors", least.processors)
    .with("held_back_pct", share * 100.0)
}

/// The quota of one group, if it has one.
fn read(host: &Host, hierarchy: Hierarchy, folder: &str) -> Option<Quota> {
    let (quota, period) = match hierarchy {
        Hierarchy::Unified => {
            let told = host.read(&format!("{folder}/cpu.max"))?;
            let (quota, period) = told.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        Hierarchy::Legacy => (
            host.read(&format!("{folder}/cpu.cfs_quota_us"))?,
            host.read(&format!("{folder}/cpu.cfs_period_us"))?,
        ),
    };
    // `max` or -1 where there is none.
    let quota = quota.parse::<f64>().ok().filter(|quota| *quota > 0.0)?;
    let period = period.parse::<f64>().ok().filter(|period| *period > 0.0)?;
    let counts = host.read(&format!("{folder}/cpu.stat")).unwrap_or_default();
    let count = |name: &str| {
        let line = counts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    Some(Quota { processors: quota / period, periods: ["nr_periods", "nr_throttled"].map(count) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::host;

    #[test]
    fn the_smallest_quota_of_the_groups_around_counts() {
        let (_folder, host) = host(&[
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/outer/cpu.stat", "usage_usec 5\nnr_periods 200\nnr_throttled 50\n"),
            ("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n"),
        ]);
        let found = quota(&host);
        assert_eq!((found.severity, found.share), (Severity::Disturbs, Some(0.25)));
        assert!(
            found.found.contains("allows 1.5 processors' time, and held back in 25 %"),
            "{}",
            found.found
        );
    }

    #[test]
    fn groups_of_version_1_have_quotas_too() {
        let file = |quota: &str| {
            let (_folder, host) = host(&[
                ("proc/self/cgroup", "3:cpu,cpuacct:/a\n0::/\n"),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", quota),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ]);
            quota_of(&host)
        };
        assert_eq!(file("-1\n"), Severity::Fine);
        assert_eq!(file("50000\n"), Severity::Disturbs);
        assert_eq!(quota_of(&host(&[]).1), Severity::Unknown);
    }

    fn quota_of(host: &Host) -> Severity {
        quota(host).severity
    }
}
