//! Sources from Debian's archive, by apt-get with a state of its own: nothing of the system changes, and no root is needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::CompileError;
use super::table::DebianSource;
use crate::log::last_lines;
use crate::secret::without_credentials;

impl DebianSource {
    /// The upstream archive of this package in the folder `sources`, downloaded when it is not there yet.
    ///
    /// # Errors
    /// When apt-get cannot get it, or Debian has another version by now.
    pub(crate) fn archive(
        &self,
        sources: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, CompileError> {
        let head = format!("{}_{}.orig.tar.", self.package, self.version);
        fs::create_dir_all(sources).map_err(CompileError::file(sources))?;
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
        let apt = self.private_apt(work.path())?;
        self.run(&apt, work.path(), &["-q", "update"])?;
        let listed = self.run(&apt, work.path(), &["-q", "--print-uris", "--tar-only", "source", package])?;
        if !listed.contains(&head) {
            let word = listed.split_whitespace().find(|word| word.contains(".orig.tar."));
            let found = word.map_or_else(|| "no upstream archive".to_owned(), |word| format!("{word} now"));
            return Err(self.error(format!("it has {found}, not version {}", self.version)));
        }
        self.run(&apt, work.path(), &["-q", "--download-only", "--tar-only", "source", package])?;
        let file = named(work.path(), &head).ok_or_else(|| self.error("apt-get left no archive".into()))?;
        let place = sources.join(file.file_name().unwrap_or_default());
        fs::rename(&file, &place).map_err(CompileError::file(&place))?;
        Ok(place)
    }

    /// Arguments by which apt-get works in `work` alone, on the Debian mirror of this machine.
    fn private_apt(&self, work: &Path) -> Result<Vec<String>, CompileError> {
        let targets =
            self.run(&[], work, &["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"])?;
        let mirror = targets.lines().find(|uri| uri.ends_with("/debian/"));
        let mirror =
            mirror.ok_or_else(|| self.error("apt on this machine knows no mirror of Debian".into()))?;
        let state = work.join("apt");
        let make = || -> io::Result<()> {
            fs::create_dir_all(state.join("lists/partial"))?;
            fs::create_dir_all(state.join("archives/partial"))?;
            fs::write(state.join("status"), "")?;
            fs::write(state.join("sources.list"), format!("deb-src {mirror} {} main\n", self.suite))
        };
        make().map_err(CompileError::file(&state))?;
        let state = state.display();
        let options = [
            format!("Dir::Etc::sourcelist={state}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            format!("Dir::State={state}"),
            format!("Dir::State::status={state}/status"),
            format!("Dir::Cache={state}"),
            "Acquire::Languages=none".into(),
            "APT::Sandbox::User=root".into(),
            "Debug::NoLocking=1".into(),
        ];
        Ok(options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect())
    }

    /// Runs apt-get with the caller's environment, which may name a proxy: its output.
    fn run(&self, options: &[String], folder: &Path, arguments: &[&str]) -> Result<String, CompileError> {
        let output = Command::new("apt-get")
            .args(options)
            .args(arguments)
            .env("LC_ALL", "C")
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        let output = output.map_err(|error| self.error(format!("apt-get does not run: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let text = without_credentials(&String::from_utf8_lossy(&output.stderr));
        Err(self.error(format!("apt-get says\n{}", last_lines(&text, 8))))
    }

    fn error(&self, reason: String) -> CompileError {
        CompileError::Debian { package: self.package.clone(), suite: self.suite.clone(), reason }
    }
}

/// The file in `folder` whose name begins with `head`, but no signature.
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
