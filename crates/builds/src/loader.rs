//! Shared libraries that a build needs and the system lacks.

use std::collections::BTreeSet;
use std::iter;
use std::path::Path;
use std::process::{Command, Stdio};

use basecase_process::Account;

use crate::layout::{Tree, layout_of};

/// The Debian package of a library, by the start of its file name, where it does not follow from the name.
const PACKAGES: &[(&str, &str)] = &[
    ("libaio.so.1", "libaio1"),
    ("libcrypt.so.1", "libcrypt1"),
    ("libcrypto.so.1.1", "libssl1.1"),
    ("libcrypto.so.3", "libssl3"),
    ("libcurl.so.4", "libcurl4"),
    ("libgssapi_krb5.so.2", "libgssapi-krb5-2"),
    ("libldap-2.5.so.0", "libldap-2.5-0"),
    ("liblz4.so.1", "liblz4-1"),
    ("libnuma.so.1", "libnuma1"),
    ("libncurses.so.5", "libncurses5"),
    ("libossp-uuid.so.16", "libossp-uuid16"),
    ("libpam.so.0", "libpam0g"),
    ("libreadline.so.8", "libreadline8"),
    ("libselinux.so.1", "libselinux1"),
    ("libssl.so.1.1", "libssl1.1"),
    ("libssl.so.3", "libssl3"),
    ("libstdc++.so.6", "libstdc++6"),
    ("libsystemd.so.0", "libsystemd0"),
    ("libtinfo.so.5", "libtinfo5"),
    ("liburing.so.2", "liburing2"),
    ("libuuid.so.1", "libuuid1"),
    ("libxml2.so.2", "libxml2"),
    ("libxslt.so.1", "libxslt1.1"),
    ("libz.so.1", "zlib1g"),
    ("libzstd.so.1", "libzstd1"),
];

/// The Debian package that has the library `file`.
pub(crate) fn debian_package(file: &str) -> Option<String> {
    if let Some((_, package)) = PACKAGES.iter().find(|(name, _)| file.starts_with(name)) {
        return Some((*package).to_owned());
    }
    let (name, version) = file.split_once(".so.")?;
    if name.starts_with("libicu") {
        return Some(format!("libicu{}", version.split('.').next()?));
    }
    let version = version.split('.').next()?;
    name.strip_prefix("libLLVM")
        .map(|in_name| format!("libllvm{}", if in_name.is_empty() { version } else { &in_name[1..] }))
}

/// [`missing`] for the installation now at `path`; empty if there is none.
pub(crate) fn missing_in(path: &Path, account: Option<&Account>) -> BTreeSet<String> {
    Tree::find(path).map(|tree| missing(&tree, account)).unwrap_or_default()
}

/// The libraries that the programs of `tree` need, and that the loader finds neither in the tree nor on the system.
pub(crate) fn missing(tree: &Tree, account: Option<&Account>) -> BTreeSet<String> {
    let helpers = layout_of(tree.dbms()).helpers().iter().copied();
    let programs = iter::once(tree.server()).chain(helpers).filter(|name| tree.bin().join(name).exists());
    programs.flat_map(|name| traced(tree.command(name, account))).collect()
}

/// The libraries that the loader does not find for the program of `command`. It lists them instead of running the program.
/// `ldd` does the same, but with the system's loader, which need not be the program's.
fn traced(mut command: Command) -> BTreeSet<String> {
    let output = command.env("LD_TRACE_LOADED_OBJECTS", "1").stderr(Stdio::null()).output();
    output.map(|output| from_trace(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

fn from_trace(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.ends_with("=> not found"));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Those of `libraries` that are not in the system loader's cache.
pub(crate) fn lacking<'l>(
    libraries: impl IntoIterator<Item = &'l String>,
    known: &KnownLibraries,
) -> BTreeSet<String> {
    libraries.into_iter().filter(|library| !known.has(library)).cloned().collect()
}

/// The libraries in the system loader's cache.
#[derive(Debug)]
pub(crate) struct KnownLibraries(Option<BTreeSet<String>>);

impl KnownLibraries {
    /// Asks `ldconfig`. If that fails, every library counts as present: nothing is reported on a guess.
    pub(crate) fn of_system() -> Self {
        let mut command = Command::new("ldconfig");
        command
            .arg("-p")
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .env("LC_ALL", "C")
            .stderr(Stdio::null());
        let output = command.output().ok().filter(|output| output.status.success());
        KnownLibraries(output.map(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines()
                .filter(|line| line.contains(" => "))
                .filter_map(|line| line.split_whitespace().next())
                .map(str::to_owned)
                .collect()
        }))
    }

    fn has(&self, library: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(library))
    }
}

/// The library that the loader's error message names; others may be missing too.
pub(crate) fn from_loader(error: &str) -> Option<String> {
    let (_, text) = error.split_once("error while loading shared libraries: ")?;
    text.split_once(": cannot open").map(|(library, _)| library.to_owned())
}

/// The version of the C library that the loader's error message asks for, e.g. `GLIBC_2.38`.
pub(crate) fn wanted_glibc(error: &str) -> Option<String> {
    let (_, text) = error.split_once("version `GLIBC_")?;
    text.split_once('\'').map(|(version, _)| format!("GLIBC_{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_libraries() {
        assert_eq!(debian_package("libxml2.so.2").as_deref(), Some("libxml2"));
        assert_eq!(debian_package("libicui18n.so.72").as_deref(), Some("libicu72"));
        assert_eq!(debian_package("libLLVM-14.so.1").as_deref(), Some("libllvm14"));
        assert_eq!(debian_package("libLLVM.so.19.1").as_deref(), Some("libllvm19"));
        assert_eq!(debian_package("libstrange.so.4"), None);
    }

    #[test]
    fn missing_libraries_are_read_from_ldd_and_loader() {
        let ldd =
            "\tlinux-vdso.so.1 (0x0)\n\tlibxml2.so.2 => not found\n\tlibz.so.1 => /lib/libz.so.1 (0x0)\n";
        assert_eq!(from_trace(ldd), BTreeSet::from(["libxml2.so.2".to_owned()]));
        let loader = "postgres: error while loading shared libraries: liblz4.so.1: cannot open shared object file: \
            No such file or directory";
        assert_eq!(from_loader(loader).as_deref(), Some("liblz4.so.1"));
        let old = "postgres: /lib/libc.so.6: version `GLIBC_2.38' not found (required by postgres)";
        assert_eq!(wanted_glibc(old).as_deref(), Some("GLIBC_2.38"));
    }
}
