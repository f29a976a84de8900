//! Source code from Debian's archive, by `apt-get` with its own state directory: the system is not changed, and root is not
//! needed.

use std::fs;
use std::path::{Path, PathBuf};

use basecase_process::make_open;

use super::error::CompileError;
use super::table::DebianSource;
use crate::apt::{Apt, Archives};
use crate::client_tool::Failure;

impl DebianSource {
    /// The upstream archive of this package in the folder `sources`, downloaded if it is not there yet.
    ///
    /// # Errors
    /// If `apt-get` fails, or Debian has moved on to another version.
    pub(crate) fn archive(
        &self,
        sources: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, CompileError> {
        let head = format!("{}_{}.orig.tar.", self.package, self.version);
        make_open(sources).map_err(CompileError::file(sources))?;
        if let Some(path) = named(sources, &head) {
            return Ok(path);
        }
        let DebianSource { package, suite, .. } = self;
        notify(&format!("downloading the source of {package} from Debian {suite} with apt-get"));
        // In the same folder, so that the last step is a rename.
        let work = tempfile::Builder::new()
            .prefix(".partial-")
            .tempdir_in(sources)
            .map_err(CompileError::file(sources))?;
        let failed = |failure: Failure| match failure {
            Failure::Missing(reason) => self.error(reason),
            Failure::Failed(tail) => self.error(format!("apt-get says\n{tail}")),
        };
        let suites = Archives::of_system().and_then(|archives| archives.of_suite(suite)).map_err(failed)?;
        let apt = Apt::open_for_source(&work.path().join("apt"), &suites).map_err(failed)?;
        let listed = apt.plan_of_source(package).map_err(failed)?;
        if !listed.contains(&head) {
            let word = listed.split_whitespace().find(|word| word.contains(".orig.tar."));
            let found = word.map_or_else(|| "no upstream archive".to_owned(), |word| format!("{word} now"));
            return Err(self.error(format!("it has {found}, not version {}", self.version)));
        }
        apt.download_source(package, work.path()).map_err(failed)?;
        let file = named(work.path(), &head).ok_or_else(|| self.error("apt-get left no archive".into()))?;
        let place = sources.join(file.file_name().unwrap_or_default());
        fs::rename(&file, &place).map_err(CompileError::file(&place))?;
        Ok(place)
    }

    fn error(&self, reason: String) -> CompileError {
        CompileError::Debian { package: self.package.clone(), suite: self.suite.clone(), reason }
    }
}

/// The file in `folder` whose name begins with `head`, except a signature.
fn named(folder: &Path, head: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(head) && !name.ends_with(".asc")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_is_here_is_not_downloaded() {
        let folder = tempfile::tempdir().unwrap();
        let name = "postgresql-15_15.18.orig.tar.bz2";
        fs::write(folder.path().join(format!("{name}.asc")), "").unwrap();
        fs::write(folder.path().join(name), "").unwrap();
        let source = DebianSource {
            version: "15.18".into(),
            suite: "no-such-suite".into(),
            package: "postgresql-15".into(),
        };
        let mut said = Vec::new();
        let path = source.archive(folder.path(), &mut |text| said.push(text.to_owned())).unwrap();
        assert_eq!(path, folder.path().join(name));
        assert!(said.is_empty());
    }
}
