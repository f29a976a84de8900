//! A folder in which commits are compiled one after the other, so that only what differs is compiled again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use basecase_process::{Account, PrivateFolder, act};

use super::error::CompileError;
use super::origin::walk;

/// The prefix of the names of such folders.
const KEPT: &str = ".kept-";
/// In the folder: the source, what is compiled of it, and what says that it was configured.
const SOURCE: &str = "source";
const OBJECTS: &str = "objects";
const CONFIGURED: &str = "configured";

/// A folder that is kept from commit to commit. Nobody else uses it meanwhile.
pub(crate) struct KeptFolder {
    folder: PrivateFolder,
    account: Option<Account>,
    _lock: File,
}

impl KeptFolder {
    /// That of builds with this key in the folder `builds`; waits until nobody else uses it. What is compiled belongs to `account`.
    pub(crate) fn claim(builds: &Path, key: &str, account: Option<&Account>) -> Result<Self, CompileError> {
        let path = builds.join(format!("{KEPT}{key}"));
        let folder = PrivateFolder::make_above(&path)?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join("lock"));
        let lock = lock.and_then(|file| file.lock().map(|()| file)).map_err(CompileError::file(&path))?;
        Ok(KeptFolder { folder, account: account.cloned(), _lock: lock })
    }

    /// Where programs believe that they lie. Nothing is there: they are moved away, and find their files from where they are.
    pub(crate) fn prefix(&self) -> PathBuf {
        self.folder.path().join("prefix")
    }

    /// Where CMake compiles.
    pub(crate) fn objects(&self) -> Result<PathBuf, CompileError> {
        let objects = PrivateFolder::make(&self.folder.path().join(OBJECTS), self.account.as_ref())?;
        Ok(objects.path().to_path_buf())
    }

    /// Makes its source equal to that in the folder `fresh`, and returns where it lies. Files whose content differs are written, with the
    /// present time; the times of commits would leave what is compiled of newer ones.
    pub(crate) fn update(&self, fresh: &Path) -> Result<PathBuf, CompileError> {
        let source = PrivateFolder::make(&self.folder.path().join(SOURCE), self.account.as_ref())?;
        let to = source.path().to_path_buf();
        let update = || synchronise(fresh, &to);
        act(self.account.as_ref(), update).map_err(CompileError::file(&to))?;
        Ok(to)
    }

    /// Whether configuring has succeeded here.
    pub(crate) fn is_configured(&self) -> bool {
        self.folder.path().join(CONFIGURED).exists()
    }

    /// Forgets what was configured and compiled: what was found of this machine may not hold any more.
    pub(crate) fn forget(&self) -> Result<(), CompileError> {
        let [configured, objects] = [CONFIGURED, OBJECTS].map(|name| self.folder.path().join(name));
        let gone = |removed: io::Result<()>, path: &Path| match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CompileError::file(path)(error)),
            _ => Ok(()),
        };
        gone(fs::remove_file(&configured), &configured)?;
        gone(fs::remove_dir_all(&objects), &objects)
    }

    /// Remembers that configuring has succeeded.
    pub(crate) fn set_configured(&self) -> Result<(), CompileError> {
        let path = self.folder.path().join(CONFIGURED);
        fs::write(&path, "").map_err(CompileError::file(&path))
    }
}

/// The list of the files of the source, in its folder. What else is there was made of them.
const LIST: &str = ".basecase-files";

/// Makes the files of a source in `to` those of `from`, which loses them.
fn synchronise(from: &Path, to: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    walk(from, Path::new(""), &mut files)?;
    let list = to.join(LIST);
    let earlier = fs::read_to_string(&list).unwrap_or_default();
    let wanted: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    for gone in earlier
        .split('\0')
        .map(Path::new)
        .filter(|file| !file.as_os_str().is_empty() && !wanted.contains(file))
    {
        match fs::remove_file(to.join(gone)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // Written first: after an interruption, files of both are known to be the source's.
    let all: BTreeSet<String> = files.iter().map(|file| file.display().to_string()).collect();
    let both: BTreeSet<&str> = all.iter().map(String::as_str).chain(earlier.split('\0')).collect();
    fs::write(&list, both.into_iter().collect::<Vec<_>>().join("\0"))?;
    for file in &files {
        replace(&from.join(file), &to.join(file))?;
    }
    fs::write(&list, all.into_iter().collect::<Vec<_>>().join("\0"))
}

/// Moves `from` to `to` if that differs.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let [new, old] = [from, to].map(Path::symlink_metadata);
    let new = new?;
    if let Ok(old) = &old {
        let is_same = if new.is_symlink() {
            old.is_symlink() && fs::read_link(from)? == fs::read_link(to)?
        } else {
            old.is_file()
                && old.len() == new.len()
                && old.permissions() == new.permissions()
                && fs::read(from)? == fs::read(to)?
        };
        if is_same {
            return Ok(());
        }
        if old.is_dir() {
            fs::remove_dir_all(to)?;
        }
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)?;
    if !new.is_symlink() {
        File::options().write(true).open(to).and_then(|file| file.set_modified(SystemTime::now()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn only_files_that_differ_are_written_and_those_that_are_gone_are_removed() {
        let top = tempfile::tempdir().unwrap();
        let to = top.path().join("to");
        fs::create_dir(&to).unwrap();
        let update = |number: u32, files: &[(&str, &str)]| {
            let from = top.path().join(format!("from{number}"));
            for (name, text) in files {
                let path = from.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
                // Older than what was compiled.
                File::options().write(true).open(&path).unwrap().set_modified(UNIX_EPOCH).unwrap();
            }
            synchronise(&from, &to).unwrap();
        };
        update(1, &[("src/a.c", "int a;"), ("src/b.c", "int b;"), ("c", "is a file")]);
        let long_ago = UNIX_EPOCH + Duration::from_secs(5);
        let a = to.join("src/a.c");
        File::options().write(true).open(&a).unwrap().set_modified(long_ago).unwrap();
        fs::write(to.join("src/a.o"), "compiled").unwrap();
        let before = SystemTime::now() - Duration::from_secs(60);
        update(2, &[("src/a.c", "int a;"), ("src/d.c", "int d;"), ("c/e.c", "and now a folder")]);
        assert_eq!(a.metadata().unwrap().modified().unwrap(), long_ago, "it did not differ");
        assert!(
            to.join("src/d.c").metadata().unwrap().modified().unwrap() > before,
            "make sees that it is new"
        );
        assert!(!to.join("src/b.c").exists() && to.join("src/a.o").exists() && to.join("c/e.c").exists());
    }
}
