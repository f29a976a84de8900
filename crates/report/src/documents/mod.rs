//! Documents as sequences of blocks, for formats that print from top to bottom.

pub(crate) mod answer;
pub(crate) mod bisection;
pub(crate) mod bug_report;
mod calibration;
pub(crate) mod commit_change;
mod components;
mod dry_run;
mod explanation;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod method;
pub(crate) mod notes;
mod report;
mod setting_effect;
mod work;

pub(crate) use calibration::blocks as calibration;
pub(crate) use components::blocks as components;
pub(crate) use dry_run::compose as dry_run;
pub(crate) use explanation::{compose as explanation, details};
pub use notes::kept_apart;
pub(crate) use report::{
    Section, compose, failed, of_events, of_latencies, summary, title, two_modes, with_limits,
};
pub(crate) use setting_effect::compose as setting_effect;
pub(crate) use work::{agreements, counted as how_counted, luck, of_functions, overview as work_overview};

use crate::tables::Table;

/// One part of a document.
pub(crate) enum Block {
    /// The report's title.
    Title(String),
    /// Heading of a section.
    Heading(String),
    /// A sentence that must not be missed.
    Note(String),
    /// A sentence.
    Paragraph(String),
    /// Several short lines.
    List(Vec<String>),
    /// A program's output, verbatim.
    Log(String),
    /// A table.
    Table(Table),
}
