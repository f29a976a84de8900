//! How often and in which order candidates are measured.

use std::time::Duration;

use anyhow::{Result, bail};
use basecase_model::Schedule;
use jiff::SignedDuration;
use serde::Serialize;

use super::{CountsEngine, Origin, Request};
use crate::workload::Workload;

/// Default margins of steps that read and of steps that write.
const MARGINS: (f64, f64) = (0.02, 0.03);
/// Margins that make sense, as shares.
const SENSIBLE_MARGINS: std::ops::RangeInclusive<f64> = 0.001..=0.5;

/// The same of work, which is counted without noise.
const SENSIBLE_MARGINS_OF_WORK: std::ops::RangeInclusive<f64> = 0.0001..=0.5;

/// The longest accepted time, longer than anybody waits.
const LONGEST_TIME: Duration = Duration::from_secs(2_400 * 3_600);

/// How often and in which order candidates are measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Protocol {
    /// Each candidate once, from start to end, as in published results.
    #[default]
    Classic,
    /// Round after round, until every step is decided.
    Rounds(Rounds),
    /// No times: the instructions of operations are counted.
    Counts(CountsEngine),
}

/// An experiment in rounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds {
    /// The largest relative change that counts as none, for every step; by default 2 % for steps that read and 3 % for steps that write.
    pub detect: Option<f64>,
    /// The most rounds, of which each step gets as many as it needs; by default as many as the steps' interim analyses allow.
    pub most: Option<u32>,
    /// Length of slices of steps that read, instead of one chosen by their speed.
    pub slice: Option<Duration>,
}

/// How rounds are measured, as far as it is part of a cell.
#[derive(Serialize)]
struct Measured {
    protocol: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    slice_us: Option<u64>,
}

impl Protocol {
    /// In rounds if any of their options is given, else classic.
    pub fn asked(rounds: Rounds) -> Self {
        if rounds == Rounds::default() { Protocol::Classic } else { Protocol::Rounds(rounds) }
    }

    /// In rounds in any case.
    #[must_use]
    pub fn in_rounds(self) -> Self {
        match self {
            Protocol::Classic => Protocol::Rounds(Rounds::default()),
            other => other,
        }
    }

    /// In rounds if there is a budget, which is spent round by round.
    #[must_use]
    pub fn with_budget(self, budget: Option<Duration>) -> Self {
        if budget.is_some() { self.in_rounds() } else { self }
    }

    /// The schedule of an experiment; `None` of the classic protocol.
    ///
    /// # Errors
    /// A margin or a number of rounds that no experiment can have.
    pub(crate) fn schedule(&self, id: &str, workload: &dyn Workload) -> Result<Option<Schedule>> {
        let Protocol::Rounds(rounds) = self else { return Ok(None) };
        let (read_margin, write_margin) = rounds.detect.map_or(MARGINS, |margin| (margin, margin));
        let interim_analyses = rounds.interim_analyses(workload)?;
        // Drawn from what is run: the same experiment draws the same orders.
        let seed = u64::from_str_radix(id, 16).unwrap_or(workload.seed());
        Ok(Some(Schedule { seed, read_margin, write_margin, interim_analyses }))
    }

    /// Refuses requests that cannot run in rounds.
    ///
    /// # Errors
    /// A single candidate, or one that basecase does not start.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        match self {
            Protocol::Classic => return Ok(()),
            Protocol::Counts(_) => return check_counts(request),
            Protocol::Rounds(_) => {}
        }
        if request.candidates.len() < 2 {
            bail!(
                "rounds compare candidates, and there is only one\nhint: name a second one, or measure it once: without detect, rounds, slice and --budget"
            );
        }
        if let Some(spec) = request.candidates.iter().find(|spec| spec.is_url()) {
            bail!(
                "candidate {spec} cannot be measured in rounds: each begins with a fresh start from the same data, and basecase does not start your server\nhint: measure it once, without detect, rounds, slice and --budget, or let basecase start the build: path:/usr/lib/…"
            );
        }
        Ok(())
    }

    /// Whether the servers of all candidates have to run at the same time. Those of a chain do so only if the memory holds them.
    pub(crate) fn needs_all_at_once(&self, workload: &dyn Workload) -> bool {
        matches!(self, Protocol::Rounds(_)) && !workload.is_chain()
    }

    /// Whether instructions are counted, and no times taken.
    pub fn is_counts(&self) -> bool {
        matches!(self, Protocol::Counts(_))
    }

    /// Length of slices that was asked for.
    pub(crate) fn slice(&self) -> Option<Duration> {
        match self {
            Protocol::Classic | Protocol::Counts(_) => None,
            Protocol::Rounds(rounds) => rounds.slice,
        }
    }

    /// The part of the protocol that belongs to a cell.
    pub(crate) fn cell_parameters(&self) -> Option<serde_json::Value> {
        let rounds = match self {
            Protocol::Classic => return None,
            // What different engines count is never compared, so a cell has the counts of one.
            Protocol::Counts(engine) => {
                return Some(match engine.mark() {
                    None => "counts".into(),
                    Some(mark) => serde_json::json!({ "protocol": "counts", "engine": mark }),
                });
            }
            Protocol::Rounds(rounds) => rounds,
        };
        let slice_us = rounds.slice.map(|slice| slice.as_micros() as u64);
        serde_json::to_value(Measured { protocol: "rounds", slice_us }).ok()
    }
}

/// Refuses what cannot be counted.
fn check_counts(request: &Request) -> Result<()> {
    if request.workload.clients() > 1 {
        bail!(
            "instructions are counted for one session at a time: with several, waiting for each other would be counted as work\nhint: leave out --threads and --clients"
        );
    }
    if let Some(spec) = request.candidates.iter().find(|spec| spec.is_url()) {
        bail!(
            "candidate {spec} is your own server, whose instructions cannot be counted: each count begins with a fresh start of the server, and basecase does not start yours\nhint: let basecase start the build: path:/usr/lib/…"
        );
    }
    if let Some(spec) = request.candidates.iter().find(|spec| spec.origin == Origin::Embedded) {
        bail!(
            "candidate {spec} is a part of basecase itself, whose instructions cannot be told from its own\nhint: name the version, which is then a library of its own: sqlite:{}",
            crate::sqlite_version()
        );
    }
    Ok(())
}

impl Rounds {
    /// The numbers of rounds after which an interim analysis says whether a step is decided.
    ///
    /// # Errors
    /// When fewer rounds are allowed than a decision takes.
    pub(crate) fn interim_analyses(&self, workload: &dyn Workload) -> Result<Vec<u32>> {
        let mut analyses: Vec<u32> =
            workload.interim_analyses().rounds().iter().map(|rounds| *rounds as u32).collect();
        let Some(most) = self.most else { return Ok(analyses) };
        if let Some(least) = analyses.first().filter(|least| most < **least) {
            bail!(
                "rounds is {most}, and nothing can be decided in fewer than {least}\nhint: leave out rounds, and limit the time with --budget"
            );
        }
        analyses.retain(|rounds| *rounds < most);
        analyses.push(most);
        Ok(analyses)
    }
}

/// Reads a time such as `60m`, `2h`, `1h 30m` or `30ms`.
///
/// # Errors
/// A message for people, if it is not a time above 0.
pub fn read_time(text: &str) -> Result<Duration, String> {
    let time: Option<SignedDuration> = text.trim().parse().ok();
    let time = time.and_then(|time| Duration::try_from(time).ok());
    let time = time.filter(|time| !time.is_zero() && *time <= LONGEST_TIME);
    time.ok_or_else(|| "write a time such as 60m, 2h or 30ms, and 2400h at most".to_owned())
}

/// Reads a relative change such as `3%` as a share.
///
/// # Errors
/// A message for people, if it is not one.
pub fn read_change(text: &str) -> Result<f64, String> {
    let share = share_of(text).filter(|share| SENSIBLE_MARGINS.contains(share));
    share.ok_or_else(|| "write a change such as 3%, from 0.1% to 50%".to_owned())
}

/// Reads a relative change of work such as `0.5%` as a share.
///
/// # Errors
/// A message for people, if it is not one.
pub fn read_change_of_work(text: &str) -> Result<f64, String> {
    let share = share_of(text).filter(|share| SENSIBLE_MARGINS_OF_WORK.contains(share));
    share.ok_or_else(|| "write a change such as 0.5%, from 0.01% to 50%".to_owned())
}

/// A number of per cent as a share.
fn share_of(text: &str) -> Option<f64> {
    let number: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
    number.map(|percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_asked_of_rounds_and_a_budget_make_them() {
        assert_eq!(Protocol::asked(Rounds::default()), Protocol::Classic);
        let asked = Protocol::asked(Rounds { most: Some(10), ..Rounds::default() });
        assert!(matches!(&asked, Protocol::Rounds(rounds) if rounds.most == Some(10)));
        assert_eq!(asked.clone().with_budget(read_time("1h").ok()), asked);
        assert_eq!(Protocol::Classic.with_budget(None), Protocol::Classic);
        assert_eq!(Protocol::Classic.with_budget(read_time("1h").ok()), Protocol::Classic.in_rounds());
    }

    #[test]
    fn counts_of_each_engine_have_cells_of_their_own() {
        let of = |engine| Protocol::Counts(engine).cell_parameters().unwrap().to_string();
        assert_eq!(of(CountsEngine::Callgrind), "\"counts\"", "stored counts are found again");
        assert_eq!(of(CountsEngine::Hardware), r#"{"engine":"hardware","protocol":"counts"}"#);
        assert_ne!(of(CountsEngine::Hardware), of(CountsEngine::TaskClock));
    }

    #[test]
    fn times_and_changes_are_read() {
        let seconds = |text| read_time(text).map(|time| time.as_secs_f64()).ok();
        assert_eq!(["60m", "2h", "1h 30m", "30ms"].map(seconds), [3600.0, 7200.0, 5400.0, 0.03].map(Some));
        assert_eq!(["", "60", "0s", "-5m", "soon", "2401h"].map(seconds), [None; 6]);
        assert_eq!(
            [" 3%", "0.5 %", "3", "0%", "90%", "x%"].map(|text| read_change(text).ok()),
            [Some(0.03), Some(0.005), None, None, None, None]
        );
    }
}
