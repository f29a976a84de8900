//! Runs that a test cuts short, and what they leave.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use basecase_model::Trial;
use basecase_store::Store;
use basecase_tests::Sandbox;

/// A run whose messages go to a file.
pub(crate) struct Running {
    pub(crate) child: Child,
    messages: PathBuf,
}

impl Running {
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Running {
        let messages = sandbox.path().join("messages.txt");
        let child = sandbox
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(File::create(&messages).unwrap())
            .spawn()
            .unwrap();
        Running { child, messages }
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.messages).unwrap()
    }

    /// Waits until the messages hold `text`; `false` when the run ended before.
    pub(crate) fn wait_for(&mut self, text: &str) -> bool {
        let until = Instant::now() + Duration::from_secs(120);
        while !self.said().contains(text) {
            assert!(Instant::now() < until, "no {text:?} in {}", self.said());
            if self.child.try_wait().unwrap().is_some() {
                return self.said().contains(text);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn finish(mut self) -> (bool, String) {
        let success = self.child.wait().unwrap().success();
        let said = self.said();
        (success, said)
    }
}

/// The trials of the newest experiment of a store, which is verified.
pub(crate) fn trials(store: &Path) -> Vec<Trial> {
    if !store.exists() {
        return Vec::new();
    }
    let store = Store::open_read_only(store).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    let Some(experiment) = store.experiments().unwrap().pop() else { return Vec::new() };
    store.trials(&experiment.id).unwrap()
}

/// Processes whose command line names this folder, besides those that were started to look.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(folder) {
            found.push(line);
        }
    }
    found
}

/// Waits until no process of this folder is left.
pub(crate) fn assert_nothing_runs(folder: &Path) {
    // A server that was told to stop may flush for a while when other tests keep the machine busy.
    let until = Instant::now() + Duration::from_secs(60);
    while !processes_of(folder).is_empty() {
        assert!(Instant::now() < until, "left over: {:?}", processes_of(folder));
        std::thread::sleep(Duration::from_millis(20));
    }
}
