//! The steps of a build, and their log.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use basecase_process::log::{end_of, indented, last_lines};
use rustix::process::Signal;

use super::error::{CompileError, StepError};
use super::hint;
use super::toolchain::{Compiler, Toolchain};
use crate::source_tree::{SourceKind, amalgamation};

/// How many lines of the log an error shows.
const TAIL_LINES: usize = 20;
/// How often the user is told that a step is still running.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);
/// The shared library of SQLite.
const LIBRARY: &str = "libsqlite3.so";
const POLL: Duration = Duration::from_millis(50);

/// Folders of one build.
#[derive(Debug)]
pub(crate) struct Folders {
    /// The build's own copy of the source.
    pub(crate) source: PathBuf,
    /// Where CMake compiles; Postgres compiles in the source.
    pub(crate) objects: PathBuf,
    /// The build is first installed below this folder (`DESTDIR`).
    pub(crate) stage: PathBuf,
    /// Where the build will lie.
    pub(crate) prefix: PathBuf,
}

impl Folders {
    /// The installed tree, before it is moved to its place.
    pub(crate) fn installed(&self) -> PathBuf {
        self.stage.join(self.prefix.strip_prefix("/").unwrap_or(&self.prefix))
    }
}

/// One step of a build: commands that run in order.
pub(crate) struct BuildStep {
    title: &'static str,
    commands: Vec<Command>,
}

impl BuildStep {
    /// Whether it finds out how to compile, which is the same for source code that differs little.
    pub(crate) fn configures(&self) -> bool {
        self.title == CONFIGURING
    }
}

/// What the first step of most builds is called.
pub(super) const CONFIGURING: &str = "configuring";

/// The steps of a build of `kind`: configuring, compiling, installing.
///
/// # Errors
/// If a program is missing.
pub(crate) fn steps(
    kind: SourceKind,
    toolchain: &Toolchain,
    folders: &Folders,
    compilers: &[Compiler],
    arguments: &[String],
    jobs: u32,
) -> Result<Vec<BuildStep>, CompileError> {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| text.replace("{source}", &folders.source.display().to_string()))
        .collect();
    let (mut configure, folder, parts): (Command, &Path, &[&str]) = match kind {
        SourceKind::Postgres => {
            let mut command = toolchain.command(Path::new("/bin/sh"));
            // By a relative path, because it ends up in the names of source files, and those end up in programs.
            command
                .arg("./configure")
                .arg(format!("--prefix={}", folders.prefix.display()))
                .current_dir(&folders.source);
            // Documentation is left out. All of contrib takes a tenth of the time that the server takes.
            (command, &folders.source, &[".", "contrib"])
        }
        SourceKind::Mysql | SourceKind::FbMysql | SourceKind::Mariadb => {
            let mut command = toolchain.command(&toolchain.need("cmake", "cmake")?);
            command.arg(&folders.source);
            command.arg(format!("-DCMAKE_INSTALL_PREFIX={}", folders.prefix.display()));
            for (language, compiler) in ["C", "CXX"].iter().zip(compilers) {
                command.arg(format!("-DCMAKE_{language}_COMPILER={}", compiler.program));
            }
            command.current_dir(&folders.objects);
            (command, &folders.objects, &["."])
        }
        SourceKind::Sqlite => return library_steps(toolchain, folders, compilers, &arguments),
    };
    configure.args(arguments);
    let make = toolchain.need("make", "make")?;
    let make = |folder: &Path, words: &[&str]| {
        let mut command = toolchain.command(&make);
        command.arg(format!("-j{jobs}")).args(words).current_dir(folder);
        command
    };
    let destination = format!("DESTDIR={}", folders.stage.display());
    let compile = parts.iter().map(|part| make(folder, &["-C", part]));
    let install = parts.iter().map(|part| make(folder, &["-C", part, "install", &destination]));
    Ok(vec![
        BuildStep { title: CONFIGURING, commands: vec![configure] },
        BuildStep { title: "compiling", commands: compile.collect() },
        BuildStep { title: "installing", commands: install.collect() },
    ])
}

/// The steps of a build of SQLite: where the source is SQLite's own tree, the amalgamation is made first; one call of the
/// compiler makes the shared library of it.
fn library_steps(
    toolchain: &Toolchain,
    folders: &Folders,
    compilers: &[Compiler],
    arguments: &[String],
) -> Result<Vec<BuildStep>, CompileError> {
    let source = amalgamation(&folders.source);
    let mut steps = Vec::new();
    if source.is_none() {
        let mut configure = toolchain.command(Path::new("/bin/sh"));
        configure.arg("./configure").current_dir(&folders.source);
        let mut make = toolchain.command(&toolchain.need("make", "make")?);
        make.arg("sqlite3.c").current_dir(&folders.source);
        steps.push(BuildStep { title: CONFIGURING, commands: vec![configure, make] });
    }
    let library = folders.objects.join(LIBRARY);
    let program = compilers.first().map_or("cc", |compiler| compiler.program.as_str());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut program = words(program).into_iter();
    let path = toolchain.need(&program.next().unwrap_or_default(), "gcc")?;
    let mut compile = toolchain.command(&path);
    // What names the compiler is no argument of it.
    let own = arguments.iter().filter(|argument| !argument.starts_with("CC="));
    compile
        .args(program)
        .args(own.flat_map(|argument| words(argument)))
        .arg("-o")
        .arg(&library)
        .args(["sqlite3.c", "-lpthread", "-ldl", "-lm"])
        .current_dir(source.as_deref().unwrap_or(&folders.source));
    let mut install = toolchain.command(&toolchain.need("install", "coreutils")?);
    install.args(["-D", "-m", "755"]).arg(&library).arg(folders.installed().join("lib").join(LIBRARY));
    steps.push(BuildStep { title: "compiling", commands: vec![compile] });
    steps.push(BuildStep { title: "installing", commands: vec![install] });
    Ok(steps)
}

/// The flags that the compiler was given: configure's, or under CMake, whose projects add flags of their own, InnoDB's.
pub(crate) fn flags_given(kind: SourceKind, folders: &Folders) -> Option<String> {
    let (file, name) = match kind {
        SourceKind::Postgres => (folders.source.join("src/Makefile.global"), "CFLAGS = "),
        SourceKind::Mysql | SourceKind::FbMysql | SourceKind::Mariadb => {
            (folders.objects.join("storage/innobase/CMakeFiles/innobase.dir/flags.make"), "CXX_FLAGS = ")
        }
        SourceKind::Sqlite => return None,
    };
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The log of one build's steps.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Creates the log at `path`, replacing that of an earlier attempt.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn create(path: PathBuf) -> Result<Self, CompileError> {
        let file = File::create(&path).map_err(CompileError::file(&path))?;
        Ok(Log { path, file })
    }

    /// Runs `step` of the build `name`, e.g. `postgres 17.6`.
    ///
    /// # Errors
    /// If one of its commands fails; the error has the end of the log and a hint.
    pub(crate) fn run(
        &mut self,
        step: BuildStep,
        name: &str,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(), CompileError> {
        let title = step.title;
        notify(&format!("{title} {name}; log: {}", self.path.display()));
        let began = Instant::now();
        for command in step.commands {
            let status = self.run_command(command, || {
                notify(&format!("still {title} {name} after {} min", began.elapsed().as_secs() / 60));
            });
            let status = status.map_err(CompileError::file(&self.path))?;
            if !status.success() {
                let end = File::open(&self.path).and_then(end_of).unwrap_or_default();
                return Err(Box::new(StepError {
                    step: title,
                    name: name.to_owned(),
                    status: status.to_string(),
                    tail: indented(&last_lines(&end, TAIL_LINES)),
                    log: self.path.clone(),
                    hint: hint::of_log(&end),
                })
                .into());
            }
        }
        Ok(())
    }

    fn run_command(&mut self, mut command: Command, mut sign: impl FnMut()) -> io::Result<ExitStatus> {
        let folder = command.get_current_dir().unwrap_or(Path::new("/")).display();
        writeln!(self.file, "$ cd {folder} && {}", words(&command))?;
        command.stdout(self.file.try_clone()?).stderr(self.file.try_clone()?);
        // `make` passes the signal on: if basecase is killed, only the commands that are already running finish.
        basecase_process::die_with_parent(&mut command, Signal::TERM);
        let mut child = basecase_process::spawn(command, None)?;
        let _registration = basecase_process::end_on_stop(&child, Signal::TERM);
        let mut next = Instant::now() + SIGN_OF_LIFE;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > next {
                next += SIGN_OF_LIFE;
                sign();
            }
            std::thread::sleep(POLL);
        }
    }
}

/// A command as typed in a shell.
fn words(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = all.map(|word| {
        let word = word.to_string_lossy();
        let is_plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
