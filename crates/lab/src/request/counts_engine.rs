//! What is to count instructions.

/// What is to count instructions, as the user asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountsEngine {
    /// The processor if it has the counter, else callgrind.
    #[default]
    Auto,
    /// Valgrind's tool callgrind, which knows functions.
    Callgrind,
    /// The processor's own counter.
    Hardware,
    /// Not instructions but the nanoseconds that sessions run, by the way of [`CountsEngine::Hardware`]: so that this way can be tried on
    /// machines without that counter. No command offers it.
    TaskClock,
}

impl CountsEngine {
    /// What tells cells of this engine from those of others. Callgrind was the first and has no mark.
    pub(crate) fn mark(self) -> Option<&'static str> {
        match self {
            CountsEngine::Auto | CountsEngine::Callgrind => None,
            CountsEngine::Hardware => Some("hardware"),
            CountsEngine::TaskClock => Some("task-clock"),
        }
    }
}
