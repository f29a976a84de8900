//! Memory: whether there is enough, and what the kernel does with it meanwhile.

use basecase_probe::{ProcessorSet, parse_choice, parse_kib};

use crate::finding::Finding;
use crate::host::Host;
use crate::words::size;

/// The share of the memory in swap from which on it disturbs. Less is what programs that sleep were moved there.
const MUCH_SWAP: f64 = 0.01;
/// The share of memory in use: above the first it limits, above the second it disturbs.
const USED: [f64; 2] = [0.75, 0.9];
/// The bit of `/proc/PID/personality` that keeps addresses from being drawn.
const FIXED_ADDRESSES: u64 = 0x004_0000;

/// How much of it is left for servers.
pub(crate) fn available(host: &Host) -> Finding {
    let told = host.read("proc/meminfo").unwrap_or_default();
    let sizes = parse_kib(&told, "MemTotal").zip(parse_kib(&told, "MemAvailable"));
    let Some((all, available)) = sizes else {
        return Finding::unknown("memory", "the kernel does not tell");
    };
    let used = 1.0 - available as f64 / all.max(1) as f64;
    let found = format!("{} of {} are available", size(available), size(all));
    let advice = "end what takes it; servers with less page cache read from the disk";
    let finding = Finding::by_size("memory", used, USED, found, advice);
    let finding = match host.memory_limit_bytes {
        Some(limit) if finding.advice.is_none() => Finding::limits(
            "memory",
            format!("a control group allows {} of {}", size(limit), size(all)),
            "choose sizes that fit, or raise its limit",
        ),
        _ => finding,
    };
    finding.with("available_bytes", available as f64).with("all_bytes", all as f64)
}

/// Memory that is on a disk.
pub(crate) fn swap(host: &Host) -> Finding {
    let told = host.read("proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| parse_kib(&told, name);
    let (Some(memory), Some(all), Some(free)) = (bytes("MemTotal"), bytes("SwapTotal"), bytes("SwapFree"))
    else {
        return Finding::unknown("swap", "the kernel does not tell");
    };
    let used = all.saturating_sub(free);
    let share = used as f64 / memory.max(1) as f64;
    let advice = "swapoff -a, or --memory SIZE, whose servers never swap";
    let finding = match all {
        0 => Finding::fine("swap", "off"),
        _ if share > MUCH_SWAP => {
            Finding::disturbs("swap", format!("{} of {} are in use", size(used), size(all)), advice)
        }
        _ => {
            let found =
                format!("on, {} of {} in use: servers that need too much get slow", size(used), size(all));
            Finding::limits("swap", found, advice)
        }
    };
    finding.of_share(share).with("used_bytes", used as f64).with("all_bytes", all as f64)
}

/// Huge pages that nobody asked for.
pub(crate) fn huge_pages(host: &Host) -> Finding {
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    match host.read(file).as_deref().and_then(parse_choice) {
        None => Finding::unknown("huge pages", "the kernel does not tell"),
        Some("always") => Finding::disturbs(
            "huge pages",
            "always: where the kernel finds any is luck, which differs from start to start",
            format!("echo madvise > /{file}"),
        ),
        Some(choice) => Finding::fine("huge pages", choice),
    }
}

/// Memory that is nearer to some processors than to others.
pub(crate) fn nodes(host: &Host) -> Finding {
    let online = host.read("sys/devices/system/node/online");
    let Some(nodes) = online.and_then(|text| text.parse::<ProcessorSet>().ok()) else {
        return Finding::unknown("NUMA", "the kernel does not tell");
    };
    let moves = host.read("proc/sys/kernel/numa_balancing").is_some_and(|value| value != "0");
    let moved = if moves { ", and the kernel moves pages between them" } else { "" };
    match nodes.numbers().len() {
        1 => Finding::fine("NUMA", "1 node"),
        count => Finding::limits(
            "NUMA",
            format!("{count} nodes{moved}: speed depends on where memory lies"),
            "numactl --cpunodebind=0 --membind=0 basecase …; sysctl kernel.numa_balancing=0",
        ),
    }
}

/// Whether each start of a server lies at other addresses. Their luck is then in the intervals of rounds; otherwise it is the same in each.
pub(crate) fn addresses(host: &Host) -> Finding {
    let Some(setting) = host.read("proc/sys/kernel/randomize_va_space") else {
        return Finding::unknown("ASLR", "the kernel does not tell");
    };
    let personality = host.read("proc/self/personality");
    let personality = personality.and_then(|text| u64::from_str_radix(&text, 16).ok()).unwrap_or(0);
    let advice = match setting.as_str() {
        "0" => "sysctl kernel.randomize_va_space=2",
        _ if personality & FIXED_ADDRESSES != 0 => "start basecase without setarch -R",
        _ => return Finding::fine("ASLR", "on: rounds average over the addresses of many starts"),
    };
    Finding::disturbs("ASLR", "off: the luck of one layout of addresses is the same in all rounds", advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::host;

    fn meminfo(available_mib: u64, swap_mib: u64, swap_free_mib: u64) -> String {
        format!(
            "MemTotal: {} kB\nMemAvailable: {} kB\nSwapTotal: {} kB\nSwapFree: {} kB\n",
            16 << 20,
            available_mib << 10,
            swap_mib << 10,
            swap_free_mib << 10
        )
    }

    #[test]
    fn swap_in_use_disturbs_and_swap_that_is_there_limits() {
        let found = |all, free| swap(&host(&[("proc/meminfo", &meminfo(8000, all, free))]).1);
        let used = found(2048, 1024);
        assert_eq!((used.severity, used.share), (Severity::Disturbs, Some(1.0 / 16.0)));
        assert_eq!(used.found, "1.0 GiB of 2.0 GiB are in use");
        assert_eq!(found(2048, 2040).severity, Severity::Limits);
        assert_eq!(found(0, 0).severity, Severity::Fine);
        assert_eq!(swap(&host(&[]).1).severity, Severity::Unknown);
    }

    #[test]
    fn memory_that_others_took_or_a_group_keeps_back_limits() {
        let found = |available, memory_limit_bytes| {
            let (_folder, host) = host(&[("proc/meminfo", &meminfo(available, 0, 0))]);
            available_of(&Host { memory_limit_bytes, ..host })
        };
        assert_eq!(found(1000, None), Severity::Disturbs);
        assert_eq!(found(3000, None), Severity::Limits);
        assert_eq!(found(12000, None), Severity::Fine);
        assert_eq!(found(12000, Some(1 << 30)), Severity::Limits);
        assert_eq!(found(1000, Some(1 << 30)), Severity::Disturbs, "the worse of both");
    }

    fn available_of(host: &Host) -> Severity {
        available(host).severity
    }

    #[test]
    fn huge_pages_for_all_disturb() {
        let file = "sys/kernel/mm/transparent_hugepage/enabled";
        let found = |text| huge_pages(&host(&[(file, text)]).1).severity;
        assert_eq!(found("[always] madvise never\n"), Severity::Disturbs);
        assert_eq!(found("always [madvise] never\n"), Severity::Fine);
        assert_eq!(found("nonsense"), Severity::Unknown);
    }

    #[test]
    fn several_nodes_limit() {
        let (online, balancing) = ("sys/devices/system/node/online", "proc/sys/kernel/numa_balancing");
        assert_eq!(nodes(&host(&[(online, "0\n")]).1).severity, Severity::Fine);
        let two = nodes(&host(&[(online, "0-1\n"), (balancing, "1\n")]).1);
        assert_eq!(two.severity, Severity::Limits);
        assert!(two.found.starts_with("2 nodes, and the kernel moves"), "{}", two.found);
    }

    #[test]
    fn fixed_addresses_disturb() {
        let (setting, personality) = ("proc/sys/kernel/randomize_va_space", "proc/self/personality");
        let found = |value, own| addresses(&host(&[(setting, value), (personality, own)]).1);
        assert_eq!(found("2\n", "00000000\n").severity, Severity::Fine);
        assert_eq!(found("0\n", "00000000\n").severity, Severity::Disturbs);
        assert_eq!(found("2\n", "00040000\n").advice.unwrap(), "start basecase without setarch -R");
        assert_eq!(addresses(&host(&[]).1).severity, Severity::Unknown);
    }
}
