//! What belongs to which dbms. This file chooses between the folders of the dbms, which do not know each other.

use std::path::Path;

use basecase_builds::Build;
use basecase_client::{Endpoint, Error};
use basecase_model::{Dbms, Engine};
use basecase_process::ServerKind;

use crate::check::{CheckError, NoServer, check_by};
use crate::config::{
    Config, ConfigError, ConfigFile, ConnectionLimit, Host, Rules, TRY, Target, checked_name,
};
use crate::instance::{Adapter, Instance, InstanceError, InstanceSpec, Transport};
use crate::mysql::{self, Mysql, MysqlServer};
use crate::postgres::{self, Postgres, PostgresServer};
use crate::served::Served;
use crate::sqlite;

/// The adapter for servers of `dbms`; `None` if it has no server.
fn adapter_of(dbms: Dbms) -> Option<&'static dyn Adapter> {
    match dbms {
        Dbms::Postgres => Some(&Postgres),
        Dbms::Mysql | Dbms::Mariadb => Some(&Mysql),
        Dbms::Sqlite => None,
    }
}

/// All adapters. Those that several dbms share come several times.
fn adapters() -> impl Iterator<Item = &'static dyn Adapter> {
    Dbms::ALL.into_iter().filter_map(adapter_of)
}

/// The settings that configs of `dbms` may have.
fn rules_of(dbms: Dbms) -> &'static Rules {
    match dbms {
        Dbms::Postgres => &postgres::RULES,
        Dbms::Mysql | Dbms::Mariadb => &mysql::RULES,
        Dbms::Sqlite => &sqlite::RULES,
    }
}

/// The name of a setting as configs of `dbms` spell it, if one may be tried with this value.
///
/// # Errors
/// If no config may have it, naming similar ones, or the value is not one line.
pub fn tried_name(dbms: Dbms, name: &str, value: &str) -> Result<String, ConfigError> {
    checked_name(rules_of(dbms), TRY, name, value)
}

/// How many connections a server of `dbms` admits; `None` if it has no server.
pub fn connection_limit(dbms: Dbms) -> Option<ConnectionLimit> {
    rules_of(dbms).connection_limit
}

/// The memory that a server of `dbms` needs which reserves this much, in bytes: its processes and what else it shares take some.
pub fn memory_needed(dbms: Dbms, reserved_bytes: u64) -> u64 {
    // With a few connections Postgres 18 took 30 MiB, and MySQL 8.0.31 with its performance schema 307 MiB.
    let beside_mib = match dbms {
        Dbms::Mysql => 256,
        Dbms::Postgres | Dbms::Mariadb | Dbms::Sqlite => 32,
    };
    reserved_bytes.saturating_add(reserved_bytes / 10).saturating_add(beside_mib << 20)
}

impl ConfigFile {
    /// The config `name_or_file`, sized for `host`. It is a file if it contains `/` or ends in `.conf`, otherwise a name.
    ///
    /// # Errors
    /// If there is none, naming similar ones, or if a line is wrong.
    pub fn find(dbms: Dbms, name_or_file: &str, host: Host) -> Result<Self, ConfigError> {
        ConfigFile::find_by(Target { dbms, rules: rules_of(dbms), host }, name_or_file)
    }

    /// Reads the text of a config and sizes it for `host`. `file` is for messages.
    ///
    /// # Errors
    /// If a line is wrong.
    pub fn parse(dbms: Dbms, name: &str, file: &str, text: &str, host: Host) -> Result<Self, ConfigError> {
        ConfigFile::parse_by(Target { dbms, rules: rules_of(dbms), host }, name, file, text)
    }
}

impl Transport {
    /// How the clients of published results connect to `dbms`.
    pub fn published(dbms: Dbms) -> Self {
        adapter_of(dbms).map_or_else(Transport::default, Adapter::published_transport)
    }
}

impl Instance {
    /// Opens the directory, and creates it if it is missing. A server that a dead owner left there is stopped; its data
    /// stays.
    ///
    /// # Errors
    /// If another basecase is using the directory, or somebody else could have created it, or it cannot be used.
    pub fn open(spec: InstanceSpec) -> Result<Self, InstanceError> {
        let dbms = spec.build.facts.dbms;
        let adapter = adapter_of(dbms).ok_or(NoServer(dbms))?;
        // The leftover server may be of another dbms.
        let kinds: Vec<ServerKind> = adapters().map(Adapter::kind).collect();
        Instance::open_by(adapter, &kinds, spec)
    }
}

/// Checks, without starting it, whether `build` would start with `config` and, if it has a choice, `engine`, and whether
/// `host` has the memory that it reserves. Returns that memory in bytes. Files that the server reads for this lie below the
/// folder `place`.
///
/// # Errors
/// Naming every refused setting with its file and line, or the memory, or the missing engine.
pub fn check(
    build: &Build,
    engine: Option<Engine>,
    config: &Config,
    host: Host,
    place: &Path,
) -> Result<u64, CheckError> {
    let adapter = adapter_of(build.facts.dbms).ok_or(NoServer(build.facts.dbms))?;
    check_by(|question| adapter.ask(question), build, engine, config, host, place)
}

/// Takes over a running instance and its database, which is created if the instance is new. `None` if it is not new and has
/// no such database.
///
/// # Errors
/// If the server cannot be reached.
pub fn of_instance(instance: Instance, is_new: bool) -> Result<Option<Box<dyn Served>>, Error> {
    fn boxed<S: Served + 'static>(server: Option<S>) -> Option<Box<dyn Served>> {
        server.map(|server| Box::new(server) as Box<dyn Served>)
    }
    match instance.build().facts.dbms {
        Dbms::Postgres => PostgresServer::of_instance(instance, is_new).map(boxed),
        Dbms::Mysql | Dbms::Mariadb => MysqlServer::of_instance(instance, is_new).map(boxed),
        // There are no instances of SQLite.
        Dbms::Sqlite => Ok(None),
    }
}

/// Takes over the user's own server, which is never stopped, with tables of `engine` if the dbms has a choice. `None` for a
/// SQLite file, which has no server.
///
/// # Errors
/// If the server cannot be reached.
pub fn of_url(endpoint: Endpoint, engine: Option<Engine>) -> Result<Option<Box<dyn Served>>, Error> {
    let mut session = endpoint.connect()?;
    Ok(match endpoint {
        Endpoint::Postgres(_) => Some(Box::new(PostgresServer::new(endpoint, None, session.as_mut())?)),
        Endpoint::Mysql(_) => Some(Box::new(MysqlServer::new(endpoint, engine, None, session.as_mut())?)),
        Endpoint::Sqlite(_) | Endpoint::SqliteForked(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::LONGEST_SOCKET;

    #[test]
    fn a_server_needs_more_than_it_reserves() {
        let mib = |dbms, reserved_mib: u64| memory_needed(dbms, reserved_mib << 20) >> 20;
        assert_eq!(mib(Dbms::Postgres, 208), 260);
        assert_eq!(mib(Dbms::Mysql, 200), 476);
    }

    #[test]
    fn no_socket_has_a_longer_name_than_what_paths_are_checked_for() {
        let longest = adapters().map(|adapter| adapter.socket_file(u16::MAX).len()).max();
        assert_eq!(longest, Some(LONGEST_SOCKET.len()));
    }

    #[test]
    fn a_dbms_without_a_server_has_no_adapter_and_every_other_has_one() {
        for dbms in Dbms::ALL {
            assert_eq!(
                adapter_of(dbms).is_some(),
                !basecase_builds::server_programs(dbms).is_empty(),
                "{dbms}"
            );
        }
        assert_eq!(Transport::published(Dbms::Sqlite), Transport::UnixSocket);
        assert_eq!(Transport::published(Dbms::Postgres), Transport::Loopback);
    }
}
