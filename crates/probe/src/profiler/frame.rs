//! One place in a stack.

/// Where in the code a frame is, such that it means the same in every process.
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
    /// Code of no file: compiled while the program ran, or of a process that ended too soon.
    Unknown,
    /// What called the next frame could not be found.
    Cut,
    /// No stack of this thread was taken.
    NotSampled,
    /// The thread could have gone on, and another one got its processor.
    Preempted,
}
