//! One entry of the list of candidates in an experiment file.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{CandidateError, CandidateSpec, MemorySize};

/// A candidate as it is written: its name as on the command line, or a table with the limit on its server's memory as well.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Limited {
    name: String,
    memory: Option<MemorySize>,
}

/// The same, whichever of both it is.
#[derive(Clone)]
pub(super) struct CandidateEntry(Limited);

impl CandidateEntry {
    /// A candidate without a limit of its own.
    pub(super) fn named(name: String) -> Self {
        CandidateEntry(Limited { name, memory: None })
    }

    /// What it means.
    pub(super) fn spec(&self) -> Result<CandidateSpec, CandidateError> {
        Ok(CandidateSpec { memory: self.0.memory, ..self.0.name.parse()? })
    }
}

impl<'de> Deserialize<'de> for CandidateEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not an untagged enum, whose errors do not tell the line.
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = CandidateEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "a candidate such as \"postgres:18.6\" or { name = \"postgres:18.6\", memory = \"400M\" }",
        )
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<CandidateEntry, E> {
        Ok(CandidateEntry::named(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CandidateEntry, A::Error> {
        Limited::deserialize(MapAccessDeserializer::new(map)).map(CandidateEntry)
    }
}
