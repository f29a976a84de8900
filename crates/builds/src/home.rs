//! The folder of basecase's own files.

use std::io;
use std::path::{Path, PathBuf};

use basecase_process::{Account, AccountError, Purpose, TrustError, make_open, trust};
use thiserror::Error;

/// Why the home cannot be used.
#[derive(Debug, Error)]
pub enum HomeError {
    /// A file or folder of the home could not be used.
    #[error("cannot use {}: {source}\nhint: set BASECASE_HOME to a folder that this user may write to", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The environment names no home.
    #[error(
        "there is no place for builds: neither HOME nor BASECASE_HOME is set\nhint: set BASECASE_HOME to a folder of your own"
    )]
    Unset,
    /// Another user could have put files into the home.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The account that servers run under is missing, or cannot reach the home.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// The home if the user names none: `BASECASE_HOME`; else `/var/lib/basecase` for root, whose own folder is closed to the account
/// that servers run under; else `basecase` in the user's cache folder.
///
/// # Errors
/// If an ordinary user has neither: a folder shared with others is no place for programs.
pub fn default_home() -> Result<PathBuf, HomeError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    home_of(variable, rustix::process::geteuid().is_root()).ok_or(HomeError::Unset)
}

fn home_of(variable: impl Fn(&str) -> Option<PathBuf>, is_root: bool) -> Option<PathBuf> {
    if let Some(home) = variable("BASECASE_HOME") {
        return Some(home);
    }
    if is_root {
        return Some(PathBuf::from("/var/lib/basecase"));
    }
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("basecase"))
}

/// A home that has been checked.
#[derive(Debug)]
pub(crate) struct Home {
    /// The folder of the builds.
    pub(crate) builds: PathBuf,
    /// The account that servers run under; `None` means the caller's.
    pub(crate) account: Option<Account>,
}

impl Home {
    /// Opens the home in `folder`, and creates it if it is missing.
    ///
    /// # Errors
    /// If it cannot be created or could be somebody else's, or, as root, if the account for servers cannot be created.
    pub(crate) fn open(folder: &Path) -> Result<Self, HomeError> {
        let builds = folder.join("builds");
        let wrong = |source| HomeError::Unusable { path: builds.clone(), source };
        make_open(&builds).map_err(wrong)?;
        let folder = folder.canonicalize().map_err(wrong)?;
        let builds = builds.canonicalize().map_err(wrong)?;
        for folder in [&folder, &builds] {
            let metadata = folder.metadata().map_err(wrong)?;
            trust::check(folder, &metadata, Purpose::Home)?;
            trust::check_above(folder, Purpose::Home)?;
        }
        let account = Account::for_servers()?;
        if let Some(account) = &account {
            account.check_reaches(&builds)?;
        }
        Ok(Home { builds, account })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn defect_04_a_plain_user_without_a_home_has_none_in_a_folder_that_all_share() {
        let with = |set: &[(&str, &str)], is_root| {
            let value =
                |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
            home_of(value, is_root)
        };
        assert_eq!(with(&[], false), None);
        assert_eq!(with(&[("HOME", "/home/u")], false), Some("/home/u/.cache/basecase".into()));
        assert_eq!(with(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")], false), Some("/c/basecase".into()));
        assert_eq!(with(&[("HOME", "/root")], true), Some("/var/lib/basecase".into()));
        assert_eq!(with(&[("BASECASE_HOME", "/b")], true), Some("/b".into()));
        let message = HomeError::Unset.to_string();
        assert!(message.ends_with("\nhint: set BASECASE_HOME to a folder of your own"), "{message}");
    }

    #[test]
    fn defect_04_a_home_that_others_could_have_made_is_refused() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Home::open(home.path()).unwrap();
        let message = || Home::open(home.path()).unwrap_err().to_string();
        fs::set_permissions(home.path().join("builds"), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(message().starts_with("others may write to /"), "{}", message());
        fs::set_permissions(home.path().join("builds"), PermissionsExt::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(home.path(), Some(4_000_000), None).unwrap();
            assert!(
                message().contains(" belongs to user 4000000, and basecase's home must belong to "),
                "{}",
                message()
            );
        }
    }
}
