//! The life of MySQL and MariaDB.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use basecase_client::mysql::Address;
use basecase_client::{Endpoint, Host, Password};
use basecase_model::{Dbms, Engine};
use basecase_process::ServerKind;
use rustix::process::Signal;

use super::{Life, shut_down_on_stop};
use crate::instance::{Instance, InstanceError, SUPERUSER, Transport};
use basecase_builds::{Build, initialises_itself, server_programs};

/// The life of MySQL and MariaDB.
pub(super) struct Mysql;

impl Life for Mysql {
    fn kind(&self) -> ServerKind {
        ServerKind {
            programs: server_programs(Dbms::Mysql),
            data_argument: "--datadir=",
            pid_file: "mysqld.pid",
            stop_signals: [Signal::TERM, Signal::KILL],
        }
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
            // Some statement of the scripts is longer than what the oldest versions take.
            command.args(["--bootstrap", "--max-allowed-packet=8M"]).stdin(Stdio::from(script));
        }
        Ok(command)
    }

    fn serve(&self, instance: &Instance) -> Command {
        let build = &instance.spec.build;
        let mut command = build.command(build.tree().server(), instance.account.as_ref());
        // This must come first. The data directory stands in the file too; here it is for whoever looks for a left-over server.
        command
            .arg(format!("--defaults-file={}", instance.config_file().display()))
            .arg(format!("--datadir={}", instance.data().display()));
        command
    }

    /// Reads the server's first packet: its greeting begins with the version of the protocol, an error with 255
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

/// One line of an option file. Options that switch something off take no value in old versions, and the binary log is switched off
/// by such an option: `log_bin` itself would take `OFF` for the name of its files.
pub(crate) fn setting(name: &str, value: &str) -> String {
    if name == "log_bin" && matches!(value.to_lowercase().as_str(), "0" | "off" | "false") {
        return "skip_log_bin\n".to_owned();
    }
    let is_switch = name.starts_with("skip_") || name.starts_with("disable_");
    if is_switch && matches!(value.to_lowercase().as_str(), "1" | "on" | "true" | "") {
        return format!("{name}\n");
    }
    format!("{name} = \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What basecase's own work depends on, as lines of an option file, all but how the server is reached.
pub(crate) fn own_settings(build: &Build, engine: Option<Engine>, data: &Path, temporary: &Path) -> String {
    let tree = build.tree();
    let mut text = String::new();
    let mut path = |name: &str, path: &Path| text.push_str(&setting(name, &path.display().to_string()));
    path("basedir", tree.prefix());
    path("datadir", data);
    path("tmpdir", temporary);
    // The default is a folder of the system that may not exist, and the server does not start then.
    path("secure_file_priv", temporary);
    path("pid_file", &data.join("mysqld.pid"));
    if let Some(messages) = tree.messages() {
        path("lc_messages_dir", &messages);
        let characters = messages.join("charsets");
        if characters.is_dir() {
            path("character_sets_dir", &characters);
        }
    }
    if let Some(plugins) = tree.plugins() {
        path("plugin_dir", &plugins);
    }
    // The session that basecase looks at the server with rests for as long as a step takes.
    text.push_str("skip_name_resolve\nwait_timeout = 31536000\n");
    if build.facts.dbms == Dbms::Mysql && build.version.first() >= 8 {
        // A second port. A build may be without it.
        text.push_str("loose_mysqlx = OFF\n");
    }
    match engine.unwrap_or(Engine::Innodb) {
        Engine::Innodb => text.push_str("default_storage_engine = InnoDB\n"),
        Engine::Rocksdb => {
            // A plugin of MariaDB; compiled into Meta's MySQL, and off there unless it is asked for.
            let on =
                if tree.rocksdb_plugin().is_some() { "plugin_load_add = ha_rocksdb" } else { "rocksdb = ON" };
            text.push_str(&format!("{on}\ndefault_storage_engine = RocksDB\n"));
        }
    }
    text
}

/// The accounts of a new server: the owner, without a password by the socket, in whose folder nobody else can search, and with
/// one by TCP; and no other. Names are not resolved, so that `localhost` means the socket alone. One statement a line, which
/// is how files are read at initialisation.
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

/// What a bootstrapping server reads: the scripts, then the accounts, in a file without a name on the disk of `folder`.
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
    // A bootstrapping server takes accounts from when on it has read those that there are.
    write(format!("flush privileges;\n{accounts}").as_bytes())?;
    file.rewind().map_err(wrong(folder))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_option_files_are_read() {
        assert_eq!(setting("innodb_page_size", "16k"), "innodb_page_size = \"16k\"\n");
        assert_eq!(
            setting("init_connect", "set @a = \"\\#\""),
            "init_connect = \"set @a = \\\"\\\\#\\\"\"\n"
        );
        assert_eq!(setting("skip_log_bin", "on"), "skip_log_bin\n");
        assert_eq!(setting("log_bin", "OFF"), "skip_log_bin\n");
        assert_eq!(setting("log_bin", "binlog"), "log_bin = \"binlog\"\n");
        assert_eq!(setting("skip_external_locking", "0"), "skip_external_locking = \"0\"\n");
    }

    #[test]
    fn accounts_are_one_statement_a_line_and_guarded_by_the_password() {
        let text = accounts(Some(&Password::new("0123")));
        assert!(text.lines().all(|line| line.ends_with(';')), "{text}");
        assert!(text.contains("'basecase'@'127.0.0.1' identified by '0123'"), "{text}");
        assert!(!accounts(None).contains("127.0.0.1"));
    }
}
