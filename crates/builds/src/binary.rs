//! How a server program was compiled, read from its file.
//!
//! In Postgres, the text of `version()` and the values of the `pg_config` view are constants in the program, so they can be
//! read without starting it, even if the tree has no `pg_config` program. For MySQL and MariaDB there is what the compiler
//! left in the section `.comment`, and in MySQL's own packages a file about the build, `docs/INFO_BIN`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use basecase_model::{Version, hexadecimal, optimisation_flag};
use sha2::{Digest, Sha256};

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
    /// The last optimisation flag, which is the one that takes effect.
    pub(crate) fn optimisation(&self) -> Option<String> {
        optimisation_flag(self.flags.as_deref()?).map(str::to_owned)
    }
}

/// Reads the facts from the program of a Postgres server.
pub(crate) fn read(postgres: &Path) -> io::Result<Imprint> {
    Ok(of_bytes(&std::fs::read(postgres)?))
}

/// Reads the compiler that a program or library names.
pub(crate) fn read_comment(file: &Path) -> io::Result<Imprint> {
    let comment = section(file, ".comment")?;
    let compiler = comment.split(|byte| *byte == 0).filter_map(text_of).filter_map(gcc_of_comment).max();
    let compiler = compiler.map(|version| format!("gcc {version}"));
    Ok(Imprint { compiler, ..Imprint::default() })
}

/// Reads the facts from the program of a MySQL or MariaDB server and the files beside it.
pub(crate) fn read_mysqld(program: &Path) -> io::Result<Imprint> {
    let prefix = program.canonicalize()?.parent().and_then(Path::parent).map(Path::to_path_buf);
    let about = prefix.and_then(|prefix| std::fs::read(prefix.join("docs/INFO_BIN")).ok());
    Ok(Imprint {
        flags: about.and_then(|about| flags_of_about(&String::from_utf8_lossy(&about))),
        ..read_comment(program)?
    })
}

/// A checksum over what a program has in memory when it runs, but for its build id. What only debuggers read is left out.
pub(crate) fn code_and_data(program: &Path) -> io::Result<String> {
    use object::{Object, ObjectSection, ReadCache, SectionFlags, elf::SHF_ALLOC};
    let file = ReadCache::new(std::fs::File::open(program)?);
    let object =
        object::read::elf::ElfFile64::<object::Endianness, _>::parse(&file).map_err(io::Error::other)?;
    let mut hash = Sha256::new();
    for section in object.sections() {
        let is_loaded =
            matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & SHF_ALLOC.0 != 0);
        let name = section.name().map_err(io::Error::other)?;
        if is_loaded && !name.starts_with(".note.") {
            hash.update(name.as_bytes());
            hash.update(section.data().map_err(io::Error::other)?);
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// One section of an object file; empty if there is none of this name.
fn section(program: &Path, name: &str) -> io::Result<Vec<u8>> {
    use object::{Object, ObjectSection, ReadCache};
    let file = ReadCache::new(std::fs::File::open(program)?);
    let object =
        object::read::elf::ElfFile64::<object::Endianness, _>::parse(&file).map_err(io::Error::other)?;
    let section = object.section_by_name(name);
    let data =
        section.map(|section| section.data().map(<[u8]>::to_vec)).transpose().map_err(io::Error::other)?;
    Ok(data.unwrap_or_default())
}

/// The version in `GCC: (GNU) 8.3.1 20190311 (Red Hat 8.3.1-3)`. Every object that is linked in leaves such a line. The
/// newest compiler is the server's own; older ones compiled the system's start-up code.
fn gcc_of_comment(line: String) -> Option<Version> {
    let (_, rest) = line.strip_prefix("GCC: (")?.split_once(") ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The compiler flags in `docs/INFO_BIN`, which has two formats.
fn flags_of_about(about: &str) -> Option<String> {
    let flags = |name: &str| {
        let line = about.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches([' ', '=', ':']).trim().to_owned())
    };
    // Up to 5.7, the flags of the folder `sql`; from 8.0 on, the general flags followed by those of the CMake build type.
    let parts = ["CXX_FLAGS", "CMAKE_CXX_FLAGS:", "CMAKE_CXX_FLAGS_RELWITHDEBINFO:"].map(flags);
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if text.is_empty() { None } else { Some(text) }
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
    imprint.compiler = imprint.version_text.as_deref().and_then(postgres_compiler);
    imprint
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn text_of(bytes: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(bytes).ok()?.trim().to_owned())
}

/// The compiler named in what Postgres's `version()` returns, e.g. `gcc 12.2.0`.
pub fn postgres_compiler(version_text: &str) -> Option<String> {
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

/// The facts worth keeping from what the program `pg_config` prints, by name.
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
            ("PostgreSQL 14.18 on x, compiled by x86_64-pc-linux-gnu-gcc (GCC) 7.5.0, 64-bit", "gcc 7.5.0"),
            ("PostgreSQL 18.1 on aarch64, compiled by clang version 15.0.6, 64-bit", "clang 15.0.6"),
        ];
        for (text, expected) in cases {
            assert_eq!(postgres_compiler(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(postgres_compiler("SQLite"), None);
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
    fn the_newest_compiler_of_the_comments_is_the_servers() {
        let cases = [
            ("GCC: (GNU) 8.3.1 20190311 (Red Hat 8.3.1-3)", "8.3.1"),
            ("GCC: (GNU) 12.1.1 20220628 (Red Hat 12.1.1-3)", "12.1.1"),
            ("GCC: (Gentoo 4.5.3-r1 p1.0, pie-0.4.5) 4.5.3", "4.5.3"),
            ("GCC: (Debian 16.2.0-4) 16.2.0", "16.2.0"),
        ];
        for (line, expected) in cases {
            assert_eq!(gcc_of_comment(line.into()), expected.parse().ok(), "{line}");
        }
        assert_eq!(gcc_of_comment("Linker: LLD 14".into()), None);
        // This test is a program itself.
        assert!(!section(&std::env::current_exe().unwrap(), ".comment").unwrap().is_empty());
        assert!(section(Path::new("/etc/passwd"), ".comment").is_err());
    }

    #[test]
    fn flags_are_found_in_both_forms_of_mysqls_file_about_the_build() {
        let old = "C_FLAGS =  -fPIC -O3 -g\nCXX_FLAGS =  -fPIC -O3 -g -fabi-version=2 \nCXX_DEFINES = -DX\n";
        assert_eq!(flags_of_about(old).as_deref(), Some("-fPIC -O3 -g -fabi-version=2"));
        let new = "Compiler: GNU 8.3.1\nCMAKE_CXX_FLAGS: -std=c++17 -O2 -g\n\
            CMAKE_CXX_FLAGS_DEBUG: -O0\nCMAKE_CXX_FLAGS_RELWITHDEBINFO: -ffunction-sections -O2 -g1\n";
        let imprint = Imprint { flags: flags_of_about(new), ..Imprint::default() };
        assert_eq!(imprint.flags.as_deref(), Some("-std=c++17 -O2 -g -ffunction-sections -O2 -g1"));
        assert_eq!(imprint.optimisation().as_deref(), Some("-O2"));
        assert_eq!(flags_of_about(""), None);
    }

    #[test]
    fn pg_config_keeps_what_a_number_depends_on() {
        let facts =
            parse_pg_config("BINDIR = /x\nCC = gcc\nCFLAGS = -O2\nCFLAGS_SL = -fPIC\nLDFLAGS_EX = \n");
        assert_eq!(facts.keys().collect::<Vec<_>>(), ["cc", "cflags"]);
    }
}
