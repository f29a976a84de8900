//! A server whose instructions are counted: by callgrind, under which it runs then, or at full speed by the processor.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use basecase_process::{Guard, PATH};
use rustix::process::Signal;
use thiserror::Error;

use crate::instance::{Instance, InstanceError};

/// The folder of callgrind's files in an instance's directory.
const FOLDER: &str = "callgrind";
/// The start of the names of callgrind's files; the process follows, and for a dbms with threads `-` and the thread.
const FILE: &str = "callgrind.out.";
/// How long a server under callgrind may take to stop: it runs some fifty times slower.
const STOP_PATIENCE: Duration = Duration::from_secs(600);
/// The same once its counts are not wanted.
const UNWANTED_PATIENCE: Duration = Duration::from_secs(3);
/// How long the file of a session that has ended may take to appear.
const FILE_PATIENCE: Duration = Duration::from_secs(60);
/// The most shared memory for a server's own cache of pages, in bytes, unless its data needs more. Making a larger one would take
/// minutes under callgrind, and the work of an operation does not depend on it once it holds all pages.
const CACHE_BYTES: u64 = 256 << 20;

/// Valgrind's tool callgrind, as it was found on this machine.
#[derive(Debug, Clone)]
pub struct Callgrind {
    valgrind: PathBuf,
    /// The program that keeps addresses from being randomised, where this process may do that.
    setarch: Option<PathBuf>,
    version: String,
}

/// Why instructions cannot be counted by callgrind here.
#[derive(Debug, Error)]
pub enum NoCallgrind {
    /// There is no valgrind.
    #[error(
        "instructions cannot be counted: there is no program valgrind in PATH\nhint: install it (Debian and Ubuntu: apt-get install valgrind), or add its folder to PATH"
    )]
    Missing,
    /// It does not run.
    #[error(
        "instructions cannot be counted: {} {problem}\nhint: try it by hand: valgrind --tool=callgrind --callgrind-out-file=/dev/null true",
        valgrind.display()
    )]
    Broken {
        /// The program.
        valgrind: PathBuf,
        /// What happened.
        problem: String,
    },
}

impl Callgrind {
    /// Finds it, and tries it on a small program.
    ///
    /// # Errors
    /// When it is missing or does not work.
    pub fn find() -> Result<Self, NoCallgrind> {
        let valgrind = program("valgrind").ok_or(NoCallgrind::Missing)?;
        let broken = |problem: String| NoCallgrind::Broken { valgrind: valgrind.clone(), problem };
        let said = |command: &mut Command| {
            let output = command
                .env_clear()
                .env("PATH", PATH)
                .output()
                .map_err(|e| broken(format!("cannot be run: {e}")))?;
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
            if output.status.success() {
                Ok(text)
            } else {
                Err(broken(format!("ended with {}: {text}", output.status)))
            }
        };
        let version = said(Command::new(&valgrind).arg("--version"))?;
        said(Command::new(&valgrind).args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "-q",
            "true",
        ]))?;
        let is_allowed = |setarch: &PathBuf| {
            let tried = Command::new(setarch).args(["-R", "true"]).env_clear().env("PATH", PATH).output();
            tried.is_ok_and(|output| output.status.success())
        };
        let setarch = program("setarch").filter(is_allowed);
        Ok(Callgrind { setarch, version, valgrind })
    }

    /// Its version, e.g. `valgrind-3.19.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether addresses are the same in each start. Where a container forbids that, counts scatter more.
    pub fn fixes_addresses(&self) -> bool {
        self.setarch.is_some()
    }

    /// `command` under callgrind, whose files go to `folder`: one for each process, or for each thread.
    pub fn enclose(&self, command: &Command, folder: &Path, by_thread: bool) -> (PathBuf, Vec<OsString>) {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(setarch) = &self.setarch {
            words.extend([setarch.into(), "-R".into()]);
        }
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(folder.join(format!("{FILE}%p")));
        words.extend([
            self.valgrind.clone().into(),
            "--tool=callgrind".into(),
            "-q".into(),
            // Its pipes would belong to another user, and nobody asks a running server anything.
            "--vgdb=no".into(),
            "--trace-children=yes".into(),
            if by_thread { "--separate-threads=yes" } else { "--separate-threads=no" }.into(),
            out,
            command.get_program().into(),
        ]);
        words.extend(command.get_args().map(Into::into));
        let program = PathBuf::from(words.remove(0));
        (program, words)
    }
}

/// The program of this name in the caller's `PATH`, else in the usual folders, which a service's `PATH` may lack.
fn program(name: &str) -> Option<PathBuf> {
    program_in(&std::env::var_os("PATH").unwrap_or_default(), name)
        .or_else(|| program_in(OsStr::new(PATH), name))
}

/// The program of this name in the first folder of `path` that has it. Folders below the current one are left out, because a server is
/// started in another.
fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let may_run =
        |file: &PathBuf| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(may_run)
}

impl Instance {
    /// Gives the server the settings for counts from its next start on: its cache of pages is then no larger than its data needs. With
    /// `callgrind`, it runs under it.
    pub fn count_instructions(&mut self, callgrind: Option<Callgrind>) {
        self.callgrind = callgrind;
        self.is_counted = true;
    }

    /// Whether it runs under callgrind.
    pub(crate) fn is_under_callgrind(&self) -> bool {
        self.callgrind.is_some()
    }

    /// The server's command, under callgrind if that counts its instructions.
    pub(crate) fn counted(&self, command: Command) -> Result<Command, InstanceError> {
        let Some(callgrind) = &self.callgrind else { return Ok(command) };
        self.empty(FOLDER)?;
        let folder = callgrind_folder(&self.spec.directory);
        let (program, words) = callgrind.enclose(&command, &folder, self.spec.build.facts.dbms.has_threads());
        let mut enclosed = basecase_process::command(&program, self.account.as_ref());
        enclosed.args(words);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => enclosed.env(name, value),
                None => enclosed.env_remove(name),
            };
        }
        Ok(enclosed)
    }

    /// The size of the cache of pages while instructions are counted, in bytes; `None` if they are not.
    pub(crate) fn counting_cache_bytes(&self) -> Option<u64> {
        if !self.is_counted {
            return None;
        }
        let data = self.directory_bytes().unwrap_or(0);
        Some(CACHE_BYTES.max(data + data / 2).next_multiple_of(1 << 20))
    }

    /// How long the server may take to stop. Nobody waits for counts once the user wants to stop, and the data of a counted server is a
    /// copy that nobody needs: then it may take the second time.
    pub(crate) fn stop_patience(&self, usual: Duration) -> [Duration; 2] {
        if self.callgrind.is_some() { [STOP_PATIENCE, UNWANTED_PATIENCE] } else { [usual, usual] }
    }

    /// The signal that the server gets when this process dies, and how long it may take until it is forced to end.
    pub(crate) fn on_parent_death(&self) -> (Signal, Duration) {
        let [stop, force] = self.adapter().kind().stop_signals;
        if self.callgrind.is_some() { (force, UNWANTED_PATIENCE) } else { (stop, Guard::PATIENCE) }
    }
}

/// The folder of callgrind's files in a candidate's directory.
pub fn callgrind_folder(directory: &Path) -> PathBuf {
    directory.join(FOLDER)
}

/// What callgrind has written to a folder, by process and thread; the thread is 0 where a process has one file. Each process writes when
/// it ends.
pub fn callgrind_files(folder: &Path) -> BTreeMap<(u32, u32), PathBuf> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| Some((session_of(name.to_str()?)?, folder.join(name)))).collect()
}

/// Waits for the file of a process that was asked to end.
///
/// # Errors
/// When the process does not end in time, or the user wants to stop.
pub fn callgrind_file_of(folder: &Path, process: u32) -> Result<PathBuf, InstanceError> {
    let until = Instant::now() + FILE_PATIENCE;
    loop {
        let has_ended = basecase_process::start_time(process).is_none();
        let mut files = callgrind_files(folder).into_iter();
        match files.find(|((writer, thread), _)| *writer == process && *thread == 0) {
            Some((_, path)) if has_ended => return Ok(path),
            _ if Instant::now() > until => {
                return Err(InstanceError::NoCounts { process, folder: folder.to_path_buf() });
            }
            _ => {}
        }
        basecase_stop::check()?;
        basecase_stop::pause(Duration::from_millis(5));
    }
}

/// The process and the thread of a file with this name. Files with a part number were written on demand, which nobody does.
fn session_of(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix(FILE)?;
    let (process, thread) = rest.split_once('-').unwrap_or((rest, "0"));
    Some((process.parse().ok()?, thread.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_process_and_thread() {
        let of =
            ["callgrind.out.12", "callgrind.out.12-03", "callgrind.out.12.1", "other.12", "callgrind.out."];
        assert_eq!(of.map(session_of), [Some((12, 0)), Some((12, 3)), None, None, None]);
    }

    #[test]
    fn a_program_is_what_may_run_in_the_first_folder_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let [plain, first, second] = ["plain", "first", "second"].map(|name| folder.path().join(name));
        for (place, mode) in [(&plain, 0o644), (&first, 0o755), (&second, 0o755)] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("tool"), "").unwrap();
            std::fs::set_permissions(place.join("tool"), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([Path::new("."), &plain, &first, &second]).unwrap();
        assert_eq!(program_in(&path, "tool"), Some(first.join("tool")));
        assert_eq!(program_in(&path, "other"), None);
    }

    #[test]
    fn the_command_comes_last_with_its_arguments() {
        let callgrind =
            Callgrind { valgrind: "/v".into(), setarch: Some("/s".into()), version: "valgrind-3".into() };
        let mut command = Command::new("/bin/postgres");
        command.args(["-D", "/data"]);
        let (program, words) = callgrind.enclose(&command, Path::new("/f"), true);
        assert_eq!(program, Path::new("/s"));
        assert_eq!(words[..2], ["-R", "/v"]);
        assert!(words.contains(&"--callgrind-out-file=/f/callgrind.out.%p".into()), "{words:?}");
        assert_eq!(words[words.len() - 3..], ["/bin/postgres", "-D", "/data"]);
    }
}
