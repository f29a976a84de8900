//! One measured unit of a workload.

use serde::{Deserialize, Serialize};

use crate::OperationClass;

/// The share of the target rate that background writers must reach to pass.
pub const SLA_TOLERANCE: f64 = 0.95;

/// The rate of a step that tables show and compare.
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

    /// The class whose operations it counts.
    pub fn class(self) -> OperationClass {
        match self {
            Headline::Inserts | Headline::Indexed => OperationClass::Insert,
            Headline::Queries => OperationClass::Query,
        }
    }
}

/// A step as stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFacts {
    /// Name without position, e.g. `qr100`.
    pub name: String,
    /// Name with position, if published results have one, e.g. `qr100.L1`; otherwise the same as `name`.
    pub label: String,
    /// One line for people, e.g. `range queries with 100 insert/s per client`.
    pub title: String,
    /// The number that is reported.
    pub headline: Headline,
    /// Rows inserted per second that the background writers of all clients together must sustain (`R × N`).
    pub sla_target: Option<f64>,
    /// What the headline counts, if that does not follow from the roles: rows indexed in `l.x`.
    pub headline_items: Option<u64>,
    /// The group in which its result is shown, if the workload has groups. A step without one then prepares others, and its result is not
    /// compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Rows that one event reads from one end of a table to the other, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned_rows: Option<u64>,
    /// Threads, each with a connection, if steps can differ in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether it changes rows.
    #[serde(default)]
    pub writes: bool,
}

impl StepFacts {
    /// An empty step of queries, to be filled in.
    pub const EMPTY: StepFacts = StepFacts {
        name: String::new(),
        label: String::new(),
        title: String::new(),
        headline: Headline::Queries,
        sla_target: None,
        headline_items: None,
        group: None,
        scanned_rows: None,
        threads: None,
        writes: false,
    };

    /// Whether its result is compared. A step of a workload file that has no group prepares others.
    pub fn is_compared(&self) -> bool {
        self.threads.is_none() || self.group.is_some()
    }

    /// The numbers of the steps with this name or label, or else of those that `--list` would select by it.
    pub fn named(steps: &[StepFacts], name: &str) -> Vec<usize> {
        let those = |is_meant: &dyn Fn(&StepFacts) -> bool| -> Vec<usize> {
            steps.iter().enumerate().filter(|(_, facts)| is_meant(facts)).map(|(number, _)| number).collect()
        };
        let exact = those(&|facts| facts.name == name || facts.label == name);
        if exact.is_empty() { those(&|facts| is_short_for(name, &facts.name)) } else { exact }
    }

    /// Whether background writers that inserted this many rows per second kept their rate; `None` if the step has none. The rate is
    /// compared as shown, as a whole number, with the rounded threshold.
    pub fn keeps_rate(&self, inserts_per_second: f64) -> Option<bool> {
        Some(inserts_per_second.round() >= (SLA_TOLERANCE * self.sla_target?).round())
    }
}

/// Whether `NAME` or `NAME=VALUE` is short for `NAME_OPTION=VALUE`, which `.dop8` may follow: `hot-points` for `hot-points_range=100`.
fn is_short_for(short: &str, label: &str) -> bool {
    let Some((name, value)) = label.split_once('=') else { return false };
    let name = name.rsplit_once('_').map_or(name, |(name, _)| name);
    let value = value.split('.').next().unwrap_or(value);
    short.split_once('=').map_or(short == name, |asked| asked == (name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_the_short_names_that_a_list_takes() {
        let label = "random-points.pre_range=10.dop8";
        assert!(is_short_for("random-points.pre", label) && is_short_for("random-points.pre=10", label));
        for other in ["random-points", "random-points.pre=1", "random-points.pre_range", "=10", ""] {
            assert!(!is_short_for(other, label), "{other}");
        }
        assert!(!is_short_for("l", "l.i1"));
    }

    #[test]
    fn background_writers_pass_with_95_percent_of_their_rate() {
        let keeps = |target: f64, inserts_per_second: f64| {
            let step = StepFacts {
                name: "qr100".into(),
                label: "qr100.L1".into(),
                sla_target: Some(target),
                writes: true,
                ..StepFacts::EMPTY
            };
            (step.keeps_rate(inserts_per_second), StepFacts { sla_target: None, ..step }.keeps_rate(0.0))
        };
        // N=4, R=1000: threshold 3800. N=1, R=500: threshold 475. 20 clients: about 18,000 reached.
        let passing = [(4000.0, 3987.0), (4000.0, 3800.0), (500.0, 475.0)];
        let failing = [(4000.0, 3700.0), (4000.0, 3799.0), (500.0, 474.0), (20_000.0, 18_000.0)];
        assert!(passing.iter().all(|(target, rate)| keeps(*target, *rate) == (Some(true), None)));
        assert!(failing.iter().all(|(target, rate)| keeps(*target, *rate) == (Some(false), None)));
    }
}
