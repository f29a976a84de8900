//! What a node cannot count, as it tells the coordinator: a store knows nothing of what was never built.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{FleetError, file};

/// The file in the folder of a node.
const FILE: &str = "skipped";

/// Writes why candidates were skipped, by their names, into the folder that the node delivers to.
///
/// # Errors
/// If the file cannot be written.
pub fn write_skipped(folder: &Path, skipped: &BTreeMap<String, String>) -> Result<(), FleetError> {
    let path = folder.join(FILE);
    let text = serde_json::to_vec(skipped).map_err(std::io::Error::from).map_err(FleetError::at(&path))?;
    fs::create_dir_all(folder).map_err(FleetError::at(folder))?;
    file::replace(&path, &text)
}

/// The same; empty if nothing was skipped, or the file cannot be read, which takes nothing from what was counted.
pub fn read_skipped(folder: &Path) -> BTreeMap<String, String> {
    let read = fs::read(folder.join(FILE)).ok();
    read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("node-1");
        assert!(read_skipped(&folder).is_empty());
        let skipped = BTreeMap::from([("git:r@1".to_owned(), "x.c:1: error: no".to_owned())]);
        write_skipped(&folder, &skipped).unwrap();
        assert_eq!(read_skipped(&folder), skipped);
        fs::write(folder.join(FILE), "{").unwrap();
        assert!(read_skipped(&folder).is_empty());
    }
}
