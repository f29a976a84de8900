//! Labels: names that tell builds from source of one version apart.

use basecase_model::hexadecimal;
use sha2::{Digest, Sha256};

use super::error::CompileError;
use crate::source_tree::SourceKind;

/// Labels end up in the paths of servers' sockets, whose length is limited.
const LONGEST: usize = 40;
/// The length at which a name made of flags is cut.
const LONGEST_OF_FLAGS: usize = 16;

/// The word for "the only source build of this version".
pub(crate) const ANY: &str = "source";

/// The default label of a build of `kind`: the short name of its configuration, and what its source adds.
pub(crate) fn derived(kind: SourceKind, configuration: &str, source: Option<&str>) -> String {
    // Meta's MySQL shares dbms and versions with MySQL.
    let family = if kind == SourceKind::FbMysql { "fb_" } else { "" };
    let source = source.map(|text| format!("_{text}")).unwrap_or_default();
    format!("{family}{configuration}{source}")
}

/// Checks a label.
///
/// # Errors
/// If it cannot be used in names, or is one of `reserved`.
pub(crate) fn check(label: &str, reserved: &[String]) -> Result<(), CompileError> {
    let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let reason = if label.is_empty() {
        "it is empty"
    } else if label.len() > LONGEST {
        "it is too long"
    } else if !is_plain {
        "it has characters other than letters, digits, '-' and '_'"
    } else if label == ANY || reserved.iter().any(|name| name == label) {
        "it is the name of a provider"
    } else {
        return Ok(());
    };
    Err(CompileError::Label { label: label.to_owned(), reason: reason.to_owned() })
}

/// Compiler flags as a name: `-O1 -march=native` becomes `o1_march-native`. Long names are cut, and a hash keeps them
/// distinct.
pub(crate) fn of_flags(flags: &str) -> String {
    let word = |flag: &str| -> String {
        let lower = flag.trim_start_matches('-').to_lowercase();
        let plain: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        plain.trim_matches('-').to_owned()
    };
    let name =
        flags.split_whitespace().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    match name.get(..LONGEST_OF_FLAGS) {
        Some(head) if name.len() > LONGEST_OF_FLAGS => {
            let canonical = flags.split_whitespace().collect::<Vec<_>>().join(" ");
            let hash = hexadecimal(&Sha256::digest(canonical.as_bytes())[..3]);
            format!("{}_{hash}", head.trim_end_matches(['-', '_']))
        }
        _ if name.is_empty() => "noflags".to_owned(),
        _ => name,
    }
}

/// What further arguments of configure or CMake add to a label; `None` without any.
pub(crate) fn of_arguments(arguments: &[String]) -> Option<String> {
    let hash = hexadecimal(&Sha256::digest(arguments.join("\0").as_bytes())[..3]);
    (!arguments.is_empty()).then(|| format!("_a{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_become_names() {
        assert_eq!(of_flags("-O0"), "o0");
        assert_eq!(of_flags("-O1 -march=native"), "o1_march-native");
        assert_eq!(of_flags(" "), "noflags");
        let long = of_flags("-O2 -fno-omit-frame-pointer -march=native");
        assert!(long.starts_with("o2_fno-omit-fram_") && long.len() == 23, "{long}");
        assert_ne!(long, of_flags("-O2 -fno-omit-frame-pointer -march=haswell"));
        assert_eq!(long, of_flags("-O2  -fno-omit-frame-pointer -march=native "));
    }

    #[test]
    fn labels_follow_type_and_source() {
        assert_eq!(derived(SourceKind::Postgres, "o2nofp", None), "o2nofp");
        assert_eq!(derived(SourceKind::Postgres, "o2nofp", Some("1a2b3c4d")), "o2nofp_1a2b3c4d");
        assert_eq!(derived(SourceKind::FbMysql, "rel", Some("ba9709c9")), "fb_rel_ba9709c9");
    }

    #[test]
    fn wrong_labels_are_refused() {
        let reserved = ["pypi".to_owned()];
        for label in ["", "a:b", "a@b", "a.b", "source", "pypi", &"a".repeat(41)] {
            assert!(check(label, &reserved).is_err(), "{label}");
        }
        check("patched_2-x", &reserved).unwrap();
    }

    proptest! {
        #[test]
        fn names_of_flags_are_labels(flags in ".{0,80}") {
            prop_assert!(check(&of_flags(&flags), &[]).is_ok() || of_flags(&flags) == ANY);
        }
    }
}
