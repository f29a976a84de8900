//! A shell that does something once this process is gone, however it ended.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell at the other end of a pipe, which ends when this process does. Its script reads lines, and acts when no more can come.
/// Signals that reach both, as Ctrl-C does, are for this process.
#[derive(Debug)]
pub struct Watchdog {
    shell: Child,
    pipe: ChildStdin,
}

impl Watchdog {
    /// A shell with a script for `/bin/sh`. `None` where there is no shell.
    pub fn new(script: &str) -> Option<Watchdog> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("trap '' INT HUP TERM\n{script}")]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Watchdog { shell, pipe })
    }

    /// Process number of the shell.
    pub fn id(&self) -> u32 {
        self.shell.id()
    }

    /// Tells it a line.
    ///
    /// # Errors
    /// When it has ended.
    pub fn tell(&mut self, line: &str) -> io::Result<()> {
        self.pipe.write_all(format!("{line}\n").as_bytes())
    }

    /// Tells it no more and waits until it has done what is left to it.
    pub fn dismiss(self) {
        let Watchdog { mut shell, pipe } = self;
        drop(pipe);
        let _ = shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_acts_on_what_it_was_told_last_once_nobody_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("will");
        let mut watchdog =
            Watchdog::new("while read -r line; do last=$line; done; echo done >\"$last\"").unwrap();
        watchdog.tell("/dev/null").unwrap();
        watchdog.tell(&file.display().to_string()).unwrap();
        assert!(!file.exists());
        watchdog.dismiss();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "done\n");
    }

    #[test]
    fn one_that_has_ended_is_told_nothing() {
        let mut watchdog = Watchdog::new("exit").unwrap();
        watchdog.shell.wait().unwrap();
        watchdog.tell("anything").unwrap_err();
    }
}
