//! The table `schedule` of an experiment file.

use basecase_server::Settle;
use basecase_workload::insert_benchmark::Pace;
use serde::Deserialize;

use super::{Protocol, Rounds, Verify, read_change, read_time};

/// How steps are prepared, ordered and repeated, as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Schedule {
    #[serde(default)]
    pub(super) settle: Settle,
    pub(super) settle_limit: Option<String>,
    #[serde(default)]
    pub(super) verify: Verify,
    #[serde(default)]
    pub(super) pace: Pace,
    pub(super) seed: Option<u64>,
    pub(super) step_limit_seconds: Option<u64>,
    pub(super) pin: Option<String>,
    protocol: Option<ProtocolWord>,
    detect: Option<String>,
    rounds: Option<u32>,
    slice: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ProtocolWord {
    Classic,
    Rounds,
}

impl Schedule {
    /// How often candidates are measured. The error names the key and says what to do.
    pub(super) fn protocol(&self) -> Result<Protocol, String> {
        let rounds = Rounds {
            detect: value("detect", self.detect.as_deref(), read_change)?,
            most: self.rounds,
            slice: value("slice", self.slice.as_deref(), read_time)?,
        };
        match (self.protocol, Protocol::asked(rounds)) {
            (Some(ProtocolWord::Classic), Protocol::Rounds(_)) => Err(
                "schedule.protocol is \"classic\", and detect, rounds and slice are for rounds\nhint: leave out these, or the protocol".into(),
            ),
            (Some(ProtocolWord::Rounds), protocol) => Ok(protocol.in_rounds()),
            (_, protocol) => Ok(protocol),
        }
    }
}

/// The value of a key of the schedule.
pub(super) fn value<T>(
    key: &str,
    text: Option<&str>,
    reader: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let refuse = |text: &str, wanted: String| format!("schedule.{key} is {text:?}\nhint: {wanted}");
    text.map(|text| reader(text).map_err(|wanted| refuse(text, wanted))).transpose()
}
