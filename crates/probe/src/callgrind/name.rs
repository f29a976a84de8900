//! Names: numbers that stand for them, and what callgrind and compilers add to those of functions.

use std::collections::HashMap;

use super::number::number;
use super::{CallgrindProblem, NO_SYMBOLS};

/// All names of a file have at most this many bytes together; the largest servers have some megabytes.
const MOST_NAME_BYTES: usize = 512 << 20;
/// What compilers and linkers add to the name of a function for its clones and its cold parts.
const CLONES: &[&str] = &["constprop", "isra", "part", "cold", "lto_priv", "llvm", "localalias", "ipa_sra"];

/// The names of one kind (objects, files or functions), each once, and the numbers that stand for them in the file.
#[derive(Debug, Default)]
pub(super) struct Names {
    places: HashMap<Box<str>, u32>,
    by_number: HashMap<u64, u32>,
    bytes: usize,
}

impl Names {
    /// The place of the name in a specification: `name`, `(12) name` or `(12)`.
    pub(super) fn resolve(&mut self, text: &[u8]) -> Result<u32, CallgrindProblem> {
        let text = text.trim_ascii();
        let compressed = text.strip_prefix(b"(").and_then(|rest| {
            let end = rest.iter().position(|byte| *byte == b')')?;
            Some((number(&rest[..end])?, rest[end + 1..].trim_ascii()))
        });
        let Some((stands_for, name)) = compressed else { return self.place(text) };
        if name.is_empty() {
            let known = self.by_number.get(&stands_for).copied();
            return known.ok_or(CallgrindProblem::UnknownName(stands_for));
        }
        let place = self.place(name)?;
        self.by_number.insert(stands_for, place);
        Ok(place)
    }

    fn place(&mut self, name: &[u8]) -> Result<u32, CallgrindProblem> {
        let name = String::from_utf8_lossy(name);
        if let Some(place) = self.places.get(&*name) {
            return Ok(*place);
        }
        self.bytes += name.len();
        let next = u32::try_from(self.places.len()).ok().filter(|_| self.bytes <= MOST_NAME_BYTES);
        let Some(next) = next else {
            return Err(CallgrindProblem::TooLong { what: "its names are", most_bytes: MOST_NAME_BYTES });
        };
        self.places.insert(name.into(), next);
        Ok(next)
    }

    /// All names, each at its place.
    pub(super) fn into_list(self) -> Vec<String> {
        let mut list = vec![String::new(); self.places.len()];
        for (name, place) in self.places {
            list[place as usize] = name.into();
        }
        list
    }
}

/// The function that a name of callgrind means, and whether the name is of a call of it within itself.
pub(super) fn plain(name: &str) -> (&str, bool) {
    let (mut name, recursive) = match name.rsplit_once('\'') {
        Some((outer, level)) if is_number(level) && !outer.is_empty() => (outer, true),
        _ => (name, false),
    };
    if name.starts_with("0x") && name[2..].bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return (NO_SYMBOLS, recursive);
    }
    // The version of a symbol of a shared library.
    if let Some((plain, version)) = name.split_once('@')
        && !plain.is_empty()
        && version.trim_start_matches('@').starts_with(|first: char| first.is_ascii_uppercase())
        && !version.contains(['(', ' '])
    {
        name = plain;
    }
    while let Some(shorter) = without_clone(name) {
        name = shorter;
    }
    (name, recursive)
}

/// The name without its last clone: `f.part` of `f.part.1`, `f` of `f.part`, `f()` of `f() [clone .isra.0]`.
fn without_clone(name: &str) -> Option<&str> {
    if let Some((function, clone)) = name.strip_suffix(']').and_then(|name| name.rsplit_once(" [clone .")) {
        return CLONES.contains(&clone.split('.').next()?).then_some(function);
    }
    let (function, last) = name.rsplit_once('.').filter(|(function, _)| !function.is_empty())?;
    if CLONES.contains(&last) {
        return Some(function);
    }
    let (earlier, clone) = function.rsplit_once('.').filter(|(earlier, _)| !earlier.is_empty())?;
    (is_number(last) && CLONES.contains(&clone)).then_some(earlier)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_cold_parts_and_levels_are_the_function() {
        for name in [
            "f",
            "f'2",
            "f.constprop.0.isra.0",
            "f.part.1",
            "f.cold",
            "f.cold.12",
            "f.lto_priv.0",
            "f.isra.0.cold'2",
            "f@@GLIBC_2.34",
            "f@GLIBC_2.2.5",
        ] {
            assert_eq!(plain(name).0, "f", "{name}");
        }
        assert_eq!(plain("THD::f(int) [clone .isra.0] [clone .cold]"), ("THD::f(int)", false));
        assert_eq!(plain("f'2"), ("f", true));
        assert_eq!(plain("f"), ("f", false));
    }

    #[test]
    fn other_points_and_apostrophes_stay() {
        for name in ["core.1", "a.b", ".part.0", ".cold", "g'main", "(below main)", "???", "operator'", "'2"]
        {
            assert_eq!(plain(name).0, name);
        }
        assert_eq!(plain("f(char) [clone .x]").0, "f(char) [clone .x]");
    }

    #[test]
    fn addresses_are_no_symbols() {
        assert_eq!(plain("0x00000000000a1b2c"), (NO_SYMBOLS, false));
        assert_eq!(plain("0x00000000000a1b2c'2"), (NO_SYMBOLS, true));
        assert_eq!(plain("0xylophone").0, "0xylophone");
    }

    #[test]
    fn numbers_stand_for_names() {
        let mut names = Names::default();
        let main = names.resolve(b"(12) main").unwrap();
        assert_eq!(names.resolve(b"(12)").unwrap(), main);
        assert_eq!(names.resolve(b" main").unwrap(), main);
        let below = names.resolve(b"(below main)").unwrap();
        let other = names.resolve(b"(12) other").unwrap();
        assert_eq!(names.resolve(b"(0x0c)").unwrap(), other);
        assert!(matches!(names.resolve(b"(13)"), Err(CallgrindProblem::UnknownName(13))));
        assert_eq!(names.into_list(), ["main", "(below main)", "other"]);
        assert_eq!((main, below, other), (0, 1, 2));
    }
}
