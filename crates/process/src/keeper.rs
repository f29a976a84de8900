//! The thread that spawns servers.
//!
//! The kernel ties a child's parent-death signal to the *thread* that spawned it. A server spawned by a short-lived thread
//! would stop when that thread ends, so one thread, which lives as long as the process, spawns them all.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Duration;

use basecase_probe::ProcessorSet;

/// How often a program that is still open for writing is tried, and how long after each time it is again.
const BUSY_TRIES: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(5);

struct Order {
    command: Command,
    processors: Option<ProcessorSet>,
    reply: mpsc::Sender<io::Result<Child>>,
}

static KEEPER: OnceLock<Mutex<Option<mpsc::Sender<Order>>>> = OnceLock::new();

/// Spawns `command` from the keeper's thread, to run on these processors only.
///
/// # Errors
/// If the program cannot be started, or the keeper's thread is gone.
pub fn spawn(command: Command, processors: Option<ProcessorSet>) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that spawns servers has ended");
    let keeper = KEEPER.get_or_init(|| Mutex::new(start().ok()));
    let (reply, answer) = mpsc::channel();
    {
        let orders = keeper.lock().map_err(|_| gone())?;
        orders.as_ref().ok_or_else(gone)?.send(Order { command, processors, reply }).map_err(|_| gone())?;
    }
    answer.recv().map_err(|_| gone())?
}

fn start() -> io::Result<mpsc::Sender<Order>> {
    let (sender, orders) = mpsc::channel::<Order>();
    std::thread::Builder::new().name("keeper".into()).spawn(move || {
        for mut order in orders {
            // If the caller no longer waits, nobody needs the child; it dies with this process.
            let _ = order.reply.send(spawn_on(&mut order.command, order.processors.as_ref()));
        }
    })?;
    Ok(sender)
}

/// A child inherits the affinity of the thread that spawns it.
fn spawn_on(command: &mut Command, processors: Option<&ProcessorSet>) -> io::Result<Child> {
    let Some(processors) = processors else { return spawn_once_written(command) };
    let own = ProcessorSet::allowed()?;
    processors.confine_thread()?;
    let child = spawn_once_written(command);
    own.confine_thread()?;
    child
}

/// A program that this process has just written may be open for writing yet, in a child of another thread that has not come to its own
/// program.
fn spawn_once_written(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(BUSY_PAUSE),
            spawned => return spawned,
        }
    }
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::die_with_parent;
    use rustix::process::Signal;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let mut child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60");
            die_with_parent(&mut command, Signal::INT);
            spawn(command, None).unwrap()
        })
        .join()
        .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    #[test]
    fn a_program_is_started_once_nobody_writes_it() {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"#!/bin/sh\nexit 7\n").unwrap();
        file.set_permissions(PermissionsExt::from_mode(0o755)).unwrap();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(BUSY_PAUSE * 4);
            drop(file);
        });
        let mut child = spawn(Command::new(&path), None).unwrap();
        writer.join().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
