//! How a Postgres server is initialised, started, connected to and stopped.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use basecase_builds::server_programs;
use basecase_client::postgres::Address;
use basecase_client::{Endpoint, Host, Password};
use basecase_model::Dbms;
use basecase_process::ServerKind;
use rustix::process::Signal;

use super::check;
use crate::check::{Answer, CheckError, Question};
use crate::config::quoted;
use crate::instance::{Adapter, Instance, InstanceError, SUPERUSER, Transport, shut_down_on_stop};

/// The database that every new data directory has.
const MAINTENANCE_DATABASE: &str = "postgres";

/// The adapter for Postgres.
#[derive(Debug)]
pub(crate) struct Postgres;

impl Adapter for Postgres {
    fn kind(&self) -> ServerKind {
        ServerKind {
            programs: server_programs(Dbms::Postgres),
            data_argument: "",
            pid_file: "postmaster.pid",
            stop_signals: [Signal::INT, Signal::QUIT],
        }
    }

    fn published_transport(&self) -> Transport {
        Transport::Loopback
    }

    fn ask(&self, question: &Question<'_>) -> Result<Answer, CheckError> {
        check::ask(question).map_err(|reason| question.failed(reason))
    }

    fn config_file(&self) -> &'static str {
        "postgresql.conf"
    }

    fn socket_file(&self, port: u16) -> String {
        format!(".s.PGSQL.{port}")
    }

    /// The settings that initdb chose come first.
    fn configuration(&self, instance: &Instance) -> String {
        let path = |path: &Path| quoted(&path.display().to_string());
        let addresses = match instance.spec.transport {
            Transport::UnixSocket => "",
            Transport::Loopback => "127.0.0.1",
        };
        let counting = instance.counting_cache_bytes().map_or_else(String::new, settings_for_counting);
        format!(
            "include {}\n\n{}\ndata_directory = {}\nlisten_addresses = '{addresses}'\nport = {}\n\
             unix_socket_directories = {}\nunix_socket_permissions = 0700\nlogging_collector = off\n\
             log_destination = 'stderr'\n{counting}",
            path(&instance.data().join("postgresql.conf")),
            instance.spec.config.to_text(),
            path(&instance.data()),
            instance.port,
            path(&instance.socket_dir()),
        )
    }

    /// With checksums.
    fn initialise(&self, instance: &Instance) -> Result<Command, InstanceError> {
        let build = &instance.spec.build;
        let mut command = build.command("initdb", instance.account.as_ref());
        command
            .args(["-U", SUPERUSER, "-E", "UTF8", "--locale=C", "--data-checksums", "-N"])
            .args(["--auth-local=trust", "-D"])
            .arg(instance.data());
        match instance.spec.transport {
            Transport::UnixSocket => {
                command.arg("--auth-host=reject");
            }
            Transport::Loopback => {
                let method = if build.version.first() < 10 { "md5" } else { "scram-sha-256" };
                command.arg(format!("--auth-host={method}")).arg("--pwfile").arg(instance.password_file());
            }
        }
        Ok(command)
    }

    fn serve(&self, instance: &Instance) -> Command {
        let mut command = instance.spec.build.command("postgres", instance.account.as_ref());
        command
            .arg("-D")
            .arg(instance.data())
            .arg("-c")
            .arg(format!("config_file={}", instance.config_file().display()));
        command
    }

    /// Opens a session, waits for "ready for query", and closes it.
    fn accepts_sessions(&self, socket: &Path) -> io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        let _registration = shut_down_on_stop(&stream)?;
        let limit = Some(Duration::from_secs(5));
        stream.set_read_timeout(limit)?;
        stream.set_write_timeout(limit)?;
        let mut message = vec![0, 0, 0, 0, 0, 3, 0, 0];
        for text in ["user", SUPERUSER, "database", MAINTENANCE_DATABASE, ""] {
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

    fn is_port_taken(&self, log: &str) -> bool {
        log.contains("could not bind IPv4 address")
    }

    /// Fast shutdown, and immediate shutdown, which makes no checkpoint.
    fn endpoint(&self, instance: &Instance, database: &str) -> Endpoint {
        let (host, password) = match instance.tcp_password() {
            Some(password) => (Host::Tcp("127.0.0.1".into()), password),
            None => (Host::Socket(instance.socket_dir()), Password::default()),
        };
        let database = if database.is_empty() { MAINTENANCE_DATABASE } else { database };
        Endpoint::Postgres(Address {
            host,
            port: instance.port,
            user: SUPERUSER.to_owned(),
            password,
            database: database.to_owned(),
        })
    }
}

/// Under callgrind a server takes fifty times as long, while its timeouts stay what they are. What works in the background would
/// change the data between sessions, and compiled expressions have no names.
fn settings_for_counting(cache_bytes: u64) -> String {
    format!(
        "shared_buffers = '{}MB'\nhuge_pages = off\nautovacuum = off\njit = off\nauthentication_timeout = 600\n\
         checkpoint_timeout = 86400\n",
        cache_bytes >> 20
    )
}
