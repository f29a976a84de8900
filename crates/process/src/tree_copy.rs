//! Copies files and folders without following links, even if somebody changes them meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RawMode, SeekFrom, Uid};
use rustix::fs::{chownat, fchmod, fchown, mkdirat, openat, readlinkat, seek, statat, symlinkat};
use rustix::io::Errno;

use crate::private_folder::{folder_in, names};

/// How many bytes of a file are copied before checking whether the user wants to stop.
const PIECE_BYTES: u64 = 64 << 20;
/// How many zeros in a row become a hole: a few blocks of any file system.
const HOLE_BYTES: usize = 64 << 10;

/// The owner of the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// The owner of the originals, with their permissions, because servers refuse data that others may read.
    Same,
    /// The caller. All originals must belong to this user.
    CallerInsteadOf(u32),
}

/// What becomes of the zeros in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeros {
    /// They are copied as all else, by the kernel, which may share blocks between files.
    Copied,
    /// They become holes, which take neither time nor space: a new redo log is a gigabyte of them.
    LeftOut,
}

/// Copies the entry `name` of the open folder `from` into `to`, which must not have that name. Returns the bytes of all
/// files. Anything but files, folders and links is left out, such as a socket of the stopped server.
///
/// # Errors
/// If something cannot be read or written, or belongs to a user whose files must not be copied, or if the user wants to
/// stop.
pub fn copy(from: &File, to: &File, name: &OsStr, owner: FileOwner, zeros: Zeros) -> io::Result<u64> {
    let found = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode as RawMode) {
        FileType::Directory => {
            let original = folder_in(from, name)?;
            mkdirat(to, name, Mode::RWXU)?;
            let copy = folder_in(to, name)?;
            let mut bytes = 0;
            for name in names(&original)? {
                bytes += self::copy(&original, &copy, &name, owner, zeros)?;
            }
            hand_over(&original, &copy, owner)?;
            Ok(bytes)
        }
        FileType::RegularFile => {
            let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let original = File::from(openat(from, name, flags, Mode::empty())?);
            let new = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut copy = File::from(openat(to, name, new, Mode::RUSR | Mode::WUSR)?);
            let bytes = match zeros {
                Zeros::Copied => copy_pieces(&original, &mut copy)?,
                Zeros::LeftOut => copy_without_zeros(&original, &copy)?,
            };
            hand_over(&original, &copy, owner)?;
            Ok(bytes)
        }
        FileType::Symlink => {
            symlinkat(readlinkat(from, name, Vec::new())?, to, name)?;
            if owner == FileOwner::Same {
                let (user, group) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
                chownat(to, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            Ok(0)
        }
        _ => Ok(0),
    }
}

/// Copies the content of a file. The standard library has the kernel do so.
fn copy_pieces(original: &File, copy: &mut File) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        basecase_stop::check()?;
        let copied = io::copy(&mut original.take(PIECE_BYTES), copy)?;
        bytes += copied;
        if copied < PIECE_BYTES {
            return Ok(bytes);
        }
    }
}

/// Copies what is not zero. Returns the length of the file.
fn copy_without_zeros(original: &File, copy: &File) -> io::Result<u64> {
    let zeros = vec![0; HOLE_BYTES];
    let length = original.metadata()?.len();
    let mut buffer = vec![0; HOLE_BYTES];
    let mut place = 0;
    while let Some(data) = next_data(original, place)? {
        basecase_stop::check()?;
        // Pieces lie at their multiples, or a hole could be missed by some bytes.
        place = data - data % HOLE_BYTES as u64;
        let until = (place + PIECE_BYTES).min(length);
        while place < until {
            let read = original.read_at(&mut buffer, place)?;
            let read = &buffer[..read];
            if read.is_empty() {
                break;
            }
            if read != &zeros[..read.len()] {
                copy.write_all_at(read, place)?;
            }
            place += read.len() as u64;
        }
    }
    copy.set_len(length)?;
    Ok(length)
}

/// Where the next bytes are that are no hole, if there are any.
fn next_data(file: &File, place: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Data(place)) {
        Ok(data) => Ok(Some(data)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn hand_over(original: &File, copy: &File, owner: FileOwner) -> io::Result<()> {
    let metadata = original.metadata()?;
    match owner {
        FileOwner::Same => {
            fchown(copy, Some(Uid::from_raw(metadata.uid())), Some(Gid::from_raw(metadata.gid())))?;
            fchmod(copy, Mode::from_raw_mode(metadata.mode() & 0o7777))?;
        }
        FileOwner::CallerInsteadOf(user) if metadata.uid() == user => {
            fchmod(copy, Mode::from_raw_mode(metadata.mode() & 0o755))?;
        }
        FileOwner::CallerInsteadOf(_) => {
            return Err(io::Error::other(format!("a file of another user ({}) lies in it", metadata.uid())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn defect_02_a_copy_has_links_as_links() {
        let top = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            fs::create_dir_all(top.path().join(name)).unwrap();
            File::open(top.path().join(name)).unwrap()
        };
        folder("from/data/base");
        let (from, to) = (folder("from"), folder("to"));
        fs::write(top.path().join("from/data/base/1"), "rows").unwrap();
        fs::set_permissions(top.path().join("from/data"), PermissionsExt::from_mode(0o2700)).unwrap();
        symlink("/etc/shadow", top.path().join("from/data/link")).unwrap();
        assert_eq!(copy(&from, &to, OsStr::new("data"), FileOwner::Same, Zeros::Copied).unwrap(), 4);
        let data = top.path().join("to/data");
        assert_eq!(fs::read_to_string(data.join("base/1")).unwrap(), "rows");
        assert_eq!(fs::read_link(data.join("link")).unwrap().to_str(), Some("/etc/shadow"));
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o7777, 0o2700);
    }

    #[test]
    fn zeros_that_are_left_out_are_read_as_zeros_and_take_no_space() {
        let top = tempfile::tempdir().unwrap();
        let folder = File::open(top.path()).unwrap();
        let to = top.path().join("to");
        fs::create_dir(&to).unwrap();
        let hole = HOLE_BYTES;
        let mut content = vec![0; 40 * hole + 100];
        content[3 * hole + 5] = 1;
        content[20 * hole - 1] = 2;
        content[40 * hole + 99] = 3;
        for (name, content) in
            [("log", &content[..]), ("zeros", &content[4 * hole..6 * hole + 7]), ("empty", &[])]
        {
            fs::write(top.path().join(name), content).unwrap();
            let (to_folder, name) = (File::open(&to).unwrap(), OsStr::new(name));
            let bytes = copy(&folder, &to_folder, name, FileOwner::Same, Zeros::LeftOut).unwrap();
            assert_eq!(bytes, content.len() as u64);
            assert_eq!(fs::read(to.join(name)).unwrap(), content, "{name:?}");
            // A copy of a copy with holes.
            fs::create_dir_all(top.path().join("again")).unwrap();
            let again = File::open(top.path().join("again")).unwrap();
            copy(&to_folder, &again, name, FileOwner::Same, Zeros::LeftOut).unwrap();
            assert_eq!(fs::read(top.path().join("again").join(name)).unwrap(), content, "{name:?}");
        }
        let taken = |path: &str| top.path().join(path).metadata().unwrap().blocks() * 512;
        assert!(taken("log") >= content.len() as u64);
        assert!(taken("to/log") <= 3 * hole as u64 + 4096, "{}", taken("to/log"));
        assert_eq!(taken("to/zeros"), 0);
    }

    #[test]
    fn a_copy_for_the_caller_takes_files_of_one_user_alone_and_no_special_permissions() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let folder = File::open(top.path()).unwrap();
        let made = top.path().join("made");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("postgres"), "").unwrap();
        for path in [&made, &made.join("postgres")] {
            chown(path, Some(4_000_000), Some(4_000_000)).unwrap();
        }
        fs::set_permissions(made.join("postgres"), PermissionsExt::from_mode(0o4777)).unwrap();
        let to = top.path().join("to");
        fs::create_dir(&to).unwrap();
        let owner = FileOwner::CallerInsteadOf(4_000_000);
        copy(&folder, &File::open(&to).unwrap(), OsStr::new("made"), owner, Zeros::Copied).unwrap();
        let metadata = to.join("made/postgres").metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o7777), (0, 0o755));
        fs::remove_dir_all(to.join("made")).unwrap();
        chown(made.join("postgres"), Some(4_000_001), None).unwrap();
        copy(&folder, &File::open(&to).unwrap(), OsStr::new("made"), owner, Zeros::Copied).unwrap_err();
    }
}
