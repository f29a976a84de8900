//! A control group that systemd makes: a transient scope.

use std::path::Path;
use std::process::Command;

use crate::account::Account;
use crate::process::command;

/// What a user's instance of systemd is found by.
const OF_SESSION: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];
/// Prints the limit of the group that it runs in.
const LIMIT: &str = "cat \"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/memory.max\"";

/// The instance of systemd that makes scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manager {
    /// That of the system, which starts programs under this account; `None` means the caller's.
    System(Option<Account>),
    /// The user's.
    User,
}

impl Manager {
    /// The instances that this user may ask. Those of other users are not for root.
    pub(super) fn available(account: Option<&Account>) -> Vec<Manager> {
        let system = Manager::System(account.cloned());
        if rustix::process::geteuid().is_root() { vec![system] } else { vec![Manager::User, system] }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Manager::System(_) => "systemd-run --scope",
            Manager::User => "systemd-run --user --scope",
        }
    }

    /// Starts a scope, and checks that its limit holds. The reason why it does not is one line.
    pub(super) fn try_out(&self, limit_bytes: u64) -> Result<(), String> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", LIMIT]);
        let mut scope = Scope::new(self.clone(), limit_bytes).enclose(&shell);
        let output = scope.output().map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if told == limit_bytes.to_string() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let first = errors.lines().next().unwrap_or_default();
        Err(if first.is_empty() { "the limit has no effect".to_owned() } else { first.to_owned() })
    }
}

/// A scope for one server.
#[derive(Debug)]
pub(super) struct Scope {
    manager: Manager,
    limit_bytes: u64,
}

impl Scope {
    pub(super) fn new(manager: Manager, limit_bytes: u64) -> Self {
        Scope { manager, limit_bytes }
    }

    /// The command within a new scope: systemd-run turns into its program once the scope is there.
    pub(super) fn enclose(&self, inner: &Command) -> Command {
        let mut scope = command(Path::new("/usr/bin/systemd-run"), None);
        match &self.manager {
            Manager::User => {
                scope.arg("--user");
                for name in OF_SESSION {
                    scope.envs(std::env::var_os(name).map(|value| (name, value)));
                }
            }
            Manager::System(account) => {
                if let Some(account) = account {
                    scope.arg(format!("--uid={}", account.uid)).arg(format!("--gid={}", account.gid));
                }
            }
        }
        scope.args(["--scope", "--quiet", "--collect", "--no-ask-password"]);
        scope.arg(format!("--property=MemoryMax={}", self.limit_bytes)).arg("--property=MemorySwapMax=0");
        scope.arg("--").arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            if let Some(value) = value {
                scope.env(name, value);
            }
        }
        scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_becomes_the_scope_s_program_with_limit_account_and_environment() {
        let account = Account { name: "b".into(), uid: 990, gid: 991 };
        let scope = Scope::new(Manager::System(Some(account)), 300 << 20);
        let mut server = Command::new("/opt/pg/bin/postgres");
        server.args(["-D", "/data"]).env("TZ", "UTC");
        let enclosed = scope.enclose(&server);
        let words: Vec<_> = enclosed.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(
            words.join(" "),
            "--uid=990 --gid=991 --scope --quiet --collect --no-ask-password --property=MemoryMax=314572800 --property=MemorySwapMax=0 -- /opt/pg/bin/postgres -D /data"
        );
        assert!(
            enclosed.get_envs().any(|(name, value)| name == "TZ" && value.is_some_and(|zone| zone == "UTC"))
        );
    }

    #[test]
    fn where_systemd_does_not_run_it_says_so_in_one_line() {
        if Path::new("/run/systemd/system").exists() {
            return;
        }
        let reason = Manager::System(None).try_out(64 << 20).unwrap_err();
        assert!(!reason.is_empty() && reason.lines().count() == 1, "{reason}");
    }
}
