//! How what a provider gives becomes a tree of programs, as data.

use serde::Deserialize;

/// How the file or the packages of a recipe become a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Which parts of the file make up the tree. The first that an entry of the archive belongs to takes it.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// A list of symbolic links that the file's own format could not hold.
    pub links: Option<Links>,
    /// The folder of programs in the tree when that is not `bin`, which then becomes a link to it.
    pub bin: Option<String>,
    /// Folders of the tree that no server needs, and that packages bring along.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// Programs in the folder of programs that are to run with the tree's own loader and libraries; the first is the server.
    #[serde(default)]
    pub relink: Vec<String>,
    /// Libraries that are to look for others in the tree, too: they name a path of their own, which counts for more than that of
    /// the program.
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
    /// Where `from` is an archive itself: the folder or file in it.
    pub within: Option<String>,
    /// The folder of the tree, or for a single file its path there; without it, the top of the tree.
    #[serde(default)]
    pub to: String,
    /// What of this part is not taken, as it is called in the tree.
    #[serde(default)]
    pub leave_out: Vec<String>,
}

/// A file of the tree that lists symbolic links: JSON, a list of `source` (what is there) and `target` (the link's own path).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// The list's path in the tree.
    pub list: String,
    /// The folder that stands before every path of the list and is not in the tree.
    pub below: String,
}
