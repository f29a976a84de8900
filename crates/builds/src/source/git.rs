//! Source code in git.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use basecase_process::log::last_lines;
use basecase_process::owner_of;

use super::error::CompileError;
use super::toolchain::Toolchain;

/// Settings that override those of any file.
const ALWAYS: [(&str, &str); 4] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("diff.external", ""),
];
/// Environment variables that keep git from fetching, by any program, and from writing.
const OFF: [(&str, &str); 5] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

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

    /// The full hash of the commit that `reference` names.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn commit(&self, reference: &str) -> Result<String, CompileError> {
        let text =
            self.run(&["rev-parse", "--verify", "--end-of-options", &format!("{reference}^{{commit}}")])?;
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// Whether a tag points at `commit`.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn is_tagged(&self, commit: &str) -> Result<bool, CompileError> {
        Ok(!self.run(&["tag", "--points-at", commit])?.is_empty())
    }

    /// Whether the working tree differs from its commit, apart from ignored files.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn is_dirty(&self) -> Result<bool, CompileError> {
        // Submodules are checked below, each with its own filters off.
        let status = ["status", "--porcelain", "--ignore-submodules=dirty"];
        if !self.finish(self.without_filters(&status)?)?.is_empty() {
            return Ok(true);
        }
        for module in self.submodules()? {
            let folder = self.folder.join(module);
            if folder.join(".git").exists() && Repository::at(&folder, self.toolchain).is_dirty()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn submodules(&self) -> Result<Vec<PathBuf>, CompileError> {
        let entries = self.run(&["ls-files", "-z", "--stage"])?;
        let modules = entries.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        Ok(modules.filter_map(|entry| Some(path(entry.splitn(2, |byte| *byte == b'\t').nth(1)?))).collect())
    }

    /// The files of the working tree and its submodules, sorted, without those that git ignores, such as compiled files.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, CompileError> {
        let mut names = self.run(&["ls-files", "-z", "--cached", "--recurse-submodules"])?;
        names.extend(self.run(&["ls-files", "-z", "--others", "--exclude-standard"])?);
        let mut files: Vec<PathBuf> = names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(path)
            // Skip files whose removal is not committed yet, and the folders of submodules that are not checked out.
            .filter(|name| self.folder.join(name).symlink_metadata().is_ok_and(|file| !file.is_dir()))
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Starts `git archive`, which writes the files of `commit` to its standard output.
    ///
    /// # Errors
    /// If git cannot be started.
    pub(crate) fn archive(&self, commit: &str) -> Result<Child, CompileError> {
        let mut command = self.without_filters(&["archive", "--format=tar", commit])?;
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(CompileError::file(self.folder))
    }

    /// Git with `arguments`. Root reads a repository with the rights of its owner; other users read their own, as git
    /// demands. No program that the repository's settings name is run, and nothing is fetched.
    fn command(&self, arguments: &[&str]) -> Result<Command, CompileError> {
        self.command_with(arguments, &[])
    }

    fn command_with(
        &self,
        arguments: &[&str],
        settings: &[(String, String)],
    ) -> Result<Command, CompileError> {
        let owner = owner_of(self.folder).map_err(CompileError::file(self.folder))?;
        let mut command = self.toolchain.command_as(&self.toolchain.need("git", "git")?, owner.as_ref());
        if owner.is_some() {
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        } else {
            // The user's own `safe.directory` settings apply.
            let own =
                ["HOME", "XDG_CONFIG_HOME"].map(|name| std::env::var_os(name).map(|value| (name, value)));
            command.envs(own.into_iter().flatten());
        }
        command.envs(OFF);
        let always = ALWAYS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: Vec<(String, String)> = always.chain(settings.iter().cloned()).collect();
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (name, value)) in settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.arg("-C").arg(self.folder).args(arguments);
        Ok(command)
    }

    /// The same for commands that read file contents, which git would pass through the filters in its settings.
    fn without_filters(&self, arguments: &[&str]) -> Result<Command, CompileError> {
        let names = self.run(&["config", "--list", "--name-only", "-z"])?;
        let mut settings = Vec::new();
        for name in String::from_utf8_lossy(&names).split('\0').filter(|name| name.starts_with("filter.")) {
            let value = if name.ends_with(".required") { "false" } else { "" };
            settings.push((name.to_owned(), value.to_owned()));
        }
        self.command_with(arguments, &settings)
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, CompileError> {
        self.finish(self.command(arguments)?)
    }

    fn finish(&self, mut command: Command) -> Result<Vec<u8>, CompileError> {
        let output = command.output().map_err(CompileError::file(self.folder))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        // Enough for git's message on a repository that somebody else owns, and how to allow it.
        let reason = last_lines(&String::from_utf8_lossy(&output.stderr), 5);
        Err(CompileError::Git { repository: self.folder.to_path_buf(), reason })
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}
