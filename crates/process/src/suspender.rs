//! Suspends servers while others have their turns.

use std::collections::BTreeMap;
use std::time::Instant;

use basecase_probe::server_processes;
use rustix::process::Signal;

use crate::process::send;
use crate::watchdog::Watchdog;

/// Resumes the processes in the last line at the end of input, which means that this process is gone.
const SCRIPT: &str = "while read -r pids; do last=$pids; done; [ -z \"$last\" ] || kill -CONT $last";

/// Suspends and resumes servers. They are also resumed when this is dropped or this process is killed. The watchdog is told
/// which processes will be suspended before they are. If it is killed, it gets a successor; without one, servers are not
/// suspended.
///
/// Otherwise a server without load would do background work while it is not measured.
#[derive(Debug, Default)]
pub struct Suspender {
    /// The processes of each suspended server, by its root.
    suspended: BTreeMap<u32, Vec<u32>>,
    watchdog: Option<Watchdog>,
}

impl Suspender {
    /// Suspends the process tree under `root`, and returns when it did. Without a watchdog, which needs a shell, the server
    /// keeps running.
    pub fn suspend(&mut self, root: u32) -> Instant {
        // The root first, so that it starts no new processes.
        self.stop(root, vec![root]);
        let stopped = Instant::now();
        let others = server_processes(root).into_iter().filter(|pid| *pid != root).collect();
        self.stop(root, others);
        stopped
    }

    /// Suspends some of a server's processes, or resumes all of them if nobody could do so later.
    fn stop(&mut self, root: u32, pids: Vec<u32>) {
        self.suspended.entry(root).or_default().extend(&pids);
        if self.tell_watchdog() {
            send_all(&pids, Signal::STOP);
        } else {
            self.resume(root);
        }
    }

    /// Resumes a server.
    pub fn resume(&mut self, root: u32) {
        if let Some(pids) = self.suspended.remove(&root) {
            send_all(&pids, Signal::CONT);
            self.tell_watchdog();
        }
    }

    /// Tells the watchdog which processes are suspended; `false` if there is no watchdog.
    fn tell_watchdog(&mut self) -> bool {
        let pids: Vec<String> = self.suspended.values().flatten().map(u32::to_string).collect();
        let pids = pids.join(" ");
        if self.watchdog.as_mut().is_some_and(|watchdog| watchdog.tell(&pids).is_ok()) {
            return true;
        }
        // It was killed. Its successor is told everything.
        if let Some(gone) = self.watchdog.take() {
            gone.dismiss();
        }
        self.watchdog = Watchdog::new(SCRIPT);
        self.watchdog.as_mut().is_some_and(|watchdog| watchdog.tell(&pids).is_ok())
    }
}

impl Drop for Suspender {
    fn drop(&mut self) {
        let roots: Vec<u32> = self.suspended.keys().copied().collect();
        roots.into_iter().for_each(|root| self.resume(root));
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }
}

fn send_all(pids: &[u32], signal: Signal) {
    pids.iter().for_each(|pid| send(*pid, signal));
}

#[cfg(test)]
#[path = "../tests/common/standing.rs"]
mod standing;

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::standing::is_stopped;
    use super::*;

    fn family() -> (Child, Vec<u32>) {
        let mut shell = Command::new("/bin/sh");
        let shell = shell.args(["-c", "sleep 60 & sleep 60; true"]).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        // A child suspended before it has executed its program blocks its parent from being suspended (vfork(2)).
        let is_sleep = |pid: &&u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        let sleeps = || server_processes(shell.id()).iter().filter(is_sleep).count();
        while sleeps() < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pids = server_processes(shell.id());
        assert_eq!((pids.len(), sleeps()), (3, 2));
        (shell, pids)
    }

    fn suspended() -> (Child, Vec<u32>, Suspender) {
        let (shell, pids) = family();
        let mut suspender = Suspender::default();
        suspender.suspend(shell.id());
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        (shell, pids, suspender)
    }

    fn end(mut family: Child, pids: &[u32]) {
        send_all(pids, Signal::KILL);
        family.wait().unwrap();
    }

    #[test]
    fn a_server_stands_still_until_it_is_resumed_or_nobody_can() {
        let (shell, pids, mut suspender) = suspended();
        suspender.resume(shell.id());
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        suspender.suspend(shell.id());
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        drop(suspender);
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }

    /// Kills the watchdog, and returns once it has ended.
    fn kill_watchdog(suspender: &Suspender) {
        let watchdog = suspender.watchdog.as_ref().unwrap().id();
        send(watchdog, Signal::KILL);
        let is_there = || {
            std::fs::read_to_string(format!("/proc/{watchdog}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        };
        let until = Instant::now() + Duration::from_secs(10);
        while is_there() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn defect_18_servers_go_on_when_the_watchdog_dies_between_two_steps_and_then_the_process() {
        let (shell, pids) = family();
        let mut suspender = Suspender::default();
        suspender.stop(shell.id(), vec![shell.id()]);
        assert!(is_stopped(shell.id(), true));
        kill_watchdog(&suspender);
        suspender.stop(shell.id(), pids.iter().copied().filter(|pid| *pid != shell.id()).collect());
        // The watchdog has a successor, which knows everything that its predecessor was told.
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        suspender.watchdog.take().unwrap().dismiss();
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }

    #[test]
    fn defect_18_servers_go_on_when_the_watchdog_dies_at_any_step() {
        let (shell, pids) = family();
        for step in 0..3 {
            let mut suspender = Suspender::default();
            suspender.tell_watchdog();
            if step == 0 {
                kill_watchdog(&suspender);
            }
            suspender.stop(shell.id(), vec![shell.id()]);
            if step == 1 {
                kill_watchdog(&suspender);
            }
            suspender.stop(shell.id(), pids.clone());
            if step == 2 {
                kill_watchdog(&suspender);
            }
            suspender.resume(shell.id());
            assert!(!pids.iter().any(|pid| is_stopped(*pid, false)), "step {step}");
        }
        end(shell, &pids);
    }

    #[test]
    fn the_watchdog_lets_servers_go_on_when_the_process_is_gone() {
        let (shell, pids, mut suspender) = suspended();
        // This is what the kernel does when a process is killed.
        suspender.watchdog.take().unwrap().dismiss();
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }
}
