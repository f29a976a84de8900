//! Files that several machines see: each is whole or not there.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use basecase_model::hexadecimal;
use sha2::{Digest, Sha256};
use tempfile::{Builder, NamedTempFile};

use crate::FleetError;

/// A new file beside `path`, to be renamed to it. Its name is its own, because a machine that was taken for dead may still write.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".new-").permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder_of(path))
}

/// The folder that `path` lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts a new file in the place of `path`. When this returns, it is on disk.
pub(crate) fn put(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // Not every network file system can sync a folder, and then nothing is lost but a rename.
    let _ = path.parent().map(File::open).and_then(Result::ok).map(|folder| folder.sync_all());
    Ok(())
}

/// Writes a file, replacing an old one by rename.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), FleetError> {
    let write = || {
        let mut file = beside(path)?;
        file.write_all(content)?;
        put(file, path)
    };
    write().map_err(FleetError::at(path))
}

/// Copies everything from `from` to `to`, and returns its SHA-256 in hexadecimal digits.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..length]);
        to.write_all(&buffer[..length])?;
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// `Ok(None)` if there is no such file.
pub(crate) fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_checksum_that_everybody_knows() {
        let mut copied = Vec::new();
        let sum = copy(&mut &b"abc"[..], &mut copied).unwrap();
        assert_eq!(copied, b"abc");
        assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decided");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let message = replace(&folder.path().join("none/decided"), b"").unwrap_err().to_string();
        assert!(message.contains("none/decided") && message.contains("hint: "), "{message}");
    }
}
