//! Child processes, and what the system reports about any process.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use basecase_stop::{Registration, on_stop};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::account::Account;

/// The `PATH` of child processes.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command for a program of a build: as `account`, in a folder that it can read, and without the caller's environment,
/// which might name other libraries (`LD_LIBRARY_PATH`) or other servers (`PGHOST`).
pub fn command(program: &Path, account: Option<&Account>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    if let Some(account) = account {
        // Given a user id, std also drops all supplementary groups if the caller is root.
        command.uid(account.uid).gid(account.gid);
    }
    command
}

/// Makes the kernel send `signal` to the child when the thread that spawned it ends, even by `kill -9`.
#[expect(
    unsafe_code,
    reason = "pre_exec is unsafe; the closure makes two system calls and allocates nothing"
)]
pub fn die_with_parent(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe work is allowed. prctl and getppid are bare system calls,
    // and the error is built from a constant number. std runs this after the change of user, which would undo the
    // setting.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal))?;
            // The parent may have died before the setting took hold.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
}

/// Makes the child join control groups before its program is executed. The files are the groups' `cgroup.procs`, open for
/// writing, so that the kernel asks for the rights of who opened them.
#[expect(
    unsafe_code,
    reason = "pre_exec is unsafe; the closure makes one system call for each file and allocates nothing"
)]
pub(crate) fn join(command: &mut Command, files: Vec<File>) {
    // SAFETY: between fork and exec only async-signal-safe work is allowed. write is a bare system call, and the error is
    // built from a constant number.
    unsafe {
        command.pre_exec(move || {
            for file in &files {
                // 0 stands for the process that writes it.
                rustix::io::write(file, b"0")?;
            }
            Ok(())
        });
    }
}

/// Sends `signal` to the child once the user wants to stop, until the registration is dropped. `None` if the kernel has no
/// pidfd, without which the process id might come to name another process.
pub fn end_on_stop(child: &Child, signal: Signal) -> Option<Registration> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()?;
    Some(on_stop(move || {
        // It may have ended already.
        let _ = pidfd_send_signal(&handle, signal);
    }))
}

/// Sends `signal` to the process `pid`, which may be gone already.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// When the process started, in clock ticks since boot. Together with the pid this identifies a process uniquely. `None` if
/// there is none, or only a zombie.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// The command line of the living process `pid`: its program, then its arguments.
pub(crate) fn arguments(pid: u32) -> Option<Vec<OsString>> {
    let text = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    start_time(pid)?;
    Some(text.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_has_a_start_time_and_a_dead_one_none() {
        assert!(start_time(std::process::id()).is_some());
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(start_time(pid), None);
    }

    #[test]
    fn the_command_line_of_a_process_begins_with_its_program() {
        let here = arguments(std::process::id()).unwrap();
        assert_eq!(Some(&here[0]), std::env::args_os().next().as_ref());
        assert_eq!(arguments(u32::MAX), None);
    }
}
