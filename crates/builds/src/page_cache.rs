//! The operating system's page cache.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Drops a file's pages from the page cache, except those that a process has mapped or that are still to be written.
///
/// # Errors
/// If the file cannot be opened.
pub(crate) fn forget(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, [7; 100_000]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        forget(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [7; 100_000]);
        assert!(forget(&directory.path().join("absent")).is_err());
    }
}
