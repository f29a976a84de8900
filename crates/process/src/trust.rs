//! Which files this user can rely on: who owns them, and who may write to them.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use thiserror::Error;

use crate::account;

/// Why somebody else could have tampered with a file or folder.
#[derive(Debug, Error)]
pub enum TrustError {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, and {} must belong to {}\nhint: {}", path.display(), purpose.what(), purpose.owners(), purpose.hint("remove it if you do not know it"))]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The owner's user id.
        owner: u32,
        /// What it is needed for.
        purpose: Purpose,
    },
    /// Others may write to it.
    #[error("others may write to {} (mode {mode:03o})\nhint: {}", path.display(), purpose.hint(&format!("check what is in it, then run `chmod -R go-w {}`", path.display())))]
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What it is needed for.
        purpose: Purpose,
    },
    /// Others may replace it.
    #[error("everybody may write to {}, and so replace {}\nhint: {}", above.display(), path.display(), purpose.hint(&format!("run `chmod o-w {}`", above.display())))]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// The folder above it.
        above: PathBuf,
        /// What it is needed for.
        purpose: Purpose,
    },
    /// Its metadata cannot be read.
    #[error("cannot read {}: {source}\nhint: check that it exists and that this user may read it", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What a file or folder is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Servers run in it.
    Data,
    /// Basecase keeps its builds in it.
    Home,
    /// It is executed.
    Program,
}

impl Purpose {
    fn what(self) -> &'static str {
        match self {
            Purpose::Data => "a folder of servers",
            Purpose::Home => "basecase's home",
            Purpose::Program => "a program that basecase runs",
        }
    }

    fn owners(self) -> &'static str {
        match self {
            Purpose::Data => "the user who runs basecase or the one that servers run as",
            Purpose::Home | Purpose::Program => "the user who runs basecase or to root",
        }
    }

    fn hint(self, first: &str) -> String {
        let other = match self {
            Purpose::Data => "choose another folder with --data",
            Purpose::Home => "set BASECASE_HOME to a folder of your own",
            Purpose::Program => "use a copy of your own",
        };
        format!("{first}, or {other}")
    }

    fn may_own(self, user: u32) -> bool {
        let caller = geteuid();
        let other = match self {
            Purpose::Data => Some(user) == account::number_for_servers(),
            // A compromised server could change what belongs to its account.
            Purpose::Home | Purpose::Program => user == 0,
        };
        user == caller.as_raw() || other
    }
}

/// Checks who owns the file or folder `path`, which `metadata` describes, and that nobody else may write to it.
///
/// # Errors
/// If somebody else could have tampered with it.
pub fn check(path: &Path, metadata: &Metadata, purpose: Purpose) -> Result<(), TrustError> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if !purpose.may_own(owner) {
        return Err(TrustError::Owner { path: path.to_path_buf(), owner, purpose });
    }
    // A link's mode allows everybody to write, but nobody can.
    let is_open = mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_own_group(metadata));
    if is_open && !metadata.is_symlink() {
        return Err(TrustError::Writable { path: path.to_path_buf(), mode, purpose });
    }
    Ok(())
}

/// Checks that nobody can replace `path`, which must be absolute and without links: any world-writable folder above it must
/// have the sticky bit.
///
/// # Errors
/// Naming the first folder that lacks it.
pub fn check_above(path: &Path, purpose: Purpose) -> Result<(), TrustError> {
    for above in path.ancestors().skip(1) {
        let metadata = above
            .symlink_metadata()
            .map_err(|source| TrustError::Read { path: above.to_path_buf(), source })?;
        if metadata.mode() & 0o1002 == 0o002 {
            return Err(TrustError::Exposed {
                path: path.to_path_buf(),
                above: above.to_path_buf(),
                purpose,
            });
        }
    }
    Ok(())
}

/// Whether an ordinary user's own group may write: on many systems each user has a group without other members, and a umask
/// to match.
fn is_own_group(metadata: &Metadata) -> bool {
    let (user, group) = (geteuid(), getegid());
    !user.is_root() && metadata.uid() == user.as_raw() && metadata.gid() == group.as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn message(path: &Path, purpose: Purpose) -> Option<String> {
        check(path, &path.symlink_metadata().unwrap(), purpose).err().map(|error| error.to_string())
    }

    #[test]
    fn what_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("postgres");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(message(&file, Purpose::Program), None);
        fs::set_permissions(&file, PermissionsExt::from_mode(0o757)).unwrap();
        let text = message(&file, Purpose::Program).unwrap();
        assert!(text.contains("others may write to /") && text.contains("(mode 757)\nhint: "), "{text}");
        symlink(&file, folder.path().join("link")).unwrap();
        assert_eq!(message(&folder.path().join("link"), Purpose::Program), None);
    }

    #[test]
    fn what_belongs_to_others_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(4_000_000), None).unwrap();
        for purpose in [Purpose::Data, Purpose::Home, Purpose::Program] {
            let text = message(folder.path(), purpose).unwrap();
            assert!(text.contains(" belongs to user 4000000, and "), "{text}");
        }
    }

    #[test]
    fn a_folder_above_is_sticky_where_everybody_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (open, below) = (top.join("open"), top.join("open/below"));
        fs::create_dir_all(&below).unwrap();
        fs::set_permissions(&open, PermissionsExt::from_mode(0o1777)).unwrap();
        check_above(&below, Purpose::Data).unwrap();
        fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        let text = check_above(&below, Purpose::Data).unwrap_err().to_string();
        assert!(text.contains("open, and so replace "), "{text}");
    }
}
