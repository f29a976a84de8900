//! Which settings a config may have.

use basecase_builds::{alternatives, nearest};
use basecase_model::ConfigFacts;

use super::environment::check_variables;
use super::settings::is_name;

/// Which settings a config of one dbms may have, and how they are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Settings that no config may have: basecase sets them itself, because it depends on them, or they would put files
    /// outside the instance's directory.
    pub(crate) own: &'static [&'static str],
    /// For SQLite, which ignores unknown pragmas, all pragmas that it knows.
    pub(crate) pragmas: Option<&'static [&'static str]>,
    /// Whether `-` in a name is the same as `_`.
    pub(crate) has_dashes: bool,
    /// The suffix of a number that means MiB.
    pub(crate) megabyte: &'static str,
    /// The settings that take most memory.
    pub(crate) large: &'static [&'static str],
    /// How many connections a server admits; `None` if there is no server.
    pub(crate) connection_limit: Option<ConnectionLimit>,
}

/// How many connections a server admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// The setting that limits them.
    pub setting: &'static str,
    /// Its default.
    pub default: u64,
    /// The query that asks a running server.
    pub question: &'static str,
}

impl Rules {
    /// Why a config may not have the setting `name`, and what to do.
    pub(crate) fn refuse(&self, name: &str) -> Result<(), (String, String)> {
        if self.own.contains(&name) {
            let hint = "leave it out; basecase sets it for every server that it starts";
            return Err((format!("{name} cannot be set by a config"), hint.into()));
        }
        if name == ConfigFacts::ENVIRONMENT && self.connection_limit.is_none() {
            let hint = "leave it out; only a dbms with a server has a process of its own";
            return Err((format!("{name} cannot be set where there is no server"), hint.into()));
        }
        match self.pragmas {
            Some(known) if !known.contains(&name) => {
                let near = nearest(name, known.iter().copied());
                let near = if near.is_empty() { known.join(", ") } else { alternatives(&near) };
                Err((
                    format!("{name} is not a pragma that a config may set"),
                    format!("did you mean {near}?"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// The canonical spelling of a setting's name: lower case, with `_` for `-` if they are the same.
    pub(crate) fn spelled(&self, name: &str) -> String {
        let name = name.to_lowercase();
        if self.has_dashes { name.replace('-', "_") } else { name }
    }
}

/// Checks that a setting, wherever it was written, fits in one line of a server's file: a second line could set anything,
/// and a server stops reading at a NUL.
pub(crate) fn check_line(name: &str, value: &str) -> Result<(), (String, String)> {
    if !is_name(name) {
        let hint = "a name has letters, digits, `_`, `-` and `.`, as in work_mem";
        return Err((format!("{name:?} is not the name of a setting"), hint.into()));
    }
    if value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return Err((
            format!("{name}: {value:?} is more than one line of text"),
            "remove the control characters".into(),
        ));
    }
    Ok(())
}

/// Checks what a setting that is not for the server says, after sizing.
pub(crate) fn check_value(name: &str, value: &str) -> Result<(), (String, String)> {
    if name == ConfigFacts::ENVIRONMENT { check_variables(value) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_basecase_sets_itself_is_refused() {
        for (rules, name) in [
            (&crate::mysql::RULES, "datadir"),
            (&crate::mysql::RULES, "skip_networking"),
            (&crate::postgres::RULES, "port"),
        ] {
            let (reason, _) = rules.refuse(name).unwrap_err();
            assert_eq!(reason, format!("{name} cannot be set by a config"));
        }
    }
}
