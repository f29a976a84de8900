//! What is likely to help when a step of a build has failed.

use crate::suggestion::alternatives;

/// Messages in a log, and the Debian packages that are missing then.
const PACKAGES: &[(&str, &[&str])] = &[
    ("C compiler cannot create executables", &["gcc", "libc6-dev"]),
    ("zlib library not found", &["zlib1g-dev"]),
    ("readline library not found", &["libreadline-dev"]),
    ("ICU library not found", &["libicu-dev", "pkg-config"]),
    ("icu-uc", &["libicu-dev"]),
    ("liblz4", &["liblz4-dev"]),
    ("libzstd", &["libzstd-dev"]),
    ("liburing", &["liburing-dev"]),
    ("bison: command not found", &["bison"]),
    ("bison not found", &["bison"]),
    ("Could NOT find BISON", &["bison"]),
    ("flex: command not found", &["flex"]),
    ("flex not found", &["flex"]),
    ("Perl not found", &["perl"]),
    ("library 'crypto' is required", &["libssl-dev"]),
    ("Could NOT find OpenSSL", &["libssl-dev"]),
    ("Cannot find appropriate system libraries for WITH_SSL", &["libssl-dev"]),
    ("Could NOT find Curses", &["libncurses-dev"]),
    ("Curses library not found", &["libncurses-dev"]),
    ("Could NOT find ZLIB", &["zlib1g-dev"]),
    ("Could NOT find GnuTLS", &["libgnutls28-dev"]),
    ("Could NOT find Boost", &["libboost-dev"]),
    ("numa library missing", &["libnuma-dev"]),
    ("libnuma", &["libnuma-dev"]),
    ("libaio", &["libaio-dev"]),
    // MariaDB's own build would download these two.
    ("libfmt", &["libfmt-dev"]),
    ("pcre2", &["libpcre2-dev"]),
    ("libtirpc", &["libtirpc-dev"]),
    ("rpcgen", &["rpcsvc-proto"]),
    ("pkg-config could not be found", &["pkg-config"]),
    ("snappy", &["libsnappy-dev"]),
];

/// Header files, and the Debian package that has them.
const HEADERS: &[(&str, &str)] = &[
    ("zlib.h", "zlib1g-dev"),
    ("lz4.h", "liblz4-dev"),
    ("zstd.h", "libzstd-dev"),
    ("liburing.h", "liburing-dev"),
    ("unicode/ucol.h", "libicu-dev"),
    ("readline/readline.h", "libreadline-dev"),
    ("openssl/ssl.h", "libssl-dev"),
    ("libxml/parser.h", "libxml2-dev"),
    ("curses.h", "libncurses-dev"),
    ("numa.h", "libnuma-dev"),
    ("libaio.h", "libaio-dev"),
    ("rpc/rpc.h", "libtirpc-dev"),
    ("snappy.h", "libsnappy-dev"),
    ("stdio.h", "libc6-dev"),
];

/// What to do about the failure that ends `log`.
pub(crate) fn of_log(log: &str) -> String {
    if log.contains("No space left on device") {
        return "the disk is full; compiling Postgres takes 1 GB, MySQL 10 GB and more, in the builds folder of BASECASE_HOME"
            .to_owned();
    }
    if log.contains("Killed signal") || log.contains("virtual memory exhausted") {
        return "memory ran out; try fewer --jobs".to_owned();
    }
    let Some(line) = log.lines().rev().find(|line| is_error(line)) else { return NO_IDEA.to_owned() };
    if let Some(header) = missing_header(line) {
        return match HEADERS.iter().find(|(name, _)| *name == header) {
            Some((_, package)) => install(&[package]),
            None => format!(
                "the header {header} is missing; `apt-file search {header}` names the package that has it"
            ),
        };
    }
    if line.contains("unrecognized option") || line.contains("unrecognized command-line option") {
        return "the compiler or configure does not know an option; check --flags and --configure".to_owned();
    }
    // The missing item may be named a line or two above the word "error".
    let near: Vec<&str> = log.lines().collect();
    let at = near.iter().rposition(|one| *one == line).unwrap_or(0);
    let near = near.get(at.saturating_sub(3)..).unwrap_or_default().join("\n").to_lowercase();
    let packages = PACKAGES.iter().find(|(words, _)| near.contains(&words.to_lowercase()));
    packages.map_or_else(|| NO_IDEA.to_owned(), |(_, packages)| install(packages))
}

const NO_IDEA: &str =
    "the log has every command and its output; options of configure or CMake are added with --configure";

/// What a hint says of packages that are not installed.
pub(super) const MISSING: &str = " is missing; on Debian";

fn install(packages: &[&str]) -> String {
    let names: Vec<String> = packages.iter().map(|name| (*name).to_owned()).collect();
    format!("{}{MISSING}, run `apt-get install --no-upgrade {}`", alternatives(&names), packages.join(" "))
}

fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    // `make` only repeats that something failed.
    !lower.starts_with("make")
        && ["error", "command not found", "not found", "could not find", "missing"]
            .iter()
            .any(|word| lower.contains(word))
}

fn missing_header(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fatal error: ")?;
    rest.split_once(": No such file").map(|(header, _)| header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let zlib = "checking for inflate in -lz... no\nconfigure: error: zlib library not found\nIf you have zlib already \
            installed, see config.log for details on the\nfailure.\n";
        assert_eq!(
            of_log(zlib),
            "zlib1g-dev is missing; on Debian, run `apt-get install --no-upgrade zlib1g-dev`"
        );
        let icu =
            "configure: error: ICU library not found\nIf you have ICU already installed, see config.log";
        assert!(of_log(icu).contains("libicu-dev"), "{}", of_log(icu));
        let header = "a.c:3:10: fatal error: numa.h: No such file or directory\ncompilation terminated.\nmake: *** Error 1";
        assert!(of_log(header).ends_with("libnuma-dev`"), "{}", of_log(header));
        let strange = "a.c:3:10: fatal error: odd/x.h: No such file or directory";
        assert!(of_log(strange).starts_with("the header odd/x.h is missing"), "{}", of_log(strange));
        let curses = "CMake Error at cmake/readline.cmake:71:\n  Curses library not found.  Please install";
        assert!(of_log(curses).contains("libncurses-dev"), "{}", of_log(curses));
    }

    #[test]
    fn other_failures_have_their_own_advice() {
        assert!(
            of_log("g++: fatal error: Killed signal terminated program cc1plus").contains("fewer --jobs")
        );
        assert!(of_log("/tmp/x.s: write error: No space left on device").starts_with("the disk is full"));
        assert!(of_log("gcc: error: unrecognized command-line option '-fx'").contains("--flags"));
        assert_eq!(of_log("something else"), NO_IDEA);
        assert_eq!(of_log(""), NO_IDEA);
    }
}
