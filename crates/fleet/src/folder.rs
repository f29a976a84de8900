//! The folder that all nodes of a fleet and its coordinator share.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use basecase_model::hexadecimal;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::{FleetError, file};

/// The file with the fleet's id, by which a node sees that it has the same folder as the coordinator.
pub(crate) const ID: &str = "fleet-id";
/// How much of the end of a log is read.
const TAIL_BYTES: u64 = 4096;

/// The folder that all nodes of a fleet and its coordinator share: `<store>.fleet` beside the coordinator's store.
///
/// | file | content |
/// |---|---|
/// | `fleet-id` | a random number |
/// | `program` | a copy of the program, for all nodes |
/// | `job.sh` | what runs one node |
/// | `submission.json` | what was submitted |
/// | `submitting.json` | the same while the scheduler is asked, locked by the program that asks |
/// | `decided` | the steps that need no more rounds |
/// | `node-3/` | of one node: its store with a checksum, its log, `clock` and `job` when it started, `exit` when it ended |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetFolder {
    path: PathBuf,
}

impl FleetFolder {
    /// The folder of the fleet whose coordinator has this store. It need not exist.
    pub fn beside(store: &Path) -> Self {
        let mut path = std::path::absolute(store).unwrap_or_else(|_| store.to_owned()).into_os_string();
        path.push(".fleet");
        FleetFolder { path: path.into() }
    }

    /// Creates the folder and its id if they are missing, and copies `program` into it.
    ///
    /// # Errors
    /// If something cannot be written, or the program cannot be read.
    pub fn create(&self, program: &Path) -> Result<(), FleetError> {
        fs::create_dir_all(&self.path).map_err(FleetError::at(&self.path))?;
        let id = self.path.join(ID);
        if !id.exists() {
            let mut random = [0_u8; 16];
            let drawn = getrandom(&mut random, GetRandomFlags::empty());
            drawn.map_err(io::Error::from).map_err(FleetError::at(&id))?;
            file::replace(&id, format!("{}\n", hexadecimal(&random)).as_bytes())?;
        }
        let copy = || {
            let mut copy = file::beside(&self.program())?;
            file::copy(&mut fs::File::open(program)?, &mut copy)?;
            copy.as_file().set_permissions(fs::Permissions::from_mode(0o755))?;
            file::put(copy, &self.program())
        };
        copy().map_err(FleetError::at(&self.program()))
    }

    /// The folder of the fleet whose coordinator has this store, if there is one.
    pub fn open(store: &Path) -> Option<Self> {
        Some(FleetFolder::beside(store)).filter(|folder| folder.path.join(ID).is_file())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The copy of the program that nodes run.
    pub fn program(&self) -> PathBuf {
        self.path.join("program")
    }

    /// The script that runs one node.
    pub fn script(&self) -> PathBuf {
        self.path.join("job.sh")
    }

    /// The file with the steps that need no more rounds.
    pub fn decided(&self) -> PathBuf {
        self.path.join("decided")
    }

    /// The folder of a node, from 1.
    pub fn node(&self, node: u32) -> PathBuf {
        self.path.join(format!("node-{node}"))
    }

    /// The log of a node.
    pub fn log(&self, node: u32) -> PathBuf {
        self.node(node).join("log")
    }

    /// The fleet's id.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn id(&self) -> Result<String, FleetError> {
        let path = self.path.join(ID);
        let text = file::if_there(fs::read_to_string(&path)).map_err(FleetError::at(&path))?;
        match text.map(|text| text.trim().to_owned()).filter(|id| !id.is_empty()) {
            Some(id) => Ok(id),
            None => Err(FleetError::NoFleet { path: self.path.clone() }),
        }
    }

    /// The exit code with which a node's program ended; `None` while it runs, or if it was killed with its machine.
    pub fn exit_code(&self, node: u32) -> Option<i32> {
        self.note(node, "exit")?.parse().ok()
    }

    /// The id of the job that started a node last; `None` if none did, or not one of the scheduler.
    pub(crate) fn job(&self, node: u32) -> Option<String> {
        self.note(node, "job").filter(|id| !id.is_empty())
    }

    /// What a node noted in a file of its folder.
    fn note(&self, node: u32, name: &str) -> Option<String> {
        let note = fs::read_to_string(self.node(node).join(name)).ok()?;
        Some(note.trim().to_owned())
    }

    /// What a node's log ends with: the last line that begins with `error:`, or else the last line.
    pub fn last_words(&self, node: u32) -> Option<String> {
        let mut log = fs::File::open(self.log(node)).ok()?;
        let length = log.metadata().ok()?.len();
        log.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
        let mut tail = Vec::new();
        log.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
        let tail = String::from_utf8_lossy(&tail);
        let lines = || tail.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines().rfind(|line| line.starts_with("error: "));
        error.or_else(|| lines().next_back()).map(str::to_owned)
    }

    /// How far the clock of a node was ahead of the clock of the file system when the node started, in seconds; `None` if it has
    /// not started.
    pub(crate) fn clock_ahead_s(&self, node: u32) -> Option<f64> {
        let path = self.node(node).join("clock");
        let told: f64 = self.note(node, "clock")?.parse().ok()?;
        Some(told - seconds(path.metadata().ok()?.modified().ok()?))
    }

    /// How far this machine's clock is ahead of the clock of the file system, in seconds.
    pub(crate) fn own_clock_ahead_s(&self) -> Option<f64> {
        let probe = tempfile::Builder::new().prefix(".clock-").tempfile_in(&self.path).ok()?;
        let now = seconds(SystemTime::now());
        Some(now - seconds(probe.as_file().metadata().ok()?.modified().ok()?))
    }
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_created_once_and_opened_again() {
        let place = tempfile::tempdir().unwrap();
        let (store, program) = (place.path().join("fleet.sqlite"), place.path().join("basecase"));
        fs::write(&program, "one").unwrap();
        assert_eq!(FleetFolder::open(&store), None);
        let folder = FleetFolder::beside(&store);
        assert_eq!(folder.path(), place.path().join("fleet.sqlite.fleet"));
        assert!(matches!(folder.id(), Err(FleetError::NoFleet { .. })));
        folder.create(&program).unwrap();
        let id = folder.id().unwrap();
        assert_eq!(id.len(), 32);
        fs::write(&program, "two").unwrap();
        folder.create(&program).unwrap();
        assert_eq!((folder.id().unwrap(), FleetFolder::open(&store)), (id, Some(folder.clone())));
        assert_eq!(fs::read(folder.program()).unwrap(), b"two");
        assert_eq!(folder.program().metadata().unwrap().permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn the_last_words_of_a_log_are_its_error_before_a_hint() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::beside(&place.path().join("s.sqlite"));
        fs::create_dir_all(folder.node(2)).unwrap();
        assert_eq!(folder.last_words(2), None);
        let long = "round 1\n".repeat(2000);
        fs::write(folder.log(2), format!("{long}error: no space is left\nhint: free some\n\n")).unwrap();
        assert_eq!(folder.last_words(2).unwrap(), "error: no space is left");
        fs::write(folder.log(2), format!("{long}Killed\n")).unwrap();
        assert_eq!(folder.last_words(2).unwrap(), "Killed");
    }

    #[test]
    fn clocks_are_compared_by_the_time_of_a_file() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::beside(&place.path().join("s.sqlite"));
        fs::create_dir_all(folder.node(1)).unwrap();
        assert_eq!(folder.clock_ahead_s(1), None);
        let now = seconds(SystemTime::now()) as u64;
        fs::write(folder.node(1).join("clock"), format!("{}\n", now + 300)).unwrap();
        assert!((folder.clock_ahead_s(1).unwrap() - 300.0).abs() < 30.0);
        assert!(folder.own_clock_ahead_s().unwrap().abs() < 30.0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no file is left");
    }
}
