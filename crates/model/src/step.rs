//! One measured unit of a workload.

use serde::{Deserialize, Serialize};

/// Which rate of a step is the one that tables show and compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Rows inserted per second (`ips`).
    Inserts,
    /// Rows indexed per second: all rows present divided by the step's seconds.
    Indexed,
    /// Queries per second (`qps`).
    Queries,
}

impl Headline {
    /// The unit as reports print it.
    pub fn unit(self) -> &'static str {
        match self {
            Headline::Inserts => "inserts/s",
            Headline::Indexed => "indexed rows/s",
            Headline::Queries => "queries/s",
        }
    }
}

/// A step as stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFacts {
    /// Name without position, e.g. `qr100`.
    pub name: String,
    /// Name with position where published results carry one, e.g. `qr100.L1`; else the same as `name`.
    pub label: String,
    /// One line for people, e.g. `range queries with 100 insert/s per client`.
    pub title: String,
    /// The number reported.
    pub headline: Headline,
    /// Rows inserted per second that the background writers of all clients together must sustain (`R × N`).
    pub sla_target: Option<f64>,
    /// What the headline counts when it does not follow from the roles: rows indexed in `l.x`.
    pub headline_items: Option<u64>,
    /// The group of results that it belongs to, where a workload has groups. There a step without one prepares others, and its
    /// result is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Rows that one event reads from one end of a table to the other, of a step that does so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned_rows: Option<u64>,
    /// Threads, each with a connection, where steps can differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether it changes rows.
    #[serde(default)]
    pub writes: bool,
}

impl StepFacts {
    /// Whether its result is compared. A step of a workload file that has no group prepares others.
    pub fn is_compared(&self) -> bool {
        self.threads.is_none() || self.group.is_some()
    }
}
