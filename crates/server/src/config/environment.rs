//! Environment variables that a config gives the server's process.

use basecase_model::ConfigFacts;

/// Variables that no config may have, beside those with a prefix below: basecase sets them itself, or they would put files outside the
/// instance's directory.
const OWN: &[&str] = &["LANG", "LANGUAGE", "PATH", "TMPDIR"];
/// The beginnings of such variables: basecase's own, and those that lead the loader, valgrind or systemd, through which servers are started.
const OWN_PREFIXES: &[&str] = &["BASECASE_", "DBUS_", "LC_", "LD_", "SYSTEMD_", "VALGRIND_", "XDG_"];

/// The variables in the value of [`ConfigFacts::ENVIRONMENT`]. An empty value has none.
pub(super) fn variables(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split_ascii_whitespace().filter_map(|pair| pair.split_once('='))
}

/// Why a config may not have these variables, and what to do.
pub(super) fn check_variables(value: &str) -> Result<(), (String, String)> {
    let name = ConfigFacts::ENVIRONMENT;
    let refused = |reason: String, hint: &str| Err((format!("{name}: {reason}"), hint.to_owned()));
    let mut earlier: Vec<&str> = Vec::new();
    for pair in value.split_ascii_whitespace() {
        let Some((name, _)) = pair.split_once('=') else {
            let hint = "write NAME=VALUE, and a space between two variables; a value has no spaces";
            return refused(format!("{pair:?} has no `=`"), hint);
        };
        if !is_variable(name) {
            let hint =
                "a name has letters, digits and `_`, and does not begin with a digit, as in MALLOC_ARENA_MAX";
            return refused(format!("{name:?} is not the name of a variable"), hint);
        }
        if OWN.contains(&name) || OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            let hint = "leave it out; basecase depends on it for every server that it starts";
            return refused(format!("{name} cannot be set by a config"), hint);
        }
        if earlier.contains(&name) {
            return refused(format!("{name} is given twice"), "leave one of the two out");
        }
        earlier.push(name);
    }
    Ok(())
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_divided_at_spaces_and_at_the_first_equals_sign() {
        let value = " MALLOC_ARENA_MAX=1  GLIBC_TUNABLES=glibc.malloc.tcache_count=0 _a1= ";
        assert_eq!(check_variables(value), Ok(()));
        assert_eq!(
            variables(value).collect::<Vec<_>>(),
            [("MALLOC_ARENA_MAX", "1"), ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"), ("_a1", "")]
        );
        assert_eq!((check_variables(""), variables("").count()), (Ok(()), 0));
    }

    #[test]
    fn what_is_no_variable_or_basecase_s_own_is_refused() {
        for (value, reason) in [
            ("A=1 B", "environment: \"B\" has no `=`"),
            ("=1", "environment: \"\" is not the name of a variable"),
            ("1A=1", "environment: \"1A\" is not the name of a variable"),
            ("A-B=1", "environment: \"A-B\" is not the name of a variable"),
            ("Ä=1", "environment: \"Ä\" is not the name of a variable"),
            ("A=1 B=2 A=1", "environment: A is given twice"),
            ("PATH=/bin", "environment: PATH cannot be set by a config"),
            ("LC_ALL=C", "environment: LC_ALL cannot be set by a config"),
            ("LD_PRELOAD=/x.so", "environment: LD_PRELOAD cannot be set by a config"),
            ("LD_LIBRARY_PATH=/x", "environment: LD_LIBRARY_PATH cannot be set by a config"),
            ("BASECASE_PADDING=x", "environment: BASECASE_PADDING cannot be set by a config"),
            ("VALGRIND_OPTS=-v", "environment: VALGRIND_OPTS cannot be set by a config"),
        ] {
            assert_eq!(check_variables(value).unwrap_err().0, reason);
        }
    }
}
