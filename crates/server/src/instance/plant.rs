//! Slowdowns of a known size, planted in a server to test whether they are detected.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_model::hexadecimal;
use basecase_process::{PrivateFolder, Purpose, TrustError, make_open, trust};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

const SOURCE: &str = include_str!("plant.c");
/// A slowdown that is planted in a server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plant {
    /// Iterations of a loop after each message that a session receives, on top of a few that every server with the library
    /// runs; 0 plants no slowdown.
    pub spins: u32,
    /// Spins only after every Nth message, N times as long.
    pub every: u32,
    /// The fraction of starts in which it spins, 0 to 1.
    pub starts: f64,
}

/// What the planted library has done so far, in all processes of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted {
    /// Messages received.
    pub calls: u64,
    /// Time spent after them, including the cost of reading the clock.
    pub nanoseconds: u64,
}

/// Why nothing can be planted.
#[derive(Debug, Error)]
pub enum PlantError {
    /// The library cannot be compiled.
    #[error(
        "cannot compile the library that makes servers slower: {0}\nhint: install a C compiler, e.g. apt-get install gcc"
    )]
    Compile(String),
    /// The library could be somebody else's.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A file cannot be written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl Plant {
    /// No slowdown: the library is loaded, but spins no longer than in any server.
    pub const NONE: Plant = Plant { spins: 0, every: 1, starts: 1.0 };

    /// Compiles the library below `home`, once for each version of its source.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn library(home: &Path) -> Result<PathBuf, PlantError> {
        let digest = Plant::library_digest();
        let folder = home.join("plant");
        let library = folder.join(format!("plant-{digest}.so"));
        if let Ok(metadata) = library.metadata() {
            trust::check(&library, &metadata, Purpose::Program)?;
            return Ok(library);
        }
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |source| PlantError::File { path, source }
        };
        make_open(&folder).map_err(file(&folder))?;
        let source = folder.join(format!("plant-{digest}.c"));
        fs::write(&source, SOURCE).map_err(file(&source))?;
        let half_made = folder.join(format!("plant-{digest}.{}", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&half_made, &source])
            .arg("-ldl")
            .output()
            .map_err(|error| PlantError::Compile(error.to_string()))?;
        if !compiled.status.success() {
            return Err(PlantError::Compile(String::from_utf8_lossy(&compiled.stderr).trim().to_owned()));
        }
        fs::set_permissions(&half_made, PermissionsExt::from_mode(0o755)).map_err(file(&half_made))?;
        fs::rename(&half_made, &library).map_err(file(&library))?;
        Ok(library)
    }

    /// The first digits of the SHA-256 of the library's source: another version plants another slowdown.
    pub fn library_digest() -> String {
        hexadecimal(&Sha256::digest(SOURCE)[..6])
    }

    /// The environment variables of a server in `directory` that load the library. They reset its counts.
    pub(crate) fn environment(&self, library: &Path, directory: &Path) -> Vec<(&'static str, String)> {
        vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("BASECASE_PLANT_FILE", directory.join(Planted::FILE).display().to_string()),
            // The same length for all candidates, because the addresses that a server allocates depend on it.
            ("BASECASE_PLANT_SPINS", format!("{:010}", self.spins)),
            ("BASECASE_PLANT_EVERY", format!("{:010}", self.every)),
            ("BASECASE_PLANT_STARTS", format!("{:.8}", self.starts)),
        ]
    }
}

impl Planted {
    /// The file in a server's directory that holds its counts.
    pub(crate) const FILE: &str = "planted";

    /// The counts of a server in `directory` so far; `None` if nothing is planted.
    pub fn read(directory: &Path) -> Option<Planted> {
        let mut bytes = Vec::new();
        PrivateFolder::open(directory).ok()??.read(Planted::FILE).ok()?.read_to_end(&mut bytes).ok()?;
        let (counts, _) = bytes.as_chunks::<8>();
        let count = |place: usize| counts.get(place).map(|count| u64::from_ne_bytes(*count));
        Some(Planted { calls: count(0)?, nanoseconds: count(1)? })
    }

    /// The difference from `earlier`.
    pub fn since(self, earlier: Planted) -> Planted {
        Planted {
            calls: self.calls.saturating_sub(earlier.calls),
            nanoseconds: self.nanoseconds.saturating_sub(earlier.nanoseconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_as_long_whatever_is_planted() {
        let length = |plant: Plant| -> usize {
            let variables = plant.environment(Path::new("/plant.so"), Path::new("/slot"));
            variables.iter().map(|(name, value)| name.len() + value.len()).sum()
        };
        let none = length(Plant::NONE);
        assert_eq!(length(Plant { spins: 1260, every: 100, starts: 0.3 }), none);
        assert_eq!(length(Plant { spins: u32::MAX, every: u32::MAX, starts: 1.0 / 3.0 }), none);
    }
}
