//! What the end-to-end tests share: a folder of their own, and the real program run in it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

pub mod causes;
pub mod disturbance;
pub mod running;
pub mod sqlite_repository;

/// A folder that is removed with all it holds, for the program to work in.
///
/// Builds come from the home that basecase has anyway (`BASECASE_HOME`), so that they are got once; whatever else a test
/// makes belongs in here, so name stores, reports and `--data` by relative paths.
#[derive(Debug)]
pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// An empty folder.
    #[expect(clippy::new_without_default, reason = "it makes a folder, which no default should")]
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// An empty folder that is not in memory, whatever `TMPDIR` is: for tests of servers with little memory.
    pub fn on_disk() -> Self {
        Self::below(Path::new("/var/tmp"))
    }

    fn below(parent: &Path) -> Self {
        // Short, since sockets lie in it, and open to the unprivileged user that servers run as.
        let folder = tempfile::Builder::new().prefix("bc-").tempdir_in(parent).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Sandbox { folder }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with these arguments, to be run in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            // Whoever runs the tests may have defaults of their own.
            .env("BASECASE_CONFIG", self.path().join("user.toml"))
            .env_remove("COLUMNS")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Exit code, standard output and standard error as one text that does not differ between runs and machines.
    pub fn transcript(&self, output: &Output) -> String {
        let mut text = match output.status.code() {
            Some(code) => format!("exit code {code}\n"),
            None => format!("{}\n", output.status),
        };
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                text.push_str(&format!("-- {name}\n{}", String::from_utf8_lossy(bytes)));
            }
        }
        self.filter(&text)
    }

    /// `text` with this folder and whatever else differs from run to run replaced.
    pub fn filter(&self, text: &str) -> String {
        let text = text.replace(self.path().to_str().unwrap(), "[SANDBOX]");
        let text = replace_number(&text, "pid ", "[PID]");
        let text = replace_number(&text, "127.0.0.1:", "[PORT]");
        let text = replace_number(&text, " has ", "[FREE]");
        let text = replace_number(&text, "--set innodb_buffer_pool_size=", "[SIZE]");
        // What a run says of the machine before it begins.
        let lines = text.lines().filter(|line| !line.starts_with("disturbs measurements here: "));
        lines.map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// Replaces each number after `before` by `name`.
fn replace_number(text: &str, before: &str, name: &str) -> String {
    let mut parts = text.split(before);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        replaced.push_str(before);
        replaced.push_str(if rest.len() < part.len() { name } else { "" });
        replaced.push_str(rest);
    }
    replaced
}

/// The program `basecase`, built once, as this test was. Cargo builds the programs of a test's own package only. A test of the program's
/// package is asked for among the whole workspace, because `cargo build` would compile most crates again, with other features.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // A test lies in TARGET/PROFILE/deps.
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap();
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "test",
            Some(name) => name,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["test", "--workspace", "--test", "program", "--no-run", "--quiet", "--locked"])
            .args(["--profile", profile])
            .arg("--target-dir")
            .arg(folder.parent().unwrap())
            .current_dir(workspace())
            // It may be set for the test alone; the crates would be compiled otherwise with it.
            .env_remove("RUSTC_BOOTSTRAP")
            .status()
            .unwrap();
        assert!(built.success(), "basecase does not build");
        folder.join("basecase")
    })
}

/// Whether this machine has valgrind.
pub fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|said| said.status.success())
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
