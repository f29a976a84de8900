//! How a provider's artifact becomes a tree of programs, as data.

use serde::Deserialize;

/// How the file or the packages of a recipe become a tree of programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The parts of the file that make up the tree. An archive entry goes to the first part that matches.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// A list of symbolic links, where the archive format cannot hold them.
    pub links: Option<Links>,
    /// The folder of programs in the tree, if it is not `bin`; `bin` then becomes a link to it.
    pub bin: Option<String>,
    /// Folders that come with the packages and that no server needs.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// Programs that are patched to run with the tree's own loader and libraries; the first is the server.
    #[serde(default)]
    pub relink: Vec<String>,
    /// Libraries that are patched as well to look for others in the tree: they have an rpath of their own, which takes
    /// precedence over the program's.
    #[serde(default)]
    pub relink_libraries: Vec<String>,
}

/// A part of an archive. Paths are patterns: a folder ends in `/`, `*` stands for anything within one name, and the empty
/// pattern means everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// A folder or a file of the archive.
    pub from: String,
    /// The folder or file within `from`, if that is an archive itself.
    pub within: Option<String>,
    /// The folder in the tree, or for a single file its path there. Defaults to the top of the tree.
    #[serde(default)]
    pub to: String,
    /// Paths in the tree that are left out of this part.
    #[serde(default)]
    pub leave_out: Vec<String>,
}

/// A file in the tree that lists symbolic links as JSON: a list of `source` (what the link points at) and `target` (the
/// link's own path).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// The list's path in the tree.
    pub list: String,
    /// The folder that begins every path in the list and does not exist in the tree.
    pub below: String,
}
