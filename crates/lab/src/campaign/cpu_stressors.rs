//! Other work, made up: what do measurements come to while somebody else wants the processors?

use anyhow::{Context, Result};
use basecase_process::Watchdog;

/// Processes that do nothing but keep a processor busy each, until this is dropped or basecase is gone.
#[derive(Debug)]
pub struct CpuStressors(Option<Watchdog>);

impl CpuStressors {
    /// So many of them.
    ///
    /// # Errors
    /// Where there is no shell to start them.
    pub fn start(count: u16) -> Result<CpuStressors> {
        if count == 0 {
            return Ok(CpuStressors(None));
        }
        // Loops inherit that they ignore other signals.
        let loops = "(while :; do :; done) & pids=\"$pids $!\"\n".repeat(count.into());
        let watchdog = Watchdog::new(&format!("{loops}read -r nothing; kill -KILL $pids"));
        let watchdog = watchdog.context("no shell could be started to keep processors busy")?;
        Ok(CpuStressors(Some(watchdog)))
    }
}

impl Drop for CpuStressors {
    fn drop(&mut self) {
        if let Some(watchdog) = self.0.take() {
            watchdog.dismiss();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Loops of this module that are children of a child of this process and running. Other tests have such children, too.
    fn running() -> usize {
        let stat = |pid: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let fields: Vec<String> =
                stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
            Some((fields[0].clone(), fields[1].parse::<u32>().ok()?))
        };
        let pids = || {
            let entries = std::fs::read_dir("/proc").unwrap().flatten();
            entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        };
        let is_loop = |pid: &u32| {
            let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let parent = stat(*pid).filter(|(state, _)| state == "R").map(|(_, parent)| parent);
            let grandparent = parent.and_then(stat).map(|(_, grandparent)| grandparent);
            command.contains("while :; do :; done") && grandparent == Some(std::process::id())
        };
        pids().filter(is_loop).count()
    }

    fn wait_for(count: usize) -> usize {
        let until = Instant::now() + Duration::from_secs(20);
        while running() != count && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        running()
    }

    #[test]
    fn they_run_until_they_are_dropped() {
        let stressors = CpuStressors::start(2).unwrap();
        assert_eq!(wait_for(2), 2);
        drop(stressors);
        assert_eq!(wait_for(0), 0);
    }
}
