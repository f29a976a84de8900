//! Which settings a config may have.

use basecase_builds::{alternatives, nearest};

use crate::config::settings::is_name;

/// Which settings a config of one dbms may have, and how they are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Settings that no config may have: basecase gives them itself, because its own work depends on them, or they would put files
    /// outside of the instance's directory.
    pub(crate) own: &'static [&'static str],
    /// All pragmas, of SQLite, which ignores one that it does not know.
    pub(crate) pragmas: Option<&'static [&'static str]>,
    /// Whether `-` in a name means `_`.
    pub(crate) has_dashes: bool,
    /// What stands for MiB after a number.
    pub(crate) megabyte: &'static str,
}

impl Rules {
    /// Why a config may not have the setting `name`, and what to do.
    pub(crate) fn refuse(&self, name: &str) -> Result<(), (String, String)> {
        if self.own.contains(&name) {
            let hint = "leave it away; basecase sets it for every server that it starts";
            return Err((format!("{name} is not for configs to set"), hint.into()));
        }
        match self.pragmas {
            Some(known) if !known.contains(&name) => {
                let near = nearest(name, known.iter().copied());
                let near = if near.is_empty() { known.join(", ") } else { alternatives(&near) };
                Err((format!("{name} is no pragma that a config may set"), format!("did you mean {near}?")))
            }
            _ => Ok(()),
        }
    }

    /// The one spelling of a setting's name: small letters, and `_` for `-` where both mean the same.
    pub(crate) fn spelled(&self, name: &str) -> String {
        let name = name.to_lowercase();
        if self.has_dashes { name.replace('-', "_") } else { name }
    }
}

/// Checks that a setting, wherever it was written, is one line of a server's file with all of its text: a second line could set
/// anything, and a server reads no further than to a zero.
pub(crate) fn check_line(name: &str, value: &str) -> Result<(), (String, String)> {
    if !is_name(name) {
        let hint = "letters, digits, `_`, `-` and `.` make a name, as in work_mem";
        return Err((format!("{name:?} is no name of a setting"), hint.into()));
    }
    if value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return Err((
            format!("{name}: {value:?} is more than one line of text"),
            "leave the control characters away".into(),
        ));
    }
    Ok(())
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
            assert_eq!(reason, format!("{name} is not for configs to set"));
        }
    }
}
