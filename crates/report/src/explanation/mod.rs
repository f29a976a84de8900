//! Where the time went: what moved together with the speed of a step, base case against candidate.

mod absence;
mod choice;
mod cost;
mod counter;
mod function;
pub(crate) mod hardware;
mod plan;
mod setting;

use std::fmt::Write as _;

use basecase_model::{Profile, StepFacts};
use basecase_stats::Metric;

pub(crate) use self::choice::{changed, known_steps};
use self::cost::{Cost, costs, operation, processor_us, taken_per_operation_us};
use self::hardware::Hardware;
use self::plan::PlanChange;
use self::setting::SettingChange;
use crate::document::Block;
use crate::effect::{Effect, UNKNOWN};
use crate::error::Error;
use crate::judged::Judged;
use crate::options::Options;
use crate::results::{Measured, Paired, Results, quotient};
use crate::tables::{Cell, Column, Row, Table, number};

/// How to read the table of costs.
const READING: &str = "The share is the part of the change in time per operation for which a cost can account: 100 % is all of it, \
                       below 0 it works against it. About means that the time of a unit was not measured but taken to be as usual. Costs \
                       overlap: what is read, written or switched is also CPU time.";
/// Changes of the ratio by less are none, as a logarithm.
const LEAST_CHANGE: f64 = 0.02;
/// A cost moved when it is so much larger or smaller than before.
const MOVED: f64 = 1.1;
/// A cause names a cost that grew by so much more than the time per operation: what comes by the clock grows with that time.
const BEYOND_TIME: f64 = 1.15;
/// The share from which a cost is a cause.
const CAUSE_SHARE: f64 = 0.15;
/// Counters and plans that are shown.
const MOST: usize = 20;
/// Settings that are named beside a cause.
const SETTINGS: usize = 4;

/// What moved with a step's speed.
pub(crate) struct Explanation<'a> {
    base: Measured<'a>,
    candidate: Measured<'a>,
    /// What is decided on it, in rounds.
    judged: Option<Judged<'a>>,
    /// Its rounds.
    paired: Option<Paired<'a>>,
    base_name: &'a str,
    candidate_name: &'a str,
    /// Sentences on what no trial or server told.
    absences: Vec<String>,
    costs: Vec<Cost>,
    plans: Vec<PlanChange<'a>>,
    settings: Vec<SettingChange>,
    hardware: Option<Hardware<'a>>,
    /// Profiles of one kind, of base case and candidate.
    profiles: Vec<(&'a Profile, &'a Profile)>,
}

impl<'a> Explanation<'a> {
    /// Of a candidate on a step; `None` when either is missing or the candidate is the base case.
    pub(crate) fn of(results: &Results<'a>, step: usize, number: usize) -> Option<Self> {
        let facts = |number: usize| results.experiment.candidates.get(number);
        let (base_facts, candidate_facts) = (facts(0)?, facts(number).filter(|_| number > 0)?);
        let hardware = Hardware::of(results, step, number);
        let profiles = function::pairs(results.profiles(step, 0), results.profiles(step, number));
        let (base, candidate) = (results.measured(step, 0)?, results.measured(step, number)?);
        // Different dbms describe their plans in different words.
        let is_one_dbms = base_facts.build.dbms == candidate_facts.build.dbms;
        Some(Explanation {
            costs: sorted(costs(&base, &candidate)),
            plans: if is_one_dbms { plan::changes(base.trial, candidate.trial) } else { Vec::new() },
            settings: setting::changes(base_facts, candidate_facts),
            hardware,
            profiles,
            absences: absence::sentences([(base_facts, base.trial), (candidate_facts, candidate.trial)]),
            base,
            candidate,
            judged: results.judged(step, number),
            paired: results.paired(step, number),
            base_name: &base_facts.name.0,
            candidate_name: &candidate_facts.name.0,
        })
    }

    /// Headline value of the candidate divided by the base case's.
    fn quotient(&self) -> Option<f64> {
        quotient(self.candidate.headline()?, self.base.headline()?)
    }

    /// What moved and goes with the change, the likeliest cause first, in a sentence each.
    pub(crate) fn causes(&self) -> Vec<String> {
        let slower = self.slower();
        let mut found: Vec<&Cost> = self
            .costs
            .iter()
            .filter(|cost| is_cause(cost, slower, self.is_changed()) || cost.is_conspicuous())
            .collect();
        // What names a deed comes before the time in which deeds end, and what a setting explains before what none does; within
        // each the sort by share stays.
        found.sort_by_key(|cost| (cost.kind.depth, self.touching(cost.kind.settings).is_empty()));
        self.planning().into_iter().chain(found.into_iter().map(|cost| self.sentence(cost))).collect()
    }

    /// The causes, or that there is none, and how far the host disturbed the comparison; never nothing.
    pub(crate) fn summary(&self) -> Vec<String> {
        let mut lines = self.causes();
        if lines.is_empty() {
            lines.push(match &self.judged {
                _ if self.is_changed() => {
                    "no cost per operation moved enough to account for the change".to_owned()
                }
                Some(judged) => format!("no change is decided: {}", judged.verdict()),
                None => "there is hardly a change to account for".to_owned(),
            });
        }
        lines.extend(self.disturbance());
        lines
    }

    fn is_changed(&self) -> bool {
        match &self.judged {
            Some(judged) => judged.throughput.verdict.is_change(),
            None => self.slower().ln().abs() > LEAST_CHANGE,
        }
    }

    /// That statements are executed in another way.
    fn planning(&self) -> Option<String> {
        let first = self.plans.first()?;
        let mut text = format!("another plan of {}", first.words());
        let more = self.plans.len() - 1;
        if more > 0 {
            let _ = write!(text, ", and of {more} more");
        }
        self.append_settings(
            &mut text,
            &["enable_", "page_cost", "statistics", "optimizer", "index", "collapse_limit"],
        );
        Some(text)
    }

    /// How many times as long an operation takes, without what others on the host took from it.
    fn slower(&self) -> f64 {
        let times = processor_us(&self.candidate).zip(processor_us(&self.base));
        times.and_then(|(after, before)| quotient(after, before)).unwrap_or(1.0)
    }

    /// What other work on the host did to the comparison, where it changes it by more than a little.
    fn disturbance(&self) -> Option<String> {
        let (before, after) = (taken_per_operation_us(&self.base)?, taken_per_operation_us(&self.candidate)?);
        let (shown, without) = (self.quotient()?, 1.0 / self.slower());
        ((shown / without).ln().abs() > LEAST_CHANGE).then(|| {
            format!(
                "other work on the host took {} µs of CPU from a {} of the base case and {} µs from one of the candidate: without it \
                 the ratio would be about {without:.2} instead of {shown:.2}",
                figure(before),
                operation(&self.base),
                figure(after),
            )
        })
    }

    fn sentence(&self, cost: &Cost) -> String {
        let mut text = format!("{} {}", direction(cost), cost.kind.name);
        let unit = if cost.kind.unit.is_empty() { String::new() } else { format!(" {}", cost.kind.unit) };
        let operation = operation(&self.base);
        let _ = write!(text, " per {operation}: {} → {}{unit}", figure(cost.base), figure(cost.candidate));
        let effect = self.paired.as_ref().and_then(|paired| paired.effect(&|m| cost.kind.per_operation(m)));
        match effect {
            Some(effect) => {
                let _ = write!(text, ", {}× {}", effect.ratio_text(), effect.ratio_interval());
            }
            None if cost.ratio().is_finite() => {
                let _ = write!(text, " ({:.2}×)", cost.ratio());
            }
            None => {}
        }
        if let Some(share) = cost.share {
            let about = if cost.is_about { "about " } else { "" };
            let share = (share * 100.0).round();
            let _ = match share {
                _ if share < 0.0 => write!(text, ", against the change"),
                _ if share > 100.0 => write!(text, ", {about}all of the change"),
                _ => write!(text, ", {about}{share:.0} % of the change"),
            };
        }
        self.append_settings(&mut text, cost.kind.settings);
        text
    }

    /// The settings that differ, can act and have one of these parts in their names, in the order of the parts: they begin with
    /// what touches a cost most.
    fn touching(&self, parts: &[&str]) -> Vec<&SettingChange> {
        let mut touching: Vec<&SettingChange> = Vec::new();
        for part in parts {
            let of_part = self.settings.iter().filter(|change| change.name.contains(part) && change.acts());
            for change in of_part {
                if !touching.contains(&change) {
                    touching.push(change);
                }
            }
        }
        touching
    }

    /// Adds the settings that touch a cost.
    fn append_settings(&self, text: &mut String, parts: &[&str]) {
        let touching = self.touching(parts);
        let words: Vec<String> = touching.into_iter().take(SETTINGS).map(SettingChange::words).collect();
        if !words.is_empty() {
            let _ = write!(text, "; {}", words.join(", "));
        }
    }

    /// The change in a sentence.
    pub(crate) fn change(&self, step: &StepFacts) -> String {
        let value = |measured: &Measured<'_>| number(measured.headline(), 0);
        let quotient = || self.quotient().map_or_else(|| "NA".to_owned(), |ratio| format!("{ratio:.3}"));
        let judged =
            self.judged.and_then(|judged| Effect::of_decision(Metric::Throughput, judged.throughput));
        let ratio = judged.map_or_else(quotient, |effect| effect.ratio_line());
        format!(
            "{} on {}: {} → {} {} against {}, {ratio} of the base case",
            self.candidate_name,
            step.label,
            value(&self.base),
            value(&self.candidate),
            step.headline.unit(),
            self.base_name,
        )
    }

    /// The whole explanation, its likeliest cause first.
    pub(crate) fn blocks(&self, step: &StepFacts) -> Vec<Block> {
        let mut blocks = vec![Block::List(self.summary()), Block::Paragraph(self.change(step))];
        blocks.extend(self.details());
        blocks
    }

    /// What is not known, and everything that moved.
    pub(crate) fn details(&self) -> Vec<Block> {
        let absences = self.absences.iter().cloned().map(Block::Paragraph);
        let mut blocks: Vec<Block> = absences.chain(self.tables().into_iter().map(Block::Table)).collect();
        for change in self.plans.iter().take(MOST) {
            blocks.push(Block::Paragraph(format!("Plans of {}: {}", change.base.statement, change.base.sql)));
            blocks.push(Block::Log(format!("{}\n{}", self.base_name, change.base.text)));
            blocks.push(Block::Log(format!("{}\n{}", self.candidate_name, change.candidate.text)));
        }
        blocks
    }

    /// Costs, counters, settings, and what the profile brought.
    fn tables(&self) -> Vec<Table> {
        let counters = counter::table(&self.base, &self.candidate, self.paired.as_ref(), MOST);
        let mut tables = vec![self.cost_table(), counters, self.setting_table()];
        tables.extend(self.hardware.as_ref().map(Hardware::table));
        tables.extend(self.profiles.iter().map(|(base, candidate)| function::table(base, candidate)));
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn cost_table(&self) -> Table {
        let row = |cost: &Cost| {
            let unit =
                if cost.kind.unit.is_empty() { String::new() } else { format!(", {}", cost.kind.unit) };
            let about = if cost.is_about { "about " } else { "" };
            let share = cost.share.map_or(String::new(), |share| format!("{about}{:.0} %", share * 100.0));
            let values = [figure(cost.base), figure(cost.candidate)].map(Cell::plain);
            let ratio = ratio_cell(cost.ratio(), self.paired.as_ref(), &|m| cost.kind.per_operation(m));
            Row::new(
                format!("{}{unit}", cost.kind.name),
                values.into_iter().chain([ratio, Cell::plain(share)]).collect(),
            )
        };
        let time = processor_us(&self.base).zip(processor_us(&self.candidate)).map(|(base, candidate)| {
            let values = [figure(base), figure(candidate)].map(Cell::plain);
            let ratio = ratio_cell(candidate / base, self.paired.as_ref(), &processor_us);
            let cells = values.into_iter().chain([ratio, Cell::plain("")]).collect();
            Row { reference: true, ..Row::new("time on processors, without what others took, µs", cells) }
        });
        Table {
            caption: format!("Costs per {}", operation(&self.base)),
            reading: READING.into(),
            corner: "cost",
            columns: ["base case", "candidate", "ratio", "share"]
                .map(|name| Column::numbers(name, ""))
                .into(),
            rows: time.into_iter().chain(self.costs.iter().map(row)).collect(),
            ..Table::default()
        }
    }

    fn setting_table(&self) -> Table {
        let row = |change: &SettingChange| {
            let by = if change.is_default { "changed default" } else { "config" };
            let (base, candidate) = change.values();
            Row::new(&change.name, [base, candidate, by.to_owned()].map(Cell::plain).into())
        };
        // Versions far apart have hundreds that only one of them knows.
        let (of_both, of_one): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|change| change.is_of_both() || !change.is_default);
        let reading = match of_one.len() {
            0 => String::new(),
            count => format!("{count} more are known to one of the two only, and no config sets them."),
        };
        Table {
            caption: "Settings that differ, as the servers ran".into(),
            reading,
            corner: "setting",
            columns: ["base case", "candidate", "by"].map(Column::words).into(),
            rows: of_both.into_iter().map(row).collect(),
            ..Table::default()
        }
    }
}

/// Whether a cost goes with the change and is large enough for it; `slower` is how many times as long an operation takes.
fn is_cause(cost: &Cost, slower: f64, is_changed: bool) -> bool {
    // Turned so that a ratio above 1 goes with the change.
    let (turned, time) =
        if slower > 1.0 { (cost.ratio(), slower) } else { (1.0 / cost.ratio(), 1.0 / slower) };
    let least = if cost.is_count() { time * BEYOND_TIME } else { 1.02 };
    is_changed && cost.share.is_some_and(|share| share >= CAUSE_SHARE) && turned > least
}

/// The explanations that were asked for, one after the other.
///
/// # Errors
/// When nothing is called so, or nothing was measured under it.
pub(crate) fn compose(
    results: &Results<'_>,
    wanted: Option<&str>,
    options: &Options,
) -> Result<Vec<Block>, Error> {
    let mut blocks = Vec::new();
    for (step, candidate) in choice::cells(results, wanted, options)? {
        let (Some(facts), Some(explanation)) =
            (results.experiment.steps.get(step), Explanation::of(results, step, candidate))
        else {
            continue;
        };
        blocks.push(Block::Heading(format!("{} on {}", explanation.candidate_name, facts.label)));
        blocks.extend(explanation.blocks(facts));
    }
    match wanted {
        _ if !blocks.is_empty() => Ok(blocks),
        Some(wanted) => Err(Error::NotMeasured(wanted.to_owned())),
        None if results.rounds.is_some() => Err(Error::NothingChanged),
        None => Err(Error::NothingBeyond),
    }
}

/// The largest shares first; what has none is sorted by how far it moved, and behind.
fn sorted(mut costs: Vec<Cost>) -> Vec<Cost> {
    let weight = |cost: &Cost| match cost.share {
        Some(share) => (1, share),
        None => (0, cost.ratio().ln().abs()),
    };
    costs.retain(|cost| cost.base != 0.0 || cost.candidate != 0.0);
    costs.sort_by(|left, right| {
        let (left, right) = (weight(left), weight(right));
        right.0.cmp(&left.0).then(right.1.total_cmp(&left.1))
    });
    costs
}

fn direction(cost: &Cost) -> &'static str {
    if cost.ratio() > 1.0 { "more" } else { "less" }
}

/// A number with three digits that tell something.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

fn ratio_text(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "new".to_owned() }
}

/// The cell of a ratio; in rounds their mean ratio with its interval, where all of them have one.
fn ratio_cell(ratio: f64, paired: Option<&Paired<'_>>, of: &dyn Fn(&Measured<'_>) -> Option<f64>) -> Cell {
    match paired.map(|paired| paired.effect(of)) {
        None => Cell::plain(ratio_text(ratio)),
        Some(Some(effect)) => Cell::ratio(&effect),
        Some(None) => Cell { small: UNKNOWN.to_owned(), ..Cell::plain(ratio_text(ratio)) },
    }
}
