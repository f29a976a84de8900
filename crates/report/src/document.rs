//! A document that callers print in the format of their choice.

use crate::documents::Block;
use crate::formats;

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
