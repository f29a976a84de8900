//! A private server: its directory, its data, its process.

mod adapter;
mod counting;
mod error;
mod image;
mod memory;
mod plant;
mod secret;
mod shortage;
mod start;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use basecase_builds::Build;
use basecase_client::{Endpoint, Password};
use basecase_model::Engine;
use basecase_probe::{ProcessorSet, Shortage};
use basecase_process::log::{end_of, folded, indented, last_lines};
use basecase_process::{Account, ControlGroup, DATA, DirectoryLock, Guard, Owner, PrivateFolder, ServerKind};

use crate::config::Config;
use crate::disk::directory_bytes;
use rustix::fs::OFlags;

pub(crate) use adapter::{Adapter, shut_down_on_stop};
pub use counting::{Callgrind, NoCallgrind, callgrind_file_of, callgrind_files, callgrind_folder};
pub use error::InstanceError;
use error::SOCKET_PATH_LIMIT;
pub use image::{Copied, copy_data, copy_data_sparsely, keep_data, move_data, remove_data, take_data};
use memory::MemoryLimit;
pub use plant::{Plant, PlantError, Planted};
use secret::random_password;
pub use shortage::KilledForMemory;
use shortage::{KillWatch, was_killed};

/// The database user that owns every instance.
pub const SUPERUSER: &str = "basecase";

/// The port number of a server without TCP, which Postgres puts in the name of its socket. It need not be free, because the
/// socket's folder belongs to the instance alone.
const SOCKET_PORT: u16 = 5432;
/// The folder of the socket in an instance's directory.
const SOCKET: &str = "socket";
/// The longest name of any dbms's socket, which is Postgres's.
pub(crate) const LONGEST_SOCKET: &str = ".s.PGSQL.65535";
/// The folder of the server's temporary files.
const TEMPORARY: &str = "tmp";
/// The server's log.
const LOG: &str = "server.log";
/// The file with the password for TCP.
const PASSWORD: &str = "password";
/// The file that marks the data as complete; it contains the version.
const MARK: &str = "initialised";
/// How long a server may take to stop before it is forced to.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// The same if one of its processes was killed: Postgres may never stop if it is asked to while it restarts after
/// that.
const KILLED_PATIENCE: Duration = Duration::from_secs(3);
/// How long it may take after that.
const QUIT_PATIENCE: Duration = Duration::from_secs(10);
/// How many lines of the log an error shows.
const LOG_LINES: usize = 20;

/// How clients connect to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// A socket in a folder that only the server's user can search, without a password or TCP.
    #[default]
    UnixSocket,
    /// TCP on 127.0.0.1 with a random password, as in published results; the socket exists as well.
    Loopback,
}

/// What an instance is made of.
#[derive(Debug, Clone)]
pub struct InstanceSpec {
    /// The binary.
    pub build: Build,
    /// The engine of its tables, if the dbms has a choice; `None` means the default.
    pub engine: Option<Engine>,
    /// The settings, including the caller's ([`Config::with_extra`]).
    pub config: Config,
    /// The instance's own directory, created if it is missing. Nothing else may be kept there.
    pub directory: PathBuf,
    /// How clients connect to the server.
    pub transport: Transport,
    /// On whose behalf it runs.
    pub owner: Owner,
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEnd {
    /// It was not running.
    WasNotRunning,
    /// On request, with a checkpoint.
    Clean,
    /// Abnormally: the warning says how. The next start may need crash recovery.
    Unclean(String),
}

/// A private server.
///
/// Its directory belongs to the account that the server runs under, and contains `basecase.lock`, `data/`, `socket/`,
/// `tmp/`, the config file, `server.log` and, for TCP, `password`. Dropping the instance stops the server; so does the death
/// of this process, even by `kill -9`.
#[derive(Debug)]
pub struct Instance {
    pub(crate) spec: InstanceSpec,
    pub(crate) adapter: &'static dyn Adapter,
    pub(crate) folder: PrivateFolder,
    pub(crate) account: Option<Account>,
    pub(crate) child: Option<Child>,
    pub(crate) guard: Option<Guard>,
    pub(crate) kill_watch: Option<KillWatch>,
    pub(crate) port: u16,
    pub(crate) password: Option<Password>,
    pub(crate) lock: DirectoryLock,
    pub(crate) processors: Option<ProcessorSet>,
    pub(crate) plant: Option<(Plant, PathBuf)>,
    pub(crate) memory: Option<MemoryLimit>,
    pub(crate) group: Option<ControlGroup>,
    pub(crate) callgrind: Option<Callgrind>,
    /// Whether it has the settings for counts.
    pub(crate) is_counted: bool,
}

impl Instance {
    /// Confines the server to these processors from its next start on; `None` means all.
    pub fn confine(&mut self, processors: Option<ProcessorSet>) {
        self.processors = processors;
    }

    /// Plants a slowdown in the server from its next start on, with the library from [`Plant::library`].
    pub fn plant(&mut self, plant: Plant, library: &Path) {
        self.plant = Some((plant, library.to_path_buf()));
    }

    /// [`Instance::open`] for a dbms with this adapter. `kinds` are the kinds of servers that may have been left in the
    /// directory.
    pub(crate) fn open_by(
        adapter: &'static dyn Adapter,
        kinds: &[ServerKind],
        mut spec: InstanceSpec,
    ) -> Result<Self, InstanceError> {
        let account = Account::for_servers()?;
        let folder = PrivateFolder::make(&spec.directory, account.as_ref())?;
        spec.directory = folder.path().to_path_buf();
        if let Some(account) = &account {
            account.check_reaches(&spec.directory)?;
        }
        Self::check_path(&spec.directory)?;
        let lock = DirectoryLock::acquire(&folder, spec.owner.clone(), kinds)?;
        let instance = Instance {
            spec,
            adapter,
            folder,
            account,
            child: None,
            guard: None,
            kill_watch: None,
            port: SOCKET_PORT,
            password: None,
            lock,
            processors: None,
            plant: None,
            memory: None,
            group: None,
            callgrind: None,
            is_counted: false,
        };
        for name in [SOCKET, TEMPORARY] {
            instance.folder.folder(name)?;
        }
        Ok(instance)
    }

    /// Refuses a directory whose path is too long for a socket of any dbms.
    ///
    /// # Errors
    /// If its path is too long.
    pub fn check_path(directory: &Path) -> Result<(), InstanceError> {
        let socket = directory.join(SOCKET).join(LONGEST_SOCKET);
        let length = socket.as_os_str().len();
        if length > SOCKET_PATH_LIMIT {
            return Err(InstanceError::SocketPath { path: socket, length });
        }
        Ok(())
    }

    /// Creates an empty data directory with the config, replacing an existing one.
    ///
    /// # Errors
    /// If the dbms's own program fails.
    pub fn initialise(&mut self) -> Result<(), InstanceError> {
        self.stop()?;
        self.forget_data()?;
        self.folder.folder(DATA)?;
        if self.spec.transport == Transport::Loopback {
            self.make_password()?;
        }
        self.write_config()?;
        self.renew_group()?;
        let mut command = self.adapter().initialise(self)?;
        command.envs(self.spec.config.environment());
        let program = PathBuf::from(command.get_program());
        let mut command = self.enclosed(command)?;
        command.current_dir(self.data()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // By force: a `mysqld` that is creating its log files heeds no other signal, and an unfinished data directory is
        // created again anyway.
        let [_, force] = self.adapter().kind().stop_signals;
        basecase_process::die_with_parent(&mut command, force);
        let kill_watch = KillWatch::begin(self);
        let wait = |child: Child| {
            let _registration = basecase_process::end_on_stop(&child, force);
            child.wait_with_output()
        };
        let output = basecase_process::spawn(command, None)
            .and_then(wait)
            .map_err(|source| InstanceError::Spawn { program: program.clone(), source })?;
        basecase_stop::check()?;
        // Files there may contain the password.
        self.empty(TEMPORARY)?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let mut text = last_lines(&String::from_utf8_lossy(&text), LOG_LINES);
            if let Some(password) = self.tcp_password() {
                text = text.replace(password.reveal(), "***");
            }
            if let Some(killed) = self.killed_in_group() {
                return Err(killed.into());
            }
            let is_killed = was_killed(output.status, &text);
            if let Some(shortage) = is_killed.then(|| kill_watch.shortage(|| true)).flatten() {
                return Err(self.killed_for(shortage).into());
            }
            return Err(InstanceError::Initialise {
                build: self.spec.build.title(),
                program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                status: output.status.to_string(),
                output: indented(&text),
            });
        }
        self.write(MARK, format!("{}\n", self.spec.build.version).as_bytes())
    }

    /// Whether there is a complete data directory of this build's version, and a password if one is needed.
    ///
    /// # Errors
    /// If that cannot be told: an unreadable file is not an absent one.
    pub fn is_initialised(&self) -> Result<bool, InstanceError> {
        let mark = match self.folder.text(MARK) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            read => read.map_err(|source| self.wrong(MARK, source))?,
        };
        let has_password = self.spec.transport == Transport::UnixSocket
            || self.folder.has(PASSWORD).map_err(|source| self.wrong(PASSWORD, source))?;
        Ok(has_password && mark.trim() == self.spec.build.version.to_string())
    }

    /// Starts the server and waits until it accepts sessions, for at most `patience`. Does nothing if it is already running.
    ///
    /// # Errors
    /// If it ends early or is not ready in time, in which case it is stopped. The error includes the end of its log.
    pub fn start(&mut self, patience: Duration) -> Result<(), InstanceError> {
        if self.is_alive() {
            return Ok(());
        }
        self.child = None;
        if !self.is_initialised()? {
            return Err(InstanceError::NotInitialised {
                directory: self.spec.directory.clone(),
                build: self.spec.build.title(),
            });
        }
        self.launch(patience)
    }

    /// Stops the server with a checkpoint or, after 60 s, by force without one.
    ///
    /// # Errors
    /// If it does not stop at all.
    pub fn stop(&mut self) -> Result<ServerEnd, InstanceError> {
        let lost_one = self.kill_watch.as_ref().is_some_and(|watch| watch.is_in_log(self));
        let patience = if lost_one || self.killed_in_group().is_some() {
            [KILLED_PATIENCE; 2]
        } else {
            self.stop_patience(STOP_PATIENCE)
        };
        let Some(mut child) = self.child.take() else { return Ok(ServerEnd::WasNotRunning) };
        if let Ok(Some(status)) = child.try_wait() {
            self.set_stopped()?;
            return Ok(ServerEnd::Unclean(format!("the server had already ended ({status})")));
        }
        let [stop, force] = self.adapter().kind().stop_signals;
        basecase_process::send(child.id(), stop);
        let begun = Instant::now();
        let mut warning = None;
        let mut status = wait(&mut child, patience);
        if status.is_none() {
            let seconds = begun.elapsed().as_secs();
            warning = Some(format!(
                "the server did not stop within {seconds} s and was stopped by force, without a checkpoint"
            ));
            basecase_process::send(child.id(), force);
            status = wait(&mut child, [QUIT_PATIENCE; 2]);
        }
        let Some(status) = status else {
            let (pid, log) = (child.id(), self.log());
            self.child = Some(child);
            return Err(InstanceError::Unstoppable { build: self.spec.build.title(), pid, log });
        };
        self.set_stopped()?;
        if warning.is_none() && !status.success() {
            warning = Some(format!("the server ended with {status}"));
        }
        Ok(warning.map_or(ServerEnd::Clean, ServerEnd::Unclean))
    }

    fn set_stopped(&mut self) -> Result<(), InstanceError> {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        Ok(self.lock.set_server(None)?)
    }

    /// Stops the server and removes everything that the instance created.
    ///
    /// # Errors
    /// If the server does not stop or files cannot be removed.
    pub fn destroy(mut self) -> Result<(), InstanceError> {
        self.stop()?;
        self.forget_data()?;
        [SOCKET, TEMPORARY, LOG, self.adapter().config_file()]
            .iter()
            .try_for_each(|name| self.remove(name))?;
        let _ = self.lock.remove_file();
        // Other files in the directory do not belong to the instance.
        let _ = fs::remove_dir(self.folder.path());
        Ok(())
    }

    /// Whether the kernel's out-of-memory killer has killed the server, or one of its processes, since its last start.
    pub fn killed_for_memory(&mut self) -> Option<KilledForMemory> {
        if let Some(killed) = self.killed_in_group() {
            return Some(killed);
        }
        let watch = self.kill_watch.take()?;
        let shortage = watch.shortage(|| {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok()).flatten();
            ended.is_some_and(|status| was_killed(status, "")) || watch.is_in_log(self)
        });
        self.kill_watch = Some(watch);
        shortage.map(|shortage| self.killed_for(shortage))
    }

    fn killed_for(&self, shortage: Shortage) -> KilledForMemory {
        KilledForMemory::new(self.spec.build.title(), shortage, &self.spec.config)
    }

    /// Whether the server's process is running.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// The server's process id, while it is running.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The endpoint of `database`, as [`SUPERUSER`]. An empty name means the database that always exists, or none.
    pub fn endpoint(&self, database: &str) -> Endpoint {
        self.adapter().endpoint(self, database)
    }

    /// The folder of the server's socket.
    pub fn socket_dir(&self) -> PathBuf {
        self.spec.directory.join(SOCKET)
    }

    /// The server's socket.
    pub fn socket(&self) -> PathBuf {
        self.socket_dir().join(self.adapter().socket_file(self.port))
    }

    /// The server's port, and the number in the name of a Postgres socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.spec.directory.join(DATA)
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.spec.directory.join(LOG)
    }

    /// The last `lines` lines of the server's log, with repeated lines folded; empty if there is none.
    pub fn log_tail(&self, lines: usize) -> String {
        last_lines(&folded(&self.log_end()), lines)
    }

    /// The end of the server's log; empty if there is none.
    pub(crate) fn log_end(&self) -> String {
        self.folder.read(LOG).and_then(end_of).unwrap_or_default()
    }

    /// The build.
    pub fn build(&self) -> &Build {
        &self.spec.build
    }

    /// The engine of its tables, if the dbms has a choice.
    pub fn engine(&self) -> Option<Engine> {
        self.spec.engine
    }

    /// The config.
    pub fn config(&self) -> &Config {
        &self.spec.config
    }

    /// The apparent size of the data directory including logs and WAL, in bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn directory_bytes(&self) -> Result<u64, InstanceError> {
        let path = self.data();
        directory_bytes(&path).map_err(|source| InstanceError::File { path, source })
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.spec.directory.join(self.adapter().config_file())
    }

    /// A folder for the server's temporary files, which only its user can search.
    pub(crate) fn temporary_dir(&self) -> PathBuf {
        self.spec.directory.join(TEMPORARY)
    }

    pub(crate) fn adapter(&self) -> &'static dyn Adapter {
        self.adapter
    }

    /// The password for TCP; `None` if there is only the socket.
    pub(crate) fn tcp_password(&self) -> Option<Password> {
        self.password.clone().filter(|_| self.spec.transport == Transport::Loopback)
    }

    pub(crate) fn password_file(&self) -> PathBuf {
        self.spec.directory.join(PASSWORD)
    }

    pub(crate) fn error_tail(&self) -> String {
        indented(&self.log_tail(LOG_LINES))
    }

    /// Writes the config file, replacing an old one.
    pub(crate) fn write_config(&self) -> Result<(), InstanceError> {
        self.write(self.adapter().config_file(), self.adapter().configuration(self).as_bytes())
    }

    /// Writes the file `name`, replacing an old one. Only the server's user can read it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), InstanceError> {
        self.folder.write(name, bytes).map_err(|source| self.wrong(name, source))
    }

    /// Writes a file into the folder of temporary files, which only the server's user can read, and returns its path.
    pub(crate) fn write_temporary(&self, name: &str, text: &str) -> Result<PathBuf, InstanceError> {
        let folder = self.folder.folder(TEMPORARY)?;
        let path = folder.path().join(name);
        folder
            .write(name, text.as_bytes())
            .map_err(|source| InstanceError::File { path: path.clone(), source })?;
        Ok(path)
    }

    /// Opens the log for appending.
    pub(crate) fn open_log(&self) -> Result<File, InstanceError> {
        self.folder.keep(LOG, OFlags::WRONLY | OFlags::APPEND).map_err(|source| self.wrong(LOG, source))
    }

    /// Reads the password for TCP.
    pub(crate) fn read_password(&self) -> Result<Password, InstanceError> {
        let text = self.folder.text(PASSWORD).map_err(|source| self.wrong(PASSWORD, source))?;
        Ok(Password::new(text))
    }

    pub(crate) fn empty_socket_dir(&self) -> Result<(), InstanceError> {
        self.empty(SOCKET)
    }

    fn forget_data(&mut self) -> Result<(), InstanceError> {
        self.password = None;
        // The mark goes first, so that a kill in between leaves nothing that looks complete.
        [MARK, DATA, PASSWORD].iter().try_for_each(|name| self.remove(name))?;
        self.empty(TEMPORARY)
    }

    fn remove(&self, name: &str) -> Result<(), InstanceError> {
        self.folder.remove(name).map_err(|source| self.wrong(name, source))
    }

    /// Empties the folder `name`, and creates it if it is missing.
    fn empty(&self, name: &str) -> Result<(), InstanceError> {
        self.folder.folder(name)?.clear().map_err(|source| self.wrong(name, source))
    }

    fn wrong(&self, name: &str, source: io::Error) -> InstanceError {
        InstanceError::File { path: self.folder.path().join(name), source }
    }

    /// Generates a password, and writes it where only the server's user can read it.
    fn make_password(&mut self) -> Result<(), InstanceError> {
        let password = random_password().map_err(|source| self.wrong(PASSWORD, source))?;
        self.write(PASSWORD, password.reveal().as_bytes())?;
        self.password = Some(password);
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An error cannot be reported here; the parent-death signal still stops the server.
        let _ = self.stop();
    }
}

/// Waits for a child to end for the first time, or for the second one after the user wanted to stop.
fn wait(child: &mut Child, [patience, hastened]: [Duration; 2]) -> Option<ExitStatus> {
    let mut until = Instant::now() + patience;
    let mut is_hastened = false;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if !is_hastened && basecase_stop::is_asked() {
            is_hastened = true;
            until = until.min(Instant::now() + hastened);
        }
        if Instant::now() > until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
