//! A repository, asked with git.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use basecase_model::Commit;
use basecase_process::log::last_lines;
use basecase_process::owner_of;

use crate::error::RepositoryError;
use crate::git::Git;

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
pub struct Repository<'a> {
    git: &'a Git,
    folder: &'a Path,
}

impl<'a> Repository<'a> {
    /// That at `folder`, which is its working tree, or itself if it is bare.
    pub fn at(folder: &'a Path, git: &'a Git) -> Self {
        Repository { git, folder }
    }

    /// Its folder.
    pub fn folder(&self) -> &'a Path {
        self.folder
    }

    /// The full hash of the commit that `reference` names.
    ///
    /// # Errors
    /// If there is none.
    pub fn commit(&self, reference: &str) -> Result<String, RepositoryError> {
        let text =
            self.run(&["rev-parse", "--verify", "--end-of-options", &format!("{reference}^{{commit}}")])?;
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The top folder of its working tree; if it is bare, the repository itself.
    ///
    /// # Errors
    /// If it is none.
    pub fn top(&self) -> Result<PathBuf, RepositoryError> {
        let is_bare = self.run(&["rev-parse", "--is-bare-repository"])?.starts_with(b"true");
        let what = if is_bare { "--absolute-git-dir" } else { "--show-toplevel" };
        Ok(path(self.run(&["rev-parse", what])?.trim_ascii_end()))
    }

    /// The names of branches and tags, also of remote ones.
    ///
    /// # Errors
    /// If git fails.
    pub fn names(&self) -> Result<Vec<String>, RepositoryError> {
        let text = self.run(&[
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads",
            "refs/tags",
            "refs/remotes",
        ])?;
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }

    /// The nearest common ancestor of two commits; `None` if there is none.
    ///
    /// # Errors
    /// If git fails.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, RepositoryError> {
        let mut command = self.command(&["merge-base", "--end-of-options", one, other])?;
        let output = command.output().map_err(self.cannot_run())?;
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())),
            // Git says nothing where there is none.
            Some(1) if output.stderr.is_empty() => Ok(None),
            _ => Err(self.refused(&output.stderr)),
        }
    }

    /// What git tells of commits that `selection` (arguments of `git log`) chooses, the newest first unless it says otherwise.
    ///
    /// # Errors
    /// If git fails.
    pub fn log(&self, selection: &[&str]) -> Result<Vec<Commit>, RepositoryError> {
        let form = "--format=%H%x00%aI%x00%an%x00%s%x00%D%x01";
        let mut arguments = vec!["log", form, "--decorate=full", "--decorate-refs=refs/tags/*"];
        arguments.extend_from_slice(selection);
        let text = self.run(&arguments)?;
        let text = String::from_utf8_lossy(&text);
        Ok(text.split('\u{1}').filter_map(|record| read_commit(record.trim_start_matches('\n'))).collect())
    }

    /// The content of a file of `commit`; `None` if it has none of this name.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn file(&self, commit: &str, name: &str) -> Result<Option<Vec<u8>>, RepositoryError> {
        let mut command = self.command(&["cat-file", "blob", &format!("{commit}:{name}")])?;
        let output = command.output().map_err(self.cannot_run())?;
        Ok(output.status.success().then_some(output.stdout))
    }

    /// Those of `names` that `commit` has, which are files and folders, from the top of the repository.
    ///
    /// # Errors
    /// If git fails.
    pub fn present(&self, commit: &str, names: &[&str]) -> Result<Vec<String>, RepositoryError> {
        let mut arguments = vec!["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"];
        arguments.extend_from_slice(names);
        let found = self.run(&arguments)?;
        let names = found.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Makes sure that the files of `commit` are here: a clone can be partial, and nothing is fetched.
    ///
    /// # Errors
    /// If some are not, or git fails.
    pub fn check_complete(&self, commit: &str) -> Result<(), RepositoryError> {
        let mut command =
            self.command(&["config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"])?;
        if !command.output().map_err(self.cannot_run())?.status.success() {
            return Ok(());
        }
        let listed = self.run(&["rev-list", "--objects", "--no-walk", "--missing=print", commit])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let missing: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix('?')).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let files = self.run(&["ls-tree", "-r", "--full-tree", commit])?;
        let files = String::from_utf8_lossy(&files).into_owned();
        let named = files.lines().find(|line| line.contains(first)).and_then(|line| line.split_once('\t'));
        Err(RepositoryError::Partial {
            repository: self.folder.to_path_buf(),
            commit: commit.to_owned(),
            count: missing.len(),
            example: named.map_or_else(|| (*first).to_owned(), |(_, name)| name.to_owned()),
        })
    }

    /// Whether its history was cut off when it was cloned.
    ///
    /// # Errors
    /// If git fails.
    pub fn is_shallow(&self) -> Result<bool, RepositoryError> {
        Ok(self.run(&["rev-parse", "--is-shallow-repository"])?.starts_with(b"true"))
    }

    /// Whether a tag points at `commit`.
    ///
    /// # Errors
    /// If git fails.
    pub fn is_tagged(&self, commit: &str) -> Result<bool, RepositoryError> {
        Ok(!self.run(&["tag", "--points-at", commit])?.is_empty())
    }

    /// Whether the working tree differs from its commit, apart from ignored files.
    ///
    /// # Errors
    /// If git fails.
    pub fn is_dirty(&self) -> Result<bool, RepositoryError> {
        // Submodules are checked below, each with its own filters off.
        let status = ["status", "--porcelain", "--ignore-submodules=dirty"];
        if !self.finish(self.without_filters(&status)?)?.is_empty() {
            return Ok(true);
        }
        for module in self.submodules()? {
            let folder = self.folder.join(module);
            if folder.join(".git").exists() && Repository::at(&folder, self.git).is_dirty()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn submodules(&self) -> Result<Vec<PathBuf>, RepositoryError> {
        let entries = self.run(&["ls-files", "-z", "--stage"])?;
        let modules = entries.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        Ok(modules.filter_map(|entry| Some(path(entry.splitn(2, |byte| *byte == b'\t').nth(1)?))).collect())
    }

    /// The files of the working tree and its submodules, sorted, without those that git ignores, such as compiled files.
    ///
    /// # Errors
    /// If git fails.
    pub fn files(&self) -> Result<Vec<PathBuf>, RepositoryError> {
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
    pub fn archive(&self, commit: &str) -> Result<Child, RepositoryError> {
        let mut command = self.without_filters(&["archive", "--format=tar", commit])?;
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(self.cannot_run())
    }

    /// Git with `arguments`. Root reads a repository with the rights of its owner; other users read their own, as git
    /// demands. No program that the repository's settings name is run, and nothing is fetched.
    fn command(&self, arguments: &[&str]) -> Result<Command, RepositoryError> {
        self.command_with(arguments, &[])
    }

    fn command_with(
        &self,
        arguments: &[&str],
        settings: &[(String, String)],
    ) -> Result<Command, RepositoryError> {
        let owner = owner_of(self.folder).map_err(self.cannot_run())?;
        let mut command = self.git.command_as(owner.as_ref());
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
    fn without_filters(&self, arguments: &[&str]) -> Result<Command, RepositoryError> {
        let names = self.run(&["config", "--list", "--name-only", "-z"])?;
        let mut settings = Vec::new();
        for name in String::from_utf8_lossy(&names).split('\0').filter(|name| name.starts_with("filter.")) {
            let value = if name.ends_with(".required") { "false" } else { "" };
            settings.push((name.to_owned(), value.to_owned()));
        }
        self.command_with(arguments, &settings)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, RepositoryError> {
        self.finish(self.command(arguments)?)
    }

    fn finish(&self, mut command: Command) -> Result<Vec<u8>, RepositoryError> {
        let output = command.output().map_err(self.cannot_run())?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.refused(&output.stderr)) }
    }

    fn refused(&self, said: &[u8]) -> RepositoryError {
        // Enough for git's message on a repository that somebody else owns, and how to allow it.
        let reason = last_lines(&String::from_utf8_lossy(said), 5);
        RepositoryError::Git { repository: self.folder.to_path_buf(), reason }
    }

    fn cannot_run(&self) -> impl FnOnce(io::Error) -> RepositoryError + use<> {
        let repository = self.folder.to_path_buf();
        move |source| RepositoryError::Run { repository, source }
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A commit in the form of [`Repository::log`].
fn read_commit(record: &str) -> Option<Commit> {
    let mut parts = record.split('\0');
    let mut part = || parts.next().map(str::to_owned);
    let (hash, author_date, author, subject) = (part()?, part()?, part()?, part()?);
    let tags = part().unwrap_or_default();
    let tags = tags.split(", ").filter_map(|name| name.strip_prefix("tag: refs/tags/")).map(str::to_owned);
    Some(Commit { hash, author_date, author, subject, tags: tags.collect() })
}
