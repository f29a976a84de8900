//! The programs of a build: who could have changed them, and whether they are still those that were unpacked.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use basecase_process::{Purpose, TrustError, trust};
use thiserror::Error;

use crate::checksum::sha256_of;
use crate::layout::all_programs;

/// The file in a build's folder with the checksums, as `sha256sum --check` reads them.
const FILE: &str = ".basecase-programs";

/// Why the programs of a build are not run.
#[derive(Debug, Error)]
pub enum ProgramsError {
    /// Somebody else could have changed them.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A program has changed since it was unpacked.
    #[error("{} is not what was unpacked: its SHA-256 differs from that in {}\nhint: remove {} and get the build again", program.display(), folder.join(FILE).display(), folder.display())]
    Changed {
        /// The program.
        program: PathBuf,
        /// The build's folder.
        folder: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}\nhint: check its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Checks that nobody but the caller and root could have changed what is in a build's folder.
///
/// # Errors
/// Naming the first file that somebody else owns or may write to.
pub(crate) fn check_owners(folder: &Path) -> Result<(), ProgramsError> {
    walk(folder, &mut |_| ())
}

/// The same check for the programs that basecase runs from the folder `bin` of an installation, and for `server`, which may be
/// a library there.
///
/// # Errors
/// Naming the first program that somebody else owns or may write to.
pub(crate) fn check_installed(bin: &Path, server: &str) -> Result<(), ProgramsError> {
    let check = |path: &Path| {
        let metadata = path.metadata().map_err(wrong(path))?;
        Ok::<_, ProgramsError>(trust::check(path, &metadata, Purpose::Program)?)
    };
    check(bin)?;
    let names = all_programs().into_iter().chain([server]);
    let there = names.filter_map(|name| bin.join(name).canonicalize().ok());
    there.into_iter().try_for_each(|program| check(&program))
}

/// Checks owners, and compares programs and libraries with their checksums. A build of an older basecase has no checksums;
/// they are recorded now.
///
/// # Errors
/// Naming the first file that has changed.
pub(crate) fn verify(folder: &Path) -> Result<(), ProgramsError> {
    check_owners(folder)?;
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A user who may not write there uses a build that root fetched.
            let _ = record(folder);
            return Ok(());
        }
        Err(error) => return Err(wrong(&path)(error)),
    };
    for (name, expected) in parse(&text) {
        let program = folder.join(name);
        if sha256_of(&program).map_err(wrong(&program))? != expected {
            return Err(ProgramsError::Changed { program, folder: folder.to_path_buf() });
        }
    }
    Ok(())
}

/// Records the checksums of the programs that basecase runs, and of all libraries, in a build's folder.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn record(folder: &Path) -> Result<(), ProgramsError> {
    let mut programs = Vec::new();
    walk(folder, &mut |path| programs.push(path.to_path_buf()))?;
    programs.sort();
    let mut text = String::new();
    for program in programs {
        let name = program.strip_prefix(folder).unwrap_or(&program).display().to_string();
        text.push_str(&format!("{}  {name}\n", sha256_of(&program).map_err(wrong(&program))?));
    }
    let path = folder.join(FILE);
    // A reader sees the whole file or none.
    let write = || {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
        new.persist(&path)?;
        Ok(())
    };
    write().map_err(wrong(&path))
}

/// The checksums by name.
fn parse(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once("  ")).map(|(sum, name)| (name, sum)).collect()
}

/// Checks everything in `path`, and calls `found` for each program and library.
fn walk(path: &Path, found: &mut dyn FnMut(&Path)) -> Result<(), ProgramsError> {
    let metadata = path.symlink_metadata().map_err(wrong(path))?;
    trust::check(path, &metadata, Purpose::Program)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path).map_err(wrong(path))? {
            walk(&entry.map_err(wrong(path))?.path(), found)?;
        }
    } else if metadata.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if all_programs().contains(&name.as_ref()) || name.ends_with(".so") || name.contains(".so.") {
            found(path);
        }
    }
    Ok(())
}

fn wrong(path: &Path) -> impl FnOnce(io::Error) -> ProgramsError {
    let path = path.to_path_buf();
    move |source| ProgramsError::Read { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    fn build() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let program = folder.path().join("bin/postgres");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::write(folder.path().join("README"), "read me").unwrap();
        for path in [&program, &folder.path().join("bin")] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(folder.path().join("README"), PermissionsExt::from_mode(0o644)).unwrap();
        (folder, program)
    }

    #[test]
    fn defect_04_a_program_that_changed_is_not_run() {
        let (folder, program) = build();
        // A build that an older basecase made.
        verify(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(parse(&text).keys().collect::<Vec<_>>(), [&"bin/postgres"]);
        verify(folder.path()).unwrap();
        fs::write(&program, "#!/bin/sh\ntouch pwned\n").unwrap();
        let message = verify(folder.path()).unwrap_err().to_string();
        assert!(
            message.contains("bin/postgres is not what was unpacked") && message.contains("hint: remove /"),
            "{message}"
        );
        record(folder.path()).unwrap();
        verify(folder.path()).unwrap();
        fs::remove_file(&program).unwrap();
        verify(folder.path()).unwrap_err();
    }

    #[test]
    fn defect_04_programs_that_others_could_have_changed_are_not_run() {
        let (folder, program) = build();
        let bin = folder.path().canonicalize().unwrap().join("bin");
        let refusals = || [check_owners(folder.path()), check_installed(&bin, "postgres")];
        assert!(refusals().iter().all(Result::is_ok));
        fs::set_permissions(&program, PermissionsExt::from_mode(0o757)).unwrap();
        assert!(refusals().iter().all(Result::is_err));
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&program, Some(4_000_000), None).unwrap();
            assert!(refusals().iter().all(Result::is_err));
        }
    }
}
