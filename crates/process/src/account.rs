//! The unprivileged account that servers run under.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use thiserror::Error;

/// The name of the system user that basecase creates if it runs as root.
const NAME: &str = "basecase";

/// Why servers cannot run as an unprivileged user.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The user is missing and could not be created.
    #[error(
        "cannot create the system user {NAME}, which servers run as if basecase is root: {reason}\nhint: run `useradd --system --no-create-home {NAME}`, or run basecase as an ordinary user"
    )]
    Make {
        /// What `useradd` says.
        reason: String,
    },
    /// A folder denies access to the user.
    #[error("user {user} cannot search {}, which is above {}\nhint: run `chmod o+x {}`, or choose another folder: --data for servers' data, BASECASE_HOME for builds", folder.display(), path.display(), folder.display())]
    Unsearchable {
        /// The user.
        user: String,
        /// The folder without search permission.
        folder: PathBuf,
        /// The path that the user must reach.
        path: PathBuf,
    },
    /// A file of the system could not be read.
    #[error("cannot read {}: {source}\nhint: check that it exists and that this user may read it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// An unprivileged user account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
}

impl Account {
    /// The account that servers run under: `None`, the caller's own, unless that is root. Postgres refuses to run as root,
    /// so in that case it is the system user `basecase`, which is created if it is missing.
    ///
    /// # Errors
    /// If the user is missing and cannot be created.
    pub fn for_servers() -> Result<Option<Account>, AccountError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        if let Some(account) = find()? {
            return Ok(Some(account));
        }
        let mut reason = String::new();
        // `useradd` fails at once if another program has locked the user database.
        for _ in 0..20 {
            let added = Command::new("useradd")
                .args(["--system", "--no-create-home", "--home-dir", "/nonexistent"])
                .args(["--shell", "/usr/sbin/nologin", "--user-group", NAME])
                .stdin(Stdio::null())
                .output();
            reason = match added {
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(error) => error.to_string(),
            };
            if let Some(account) = find()? {
                return Ok(Some(account));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(AccountError::Make { reason })
    }

    /// Checks that the user may search every folder above `path`, and `path` itself if it is a folder.
    ///
    /// # Errors
    /// Naming the first folder that denies access.
    pub fn check_reaches(&self, path: &Path) -> Result<(), AccountError> {
        let read = |source| AccountError::Read { path: path.to_path_buf(), source };
        let path = path.canonicalize().map_err(read)?;
        let mut folders: Vec<&Path> = path.ancestors().collect();
        folders.reverse();
        for folder in folders {
            let metadata = folder
                .metadata()
                .map_err(|source| AccountError::Read { path: folder.to_path_buf(), source })?;
            let mode = metadata.mode();
            let bit = if metadata.uid() == self.uid {
                0o100
            } else if metadata.gid() == self.gid {
                0o010
            } else {
                0o001
            };
            if metadata.is_dir() && mode & bit == 0 {
                return Err(AccountError::Unsearchable {
                    user: self.name.clone(),
                    folder: folder.to_path_buf(),
                    path: path.clone(),
                });
            }
        }
        Ok(())
    }
}

/// The owner of `path`, if root should act with that user's rights, so that another user's files cannot lead root elsewhere.
///
/// # Errors
/// If its metadata cannot be read.
pub fn owner_of(path: &Path) -> std::io::Result<Option<Account>> {
    let metadata = path.metadata()?;
    let is_another = rustix::process::geteuid().is_root() && metadata.uid() != 0;
    Ok(is_another.then(|| Account {
        name: metadata.uid().to_string(),
        uid: metadata.uid(),
        gid: metadata.gid(),
    }))
}

/// Runs `work` in a thread that has the rights of `account` alone, or, if that is `None`, with the caller's rights.
///
/// # Errors
/// If the thread cannot switch to the user, or panics, or `work` fails.
pub fn act<T: Send>(
    account: Option<&Account>,
    work: impl FnOnce() -> std::io::Result<T> + Send,
) -> std::io::Result<T> {
    let Some(account) = account else { return work() };
    let (user, group) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    std::thread::scope(|scope| {
        let acting = scope.spawn(move || {
            // The raw system calls affect one thread; only the C library's wrappers extend them to all.
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            work()
        });
        acting.join().unwrap_or_else(|_| Err(std::io::Error::other("the thread of another user has failed")))
    })
}

/// The user id of the account for servers, if that is not the caller's own and exists already.
pub(crate) fn number_for_servers() -> Option<u32> {
    existing().map(|account| account.uid)
}

/// The account for servers, if that is not the caller's own and exists already.
pub(crate) fn existing() -> Option<Account> {
    if rustix::process::geteuid().is_root() { find().ok().flatten() } else { None }
}

fn find() -> Result<Option<Account>, AccountError> {
    let path = PathBuf::from("/etc/passwd");
    let text = std::fs::read_to_string(&path).map_err(|source| AccountError::Read { path, source })?;
    Ok(text.lines().find_map(parse))
}

fn parse(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let name = fields.next().filter(|name| *name == NAME)?;
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some(Account { name: name.to_owned(), uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_account_is_read_from_its_line() {
        let account = parse("basecase:x:995:994::/nonexistent:/usr/sbin/nologin").unwrap();
        assert_eq!((account.uid, account.gid), (995, 994));
        assert_eq!(parse("postgres:x:101:104::/:/bin/sh"), None);
    }

    #[test]
    fn defect_03_what_is_done_as_another_user_is_done_with_that_users_rights_alone() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let stranger = Account { name: "stranger".into(), uid: 4_000_000, gid: 4_000_000 };
        let file = folder.path().join("file");
        act(Some(&stranger), || std::fs::write(&file, "")).unwrap();
        assert_eq!(file.metadata().unwrap().uid(), 4_000_000);
        assert_eq!(owner_of(&file).unwrap().unwrap().uid, 4_000_000);
        let secret = act(Some(&stranger), || std::fs::read_to_string("/etc/shadow"));
        assert_eq!(secret.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        std::fs::read_to_string("/etc/shadow").unwrap();
    }

    #[test]
    fn a_closed_folder_is_named() {
        let top = tempfile::tempdir().unwrap();
        let closed = top.path().join("closed");
        let below = closed.join("below");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::set_permissions(top.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        let stranger = Account { name: "stranger".into(), uid: 4_000_000, gid: 4_000_000 };
        let message = stranger.check_reaches(&below).unwrap_err().to_string();
        assert!(message.contains("closed, which is above") && message.contains("hint: "), "{message}");
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o711)).unwrap();
        assert!(stranger.check_reaches(&below).is_ok());
    }
}
