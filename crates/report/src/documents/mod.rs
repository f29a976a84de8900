//! Documents as sequences of blocks, for formats that print from top to bottom.

pub(crate) mod bisection;
mod calibration;
mod explanation;
pub(crate) mod history;
pub(crate) mod method;
pub(crate) mod notes;
mod report;

pub(crate) use calibration::blocks as calibration;
pub(crate) use explanation::{compose as explanation, details};
pub use notes::kept_apart;
pub(crate) use report::{CLASSES, Section, compose, failed, of_events, of_latencies, summary, timed, title};

use crate::formats;
use crate::tables::Table;

/// A document made of blocks.
pub struct Document(pub(crate) Vec<Block>);

impl Document {
    /// For a terminal, with ANSI colours when `ansi`.
    pub fn text(&self, ansi: bool) -> String {
        formats::text(&self.0, ansi)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        formats::markdown(&self.0)
    }
}

/// An answer about experiments, for people and for programs.
pub struct Answer {
    /// For people.
    pub document: Document,
    /// One JSON object with a newline at its end.
    pub json: String,
}

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
