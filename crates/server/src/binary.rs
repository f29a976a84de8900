//! What a Postgres binary says of how it was compiled, read from its bytes.
//!
//! The text of `version()` and the values of the `pg_config` view are constants in the server's binary, so they are known
//! before it is started and also where the tree has no `pg_config` program.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The facts found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Imprint {
    /// The text of `version()`.
    pub version_text: Option<String>,
    /// E.g. `gcc 12.2.0`.
    pub compiler: Option<String>,
    /// The compiler's flags.
    pub flags: Option<String>,
    /// The arguments of configure.
    pub configure: Option<String>,
}

impl Imprint {
    /// The last flag that says how far the compiler optimised, which is the one that counts.
    pub(crate) fn optimisation(&self) -> Option<String> {
        let flags = self.flags.as_deref()?.split_whitespace();
        flags.rev().find(|flag| flag.starts_with("-O")).map(str::to_owned)
    }
}

/// Reads the facts from the server's binary.
pub(crate) fn read(postgres: &Path) -> io::Result<Imprint> {
    Ok(of_bytes(&std::fs::read(postgres)?))
}

fn of_bytes(bytes: &[u8]) -> Imprint {
    let mut imprint = Imprint::default();
    for text in bytes.split(|byte| *byte == 0) {
        let head = text.trim_ascii_start();
        if head.starts_with(b"PostgreSQL ") && contains(head, b"compiled by ") {
            imprint.version_text = text_of(head);
        } else if head.starts_with(b"-W") && contains(head, b" -O") {
            imprint.flags = text_of(head);
        } else if head.starts_with(b"'--") {
            imprint.configure = imprint.configure.or_else(|| text_of(head));
        }
    }
    imprint.compiler = imprint.version_text.as_deref().and_then(compiler);
    imprint
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn text_of(bytes: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(bytes).ok()?.trim().to_owned())
}

/// Compiler and version out of the text of `version()`: `gcc 12.2.0`.
fn compiler(version_text: &str) -> Option<String> {
    let (_, text) = version_text.split_once("compiled by ")?;
    let mut plain = String::new();
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let mut words = plain.split([' ', ',']).filter(|word| !word.is_empty());
    let name = words.find(|word| ["gcc", "clang", "icc"].iter().any(|name| word.contains(name)))?;
    let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    // Cross compilers are called x86_64-linux-gnu-gcc-12 and the like.
    let name = ["gcc", "clang", "icc"].into_iter().find(|short| name.contains(short))?;
    Some(format!("{name} {version}"))
}

/// What the program `pg_config` prints, by name, as facts to keep.
pub(crate) fn parse_pg_config(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .filter(|(name, value)| {
            !value.is_empty() && ["cc", "cflags", "configure", "libs"].contains(&name.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_of_known_packages() {
        let cases = [
            (
                "PostgreSQL 17.11 on x, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit",
                "gcc 12.2.0",
            ),
            (
                "PostgreSQL 9.6 on x, compiled by gcc (GCC) 4.4.7 20120313 (Red Hat 4.4.7-23), 64-bit",
                "gcc 4.4.7",
            ),
            (
                "PostgreSQL 17 on x, compiled by Debian clang version 16.0.6 (15~deb12u1), 64-bit",
                "clang 16.0.6",
            ),
            (
                "PostgreSQL 18 on x, compiled by x86_64-linux-gnu-gcc (Debian 14.2) 14.2.0, 64-bit",
                "gcc 14.2.0",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(compiler(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn facts_are_found_among_other_bytes() {
        let bytes = b"\x7fELF\0\xff\xfe\0 '--prefix' '/opt'\0-Wall -fwrapv -Os -DX\0PostgreSQL 17.6 on x, \
            compiled by gcc (Ubuntu 7.5.0-3) 7.5.0, 64-bit\0";
        let imprint = of_bytes(bytes);
        assert_eq!(imprint.compiler.as_deref(), Some("gcc 7.5.0"));
        assert_eq!(imprint.flags.as_deref(), Some("-Wall -fwrapv -Os -DX"));
        assert_eq!(imprint.configure.as_deref(), Some("'--prefix' '/opt'"));
    }

    #[test]
    fn pg_config_keeps_what_a_number_depends_on() {
        let facts =
            parse_pg_config("BINDIR = /x\nCC = gcc\nCFLAGS = -O2\nCFLAGS_SL = -fPIC\nLDFLAGS_EX = \n");
        assert_eq!(facts.keys().collect::<Vec<_>>(), ["cc", "cflags"]);
    }
}
