//! Starts a server, and waits until it accepts sessions.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use basecase_process::Guard;
use rustix::rand::{GetRandomFlags, getrandom};

use super::plant::Planted;
use super::shortage::KillWatch;
use crate::instance::{Instance, InstanceError, Transport};

/// How many times a server gets another port because its port was taken meanwhile.
const PORT_ATTEMPTS: u32 = 4;
/// The size of a memory page, in bytes.
const PAGE: u16 = 4096;

impl Instance {
    /// Starts the server on its data directory and waits until it is ready.
    pub(crate) fn launch(&mut self, patience: Duration) -> Result<(), InstanceError> {
        self.renew_group()?;
        let mut attempt = 1;
        loop {
            self.choose_port()?;
            self.spawn()?;
            match self.wait_until_ready(patience) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let is_taken = matches!(&error, InstanceError::Died { log_tail, .. }
                        if self.adapter().is_port_taken(log_tail));
                    // The first error tells more than an error while stopping.
                    let _ = self.stop();
                    if !is_taken || attempt == PORT_ATTEMPTS {
                        return Err(error);
                    }
                }
            }
            attempt += 1;
        }
    }

    fn choose_port(&mut self) -> Result<(), InstanceError> {
        if self.spec.transport == Transport::UnixSocket {
            return Ok(());
        }
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let path = self.password_file();
        self.port = free.map_err(|source| InstanceError::File { path, source })?.port();
        if self.password.is_none() {
            self.password = Some(self.read_password()?);
        }
        Ok(())
    }

    fn spawn(&mut self) -> Result<(), InstanceError> {
        self.write_config()?;
        // This removes a dead server's socket and its lock: the process id in the lock may be another process's by now.
        self.empty_socket_dir()?;
        let log = self.open_log()?;
        let out = log.try_clone().map_err(|source| InstanceError::File { path: self.log(), source })?;
        let mut command = self.adapter().serve(self);
        command.envs(self.spec.config.environment());
        let program = command.get_program().into();
        let mut command = self.enclosed(self.counted(command)?)?;
        command
            .current_dir(self.data())
            .stdout(out)
            .stderr(log)
            .env("BASECASE_PADDING", padding())
            // Ctrl-C in the terminal is meant for basecase, which then stops the server itself.
            .process_group(0);
        if let Some((plant, library)) = &self.plant {
            self.write(Planted::FILE, &[0; size_of::<[u64; 2]>()])?;
            command.envs(plant.environment(library, &self.spec.directory));
        }
        let [_, force] = self.adapter().kind().stop_signals;
        let (signal, patience) = self.on_parent_death();
        basecase_process::die_with_parent(&mut command, signal);
        self.kill_watch = Some(KillWatch::begin(self));
        let child = basecase_process::spawn(command, self.processors.clone())
            .map_err(|source| InstanceError::Spawn { program, source })?;
        let pid = child.id();
        self.child = Some(child);
        self.guard = Guard::over(pid, force, patience);
        self.lock.set_server(Some(pid))?;
        Ok(())
    }

    fn wait_until_ready(&mut self, patience: Duration) -> Result<(), InstanceError> {
        let until = Instant::now() + patience;
        let socket = self.socket();
        loop {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok()).flatten() {
                if let Some(killed) = self.killed_for_memory() {
                    return Err(killed.into());
                }
                return Err(InstanceError::Died {
                    build: self.spec.build.title(),
                    status: status.to_string(),
                    log_tail: self.error_tail(),
                    log: self.log(),
                });
            }
            if self.adapter().accepts_sessions(&socket).unwrap_or(false) {
                return Ok(());
            }
            basecase_stop::check()?;
            if Instant::now() > until {
                return Err(InstanceError::NotReady {
                    build: self.spec.build.title(),
                    seconds: patience.as_secs(),
                    log_tail: self.error_tail(),
                });
            }
            basecase_stop::pause(Duration::from_millis(10));
        }
    }
}

/// Text of a random length for each start, shorter than a page. Postgres copies its environment to the start of its heap, so
/// the length of any path or value in it shifts every later allocation, in the same way at each start: a candidate's name
/// would affect its speed. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009.
fn padding() -> String {
    let mut drawn = [0; size_of::<u16>()];
    // Without randomness, all starts have the same length.
    let _ = getrandom(&mut drawn, GetRandomFlags::empty());
    "x".repeat(usize::from(u16::from_ne_bytes(drawn) % PAGE))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn starts_are_padded_to_lengths_of_their_own() {
        let lengths: BTreeSet<usize> = (0..16).map(|_| padding().len()).collect();
        assert!(lengths.len() > 8 && lengths.iter().all(|length| *length < usize::from(PAGE)), "{lengths:?}");
    }
}
