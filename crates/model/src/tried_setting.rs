//! A setting that a candidate has in place of that of its config, to see what it does.

use std::fmt;

/// Where the value comes from that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The user gave it.
    User,
    /// The base case has it.
    BaseCase,
    /// The base case does not have the setting at all, so it is left to the server.
    Default,
}

/// A setting that a candidate has in place of that of its config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedSetting {
    /// Its name.
    pub name: String,
    /// Its value; `None` is the server's default.
    pub value: Option<String>,
    /// Where the value comes from.
    pub origin: ValueOrigin,
}

/// E.g. `jit=off`.
impl fmt::Display for TriedSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.name, self.value.as_deref().unwrap_or("default"))
    }
}
