//! The steps that need no more rounds, as the coordinator tells the nodes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{FleetError, file};

/// Writes the names of the steps as a JSON array, replacing an old file by rename.
///
/// # Errors
/// If the file cannot be written.
pub fn write_decided(path: &Path, steps: &BTreeSet<String>) -> Result<(), FleetError> {
    let text = serde_json::to_vec(steps).map_err(std::io::Error::from).map_err(FleetError::at(path))?;
    file::replace(path, &text)
}

/// The names of the steps; `None` if the file cannot be read, which must not keep a node from going on.
pub fn read_decided(path: &Path) -> Option<BTreeSet<String>> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_cannot_be_read_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decided");
        assert_eq!(read_decided(&path), None);
        let steps = BTreeSet::from(["l.i0".to_owned(), "point-query_range=10".to_owned()]);
        write_decided(&path, &steps).unwrap();
        assert_eq!(read_decided(&path), Some(steps));
        fs::write(&path, "[\"l.i0\"").unwrap();
        assert_eq!(read_decided(&path), None);
    }
}
