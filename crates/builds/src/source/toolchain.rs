//! The compilers and the programs around them.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use basecase_process::Account;
use basecase_repository::Git;

use super::error::CompileError;

/// Where to find the programs that compile, and the account to run them under.
#[derive(Debug, Clone)]
pub(crate) struct Toolchain {
    path: OsString,
    /// The account that they run under; `None` means the caller's.
    account: Option<Account>,
}

/// A compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiler {
    /// The program, as given to configure or CMake.
    pub(crate) program: String,
    /// Its name and version, e.g. `gcc 12.2.0`.
    pub(crate) version: String,
    /// Its version line, including the distribution's own number.
    pub(crate) full_version: String,
}

/// A language of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    /// The compilers to look for, in order.
    fn programs(self) -> [&'static str; 2] {
        match self {
            Language::C => ["gcc", "cc"],
            Language::Cpp => ["g++", "c++"],
        }
    }

    /// The compiler that `arguments` of configure or CMake name.
    fn named_in(self, arguments: &[String]) -> Option<&str> {
        let heads = match self {
            Language::C => ["CC=", "-DCMAKE_C_COMPILER=", "-DCMAKE_C_COMPILER:FILEPATH="],
            Language::Cpp => ["CXX=", "-DCMAKE_CXX_COMPILER=", "-DCMAKE_CXX_COMPILER:FILEPATH="],
        };
        arguments.iter().rev().find_map(|one| heads.iter().find_map(|head| one.strip_prefix(head)))
    }
}

impl Toolchain {
    /// The system's toolchain, run as `account`: what is compiled is somebody else's code.
    pub(crate) fn system(account: Option<Account>) -> Self {
        Toolchain { path: basecase_process::PATH.into(), account }
    }

    /// The same, which also looks in `folder`, last.
    pub(crate) fn and_in(mut self, folder: &Path) -> Self {
        self.path.push(":");
        self.path.push(folder);
        self
    }

    /// A toolchain that looks only in `folder`.
    #[cfg(test)]
    pub(crate) fn only_in(folder: &Path) -> Self {
        Toolchain { path: folder.into(), account: Account::for_servers().ok().flatten() }
    }

    /// The program `name`, or the one at that path.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let runs = |path: &PathBuf| {
            path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        std::env::split_paths(&self.path).map(|folder| folder.join(name)).find(runs)
    }

    /// The program `name`, which is in the Debian package `package`.
    ///
    /// # Errors
    /// If it is missing.
    pub(crate) fn need(&self, name: &str, package: &str) -> Result<PathBuf, CompileError> {
        self.find(name).ok_or_else(|| self.missing(name.to_owned(), package))
    }

    /// Git.
    ///
    /// # Errors
    /// If it is missing.
    pub(crate) fn git(&self) -> Result<Git, CompileError> {
        Ok(Git::new(self.need("git", "git")?, self.path.clone()))
    }

    /// A command of the toolchain, without the caller's environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = basecase_process::command(program, self.account.as_ref());
        command.env("PATH", &self.path);
        command
    }

    /// The account that the programs run under; `None` means the caller's.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The compiler for `language`: the one that `arguments` name, otherwise the system's.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn compiler(
        &self,
        language: Language,
        arguments: &[String],
    ) -> Result<Compiler, CompileError> {
        let named = language.named_in(arguments);
        let programs = named.map_or_else(|| language.programs().to_vec(), |program| vec![program]);
        let found = programs.iter().find_map(|name| {
            // `CC=gcc -m64` is a program and an argument of it.
            let path = self.find(name.split_whitespace().next()?)?;
            Some(((*name).to_owned(), path))
        });
        let Some((program, path)) = found else {
            let (word, package) = match language {
                Language::C => ("C compiler", "gcc"),
                Language::Cpp => ("C++ compiler", "g++"),
            };
            return Err(self.missing(format!("{word} ({})", programs.join(" or ")), package));
        };
        let output = self.command(&path).arg("-v").stdout(Stdio::null()).output();
        let said = output.map_err(CompileError::file(&path))?.stderr;
        let full_version = version_line(&String::from_utf8_lossy(&said)).unwrap_or_else(|| program.clone());
        let version = short_version(&full_version).unwrap_or_else(|| program.clone());
        Ok(Compiler { program, version, full_version })
    }

    /// Whether the system has the library `name` and its development files, according to pkg-config, which configure asks as
    /// well.
    pub(crate) fn has_library(&self, name: &str) -> bool {
        let Some(program) = self.find("pkg-config") else { return false };
        let mut command = self.command(&program);
        let asked = command.args(["--exists", name]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    }

    fn missing(&self, what: String, package: &str) -> CompileError {
        let path = self.path.to_string_lossy().into_owned();
        CompileError::Tool { what, path, package: package.to_owned() }
    }
}

/// The line of `cc -v` with the version.
fn version_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("gcc version ") || line.contains("clang version "));
    line.map(|line| line.trim().to_owned())
}

/// `gcc 12.2.0` from `gcc version 12.2.0 (Debian 12.2.0-14)`.
fn short_version(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(" version ")?;
    let name = name.rsplit(' ').next()?;
    Some(format!("{name} {}", rest.split_whitespace().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_compilers() {
        let gcc = "Using built-in specs.\nTarget: x86_64-linux-gnu\ngcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n";
        assert_eq!(version_line(gcc).as_deref(), Some("gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"));
        let short = |text: &str| short_version(&version_line(text).unwrap());
        assert_eq!(short(gcc).as_deref(), Some("gcc 12.2.0"));
        assert_eq!(short("Debian clang version 14.0.6\nTarget: x").as_deref(), Some("clang 14.0.6"));
        assert_eq!(version_line("tcc 0.9"), None);
    }

    #[test]
    fn the_compiler_is_the_one_that_arguments_name() {
        let compiler = Toolchain::system(None).compiler(Language::C, &[]).unwrap();
        assert!(
            compiler.version.starts_with("gcc ") || compiler.version.starts_with("clang "),
            "{compiler:?}"
        );
        let arguments = ["CC=gcc -m64", "-DX=1", "CC=no-such-compiler"].map(String::from);
        let error = Toolchain::system(None).compiler(Language::C, &arguments).unwrap_err().to_string();
        assert!(error.starts_with("no C compiler (no-such-compiler) in "), "{error}");
        assert_eq!(Language::Cpp.named_in(&["-DCMAKE_CXX_COMPILER=clang++".into()]), Some("clang++"));
    }

    #[test]
    fn a_missing_compiler_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = Toolchain::only_in(folder.path()).compiler(Language::C, &[]).unwrap_err().to_string();
        assert!(error.starts_with("no C compiler (gcc or cc) in /"), "{error}");
        assert!(error.ends_with("`apt-get install --no-upgrade gcc`"), "{error}");
        assert!(!Toolchain::only_in(folder.path()).has_library("zlib"));
    }
}
