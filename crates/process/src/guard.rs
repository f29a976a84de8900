//! Ends a server that does not end by itself once this process is gone.

use std::time::Duration;

use rustix::process::Signal;

use crate::process::start_time;
use crate::watchdog::Watchdog;

/// Reads the process to watch, its start time (field 22 of `/proc/PID/stat`, see proc(5)), how long it may take, and the
/// number of the last signal, which a suspended server handles once it is resumed. A second line means that the server has
/// stopped; if none comes, this process is gone.
const SCRIPT: &str = "read -r pid started seconds signal || exit
read -r stopped && exit
while [ \"$seconds\" -gt 0 ]; do
    kill -0 \"$pid\" 2>/dev/null || exit
    sleep 1
    seconds=$((seconds - 1))
done
read -r stat <\"/proc/$pid/stat\" || exit
set -- ${stat##*) }
[ \"${20}\" = \"$started\" ] && kill -\"$signal\" \"$pid\" && kill -CONT \"$pid\"";

/// Guards one server. The parent-death signal asks a server to stop, but some that are just starting never do: MariaDB 10.11
/// waits for a thread that has ended.
#[derive(Debug)]
pub struct Guard(Watchdog);

impl Guard {
    /// How long a server may usually take to stop after this process is gone.
    pub const PATIENCE: Duration = Duration::from_secs(40);

    /// Guards the process `pid`, which gets `signal` if it is still there for longer than `patience`, in whole seconds, after this process
    /// is gone. `None` if there is no shell, or the server has ended; then only the parent-death signal remains.
    pub fn over(pid: u32, signal: Signal, patience: Duration) -> Option<Guard> {
        let started = start_time(pid)?;
        let mut watchdog = Watchdog::new(SCRIPT)?;
        watchdog.tell(&format!("{pid} {started} {} {}", patience.as_secs(), signal.as_raw())).ok()?;
        Some(Guard(watchdog))
    }

    /// Tells the guard that the server has stopped.
    pub fn dismiss(mut self) {
        let _ = self.0.tell("stopped");
        self.0.dismiss();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Instant;

    use super::*;

    /// A process that ignores requests to stop.
    fn stubborn() -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; while true; do sleep 0.1; done"]);
        command.spawn().unwrap()
    }

    #[test]
    fn a_server_that_does_not_stop_is_ended_once_nobody_is_there() {
        let mut server = stubborn();
        let guard = Guard::over(server.id(), Signal::KILL, Duration::from_secs(1)).unwrap();
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(server.try_wait().unwrap().is_none(), "as long as this process is there, so is the server");
        // This is what the kernel does when a process is killed.
        guard.0.dismiss();
        let status = server.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn a_guard_that_is_dismissed_ends_nothing_and_is_gone() {
        let mut server = stubborn();
        let guard = Guard::over(server.id(), Signal::KILL, Duration::ZERO).unwrap();
        let began = Instant::now();
        guard.dismiss();
        assert!(began.elapsed() < Duration::from_secs(30));
        assert!(server.try_wait().unwrap().is_none());
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(Guard::over(server.id(), Signal::KILL, Duration::ZERO).is_none(), "it has ended");
    }
}
