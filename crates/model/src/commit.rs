//! A commit of a dbms's repository.

/// A commit, as git tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full hash.
    pub hash: String,
    /// When it was written, as in 2026-11-25T20:12:47+01:00.
    pub author_date: String,
    /// Who wrote it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The tags that point at it.
    pub tags: Vec<String>,
}

impl Commit {
    /// Digits of a hash in names.
    pub const DIGITS: usize = 8;

    /// The hash as it stands in names.
    pub fn short(&self) -> &str {
        self.hash.get(..Self::DIGITS).unwrap_or(&self.hash)
    }

    /// A tag if there is one, or else the hash as it stands in names.
    pub fn name(&self) -> &str {
        self.tags.first().map_or_else(|| self.short(), String::as_str)
    }
}
