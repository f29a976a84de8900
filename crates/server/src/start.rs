//! From a command to a server that accepts sessions.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use basecase_client::postgres::Password;
use rustix::process::Signal;

use crate::instance::{Instance, InstanceError, SUPERUSER, Transport};
use crate::keeper;
use crate::process;
use crate::settings::quoted;

/// How often a server whose port was taken meanwhile gets another one.
const PORT_ATTEMPTS: u32 = 4;

impl Instance {
    /// Starts the server on its data directory and waits until it is ready.
    pub(crate) fn launch(&mut self, patience: Duration) -> Result<(), InstanceError> {
        let mut attempt = 1;
        loop {
            self.choose_port()?;
            self.spawn()?;
            match self.wait_until_ready(patience) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let is_taken = matches!(&error, InstanceError::Died { log_tail, .. }
                        if log_tail.contains("could not bind IPv4 address"));
                    // The first error says more than whatever stopping says.
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
        let file = |source| InstanceError::File { path: path.clone(), source };
        self.port = free.map_err(file)?.port();
        if self.password.is_none() {
            self.password = Some(Password::new(std::fs::read_to_string(&path).map_err(file)?));
        }
        Ok(())
    }

    /// The whole configuration: what initdb chose, then the config, then what basecase's own work depends on.
    fn configuration(&self) -> String {
        let path = |path: &Path| quoted(&path.display().to_string());
        let addresses = match self.spec.transport {
            Transport::UnixSocket => "",
            Transport::Loopback => "127.0.0.1",
        };
        format!(
            "include {}\n\n{}\ndata_directory = {}\nlisten_addresses = '{addresses}'\nport = {}\n\
             unix_socket_directories = {}\nunix_socket_permissions = 0700\nlogging_collector = off\n\
             log_destination = 'stderr'\n",
            path(&self.data().join("postgresql.conf")),
            self.spec.config.to_text(),
            path(&self.data()),
            self.port,
            path(&self.socket_dir()),
        )
    }

    fn spawn(&mut self) -> Result<(), InstanceError> {
        self.write(&self.config_file(), self.configuration().as_bytes())?;
        let log = self.log();
        let open = || {
            let log = OpenOptions::new().create(true).append(true).open(&log)?;
            Ok((log.try_clone()?, log))
        };
        let (out, err) = open().map_err(|source| InstanceError::File { path: log.clone(), source })?;
        let program = self.spec.build.program("postgres");
        let mut command = process::command(&program, self.account.as_ref());
        command
            .arg("-D")
            .arg(self.data())
            .arg("-c")
            .arg(format!("config_file={}", self.config_file().display()))
            .current_dir(self.data())
            .stdout(out)
            .stderr(err)
            // An interrupt from the terminal is for basecase, which then stops the server in its own time.
            .process_group(0);
        process::die_with_parent(&mut command, Signal::INT);
        let child = keeper::spawn(command).map_err(|source| InstanceError::Spawn { program, source })?;
        let pid = child.id();
        self.child = Some(child);
        self.lock.set_server(Some(pid))?;
        Ok(())
    }

    fn wait_until_ready(&mut self, patience: Duration) -> Result<(), InstanceError> {
        let until = Instant::now() + patience;
        let socket = self.socket_dir().join(format!(".s.PGSQL.{}", self.port));
        loop {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok()).flatten() {
                return Err(InstanceError::Died {
                    version: self.spec.build.facts.version.clone(),
                    status: status.to_string(),
                    log_tail: self.error_tail(),
                    log: self.log(),
                });
            }
            if accepts_sessions(&socket).unwrap_or(false) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(InstanceError::NotReady {
                    version: self.spec.build.facts.version.clone(),
                    seconds: patience.as_secs(),
                    log_tail: self.error_tail(),
                });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Opens and closes one session, as far as "ready for query". A server that still recovers refuses it.
fn accepts_sessions(socket: &Path) -> io::Result<bool> {
    let mut stream = UnixStream::connect(socket)?;
    let limit = Some(Duration::from_secs(5));
    stream.set_read_timeout(limit)?;
    stream.set_write_timeout(limit)?;
    let mut message = vec![0, 0, 0, 0, 0, 3, 0, 0];
    for text in ["user", SUPERUSER, "database", "postgres", ""] {
        message.extend_from_slice(text.as_bytes());
        message.push(0);
    }
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    message[..4].copy_from_slice(&length.to_be_bytes());
    stream.write_all(&message)?;
    loop {
        let mut head = [0_u8; 5];
        stream.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let body = u64::from(u32::from_be_bytes(length)).saturating_sub(4);
        io::copy(&mut Read::by_ref(&mut stream).take(body), &mut io::sink())?;
        match kind {
            b'Z' => {
                stream.write_all(&[b'X', 0, 0, 0, 4])?;
                return Ok(true);
            }
            b'E' => return Ok(false),
            _ => {}
        }
    }
}
