//! Servers that stand still while others have their turns.

use std::collections::BTreeMap;
use std::time::Instant;

use basecase_probe::server_processes;
use rustix::process::Signal;

use crate::heir::Heir;
use crate::process::send;

/// Lets what was last read go on when nothing more can come, for then this process is gone.
const GUARD: &str = "while read -r pids; do last=$pids; done; [ -z \"$last\" ] || kill -CONT $last";

/// Stops servers and lets them go on, which they also do when it is dropped or this process is killed. The guard knows which are to be
/// stopped before they are, and one that is killed has a successor; where there is none, servers go on.
///
/// What a server does in the background while it has no load would otherwise be done for it off the clock.
#[derive(Debug, Default)]
pub struct Freezer {
    /// The processes of each server that stands still, by its root.
    frozen: BTreeMap<u32, Vec<u32>>,
    guard: Option<Heir>,
}

impl Freezer {
    /// Stops the tree of processes that grows from `root`, and returns when it was. Without a guard, which needs a shell, it goes on.
    pub fn freeze(&mut self, root: u32) -> Instant {
        // The root first: it starts no others then.
        self.stop(root, vec![root]);
        let stopped = Instant::now();
        let others = server_processes(root).into_iter().filter(|pid| *pid != root).collect();
        self.stop(root, others);
        stopped
    }

    /// Stops some of the processes of a server, or lets all of them go on where nobody could do so later.
    fn stop(&mut self, root: u32, pids: Vec<u32>) {
        self.frozen.entry(root).or_default().extend(&pids);
        if self.tell_guard() {
            send_all(&pids, Signal::STOP);
        } else {
            self.thaw(root);
        }
    }

    /// Lets a server go on.
    pub fn thaw(&mut self, root: u32) {
        if let Some(pids) = self.frozen.remove(&root) {
            send_all(&pids, Signal::CONT);
            self.tell_guard();
        }
    }

    /// Tells the guard which processes stand still; false when there is none.
    fn tell_guard(&mut self) -> bool {
        let pids: Vec<String> = self.frozen.values().flatten().map(u32::to_string).collect();
        let pids = pids.join(" ");
        if self.guard.as_mut().is_some_and(|guard| guard.tell(&pids).is_ok()) {
            return true;
        }
        // It was killed. Its successor is told all that it knew.
        if let Some(gone) = self.guard.take() {
            gone.dismiss();
        }
        self.guard = Heir::new(GUARD);
        self.guard.as_mut().is_some_and(|guard| guard.tell(&pids).is_ok())
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let roots: Vec<u32> = self.frozen.keys().copied().collect();
        roots.into_iter().for_each(|root| self.thaw(root));
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
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
        // A child that stands still before it has become another program keeps its parent from doing so (vfork(2)).
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

    fn frozen() -> (Child, Vec<u32>, Freezer) {
        let (shell, pids) = family();
        let mut freezer = Freezer::default();
        freezer.freeze(shell.id());
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        (shell, pids, freezer)
    }

    fn end(mut family: Child, pids: &[u32]) {
        send_all(pids, Signal::KILL);
        family.wait().unwrap();
    }

    #[test]
    fn a_server_stands_still_until_it_is_thawed_or_nobody_can() {
        let (shell, pids, mut freezer) = frozen();
        freezer.thaw(shell.id());
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        freezer.freeze(shell.id());
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        drop(freezer);
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }

    /// Kills the guard, and returns once it has ended.
    fn kill_guard(freezer: &Freezer) {
        let guard = freezer.guard.as_ref().unwrap().id();
        send(guard, Signal::KILL);
        let is_there = || {
            std::fs::read_to_string(format!("/proc/{guard}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        };
        let until = Instant::now() + Duration::from_secs(10);
        while is_there() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn defect_18_servers_go_on_when_the_guard_dies_between_two_steps_and_then_the_process() {
        let (shell, pids) = family();
        let mut freezer = Freezer::default();
        freezer.stop(shell.id(), vec![shell.id()]);
        assert!(is_stopped(shell.id(), true));
        kill_guard(&freezer);
        freezer.stop(shell.id(), pids.iter().copied().filter(|pid| *pid != shell.id()).collect());
        // The guard has a successor, which knows of what its predecessor was told.
        assert!(pids.iter().all(|pid| is_stopped(*pid, true)));
        freezer.guard.take().unwrap().dismiss();
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }

    #[test]
    fn defect_18_servers_go_on_when_the_guard_dies_at_any_step() {
        let (shell, pids) = family();
        for step in 0..3 {
            let mut freezer = Freezer::default();
            freezer.tell_guard();
            if step == 0 {
                kill_guard(&freezer);
            }
            freezer.stop(shell.id(), vec![shell.id()]);
            if step == 1 {
                kill_guard(&freezer);
            }
            freezer.stop(shell.id(), pids.clone());
            if step == 2 {
                kill_guard(&freezer);
            }
            freezer.thaw(shell.id());
            assert!(!pids.iter().any(|pid| is_stopped(*pid, false)), "step {step}");
        }
        end(shell, &pids);
    }

    #[test]
    fn the_guard_lets_servers_go_on_when_the_process_is_gone() {
        let (shell, pids, mut freezer) = frozen();
        // As the kernel does with a process that is killed.
        freezer.guard.take().unwrap().dismiss();
        assert!(!pids.iter().any(|pid| is_stopped(*pid, false)));
        end(shell, &pids);
    }
}
