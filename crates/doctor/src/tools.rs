//! Programs that basecase runs: the clients of providers, what compiles, and valgrind.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use basecase_builds::{Catalogue, Tool, to_install};
use basecase_server::{Callgrind, NoCallgrind};

use crate::finding::Finding;
use crate::host::Host;

/// A program of which one is needed, and what cannot be compiled without.
struct Needed {
    /// Any of these will do.
    programs: &'static [&'static str],
    /// The package of Debian.
    package: &'static str,
    purpose: &'static str,
}

const COMPILERS: [Needed; 9] = [
    Needed { programs: &["gcc", "cc"], package: "gcc", purpose: "all sources" },
    Needed { programs: &["g++", "c++"], package: "g++", purpose: "MySQL, MariaDB" },
    Needed { programs: &["make"], package: "make", purpose: "all servers" },
    Needed { programs: &["cmake"], package: "cmake", purpose: "MySQL, MariaDB" },
    Needed { programs: &["bison"], package: "bison", purpose: "most servers" },
    Needed { programs: &["flex"], package: "flex", purpose: "Postgres from git and from 17 on" },
    Needed { programs: &["perl"], package: "perl", purpose: "Postgres from git and from 17 on" },
    Needed { programs: &["git"], package: "git", purpose: "commits" },
    Needed { programs: &["pkg-config"], package: "pkg-config", purpose: "libraries of servers" },
];

/// The clients by which builds come from their providers.
pub(crate) fn clients(host: &Host) -> Finding {
    let recipes = match Catalogue::embedded() {
        Ok(catalogue) => catalogue.recipes().to_vec(),
        Err(error) => return Finding::refused("clients", &error.to_string()),
    };
    let mut builds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for recipe in &recipes {
        builds.entry(recipe.provider.client.as_str()).or_default().insert(recipe.dbms.as_str());
    }
    let (here, missing): (Vec<&str>, Vec<&str>) =
        builds.keys().copied().partition(|client| is_here(host, client));
    // Packages of Debian, by which basecase gets them for itself.
    let (got, lacking): (Vec<&str>, Vec<&str>) =
        missing.into_iter().partition(|client| host.program("apt-get").is_some() && Tool::is_known(client));
    if lacking.is_empty() {
        let later =
            if got.is_empty() { String::new() } else { format!("; got when needed: {}", got.join(", ")) };
        return Finding::fine("clients", format!("{}{later}", here.join(", ")));
    }
    let named = lacking.iter().map(|client| {
        let dbms: Vec<&str> = builds.get(client).into_iter().flatten().copied().collect();
        format!("{client} ({})", dbms.join(", "))
    });
    let named: Vec<String> = named.collect();
    let advice: Vec<&str> = lacking.iter().map(|client| to_install(client)).collect();
    Finding::limits(
        "clients",
        format!("missing, for some builds: {}", named.join(", ")),
        format!("install {}", advice.join(", ")),
    )
}

/// Whether the client of a provider can be run.
fn is_here(host: &Host, client: &str) -> bool {
    match client {
        "pip" => host.program("python3").is_some_and(|python| {
            let mut command = Command::new(python);
            command.args(["-m", "pip", "--version"]).stdin(Stdio::null());
            command.output().is_ok_and(|output| output.status.success())
        }),
        "apt-get" => ["apt-get", "dpkg-deb"].iter().all(|name| host.program(name).is_some()),
        other => host.program(other).is_some(),
    }
}

/// What compiles builds from source.
pub(crate) fn compilers(host: &Host) -> Finding {
    let is_here = |needed: &&Needed| needed.programs.iter().any(|name| host.compiler(name).is_some());
    let (here, missing): (Vec<&Needed>, Vec<&Needed>) = COMPILERS.iter().partition(is_here);
    let names: Vec<&str> = here.iter().filter_map(|needed| needed.programs.first()).copied().collect();
    if missing.is_empty() {
        return Finding::fine("compilers", names.join(", "));
    }
    let lost: Vec<String> = missing
        .iter()
        .map(|needed| format!("{} ({})", needed.programs.join(" or "), needed.purpose))
        .collect();
    let packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    Finding::limits(
        "compilers",
        format!("missing, for builds from source: {}", lost.join(", ")),
        format!("apt-get install {}", packages.join(" ")),
    )
}

/// Valgrind, by which instructions are counted.
pub(crate) fn valgrind(found: &Result<Callgrind, NoCallgrind>) -> Finding {
    match found {
        Err(error) => Finding::refused("valgrind", &error.to_string()),
        Ok(callgrind) => of_version(callgrind.version(), callgrind.fixes_addresses()),
    }
}

fn of_version(version: &str, fixes_addresses: bool) -> Finding {
    if fixes_addresses {
        return Finding::fine("valgrind", format!("{version} counts instructions"));
    }
    Finding::limits(
        "valgrind",
        format!("{version} counts, but addresses differ from start to start, so counts scatter more"),
        "let the container call personality(2): --security-opt seccomp=…",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::{host, install};

    #[test]
    fn clients_that_are_missing_are_named_with_what_comes_by_them() {
        let (_folder, host) = host(&[]);
        install(&host, &["mvn", "npm", "python3"]);
        let found = clients(&host);
        assert_eq!(found.severity, Severity::Limits);
        assert!(found.found.contains("apt-get (mariadb, mysql, postgres)"), "{}", found.found);
        assert!(found.found.contains("cargo (sqlite)") && !found.found.contains("npm"), "{}", found.found);
        assert!(found.advice.unwrap().contains("Rust (cargo)"));
    }

    #[test]
    fn clients_that_basecase_gets_by_itself_are_not_missed() {
        let (_folder, host) = host(&[]);
        install(&host, &["apt-get", "dpkg-deb", "cargo"]);
        let found = clients(&host);
        assert_eq!(
            (found.severity, found.found.as_str()),
            (Severity::Fine, "apt-get, cargo; got when needed: mvn, npm, pip")
        );
    }

    #[test]
    fn compilers_that_are_missing_are_named_with_their_packages() {
        let (_folder, host) = host(&[]);
        install(&host, &["cc", "c++", "make", "cmake", "perl", "git", "pkg-config"]);
        let found = compilers(&host);
        assert_eq!(found.severity, Severity::Limits);
        assert_eq!(found.advice.as_deref(), Some("apt-get install bison flex"));
        install(&host, &["bison", "flex"]);
        assert_eq!(compilers(&host).severity, Severity::Fine);
    }

    #[test]
    fn without_valgrind_the_hint_is_the_advice() {
        let missing = valgrind(&Err(NoCallgrind::Missing));
        assert_eq!(missing.severity, Severity::Limits);
        assert!(missing.advice.unwrap().starts_with("install it (Debian"));
        assert_eq!(of_version("valgrind-3.19.0", true).found, "valgrind-3.19.0 counts instructions");
        assert_eq!(of_version("valgrind-3.19.0", false).severity, Severity::Limits);
    }
}
