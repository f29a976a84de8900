//! A folder that belongs to one user alone. Its files are opened relative to its handle, never through a link.
//!
//! Root works in folders that belong to the account for servers. A compromised server could have put anything there, and
//! anybody could have put anything into a folder that others may write to. So each folder is checked once it is open, files
//! are created afresh, and an existing file is opened only if it is a regular file with a single name.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, Uid};
use rustix::fs::{fchmod, fchown, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use crate::account::{self, Account};
use crate::trust::{self, Purpose, TrustError};

/// Opens a folder itself, not the target of a link with its name.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opens a file without blocking, because it may turn out to be a pipe that nobody writes to.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
/// Permissions of a folder that others can pass through but not list.
const PASSABLE: u32 = 0o710;
/// Permissions of a folder of one user.
const PRIVATE: u32 = 0o700;

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// Somebody else could have created it or its contents.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// It is a file or a link.
    #[error("{} is a file or a link, not a folder\nhint: remove it, or choose another folder with --data", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// It cannot be created or opened.
    #[error("cannot use {}: {source}\nhint: check that this user may write there and that the disk is not full", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A folder that belongs to one user alone.
#[derive(Debug, Clone)]
pub struct PrivateFolder {
    path: PathBuf,
    handle: Arc<File>,
    /// The account that owns it; `None` means the caller's.
    account: Option<Account>,
}

impl PrivateFolder {
    /// Opens the folder `path` for `account`. Creates it and its parents if they are missing.
    ///
    /// # Errors
    /// If somebody else could have created it, or it cannot be created.
    pub fn make(path: &Path, account: Option<&Account>) -> Result<Self, FolderError> {
        let folder = PrivateFolder::made(path, account)?;
        folder.take_over(PRIVATE)?;
        Ok(folder)
    }

    /// Opens the caller's folder `path`, which contains folders of servers, and creates it if it is missing. The account for
    /// servers can pass through it.
    ///
    /// # Errors
    /// If somebody else could have created it, or it cannot be created.
    pub fn make_above(path: &Path) -> Result<Self, FolderError> {
        let folder = PrivateFolder::made(path, None)?;
        match account::existing() {
            None => folder.take_over(PRIVATE)?,
            Some(account) => {
                folder.take_over(PASSABLE)?;
                fchown(&*folder.handle, Some(geteuid()), Some(Gid::from_raw(account.gid)))
                    .map_err(|error| folder.error(error.into()))?;
            }
        }
        Ok(folder)
    }

    /// Opens the folder `path` as it is; `None` if it is missing.
    ///
    /// # Errors
    /// If somebody else could have created it, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Option<Self>, FolderError> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => {
                let (above, name) = place(path)?;
                open_in(&above, &above_of(path), &name, None).map(Some)
            }
        }
    }

    fn made(path: &Path, account: Option<&Account>) -> Result<Self, FolderError> {
        let wrong = |source| FolderError::File { path: path.to_path_buf(), source };
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            make_open(above).map_err(wrong)?;
        }
        let (above, name) = place(path)?;
        make_in(&above, &above_of(path), &name, account)
    }

    /// Opens the subfolder `name` for the same account, and creates it if it is missing.
    ///
    /// # Errors
    /// If it is a link, or somebody else could have created it, or it cannot be created.
    pub fn folder(&self, name: &str) -> Result<Self, FolderError> {
        let folder = make_in(&self.handle, &self.path, OsStr::new(name), self.account.as_ref())?;
        folder.take_over(PRIVATE)?;
        Ok(folder)
    }

    /// Its path, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its handle.
    pub fn handle(&self) -> &File {
        &self.handle
    }

    /// Creates the file `name`, replacing an old one. Only the folder's user can read it, whatever the umask.
    ///
    /// # Errors
    /// If an old one cannot be removed, or the file cannot be created.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.remove(name)?;
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = File::from(openat(&*self.handle, name, flags, Mode::empty())?);
        self.give(&file, 0o600)?;
        Ok(file)
    }

    /// Writes the file `name`, replacing an old one.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(bytes)
    }

    /// Opens the file `name` to read, write or append to it. Anything other than a regular file of the folder's user is
    /// replaced by a new file.
    ///
    /// # Errors
    /// If it can be neither opened nor replaced.
    pub fn keep(&self, name: &str, access: OFlags) -> io::Result<File> {
        match openat(&*self.handle, name, FILE | access, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                if is_own(&file)? {
                    self.give(&file, 0o600)?;
                    return Ok(file);
                }
            }
            // A link, a folder, a pipe without a reader, a socket.
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {}
            Err(error) => return Err(error.into()),
        }
        drop(self.create(name)?);
        Ok(File::from(openat(&*self.handle, name, FILE | access, Mode::empty())?))
    }

    /// Opens the file `name` to read it.
    ///
    /// # Errors
    /// If there is none, or it is not a regular file, or it cannot be opened.
    pub fn read(&self, name: &str) -> io::Result<File> {
        let file = File::from(openat(&*self.handle, name, FILE | OFlags::RDONLY, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::INVAL.into()) }
    }

    /// The text of the file `name`.
    ///
    /// # Errors
    /// As [`PrivateFolder::read`], or if it is not text.
    pub fn text(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        self.read(name)?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Whether the folder has an entry with that name.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        match statat(&*self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(false),
            found => Ok(found.map(|_| true)?),
        }
    }

    /// Whether `file` is the file with that name.
    pub fn is_named(&self, name: &str, file: &File) -> bool {
        let named = statat(&*self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        named.is_ok_and(|named| {
            file.metadata().is_ok_and(|own| own.ino() == named.st_ino && own.dev() == named.st_dev)
        })
    }

    /// Whether `other` is this very folder.
    pub fn is_same(&self, other: &PrivateFolder) -> bool {
        let number = |folder: &PrivateFolder| {
            folder.handle.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok()
        };
        number(self).is_some_and(|own| number(other) == Some(own))
    }

    /// Removes the entry `name`, and if it is a folder, everything in it. A link is removed, not its target. It is no error
    /// if there is no such entry.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        remove_in(&self.handle, OsStr::new(name))
    }

    /// Removes everything in it.
    ///
    /// # Errors
    /// If something in it cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        clear(&self.handle)
    }

    /// Removes the folder itself and everything in it.
    ///
    /// # Errors
    /// If something in it, or the folder, cannot be removed.
    pub fn destroy(&self) -> io::Result<()> {
        self.clear()?;
        std::fs::remove_dir(&self.path)
    }

    /// Moves the entry `name` into another folder of the same file system.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn hand_over(&self, name: &str, to: &PrivateFolder) -> io::Result<()> {
        self.rename(OsStr::new(name), to, name)
    }

    /// The same under another name.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn rename(&self, name: &OsStr, to: &PrivateFolder, new: &str) -> io::Result<()> {
        Ok(renameat(&*self.handle, name, &*to.handle, new)?)
    }

    /// Gives an open file or folder to the folder's user.
    fn give(&self, file: &File, mode: u32) -> io::Result<()> {
        if let Some(account) = &self.account {
            fchown(file, Some(Uid::from_raw(account.uid)), Some(Gid::from_raw(account.gid)))?;
        }
        Ok(fchmod(file, Mode::from_raw_mode(mode))?)
    }

    fn take_over(&self, mode: u32) -> Result<(), FolderError> {
        self.give(&self.handle, mode).map_err(|error| self.error(error))
    }

    fn error(&self, source: io::Error) -> FolderError {
        FolderError::File { path: self.path.clone(), source }
    }
}

/// Creates a folder, and its parents, that everybody may read and only the owner may write to, whatever the umask.
///
/// # Errors
/// If it cannot be created.
pub fn make_open(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// The names of the entries of an open folder.
///
/// # Errors
/// If the folder cannot be read.
pub fn names(folder: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens the folder `name` in `folder`, unless it is a link.
///
/// # Errors
/// If there is none, or it is a link, or it cannot be opened.
pub fn folder_in(folder: &File, name: &OsStr) -> io::Result<File> {
    Ok(File::from(openat(folder, name, FOLDER, Mode::empty())?))
}

/// The folder above `path`, open, and the name of `path` in it.
fn place(path: &Path) -> Result<(File, OsString), FolderError> {
    let wrong = |source| FolderError::File { path: path.to_path_buf(), source };
    let name = path.file_name().ok_or_else(|| wrong(Errno::INVAL.into()))?;
    let above = above_of(path);
    let folder = File::open(&above).map_err(wrong)?;
    trust::check_above(&above.join(name), Purpose::Data)?;
    Ok((folder, name.to_owned()))
}

/// The folder above `path`, absolute and without links if that can be resolved.
fn above_of(path: &Path) -> PathBuf {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    above.canonicalize().unwrap_or_else(|_| above.to_path_buf())
}

fn make_in(
    above: &File,
    path: &Path,
    name: &OsStr,
    account: Option<&Account>,
) -> Result<PrivateFolder, FolderError> {
    match mkdirat(above, name, Mode::from_raw_mode(PRIVATE)) {
        Ok(()) | Err(Errno::EXIST) => open_in(above, path, name, account),
        Err(error) => Err(FolderError::File { path: path.join(name), source: error.into() }),
    }
}

fn open_in(
    above: &File,
    path: &Path,
    name: &OsStr,
    account: Option<&Account>,
) -> Result<PrivateFolder, FolderError> {
    let path = path.join(name);
    let handle = match openat(above, name, FOLDER, Mode::empty()) {
        Ok(handle) => File::from(handle),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(FolderError::NoFolder { path }),
        Err(error) => return Err(FolderError::File { path, source: error.into() }),
    };
    let metadata = handle.metadata().map_err(|source| FolderError::File { path: path.clone(), source })?;
    trust::check(&path, &metadata, Purpose::Data)?;
    Ok(PrivateFolder { path, handle: Arc::new(handle), account: account.cloned() })
}

/// Whether an open file is a regular file that has no other name and belongs to the caller or the account for servers.
fn is_own(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    let is_ours = trust::check(Path::new(""), &metadata, Purpose::Data).is_ok();
    Ok(metadata.is_file() && metadata.nlink() == 1 && is_ours)
}

fn clear(folder: &File) -> io::Result<()> {
    names(folder)?.iter().try_for_each(|name| remove_in(folder, name))
}

fn remove_in(folder: &File, name: &OsStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    clear(&folder_in(folder, name)?)?;
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// A folder for the test, and a file outside it that must not change.
    fn folder() -> (tempfile::TempDir, PrivateFolder, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("outside")).unwrap();
        let outside = top.path().join("outside/file");
        fs::write(&outside, "precious").unwrap();
        fs::set_permissions(&outside, PermissionsExt::from_mode(0o644)).unwrap();
        let folder = PrivateFolder::make(&top.path().join("own"), None).unwrap();
        (top, folder, outside)
    }

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn defect_02_files_are_opened_and_removed_without_following_links() {
        let (_top, folder, outside) = folder();
        let link = |name: &str, target: &Path| symlink(target, folder.path().join(name)).unwrap();
        link("postgresql.conf", &outside);
        link("server.log", &outside);
        link("basecase.lock", &outside);
        link("tmp", outside.parent().unwrap());
        fs::hard_link(&outside, folder.path().join("password")).unwrap();
        assert!(folder.text("server.log").is_err(), "nothing is read through a link");
        folder.write("postgresql.conf", b"port = 1").unwrap();
        folder.write("password", b"secret").unwrap();
        folder.keep("server.log", OFlags::WRONLY | OFlags::APPEND).unwrap().write_all(b"log").unwrap();
        folder.keep("basecase.lock", OFlags::RDWR).unwrap().write_all(b"lock").unwrap();
        let message = folder.folder("tmp").unwrap_err().to_string();
        assert!(message.contains("tmp is a file or a link, not a folder\nhint: "), "{message}");
        for (name, text) in [
            ("postgresql.conf", "port = 1"),
            ("password", "secret"),
            ("server.log", "log"),
            ("basecase.lock", "lock"),
        ] {
            assert_eq!(folder.text(name).unwrap(), text);
            assert_eq!(mode(&folder.path().join(name)), 0o600);
        }
        folder.clear().unwrap();
        assert!(names(folder.handle()).unwrap().is_empty());
        assert_eq!((fs::read_to_string(&outside).unwrap().as_str(), mode(&outside)), ("precious", 0o644));
    }

    #[test]
    fn what_is_kept_is_written_on() {
        let (_top, folder, _) = folder();
        for line in ["one ", "two"] {
            folder
                .keep("server.log", OFlags::WRONLY | OFlags::APPEND)
                .unwrap()
                .write_all(line.as_bytes())
                .unwrap();
        }
        assert_eq!(folder.text("server.log").unwrap(), "one two");
        rustix::fs::mkfifoat(folder.handle(), "pipe", Mode::RWXU).unwrap();
        assert!(folder.text("pipe").is_err(), "a pipe would be read for ever");
        folder.keep("pipe", OFlags::WRONLY).unwrap();
        assert_eq!(folder.text("pipe").unwrap(), "");
    }

    #[test]
    fn defect_02_folders_are_private_and_those_that_others_could_make_are_refused() {
        let (top, folder, _) = folder();
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(folder.folder("data").unwrap().path()), 0o700);
        let path = top.path().join("own");
        let message = || PrivateFolder::make(&path, None).unwrap_err().to_string();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        PrivateFolder::make(&path, None).unwrap();
        assert_eq!(mode(&path), 0o700, "of an older basecase");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(message().starts_with("others may write to /"), "{}", message());
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        fs::set_permissions(top.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(message().starts_with("everybody may write to /"), "{}", message());
        fs::set_permissions(top.path(), PermissionsExt::from_mode(0o700)).unwrap();
        fs::rename(&path, top.path().join("elsewhere")).unwrap();
        symlink(top.path().join("elsewhere"), &path).unwrap();
        assert!(message().contains("own is a file or a link, not a folder"), "{}", message());
        if geteuid().is_root() {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            chown(&path, Some(4_000_000), None).unwrap();
            assert!(
                message().contains("own belongs to user 4000000, and a folder of servers"),
                "{}",
                message()
            );
        }
    }
}
