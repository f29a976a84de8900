//! Drops files from the page cache.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Advice, AtFlags, FileType, Mode, OFlags, RawMode, fadvise, openat, statat, syncfs};

use crate::private_folder::{folder_in, names};

/// Drops a file's pages from the page cache, except those that a process has mapped or that are still to be written.
///
/// # Errors
/// If the file cannot be opened.
pub fn forget_file(path: &Path) -> io::Result<()> {
    forget_pages(&File::open(path)?)
}

/// Writes what an open folder holds to its device, and drops it from the page cache: all files below it, without following
/// links. Whoever reads them next pays for them.
///
/// # Errors
/// If something cannot be read or written.
pub fn forget_folder(folder: &File) -> io::Result<()> {
    syncfs(folder)?;
    forget(folder)
}

fn forget(folder: &File) -> io::Result<()> {
    names(folder)?.iter().try_for_each(|name| forget_entry(folder, name))
}

fn forget_entry(folder: &File, name: &OsStr) -> io::Result<()> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode as RawMode) {
        FileType::Directory => forget(&folder_in(folder, name)?),
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            forget_pages(&File::from(openat(folder, name, flags, Mode::empty())?))
        }
        _ => Ok(()),
    }
}

fn forget_pages(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_keeps_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        fs::write(&path, [7; 100_000]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        forget_file(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [7; 100_000]);
        assert!(forget_file(&directory.path().join("absent")).is_err());
    }

    /// Bytes of a file that are in the page cache, by the tool of the system; `None` where there is none.
    fn cached_bytes(path: &Path) -> Option<u64> {
        let output = std::process::Command::new("fincore").args(["-b", "-n", "-o", "RES"]).arg(path).output();
        String::from_utf8(output.ok()?.stdout).ok()?.trim().parse().ok()
    }

    #[test]
    fn files_of_a_folder_leave_the_page_cache_and_keep_their_content() {
        // Not in memory: what lies in tmpfs has no other place.
        let top = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::create_dir(top.path().join("base")).unwrap();
        let path = top.path().join("base/1");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", top.path().join("link")).unwrap();
        if let Some(bytes) = cached_bytes(&path) {
            assert!(bytes > 0);
        }
        forget_folder(&File::open(top.path()).unwrap()).unwrap();
        if let Some(bytes) = cached_bytes(&path) {
            assert_eq!(bytes, 0);
        }
        assert_eq!(fs::read(&path).unwrap(), vec![7; 1 << 20]);
    }
}
