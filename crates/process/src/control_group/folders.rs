//! A control group made as folders of the hierarchy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use basecase_probe::{Hierarchy, ServerGroup};

use super::error::ControlGroupError;
use super::hierarchy::{Place, lists};
use crate::process::join;
use crate::watchdog::Watchdog;

/// How long the processes of a group may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// A limit on reads per second that no device reaches: from 6.10 on, kernels count for a group of version 1 only if it has
/// one.
const NO_LIMIT: u32 = 4_000_000_000;
/// Reads folders, one a line, and removes them once this process is gone and the server has ended, for which a
/// [`crate::Guard`] takes up to a minute.
const SCRIPT: &str = "set -f
IFS='
'
folders=$(cat)
seconds=180
while [ \"$seconds\" -gt 0 ]; do
    left=
    for folder in $folders; do [ ! -d \"$folder\" ] || rmdir \"$folder\" 2>/dev/null || left=1; done
    [ -n \"$left\" ] || exit
    sleep 1
    seconds=$((seconds - 1))
done";

/// The number of groups made so far.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A control group made as folders, one in each hierarchy.
#[derive(Debug)]
pub(super) struct Folders {
    place: Place,
    paths: Vec<PathBuf>,
    watchdog: Option<Watchdog>,
}

impl Folders {
    /// Makes a group whose processes may use this much memory and no swap.
    pub(super) fn make(place: &Place, limit_bytes: u64) -> Result<Self, ControlGroupError> {
        enable(place)?;
        let name = format!("basecase-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut folders = Folders { place: place.clone(), paths: Vec::new(), watchdog: None };
        let paths: Vec<PathBuf> = place.folders.iter().map(|folder| folder.join(&name)).collect();
        let mut watchdog = Watchdog::new(SCRIPT);
        for path in paths {
            // What a killed process of the same number left.
            let _ = fs::remove_dir(&path);
            if let Some(watchdog) = &mut watchdog {
                // If it has ended, the group is still removed when it is dropped.
                let _ = watchdog.tell(&path.display().to_string());
            }
            fs::create_dir(&path).map_err(wrong(&path))?;
            folders.paths.push(path);
        }
        folders.watchdog = watchdog;
        folders.limit(limit_bytes)?;
        Ok(folders)
    }

    fn limit(&mut self, limit_bytes: u64) -> Result<(), ControlGroupError> {
        let bytes = limit_bytes.to_string();
        let memory = self.memory().to_path_buf();
        write(&memory, self.place.hierarchy.limit_file(), &bytes)?;
        let kept_from_swap = match self.place.hierarchy {
            Hierarchy::Unified => write(&memory, "memory.swap.max", "0"),
            Hierarchy::Legacy => write(&memory, "memory.swappiness", "0")
                .and_then(|()| write(&memory, "memory.memsw.limit_in_bytes", &bytes)),
        };
        if kept_from_swap.is_err() && has_swap() {
            return Err(ControlGroupError::Swap);
        }
        if let Some((device, io)) = self.place.device.as_ref().zip(self.paths.get(1)) {
            let rule = format!("{device} {NO_LIMIT}");
            if write(io, "blkio.throttle.read_iops_device", &rule).is_err() {
                self.place.device = None;
            }
        }
        Ok(())
    }

    fn memory(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Lets the command join the group before its program is executed.
    pub(super) fn join(&self, command: &mut Command) -> io::Result<()> {
        let open = |path: &PathBuf| OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        join(command, self.paths.iter().map(open).collect::<io::Result<Vec<File>>>()?);
        Ok(())
    }

    pub(super) fn counts(&self) -> ServerGroup {
        let io = self.paths.last().cloned().zip(self.place.device.clone());
        ServerGroup::new(self.place.hierarchy, self.memory(), io)
    }

    #[cfg(test)]
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Leaves the folders to the watchdog, as if this process were gone.
    #[cfg(test)]
    pub(super) fn abandon(mut self) {
        self.paths.clear();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if self.paths.is_empty() {
            return;
        }
        // Page cache would stay charged to a group that is gone. What fails here costs memory for a while.
        let (file, text) = match self.place.hierarchy {
            Hierarchy::Unified => ("memory.reclaim", "1T"),
            Hierarchy::Legacy => ("memory.force_empty", "0"),
        };
        let reclaim = OpenOptions::new().write(true).open(self.memory().join(file));
        let _ = reclaim.and_then(|mut reclaim| reclaim.write_all(text.as_bytes()));
        let until = Instant::now() + PATIENCE;
        loop {
            let mut is_busy = false;
            self.paths.retain(|path| match fs::remove_dir(path) {
                Ok(()) => false,
                Err(error) => {
                    is_busy |= error.kind() == io::ErrorKind::ResourceBusy;
                    path.is_dir()
                }
            });
            if !is_busy || Instant::now() > until {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // While a process is left, its watchdog waits for it; otherwise it ends at once.
        if let Some(watchdog) = self.watchdog.take().filter(|_| self.paths.is_empty()) {
            watchdog.dismiss();
        }
    }
}

/// Enables the controllers for groups in a place of version 2. The kernel refuses it where processes are.
fn enable(place: &Place) -> Result<(), ControlGroupError> {
    if place.hierarchy == Hierarchy::Legacy {
        return Ok(());
    }
    let file = place.memory().join("cgroup.subtree_control");
    if !lists(&file, "memory") {
        write(place.memory(), "cgroup.subtree_control", "+memory")?;
    }
    if place.device.is_some() && !lists(&file, "io") {
        // Without it, reads are those of the processes.
        let _ = write(place.memory(), "cgroup.subtree_control", "+io");
    }
    Ok(())
}

fn has_swap() -> bool {
    // The first line is a heading.
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

fn write(folder: &Path, file: &str, text: &str) -> Result<(), ControlGroupError> {
    let path = folder.join(file);
    fs::write(&path, text).map_err(wrong(&path))
}

fn wrong(path: &Path) -> impl FnOnce(io::Error) -> ControlGroupError {
    let path = path.to_path_buf();
    move |source| ControlGroupError::Group { path, source }
}
