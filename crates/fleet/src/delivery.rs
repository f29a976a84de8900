//! How a node's store comes to the coordinator: as a whole file with its checksum. SQLite never works on a shared file system.
//!
//! Beside the delivered file lies its checksum, as `sha256sum` writes it. While a file takes the place of another, the checksums
//! of both are there. So whoever reads at any moment, also after a node was killed in the middle, finds a file that fits.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use basecase_store::Store;
use tempfile::{NamedTempFile, TempPath};

use crate::{FleetError, FleetFolder, file};

/// The delivered store.
const STORE: &str = "results.sqlite";
/// The file with its checksum.
const CHECKSUM: &str = "results.sqlite.sha256";
/// How often a file that does not fit is read while its checksum stays the same. Caches of a network file system may show file and
/// checksum of different moments.
const TRIES: u32 = 5;
/// How often it is read at most, however often its checksum changes.
const ALL_TRIES: u32 = 50;
/// The time between two of these tries.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The place that a node delivers its store to.
#[derive(Debug, Clone)]
pub struct Delivery {
    folder: PathBuf,
}

impl Delivery {
    /// The folder of one node. It need not exist.
    pub fn to(folder: &Path) -> Self {
        Delivery { folder: folder.to_owned() }
    }

    /// Delivers the state that the store has now, also while a run writes to it.
    ///
    /// # Errors
    /// If the store cannot be read, or there is no space for a copy beside it or in the folder.
    pub fn deliver(&self, store: &Path) -> Result<(), FleetError> {
        let near = file::folder_of(store);
        let local = tempfile::Builder::new().prefix(".delivery-").tempdir_in(near);
        let local = local.map_err(FleetError::at(near))?;
        let copy = local.path().join(STORE);
        Store::open_read_only(store)?.copy_to(&copy)?;
        self.put(&copy).map_err(FleetError::at(&self.folder))
    }

    /// Takes the delivered store where there is no store at `store`, so that a node goes on with what it has measured on another
    /// machine. Returns whether it did.
    ///
    /// # Errors
    /// If the delivered file does not fit its checksum, or the copy cannot be written.
    pub fn restore(&self, store: &Path) -> Result<bool, FleetError> {
        if store.exists() {
            return Ok(false);
        }
        let who = || format!("the delivery in {}", self.folder.display());
        let new = || file::beside(store).map_err(FleetError::at(store));
        let Some((copy, _)) = self.copy(None, &new, &who)? else { return Ok(false) };
        file::put(copy, store).map_err(FleetError::at(store))?;
        Ok(true)
    }

    fn put(&self, copy: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut delivered = file::beside(&self.folder.join(STORE))?;
        let sum = file::copy(&mut File::open(copy)?, &mut delivered)?;
        let before = self.stated()?.unwrap_or_default();
        let both: Vec<String> = [sum.clone()].into_iter().chain(before).take(2).collect();
        self.state(&both)?;
        file::put(delivered, &self.folder.join(STORE))?;
        self.state(&[sum])
    }

    /// Writes the checksums that the delivered file may have.
    fn state(&self, sums: &[String]) -> io::Result<()> {
        let lines: String = sums.iter().map(|sum| format!("{sum}  {STORE}\n")).collect();
        let path = self.folder.join(CHECKSUM);
        let mut file = file::beside(&path)?;
        io::Write::write_all(&mut file, lines.as_bytes())?;
        file::put(file, &path)
    }

    /// The checksums that the delivered file may have; `None` if nothing was delivered.
    fn stated(&self) -> io::Result<Option<Vec<String>>> {
        let text = file::if_there(fs::read(self.folder.join(CHECKSUM)))?;
        let sums = |text: Vec<u8>| {
            let text = String::from_utf8_lossy(&text).into_owned();
            text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
        };
        Ok(text.map(sums))
    }

    /// Copies the delivered file into a file that `new` makes, unless it has the checksum `seen`. `who` names it in errors.
    fn copy(
        &self,
        seen: Option<&str>,
        new: &dyn Fn() -> Result<NamedTempFile, FleetError>,
        who: &dyn Fn() -> String,
    ) -> Result<Option<(NamedTempFile, String)>, FleetError> {
        let path = self.folder.join(STORE);
        let (mut tries, mut all_tries, mut before) = (TRIES, ALL_TRIES, Vec::new());
        loop {
            let stated = self.stated().map_err(FleetError::at(&self.folder.join(CHECKSUM)))?;
            let Some(stated) = stated else { return Ok(None) };
            if seen.is_some_and(|seen| stated == [seen]) {
                return Ok(None);
            }
            let from = file::if_there(File::open(&path)).map_err(FleetError::at(&path))?;
            // A checksum comes before the first file.
            let Some(mut from) = from else { return Ok(None) };
            let mut to = new()?;
            let found = file::copy(&mut from, &mut to).map_err(FleetError::at(&path))?;
            if stated.contains(&found) {
                return Ok(Some((to, found)).filter(|(_, found)| seen != Some(found)));
            }
            tries = if stated == before { tries - 1 } else { TRIES - 1 };
            all_tries -= 1;
            before = stated;
            if tries == 0 || all_tries == 0 {
                return Err(FleetError::Mismatch { who: who(), path, found });
            }
            basecase_stop::pause(RETRY_AFTER);
        }
    }
}

/// What a node delivered, as a file of this process that goes when this is dropped.
#[derive(Debug)]
pub struct Collected {
    /// The node, from 1.
    pub node: u32,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// The file.
    pub path: TempPath,
}

/// Copies what a node delivered to this machine's folder of temporary files; `None` if there is nothing, or nothing but the file
/// with the checksum `seen`.
///
/// # Errors
/// If the file does not fit its checksum, also when it is read again; or it cannot be read or copied.
pub fn collect(folder: &FleetFolder, node: u32, seen: Option<&str>) -> Result<Option<Collected>, FleetError> {
    let new = || {
        let file = tempfile::Builder::new().prefix("basecase-collected-").suffix(".sqlite").tempfile();
        file.map_err(FleetError::at(&std::env::temp_dir()))
    };
    let who = || format!("the delivery of node {node}");
    let copied = Delivery::to(&folder.node(node)).copy(seen, &new, &who)?;
    Ok(copied.map(|(file, sha256)| Collected { node, sha256, path: file.into_temp_path() }))
}

/// What changes when a delivery changes: number, size and time of the file and of its checksum.
pub(crate) type Signature = [Option<(u64, u64, SystemTime)>; 2];

/// The signature of a node's delivery.
pub(crate) fn signature(folder: &FleetFolder, node: u32) -> Signature {
    let of = |name: &str| {
        let metadata = folder.node(node).join(name).metadata().ok()?;
        Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
    };
    [STORE, CHECKSUM].map(of)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// A fleet's folder, and the store of a node.
    fn place() -> (tempfile::TempDir, FleetFolder, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::beside(&place.path().join("fleet.sqlite"));
        let store = place.path().join("node.sqlite");
        (place, folder, store)
    }

    #[test]
    fn a_store_arrives_whole_once_for_each_state() {
        let (_place, folder, path) = place();
        assert!(collect(&folder, 3, None).unwrap().is_none(), "nothing is there");
        let store = Store::create_or_open(&path).unwrap();
        let delivery = Delivery::to(&folder.node(3));
        delivery.deliver(&path).unwrap();
        let first = collect(&folder, 3, None).unwrap().unwrap();
        assert!(Store::open_read_only(&first.path).unwrap().verify().unwrap().is_empty());
        assert!(collect(&folder, 3, Some(&first.sha256)).unwrap().is_none(), "it was seen");
        let held: &Path = &first.path;
        let held = held.to_owned();
        drop((first, store));
        assert!(!held.exists());
        let names = |folder: &Path| {
            let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&folder.node(3)), [STORE, CHECKSUM]);
    }

    #[test]
    fn what_was_delivered_is_restored_where_there_is_no_store() {
        let (place, folder, path) = place();
        let delivery = Delivery::to(&folder.node(1));
        assert!(!delivery.restore(&place.path().join("other.sqlite")).unwrap(), "nothing was delivered");
        drop(Store::create_or_open(&path).unwrap());
        delivery.deliver(&path).unwrap();
        assert!(!delivery.restore(&path).unwrap(), "it has one");
        let other = place.path().join("other.sqlite");
        assert!(delivery.restore(&other).unwrap());
        Store::create_or_open(&other).unwrap();
    }

    #[test]
    fn a_file_that_does_not_fit_its_checksum_names_the_node() {
        let (place, folder, path) = place();
        drop(Store::create_or_open(&path).unwrap());
        Delivery::to(&folder.node(7)).deliver(&path).unwrap();
        let delivered = folder.node(7).join(STORE);
        let mut bytes = fs::read(&delivered).unwrap();
        // Torn: as after a write in place that was broken off.
        bytes.truncate(bytes.len() / 2);
        fs::write(&delivered, &bytes).unwrap();
        let message = collect(&folder, 7, None).unwrap_err().to_string();
        assert!(message.starts_with("the delivery of node 7 does not fit its checksum"), "{message}");
        let other = place.path().join("other.sqlite");
        assert!(Delivery::to(&folder.node(7)).restore(&other).is_err() && !other.exists());
        fs::write(folder.node(7).join(CHECKSUM), "").unwrap();
        assert!(collect(&folder, 7, None).is_err(), "no checksum at all");
        Delivery::to(&folder.node(7)).deliver(&path).unwrap();
        collect(&folder, 7, None).unwrap().unwrap();
    }

    #[test]
    fn a_node_that_is_killed_while_it_delivers_leaves_what_can_be_read() {
        let (_place, folder, path) = place();
        drop(Store::create_or_open(&path).unwrap());
        let delivery = Delivery::to(&folder.node(1));
        let new = "0".repeat(64);
        fs::create_dir_all(folder.node(1)).unwrap();
        // Before the first file.
        delivery.state(std::slice::from_ref(&new)).unwrap();
        assert!(collect(&folder, 1, None).unwrap().is_none());
        delivery.deliver(&path).unwrap();
        let sum = collect(&folder, 1, None).unwrap().unwrap().sha256;
        // Between the checksum and the file.
        delivery.state(&[new, sum.clone()]).unwrap();
        assert_eq!(collect(&folder, 1, None).unwrap().unwrap().sha256, sum);
        assert!(collect(&folder, 1, Some(&sum)).unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_replaced_meanwhile_is_never_an_error() {
        let (place, folder, _) = place();
        let delivery = Delivery::to(&folder.node(1));
        let contents = [0_u8, 1].map(|byte| {
            let path = place.path().join(byte.to_string());
            fs::write(&path, vec![byte; 300_000]).unwrap();
            path
        });
        delivery.put(&contents[0]).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..60 {
                    delivery.put(&contents[turn % 2]).unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                let collected = collect(&folder, 1, None).unwrap().unwrap();
                let bytes = fs::read(&collected.path).unwrap();
                assert!(bytes.len() == 300_000 && bytes.iter().all(|byte| *byte == bytes[0]));
            }
        });
    }
}
