//! Other programs that use the processors.

use std::collections::BTreeMap;

use basecase_stats::NOISY_CORES;

use crate::finding::Finding;
use crate::host::Host;

/// Processors that others may use without a word.
const FEW_CORES: f64 = 0.05;
/// How many of them are named.
const NAMED: usize = 3;
/// Who used less than this of a processor is not named.
const WORTH_NAMING: f64 = 0.02;

/// A process at one instant.
pub(crate) struct Process {
    name: String,
    /// Its CPU time so far, in ticks.
    ticks: u64,
}

/// Processes by their numbers, which are given again, and the ticks at which they began. Names change: those of kernel threads tell what
/// they do.
pub(crate) type Processes = BTreeMap<(u32, u64), Process>;

/// All processes that this user can see, without this one.
pub(crate) fn processes(host: &Host) -> Processes {
    let numbers = host.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    numbers
        .filter(|number| *number != std::process::id())
        .filter_map(|number| {
            let (began, process) = parse_stat(&host.read(&format!("proc/{number}/stat"))?)?;
            Some(((number, began), process))
        })
        .collect()
}

/// A process out of `/proc/PID/stat`, with the tick at which it began: see proc_pid_stat(5).
fn parse_stat(text: &str) -> Option<(u64, Process)> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let ticks = number(11)?.saturating_add(number(12)?);
    Some((number(19)?, Process { name: name.to_owned(), ticks }))
}

/// How many processors each program used between two looks, the busiest first.
pub(crate) fn busiest(before: &Processes, after: &Processes, ticks_per_processor: f64) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, process) in after {
        let earlier = before.get(key).map_or(0, |earlier| earlier.ticks);
        *by_name.entry(&process.name).or_default() += process.ticks.saturating_sub(earlier);
    }
    let mut busy: Vec<(String, f64)> = by_name
        .into_iter()
        .map(|(name, ticks)| (name.to_owned(), ticks as f64 / ticks_per_processor))
        .collect();
    busy.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    busy
}

/// How much others used of so many processors, and which programs did.
pub(crate) fn neighbours(used: f64, all: u32, seconds: f64, busiest: &[(String, f64)]) -> Finding {
    let is_worth_naming = |cores: f64| cores >= WORTH_NAMING;
    let named = busiest.iter().filter(|(_, cores)| is_worth_naming(*cores)).take(NAMED);
    let mut named: Vec<String> = named.map(|(name, cores)| format!("{name} {cores:.2}")).collect();
    let unseen = used - busiest.iter().map(|(_, cores)| cores).sum::<f64>();
    // Ticks and exact times differ by less.
    if unseen > FEW_CORES {
        named.push(format!("programs that ended or are hidden {unseen:.2}"));
    }
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    let found = format!("others used {used:.2} of {all} processors for {seconds:.0} s{named}");
    let advice = "end them, or measure when they rest; basecase count does not mind them";
    Finding::by_size("neighbours", used, [FEW_CORES, NOISY_CORES], found, advice)
        .of_share(used / f64::from(all.max(1)))
        .with("used_processors", used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::host;

    #[test]
    fn the_busiest_are_named_by_what_they_used_meanwhile() {
        let stat = |name: &str, user: u64, system: u64| {
            format!("1 ({name}) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} 900 900 20 0 1 0 5 0 0")
        };
        let own = format!("proc/{}/stat", std::process::id());
        let look = |first: u64, second: u64| {
            let (_folder, host) = host(&[
                ("proc/4000001/stat", &stat("cc1 (a) b", first, 100)),
                ("proc/4000002/stat", &stat("cc1 (a) b", 0, second)),
                ("proc/4000004/stat", &stat(&format!("kworker-{first}"), 800, 0)),
                ("proc/4000003/stat", &stat("asleep", 500, 500)),
                ("proc/self-is-no-number/stat", ""),
                (&own, &stat("own", first, 0)),
            ]);
            processes(&host)
        };
        let (before, after) = (look(100, 100), look(300, 200));
        assert_eq!(after.len(), 4);
        let busy = busiest(&before, &after, 2000.0);
        assert_eq!(busy[0], ("cc1 (a) b".to_owned(), 0.15));
        assert!(busy[1..].iter().all(|(_, cores)| *cores == 0.0), "a new name is no new process: {busy:?}");
    }

    #[test]
    fn what_others_use_disturbs_by_its_size() {
        let busy = [("rustc".to_owned(), 1.1), ("mysqld".to_owned(), 0.1)];
        let found = neighbours(1.234, 2, 20.0, &busy);
        assert_eq!((found.severity, found.share), (Severity::Disturbs, Some(0.617)));
        assert_eq!(found.found, "others used 1.23 of 2 processors for 20 s: rustc 1.10, mysqld 0.10");
        let hidden = neighbours(0.1, 8, 20.0, &[]);
        assert_eq!(hidden.severity, Severity::Limits);
        assert!(
            hidden.found.ends_with("for 20 s: programs that ended or are hidden 0.10"),
            "{}",
            hidden.found
        );
        assert_eq!(neighbours(0.01, 8, 20.0, &[]).severity, Severity::Fine);
    }
}
