//! Debian packages, by `apt-get` with its own state directory: the system is not changed, and root is not needed. `apt-get`
//! checks signatures as usual, and downloads from the mirror that the system uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client_tool::{Failure, run};

/// The keyring of Debian's archives, where every Debian has it.
const KEY_RING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// One package source, as in apt's `sources.list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    uri: String,
    suite: String,
    component: String,
}

/// The Debian archives that this system gets its own packages from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archives {
    targets: Vec<Target>,
}

impl Archives {
    /// Asks apt which archives the system is configured for.
    pub(crate) fn of_system() -> Result<Self, Failure> {
        let mut command = Command::new("apt-get");
        // This also works on a system that has never run `apt-get update`.
        command.args([
            "indextargets",
            "--no-release-info",
            "--format",
            "$(REPO_URI) $(RELEASE) $(COMPONENT)",
        ]);
        let text = run("apt-get", command.arg("Created-By: Packages"))?;
        let mut archives = Archives { targets: text.lines().filter_map(target).collect() };
        archives.targets.dedup();
        if archives.targets.is_empty() {
            return Err(Failure::Missing("apt-get here has no archive of Debian among its sources".into()));
        }
        Ok(archives)
    }

    /// All sources that `suite` needs: a security suite adds to its release, and experimental adds to sid.
    pub(crate) fn of_suite(&self, suite: &str) -> Result<Vec<Target>, Failure> {
        let target = |ending: &str, suite: &str| {
            let known = self.targets.iter().find(|target| is_archive(&target.uri, ending));
            let uri = known.map(|target| target.uri.clone());
            let uri = uri.ok_or_else(|| {
                Failure::Missing(format!("apt-get here has no archive {ending} among its sources"))
            })?;
            Ok(Target { uri, suite: suite.to_owned(), component: "main".to_owned() })
        };
        Ok(match suite.strip_suffix("-security") {
            Some(release) => vec![target("debian", release)?, target("debian-security", suite)?],
            None if suite == "experimental" => vec![target("debian", "sid")?, target("debian", suite)?],
            None => vec![target("debian", suite)?],
        })
    }

    /// The system's own sources.
    pub(crate) fn of_host(&self) -> &[Target] {
        &self.targets
    }
}

/// Parses a line `URI suite component`; `None` if it is not a Debian archive.
fn target(line: &str) -> Option<Target> {
    let mut words = line.split_whitespace().map(str::to_owned);
    let (uri, suite, component) = (words.next()?, words.next()?, words.next()?);
    let is_debian = is_archive(&uri, "debian") || is_archive(&uri, "debian-security");
    is_debian.then_some(Target { uri, suite, component })
}

/// Whether the last folder of `uri` is `name`, as it is on every mirror.
fn is_archive(uri: &str, name: &str) -> bool {
    uri.trim_end_matches('/').rsplit('/').next() == Some(name)
}

/// One package file that is yet to be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub name: String,
    /// Its version in full, e.g. `1:10.11.18-0+deb12u1`.
    pub version: String,
}

impl Package {
    /// The upstream version: without the epoch, a suffix such as `+ds`, and Debian's revision. A `~`, by which Debian sorts
    /// pre-releases, is dropped, as in `19rc1`.
    pub(crate) fn upstream(&self) -> String {
        let version = self.version.split_once(':').map_or(self.version.as_str(), |(_, version)| version);
        let version = version.rsplit_once('-').map_or(version, |(version, _)| version);
        let version = version.split('+').next().unwrap_or(version);
        version.replace('~', "")
    }
}

/// `apt-get` with its own state directory.
#[derive(Debug)]
pub(crate) struct Apt {
    state: PathBuf,
}

impl Apt {
    /// Reads the package lists of `sources` into the new folder `state`.
    pub(crate) fn open(state: &Path, sources: &[Target]) -> Result<Self, Failure> {
        Apt::open_lists(state, "deb", sources)
    }

    /// Reads the source package lists of `sources` into the new folder `state`.
    pub(crate) fn open_for_source(state: &Path, sources: &[Target]) -> Result<Self, Failure> {
        Apt::open_lists(state, "deb-src", sources)
    }

    fn open_lists(state: &Path, kind: &str, sources: &[Target]) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::Failed(format!("cannot use {}: {error}", state.display()));
        for folder in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(state.join(folder)).map_err(failed)?;
        }
        let signed =
            if Path::new(KEY_RING).exists() { format!("[signed-by={KEY_RING}] ") } else { String::new() };
        let lines: String = sources
            .iter()
            .map(|Target { uri, suite, component }| format!("{kind} {signed}{uri} {suite} {component}\n"))
            .collect();
        fs::write(state.join("sources.list"), lines).map_err(failed)?;
        // Since no package counts as installed, each comes with all its libraries.
        fs::write(state.join("status"), "").map_err(failed)?;
        let apt = Apt { state: state.to_path_buf() };
        run("apt-get", &mut apt.command(&["update"]))?;
        Ok(apt)
    }

    /// What would be downloaded for `packages` and all their dependencies.
    pub(crate) fn plan_with_dependencies(&self, packages: &[&str]) -> Result<Vec<Package>, Failure> {
        let text = run("apt-get", self.command(&["install", "--print-uris"]).args(packages))?;
        Ok(text.lines().filter_map(planned).collect())
    }

    /// What would be downloaded for `packages` alone, from `suite`.
    pub(crate) fn plan(&self, packages: &[&str], suite: &str) -> Result<Vec<Package>, Failure> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let packages = of_suite(packages, suite);
        let text = run("apt-get", self.command(&["download", "--print-uris"]).args(packages))?;
        Ok(text.lines().filter_map(planned).collect())
    }

    /// Downloads `packages` and all their dependencies. Returns the files.
    pub(crate) fn download_with_dependencies(&self, packages: &[&str]) -> Result<Vec<PathBuf>, Failure> {
        run("apt-get", self.command(&["install", "--download-only"]).args(packages))?;
        files(&self.state.join("archives"))
    }

    /// Downloads `packages` alone, from `suite` if one is given. Returns the files.
    pub(crate) fn download(&self, packages: &[&str], suite: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        // `apt-get download` writes to the current folder.
        let folder =
            tempfile::tempdir_in(&self.state).map_err(|error| Failure::Failed(error.to_string()))?.keep();
        let packages = match suite {
            Some(suite) => of_suite(packages, suite),
            None => packages.iter().map(ToString::to_string).collect(),
        };
        run("apt-get", self.command(&["download"]).args(packages).current_dir(&folder))?;
        files(&folder)
    }

    /// What `apt-get` says it would download for the upstream archive of the source package `package`.
    pub(crate) fn plan_of_source(&self, package: &str) -> Result<String, Failure> {
        run("apt-get", &mut self.command(&["source", "--print-uris", "--tar-only", package]))
    }

    /// Downloads the upstream archive of the source package `package` into `folder`.
    pub(crate) fn download_source(&self, package: &str, folder: &Path) -> Result<(), Failure> {
        let mut command = self.command(&["source", "--download-only", "--tar-only", package]);
        run("apt-get", command.current_dir(folder)).map(drop)
    }

    fn command(&self, words: &[&str]) -> Command {
        let state = self.state.display();
        let options = [
            format!("Dir::Etc::sourcelist={state}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("Dir::State={state}"),
            format!("Dir::State::status={state}/status"),
            format!("Dir::Cache={state}"),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            // The user `_apt` may not write to this folder.
            "APT::Sandbox::User=root".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
            "Debug::NoLocking=1".to_owned(),
        ];
        let mut command = Command::new("apt-get");
        for option in options {
            command.arg("-o").arg(option);
        }
        command.args(["-q", "-y"]).args(words).env("LC_ALL", "C").current_dir(&self.state);
        command
    }
}

/// Unpacks the package `file` over `tree`.
pub(crate) fn unpack(file: &Path, tree: &Path) -> Result<(), Failure> {
    run("dpkg-deb", Command::new("dpkg-deb").arg("-x").arg(file).arg(tree)).map(drop)
}

fn of_suite(packages: &[&str], suite: &str) -> Vec<String> {
    packages.iter().map(|package| format!("{package}/{suite}")).collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::Failed(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
    files.sort();
    Ok(files)
}

/// A line `'URI' NAME_VERSION_ARCHITECTURE.deb SIZE CHECKSUM`.
fn planned(line: &str) -> Option<Package> {
    let file = line.strip_prefix('\'')?.split_whitespace().nth(1)?;
    let mut parts = file.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?.to_owned(), parts.next()?.replace("%3a", ":"));
    Some(Package { name, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archives() -> Archives {
        let lines = "http://deb.example/debian/ bookworm main\nhttp://deb.example/debian-security/ bookworm-security main\n\
            https://other.example/node_20.x/ nodistro main\n";
        Archives { targets: lines.lines().filter_map(target).collect() }
    }

    fn lines(suite: &str) -> Vec<String> {
        let targets = archives().of_suite(suite).unwrap();
        targets.iter().map(|target| format!("{} {}", target.uri, target.suite)).collect()
    }

    #[test]
    fn a_suite_comes_from_the_mirror_of_the_system() {
        assert_eq!(archives().of_host().len(), 2);
        assert_eq!(lines("sid"), ["http://deb.example/debian/ sid"]);
        assert_eq!(
            lines("bookworm-security"),
            ["http://deb.example/debian/ bookworm", "http://deb.example/debian-security/ bookworm-security"]
        );
        assert_eq!(
            lines("experimental"),
            ["http://deb.example/debian/ sid", "http://deb.example/debian/ experimental"]
        );
        let none = Archives { targets: Vec::new() };
        assert!(matches!(none.of_suite("sid"), Err(Failure::Missing(_))));
    }

    #[test]
    fn packages_are_read_from_what_apt_would_download() {
        let line = "'http://deb.example/debian/pool/main/m/m_10.11.18-0%2bdeb12u1_amd64.deb' \
            mariadb-server-core_1%3a10.11.18-0+deb12u1_amd64.deb 8010204 SHA256:00";
        let package = planned(line).unwrap();
        assert_eq!(
            (package.name.as_str(), package.version.as_str()),
            ("mariadb-server-core", "1:10.11.18-0+deb12u1")
        );
        assert_eq!(planned("Reading package lists..."), None);
    }

    #[test]
    fn upstream_versions() {
        let cases = [
            ("1:10.11.18-0+deb12u1", "10.11.18"),
            ("9.7.4-2", "9.7.4"),
            ("1:11.8.9+ds-4", "11.8.9"),
            ("19~rc1-1", "19rc1"),
            ("15.20-0+deb12u1", "15.20"),
            ("18.6", "18.6"),
        ];
        for (version, expected) in cases {
            let package = Package { name: "p".into(), version: version.into() };
            assert_eq!(package.upstream(), expected);
        }
    }
}
