//! How a MySQL or MariaDB server is initialised, started, connected to and stopped.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use basecase_builds::{initialises_itself, server_programs};
use basecase_client::mysql::Address;
use basecase_client::{Endpoint, Host, Password};
use basecase_model::Dbms;
use basecase_process::ServerKind;
use rustix::process::Signal;

use super::check;
use super::option_file::{own_settings, setting};
use crate::check::{Answer, CheckError, Question};
use crate::instance::{Adapter, Instance, InstanceError, SUPERUSER, Transport, shut_down_on_stop};

/// The adapter for MySQL and MariaDB.
#[derive(Debug)]
pub(crate) struct Mysql;

impl Adapter for Mysql {
    fn kind(&self) -> ServerKind {
        ServerKind {
            programs: server_programs(Dbms::Mysql),
            data_argument: "--datadir=",
            pid_file: "mysqld.pid",
            stop_signals: [Signal::TERM, Signal::KILL],
        }
    }

    fn published_transport(&self) -> Transport {
        Transport::UnixSocket
    }

    fn ask(&self, question: &Question<'_>) -> Result<Answer, CheckError> {
        check::check_engine(question)?;
        check::ask(question).map_err(|reason| question.failed(reason))
    }

    fn config_file(&self) -> &'static str {
        "my.cnf"
    }

    fn socket_file(&self, _port: u16) -> String {
        "mysql.sock".to_owned()
    }

    fn configuration(&self, instance: &Instance) -> String {
        let spec = &instance.spec;
        let settings = spec.config.settings.iter().map(|line| setting(&line.name, &line.value));
        let mut text = format!("[mysqld]\n{}\n", settings.collect::<String>());
        text.push_str(&own_settings(&spec.build, spec.engine, &instance.data(), &instance.temporary_dir()));
        text.push_str(&setting("socket", &instance.socket().display().to_string()));
        if let Some(cache_bytes) = instance.counting_cache_bytes() {
            text.push_str(&settings_for_counting(cache_bytes));
        }
        text.push_str(&match spec.transport {
            Transport::UnixSocket => "skip_networking\n".to_owned(),
            Transport::Loopback => format!("bind_address = 127.0.0.1\nport = {}\n", instance.port),
        });
        text
    }

    fn initialise(&self, instance: &Instance) -> Result<Command, InstanceError> {
        let mut accounts = accounts(instance.tcp_password().as_ref());
        let mut command = self.serve(instance);
        let build = &instance.spec.build;
        if initialises_itself(build.facts.dbms, &build.version) {
            accounts.push_str("drop user 'root'@'localhost';\n");
            let path = instance.write_temporary("accounts.sql", &accounts)?;
            let mut file = std::ffi::OsString::from("--init-file=");
            file.push(path);
            command.arg("--initialize-insecure").arg(file);
        } else {
            let script =
                bootstrap_script(&build.tree().bootstrap_scripts(), &accounts, &instance.temporary_dir())?;
            // One statement in the scripts is longer than the oldest versions allow by default.
            command.args(["--bootstrap", "--max-allowed-packet=8M"]).stdin(Stdio::from(script));
        }
        Ok(command)
    }

    fn serve(&self, instance: &Instance) -> Command {
        let build = &instance.spec.build;
        let mut command = build.command(build.tree().server(), instance.account.as_ref());
        // This must come first. The data directory is in the file too; here it serves to recognise a leftover server.
        command
            .arg(format!("--defaults-file={}", instance.config_file().display()))
            .arg(format!("--datadir={}", instance.data().display()));
        command
    }

    /// Reads the server's first packet: a greeting begins with the protocol version, an error with 255
    /// (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>).
    fn accepts_sessions(&self, socket: &Path) -> io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        let _registration = shut_down_on_stop(&stream)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut head = [0_u8; 5];
        stream.read_exact(&mut head)?;
        Ok(head[4] == 10)
    }

    fn is_port_taken(&self, log: &str) -> bool {
        log.contains("Bind on TCP/IP port")
    }

    fn endpoint(&self, instance: &Instance, database: &str) -> Endpoint {
        let (host, password) = match instance.tcp_password() {
            Some(password) => (Host::Tcp("127.0.0.1".into()), password),
            None => (Host::Socket(instance.socket()), Password::default()),
        };
        Endpoint::Mysql(Address {
            host,
            port: instance.port,
            user: SUPERUSER.to_owned(),
            password,
            database: database.to_owned(),
        })
    }
}

/// Each session has a thread of its own while instructions are counted, because callgrind counts by thread. Valgrind knows no io_uring,
/// and cannot reserve the terabytes of address space that MariaDB may grow into. Sessions do not spin while they wait for a lock of the
/// server, nor in MySQL 8 while another thread writes the log: how long they would is chance.
fn settings_for_counting(cache_bytes: u64) -> String {
    format!(
        "innodb_buffer_pool_size = {cache_bytes}\nloose_innodb_buffer_pool_size_max = {cache_bytes}\nloose_innodb_use_native_aio = 0\n\
         thread_cache_size = 0\nconnect_timeout = 600\nloose_innodb_log_spin_cpu_pct_hwm = 0\n\
         loose_innodb_sync_spin_loops = 0\n"
    )
}

/// The accounts of a new server: only the owner, who needs no password on the socket, whose folder nobody else can search,
/// but needs one for TCP. Names are not resolved, so `localhost` means the socket alone. Each line is one statement, because
/// that is how files are read at initialisation.
fn accounts(password: Option<&Password>) -> String {
    let mut text = format!(
        "create user '{SUPERUSER}'@'localhost';\n\
         grant all on *.* to '{SUPERUSER}'@'localhost' with grant option;\n"
    );
    if let Some(password) = password {
        let user = format!("'{SUPERUSER}'@'127.0.0.1'");
        text.push_str(&format!("create user {user} identified by '{}';\n", password.reveal()));
        text.push_str(&format!("grant all on *.* to {user} with grant option;\n"));
    }
    text
}

/// What a bootstrapping server reads: the scripts, then the accounts, in an unnamed file on the disk of `folder`.
fn bootstrap_script(scripts: &[PathBuf], accounts: &str, folder: &Path) -> Result<File, InstanceError> {
    let wrong = |path: &Path| {
        let path = path.to_path_buf();
        move |source| InstanceError::File { path, source }
    };
    let mut file = tempfile::tempfile_in(folder).map_err(wrong(folder))?;
    let mut write = |text: &[u8]| file.write_all(text).map_err(wrong(folder));
    write(b"create database if not exists mysql;\nuse mysql;\n")?;
    for path in scripts {
        write(&std::fs::read(path).map_err(wrong(path))?)?;
        write(b"\n")?;
    }
    // A bootstrapping server accepts new accounts only after it has loaded the privilege tables.
    write(format!("flush privileges;\n{accounts}").as_bytes())?;
    file.rewind().map_err(wrong(folder))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_one_statement_a_line_and_guarded_by_the_password() {
        let text = accounts(Some(&Password::new("0123")));
        assert!(text.lines().all(|line| line.ends_with(';')), "{text}");
        assert!(text.contains("'basecase'@'127.0.0.1' identified by '0123'"), "{text}");
        assert!(!accounts(None).contains("127.0.0.1"));
    }
}
