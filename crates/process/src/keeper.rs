//! The thread that spawns servers.
//!
//! The kernel ties a child's parent-death signal to the *thread* that spawned it. A server spawned by a short-lived thread
//! would stop when that thread ends, so one thread, which lives as long as the process, spawns them all.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, OnceLock, mpsc};

use basecase_probe::ProcessorSet;

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
    let Some(processors) = processors else { return command.spawn() };
    let own = ProcessorSet::allowed()?;
    processors.confine_thread()?;
    let child = command.spawn();
    own.confine_thread()?;
    child
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
}
