//! How a source is compiled, as the user asks for it.

/// The compiler's setup: a build type of the table, or the user's own flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setup {
    /// The table's first type.
    Default,
    /// A type by name, e.g. `o2nofp`.
    Type(String),
    /// Compiler flags, e.g. `-O2 -g`.
    Flags(String),
}

impl Setup {
    /// What the user asks for by the name of a type, or by flags.
    pub fn asked(build_type: Option<&str>, flags: Option<&str>) -> Setup {
        match (build_type, flags) {
            (Some(name), _) => Setup::Type(name.to_owned()),
            (None, Some(flags)) => Setup::Flags(flags.to_owned()),
            (None, None) => Setup::Default,
        }
    }
}
