//! Why a build could not be made from source.

use std::io;
use std::path::PathBuf;

use basecase_model::Dbms;
use basecase_process::FolderError;
use basecase_repository::RepositoryError;
use thiserror::Error;

use super::build_step::CONFIGURING;
use super::hint;

/// Why a build could not be made from source.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The order does not name a dbms and a version.
    #[error(
        "cannot compile {request}: it does not name a dbms and a version alone\nhint: write e.g. postgres:17.6 or postgres:17.x; --label gives the build a name"
    )]
    Request {
        /// What was ordered.
        request: String,
    },
    /// The order names no source, and none is known.
    #[error(
        "basecase does not know where to get the source of {dbms} {version}\nhint: give it with --source: a folder, an archive (.tar.gz, .tar.bz2, .tar.xz) or REPOSITORY@TAG{}",
        debian(versions)
    )]
    NoSource {
        /// The dbms.
        dbms: Dbms,
        /// The version requested.
        version: String,
        /// The versions that Debian has.
        versions: Vec<String>,
    },
    /// The named source does not exist.
    #[error(
        "no source at {text}: {reason}\nhint: name a folder, an archive (.tar.gz, .tar.bz2, .tar.xz) or REPOSITORY@TAG"
    )]
    Origin {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A patch cannot be used.
    #[error(
        "patch {}: {reason}\nhint: --patch takes files as `git diff` and `diff -u` write them, with paths below one folder (a/src/x.c), in the order in which they are applied",
        path.display()
    )]
    Patch {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, or where it does not apply.
        reason: String,
    },
    /// A program needed for compiling is missing.
    #[error("no {what} in {path}\nhint: install it; on Debian, run `apt-get install --no-upgrade {package}`")]
    Tool {
        /// What is missing, e.g. `C compiler (gcc or cc)`.
        what: String,
        /// Where it was looked for.
        path: String,
        /// The Debian package that has it.
        package: String,
    },
    /// There is no build type with that name.
    #[error(
        "{tree} has no build type {name:?}\nhint: choose from {known}; or give compiler flags with --flags"
    )]
    Type {
        /// The kind of source tree.
        tree: String,
        /// What was asked for.
        name: String,
        /// All type names.
        known: String,
    },
    /// The label cannot be used in names.
    #[error(
        "{label:?} cannot be a label: {reason}\nhint: give --label 1 to 40 letters, digits, '-' and '_', e.g. patched"
    )]
    Label {
        /// The label.
        label: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another build already has the label.
    #[error("{name} already names another build: {what}\nhint: name this one with --label NAME, or remove {}", folder.display())]
    LabelTaken {
        /// The name.
        name: String,
        /// What the other build was made from and how.
        what: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// The source tree is of no known kind.
    #[error(
        "{artifact} is not the source of {dbms}: it has neither Postgres's configure nor MySQL's MYSQL_VERSION or VERSION nor SQLite's sqlite3.c and sqlite3.h\nhint: give the top folder of the source"
    )]
    Unknown {
        /// The source.
        artifact: String,
        /// What was asked for.
        dbms: Dbms,
    },
    /// The source tree is another version or another dbms.
    #[error(
        "{artifact} is {actual}, not {expected} as requested\nhint: request {actual}, or give another source"
    )]
    Version {
        /// The source.
        artifact: String,
        /// What was asked for, e.g. `postgres:17.6`.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// The source tree contains the output of an earlier compilation, which the new one would use.
    #[error(
        "{artifact} has already been compiled: it contains {file}\nhint: run `make distclean` there, or give a git repository, from which only source files are taken"
    )]
    Used {
        /// The source.
        artifact: String,
        /// The file that shows it.
        file: &'static str,
    },
    /// A submodule was not checked out.
    #[error(
        "{artifact} lacks its submodule {module}\nhint: check the commit out with `git submodule update --init` and give that folder with --source"
    )]
    Submodule {
        /// The source.
        artifact: String,
        /// The submodule's folder.
        module: String,
    },
    /// The source changed while it was copied.
    #[error("{} changed while it was copied\nhint: wait until nothing writes to it, and try again", folder.display())]
    Changed {
        /// The folder.
        folder: PathBuf,
    },
    /// The repository does not say.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// Debian's source could not be downloaded.
    #[error(
        "cannot get the source of {package} from Debian {suite}: {reason}\nhint: give a source with --source: a folder, an archive or REPOSITORY@TAG"
    )]
    Debian {
        /// The source package.
        package: String,
        /// The suite.
        suite: String,
        /// What failed.
        reason: String,
    },
    /// An archive could not be unpacked.
    #[error("cannot unpack {}: {source}\nhint: it must be a tar archive, plain or compressed by gzip, bzip2 or xz; check also the free space of BASECASE_HOME", path.display())]
    Unpack {
        /// The archive.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// A step of the build failed.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// It did not compile before.
    #[error("{reason}\nhint: this is remembered; to compile it again, remove {}", memory.display())]
    Broken {
        /// Why.
        reason: String,
        /// The file that says so.
        memory: PathBuf,
    },
    /// The work folder could be somebody else's, or cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file or folder could not be used.
    #[error("cannot use {}: {source}\nhint: check its permissions and the free space of its disk", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An embedded table of build types is broken.
    #[error("cannot read {file}: {reason}\nhint: this is a bug in basecase; please report it")]
    Data {
        /// The file.
        file: String,
        /// What the parser says.
        reason: String,
    },
}

/// A step of a build failed.
#[derive(Debug, Error)]
#[error("{step} {name} failed ({status}):\n{tail}\nlog: {}\nhint: {hint}", log.display())]
pub struct StepError {
    /// What was done, e.g. `configuring`.
    pub step: &'static str,
    /// What is built, e.g. `postgres 17.6 as o2nofp`.
    pub name: String,
    /// How the program ended.
    pub status: String,
    /// The last lines of the log.
    pub tail: String,
    /// The whole log.
    pub log: PathBuf,
    /// What is likely to help.
    pub hint: String,
}

impl StepError {
    /// Whether it failed for want of space, memory, a package or the network, or was stopped, and not by what it compiles.
    pub fn is_of_machine(&self) -> bool {
        let signs = [
            "No space left on device",
            "Cannot allocate memory",
            "virtual memory exhausted",
            "Killed",
            "Terminated",
            "Interrupt",
            "Disk quota exceeded",
        ];
        self.lacks_package()
            || self.status.contains("signal")
            || signs.iter().any(|sign| self.tail.contains(sign))
    }
}

impl StepError {
    /// Whether it failed because a package is not installed.
    pub(crate) fn lacks_package(&self) -> bool {
        // MariaDB's build downloads libraries that are not installed.
        let downloads = self.tail.contains("Could not resolve host");
        downloads || self.step == CONFIGURING && self.hint.contains(hint::MISSING)
    }
}

impl CompileError {
    /// Whether this source cannot be compiled, or a patch does not fit it, on a machine where others can be.
    pub fn is_of_source(&self) -> bool {
        match self {
            CompileError::Step(step) => !step.is_of_machine(),
            CompileError::Broken { .. }
            | CompileError::Patch { .. }
            | CompileError::Submodule { .. }
            | CompileError::Unknown { .. } => true,
            _ => false,
        }
    }

    /// An error of `path`, for `map_err`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> CompileError {
        let path = path.into();
        move |source| CompileError::File { path, source }
    }
}

fn debian(versions: &[String]) -> String {
    if versions.is_empty() {
        return String::new();
    }
    format!("; without it, {} come from Debian", versions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_the_fault_of_a_commit() {
        let failed = |status: &str, tail: &str| {
            let step = StepError {
                step: "compiling",
                name: "sqlite 3.50.0".into(),
                status: status.into(),
                tail: tail.into(),
                log: "/log".into(),
                hint: String::new(),
            };
            CompileError::from(Box::new(step)).is_of_source()
        };
        assert!(failed("exit status: 1", "  sqlite3.c:7:1: error: expected ';'"));
        assert!(!failed("exit status: 1", "  /tmp/cc1.s: fatal error: No space left on device"));
        assert!(!failed("exit status: 1", "  gcc: fatal error: Killed signal terminated program cc1"));
        assert!(!failed("signal: 15 (SIGTERM)", ""), "it was stopped");
        assert!(
            !failed("exit status: 2", "  Could not resolve host: github.com"),
            "a library is not installed"
        );
    }
}
