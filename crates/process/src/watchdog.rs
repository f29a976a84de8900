//! A shell that acts once this process is gone, however it ended.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell that reads from a pipe, which is closed when this process ends. Its script reads lines, and acts at the end of
/// input. It ignores signals that reach both processes, such as Ctrl-C.
#[derive(Debug)]
pub struct Watchdog {
    shell: Child,
    pipe: ChildStdin,
}

impl Watchdog {
    /// Starts `/bin/sh` with a script. `None` if there is no shell.
    pub fn new(script: &str) -> Option<Watchdog> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("trap '' INT HUP TERM\n{script}")]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Watchdog { shell, pipe })
    }

    /// The shell's process id.
    pub fn id(&self) -> u32 {
        self.shell.id()
    }

    /// Sends it a line.
    ///
    /// # Errors
    /// If it has ended.
    pub fn tell(&mut self, line: &str) -> io::Result<()> {
        self.pipe.write_all(format!("{line}\n").as_bytes())
    }

    /// Closes its input, and waits until it has acted.
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
