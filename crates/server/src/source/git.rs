//! Sources in git.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::error::CompileError;
use super::toolchain::Toolchain;
use crate::log::last_lines;

/// A local repository, bare or with a working tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repository<'a> {
    toolchain: &'a Toolchain,
    folder: &'a Path,
}

impl<'a> Repository<'a> {
    pub(crate) fn at(folder: &'a Path, toolchain: &'a Toolchain) -> Self {
        Repository { toolchain, folder }
    }

    /// The full name of the commit that `reference` means.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn commit(&self, reference: &str) -> Result<String, CompileError> {
        let text =
            self.run(&["rev-parse", "--verify", "--end-of-options", &format!("{reference}^{{commit}}")])?;
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// Whether a tag stands at `commit`.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn is_tagged(&self, commit: &str) -> Result<bool, CompileError> {
        Ok(!self.run(&["tag", "--points-at", commit])?.is_empty())
    }

    /// Whether the working tree differs from its commit, by files that git does not ignore.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn is_dirty(&self) -> Result<bool, CompileError> {
        Ok(!self.run(&["status", "--porcelain"])?.is_empty())
    }

    /// The files of the working tree with those of its submodules, sorted; not those that git ignores, such as the products
    /// of a compilation.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, CompileError> {
        let mut names = self.run(&["ls-files", "-z", "--cached", "--recurse-submodules"])?;
        names.extend(self.run(&["ls-files", "-z", "--others", "--exclude-standard"])?);
        let mut files: Vec<PathBuf> = names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name)))
            // Not what is removed but not committed yet, nor the folder of a submodule that is not checked out.
            .filter(|name| self.folder.join(name).symlink_metadata().is_ok_and(|file| !file.is_dir()))
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Starts to write the files of `commit` as a tar archive to its standard output.
    ///
    /// # Errors
    /// When git cannot be started.
    pub(crate) fn archive(&self, commit: &str) -> Result<Child, CompileError> {
        let mut command = self.command(&["archive", "--format=tar", commit])?;
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(CompileError::file(self.folder))
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, CompileError> {
        let mut command = self.toolchain.command(&self.toolchain.need("git", "git")?);
        // The user named the repository, so whose it is does not matter; git would refuse that of another user.
        command.args(["-c", "safe.directory=*", "-C"]).arg(self.folder).args(arguments);
        Ok(command)
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, CompileError> {
        let output = self.command(arguments)?.output().map_err(CompileError::file(self.folder))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let reason = last_lines(&String::from_utf8_lossy(&output.stderr), 3);
        Err(CompileError::Git { repository: self.folder.to_path_buf(), reason })
    }
}
