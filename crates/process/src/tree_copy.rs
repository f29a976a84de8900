//! Copies files and folders without following links, even if somebody changes them meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RawMode, Uid};
use rustix::fs::{chownat, fchmod, fchown, mkdirat, openat, readlinkat, statat, symlinkat};

use crate::private_folder::{folder_in, names};

/// How many bytes of a file are copied before checking whether the user wants to stop.
const PIECE_BYTES: u64 = 64 << 20;

/// The owner of the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// The owner of the originals, with their permissions, because servers refuse data that others may read.
    Same,
    /// The caller. All originals must belong to this user.
    CallerInsteadOf(u32),
}

/// Copies the entry `name` of the open folder `from` into `to`, which must not have that name. Returns the bytes of all
/// files. Anything but files, folders and links is left out, such as a socket of the stopped server.
///
/// # Errors
/// If something cannot be read or written, or belongs to a user whose files must not be copied, or if the user wants to
/// stop.
pub fn copy(from: &File, to: &File, name: &OsStr, owner: FileOwner) -> io::Result<u64> {
    let found = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode as RawMode) {
        FileType::Directory => {
            let original = folder_in(from, name)?;
            mkdirat(to, name, Mode::RWXU)?;
            let copy = folder_in(to, name)?;
            let mut bytes = 0;
            for name in names(&original)? {
                bytes += self::copy(&original, &copy, &name, owner)?;
            }
            hand_over(&original, &copy, owner)?;
            Ok(bytes)
        }
        FileType::RegularFile => {
            let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let original = File::from(openat(from, name, flags, Mode::empty())?);
            let new = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut copy = File::from(openat(to, name, new, Mode::RUSR | Mode::WUSR)?);
            let bytes = copy_pieces(&original, &mut copy)?;
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
        assert_eq!(copy(&from, &to, OsStr::new("data"), FileOwner::Same).unwrap(), 4);
        let data = top.path().join("to/data");
        assert_eq!(fs::read_to_string(data.join("base/1")).unwrap(), "rows");
        assert_eq!(fs::read_link(data.join("link")).unwrap().to_str(), Some("/etc/shadow"));
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o7777, 0o2700);
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
        copy(&folder, &File::open(&to).unwrap(), OsStr::new("made"), owner).unwrap();
        let metadata = to.join("made/postgres").metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o7777), (0, 0o755));
        fs::remove_dir_all(to.join("made")).unwrap();
        chown(made.join("postgres"), Some(4_000_001), None).unwrap();
        copy(&folder, &File::open(&to).unwrap(), OsStr::new("made"), owner).unwrap_err();
    }
}
