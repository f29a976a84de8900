//! A candidate that is a commit or a working tree: `git:PATH@REF+PATCH`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use basecase_model::{Commit, Dbms};
use basecase_repository::{Change, Git, Range, Repository, RepositoryError};
use thiserror::Error;

use crate::setup::Setup;
use crate::source_tree::{CommitFiles, SourceFiles, SourceTree, recognise};
use crate::suggestion::{alternatives, nearest};

/// The prefix of candidates that are commits.
const PREFIX: &str = "git:";

/// A commit or a working tree of a local repository, with patches on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRequest {
    /// The top folder of the repository.
    pub repository: PathBuf,
    /// As the user named it, for messages.
    pub text: String,
    /// The full hash; that of `HEAD` if it is the working tree.
    pub commit: String,
    /// Whether it is the working tree as it is now, with changes that are not committed.
    pub is_working_tree: bool,
    /// Files with patches that are applied to it, in this order.
    pub patches: Vec<PathBuf>,
    /// The dbms whose source it is.
    pub dbms: Dbms,
    /// The build type or compiler flags.
    pub setup: Setup,
    /// Further arguments of configure or CMake.
    pub configure: Vec<String>,
    /// Whether it is compiled in a folder that is kept, where only what has changed is compiled again.
    pub is_incremental: bool,
}

/// Why a commit was refused.
#[derive(Debug, Error)]
pub enum CommitError {
    /// It cannot be read.
    #[error(
        "cannot read {text:?} as a commit\nhint: write git:PATH for a working tree, git:PATH@REF for a tag, a branch or a commit, and +FILE.patch behind it for a patch"
    )]
    Form {
        /// As it was written.
        text: String,
    },
    /// It is on another machine.
    #[error("basecase does not clone repositories\nhint: clone it, and give the local folder: git:PATH@REF")]
    Remote,
    /// There is no repository.
    #[error("{} is in no git repository: {reason}\nhint: clone it, which basecase does not do, and give the local folder", path.display())]
    NoRepository {
        /// The path.
        path: PathBuf,
        /// What git or the system says.
        reason: String,
    },
    /// There is no such commit.
    #[error("{} has no tag, branch or commit {reference:?}\nhint: {near}", repository.display())]
    NoCommit {
        /// The repository.
        repository: PathBuf,
        /// As it was written.
        reference: String,
        /// Names like it.
        near: String,
    },
    /// It is the source of no known dbms.
    #[error(
        "{text} is not the source of a dbms: it has neither Postgres's configure nor MySQL's MYSQL_VERSION or VERSION nor SQLite's sqlite3.c and sqlite3.h\nhint: name the repository of Postgres, MySQL, MariaDB or SQLite"
    )]
    NoDbms {
        /// As it was written.
        text: String,
    },
    /// Git is missing.
    #[error("there is no git\nhint: install it; on Debian, run `apt-get install --no-upgrade git`")]
    NoGit,
    /// The repository does not say.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
}

impl CommitRequest {
    /// Whether it is compiled in a folder that is kept. SQLite is not: one call of the compiler makes it.
    pub fn keeps_folder(&self) -> bool {
        match self.dbms {
            Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb => self.is_incremental,
            Dbms::Sqlite => false,
        }
    }

    /// Whether `text` names a commit.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The repository at `path`, where `~/` is the user's home, and its top folder.
    fn repository_at(path: &str) -> Result<(Git, PathBuf), CommitError> {
        let path = home(path);
        let none = |reason: String| CommitError::NoRepository { path: path.clone(), reason };
        let folder = path.canonicalize().map_err(|error| none(error.to_string()))?;
        let git = system_git()?;
        let top = Repository::at(&folder, &git).top().map_err(|error| none(reason(error)))?;
        Ok((git, top))
    }

    /// Another commit of its repository, named by its tag or the beginning of its hash.
    pub fn with_commit(&self, commit: &Commit) -> Self {
        self.named(&commit.hash, commit.name())
    }

    /// The commit with this hash in its repository.
    pub fn at(&self, hash: &str) -> Self {
        self.named(hash, hash.get(..Commit::DIGITS).unwrap_or(hash))
    }

    fn named(&self, hash: &str, name: &str) -> Self {
        let path = self.text.split('@').next().unwrap_or(&self.text);
        let text = format!("{path}@{name}");
        CommitRequest { text, commit: hash.to_owned(), is_working_tree: false, ..self.clone() }
    }

    /// The commits of a range of its repository, `A..B`. Only those that touch `paths` (pathspecs of git) are in it, with both ends; if
    /// there are none, those that touch what is compiled, as far as that is known of the dbms.
    ///
    /// # Errors
    /// If there is no such range.
    pub fn range(&self, text: &str, paths: &[String]) -> Result<Range, CommitError> {
        let git = system_git()?;
        let repository = Repository::at(&self.repository, &git);
        let ends = text.split("..").filter(|end| !end.is_empty());
        for end in ends {
            repository.commit(end).map_err(|error| no_commit(&repository, end, error))?;
        }
        let known: Vec<String> =
            not_compiled(self.dbms).iter().map(|path| format!(":(exclude){path}")).collect();
        let paths = if paths.is_empty() { &known } else { paths };
        Ok(Range::find(&repository, text, paths)?)
    }

    /// What a commit of its repository changes, compared with an earlier one.
    ///
    /// # Errors
    /// If git fails.
    pub fn change(&self, before: &str, after: &str) -> Result<Change, CommitError> {
        let git = system_git()?;
        Ok(Change::between(&Repository::at(&self.repository, &git), before, after)?)
    }

    /// The newest commit that its repository and another candidate of the same repository have in common.
    ///
    /// # Errors
    /// If git fails.
    pub fn merge_base(&self, other: &CommitRequest) -> Result<Option<String>, CommitError> {
        let git = system_git()?;
        Ok(Repository::at(&self.repository, &git).merge_base(&self.commit, &other.commit)?)
    }

    /// The version that its files state.
    pub(crate) fn version(&self) -> Result<String, CommitError> {
        let git = system_git()?;
        let repository = Repository::at(&self.repository, &git);
        if !self.is_working_tree {
            repository.check_complete(&self.commit)?;
        }
        let tree = tree(&repository, &self.commit, self.is_working_tree);
        tree.map(|tree| tree.version).ok_or_else(|| CommitError::NoDbms { text: self.text.clone() })
    }
}

fn system_git() -> Result<Git, CommitError> {
    Git::of_system().ok_or(CommitError::NoGit)
}

fn tree(repository: &Repository<'_>, commit: &str, is_working_tree: bool) -> Option<SourceTree> {
    let folder = repository.folder();
    let files: &dyn SourceFiles = if is_working_tree { &folder } else { &CommitFiles { repository, commit } };
    recognise(files)
}

/// Files of the source of a dbms that its server is not made of: tests, documentation, translations, other programs.
fn not_compiled(dbms: Dbms) -> &'static [&'static str] {
    match dbms {
        Dbms::Postgres => &[
            "doc",
            "src/test",
            "src/tools",
            "contrib",
            "src/interfaces/ecpg",
            "*.po",
            "*/t/*",
            "*README*",
            "*.md",
        ],
        Dbms::Mysql | Dbms::Mariadb => {
            &["mysql-test", "unittest", "router", "man", "packaging", "debian", "*.md", "*README*"]
        }
        Dbms::Sqlite => &["test", "doc", "*.test", "*.md", "ext/wasm", "ext/jni", "ext/session/test*"],
    }
}

/// What git or the system says, without advice that does not fit.
fn reason(error: RepositoryError) -> String {
    match error {
        RepositoryError::Git { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// `~/x` as a path from the user's home. A shell does that only at the beginning of a word.
fn home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// The parts of `PATH@REF+PATCH+PATCH`.
struct Parts<'a> {
    path: &'a str,
    reference: Option<&'a str>,
    patches: Vec<PathBuf>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut rest = text;
        let mut patches = Vec::new();
        // Names of tags may have a `+` as well.
        while let Some((head, file)) = rest.rsplit_once('+')
            && is_patch(file)
        {
            patches.insert(0, home(file));
            rest = head;
        }
        let (path, reference) = match rest.split_once('@') {
            Some((path, reference)) => (path, Some(reference).filter(|reference| !reference.is_empty())),
            None => (rest, None),
        };
        (!path.is_empty()).then_some(Parts { path, reference, patches })
    }
}

fn is_patch(file: &str) -> bool {
    let path = Path::new(file);
    path.extension().is_some_and(|extension| extension == "patch" || extension == "diff")
        || home(file).is_file()
}

impl FromStr for CommitRequest {
    type Err = CommitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || CommitError::Form { text: text.to_owned() };
        if text.contains("://") {
            return Err(CommitError::Remote);
        }
        let parts = text.strip_prefix(PREFIX).and_then(Parts::of).ok_or_else(form)?;
        let (git, top) = Self::repository_at(parts.path)?;
        let repository = Repository::at(&top, &git);
        // A bare repository has no working tree.
        let is_working_tree = parts.reference.is_none() && top.join(".git").exists();
        let reference = parts.reference.unwrap_or("HEAD");
        let commit =
            repository.commit(reference).map_err(|error| no_commit(&repository, reference, error))?;
        if !is_working_tree {
            repository.check_complete(&commit)?;
        }
        let Some(tree) = tree(&repository, &commit, is_working_tree) else {
            return Err(CommitError::NoDbms { text: text.to_owned() });
        };
        Ok(CommitRequest {
            repository: top.clone(),
            text: text.to_owned(),
            commit,
            is_working_tree,
            patches: parts.patches,
            dbms: tree.kind.dbms(),
            setup: Setup::Default,
            configure: Vec::new(),
            is_incremental: false,
        })
    }
}

/// Why there is no commit of this name: other names that are like it, or what git says where it fails.
fn no_commit(repository: &Repository<'_>, reference: &str, error: RepositoryError) -> CommitError {
    let Ok(names) = repository.names() else { return error.into() };
    let near = nearest(reference, names.iter().map(String::as_str));
    let near = if !near.is_empty() {
        format!("is it {}?", alternatives(&near))
    } else if repository.is_shallow().unwrap_or_default() {
        let folder = repository.folder().display();
        format!(
            "the history of this clone was cut off; get the rest, which basecase does not do: git -C {folder} fetch --unshallow"
        )
    } else {
        "`git tag` and `git log` list names; what is not here, `git fetch` gets".to_owned()
    };
    CommitError::NoCommit {
        repository: repository.folder().to_path_buf(),
        reference: reference.to_owned(),
        near,
    }
}

impl fmt::Display for CommitRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_commits_have_parts() {
        let parts = |text: &str| {
            let Parts { path, reference, patches } = Parts::of(text).unwrap();
            (path.to_owned(), reference.map(str::to_owned), patches)
        };
        let part = |path: &str, reference: Option<&str>, patches: &[&str]| {
            let patches = patches.iter().map(PathBuf::from).collect::<Vec<_>>();
            (path.to_owned(), reference.map(str::to_owned), patches)
        };
        assert_eq!(parts("/pg"), part("/pg", None, &[]));
        assert_eq!(parts("/pg@REL_18_0"), part("/pg", Some("REL_18_0"), &[]));
        assert_eq!(
            parts("/pg@@{u}"),
            part("/pg", Some("@{u}"), &[]),
            "git's own name of the upstream branch"
        );
        assert_eq!(
            parts("/pg@master~3+a.patch+/tmp/b.diff"),
            part("/pg", Some("master~3"), &["a.patch", "/tmp/b.diff"])
        );
        assert_eq!(parts("/pg+fix.patch"), part("/pg", None, &["fix.patch"]));
        assert_eq!(
            parts("/pg@v1.2+dfsg"),
            part("/pg", Some("v1.2+dfsg"), &[]),
            "a tag of Debian is no patch"
        );
        assert!(Parts::of("").is_none() && Parts::of("@main").is_none());
    }
}
