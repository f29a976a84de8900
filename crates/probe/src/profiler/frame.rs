//! One place in a stack.

/// A frame's place in the code, independent of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Frame {
    /// An address of the kernel.
    Kernel(u64),
    /// A place in a file.
    Code {
        /// The file's number among the modules.
        module: u32,
        /// Bytes from its start.
        offset: u64,
    },
    /// Code outside any file: compiled at run time, or of a process that ended too soon.
    Unknown,
    /// The caller of the next frame could not be found.
    Cut,
    /// No stack of this thread was taken.
    NotSampled,
    /// The thread could have continued, but was preempted.
    Preempted,
}
