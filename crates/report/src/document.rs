//! A document that callers print in the format of their choice.

use crate::documents::Block;
use crate::formats;

/// A document made of blocks.
pub struct Document {
    blocks: Vec<Block>,
    /// Whether its text fits into 80 columns.
    is_narrow: bool,
}

impl Document {
    pub(crate) fn new(blocks: Vec<Block>) -> Self {
        Document { blocks, is_narrow: false }
    }

    /// One whose text fits into 80 columns.
    pub(crate) fn narrow(blocks: Vec<Block>) -> Self {
        Document { blocks, is_narrow: true }
    }

    /// For a terminal, with ANSI colours when `ansi`.
    pub fn text(&self, ansi: bool) -> String {
        let render = if self.is_narrow { formats::narrow_text } else { formats::text };
        render(&self.blocks, ansi)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        formats::markdown(&self.blocks)
    }
}

/// An answer about experiments, for people and for programs.
pub struct Answer {
    /// For people.
    pub document: Document,
    /// One JSON object with a newline at its end.
    pub json: String,
}
