//! Reads what callgrind counted: the instructions of each function, with what it called and without.
//!
//! The format is that of the valgrind manual, "Callgrind Format Specification". A file is untrusted: it is read line by line, and every
//! number and name in it may be wrong.

mod bare_program;
mod error;
mod graph;
mod name;
mod number;
mod part;
mod reader;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use bare_program::write_bare_program;
pub use error::{CallgrindError, CallgrindProblem};
pub use part::CountedPart;

use graph::CallGraph;
use reader::Reader;

/// The name of all functions of one object that has no symbols for them.
pub const NO_SYMBOLS: &str = "(no symbols)";

/// What one callgrind file says: of a process, or of one of its threads.
#[derive(Debug, Clone, PartialEq)]
pub struct CallgrindProfile {
    /// The process. 0 if the file does not say.
    pub process: u32,
    /// The thread, by valgrind's numbers from 1. `None` if the file has several, or threads were not told apart.
    pub thread: Option<u32>,
    /// Which dump of the process it is, from 1. `None` if the file has several, or does not say.
    pub part: Option<u32>,
    /// The program and its arguments.
    pub command: String,
    /// All instructions: the sum of what the functions executed themselves.
    pub instructions: u64,
    /// The functions, those that executed most themselves first.
    pub functions: Vec<CountedFunction>,
    /// Who called whom, by places in `functions`. Calls of a function by itself are left out.
    pub calls: Vec<CountedCall>,
    graph: CallGraph,
}

/// A function, with its clones for some callers, its cold parts and all levels of its recursion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedFunction {
    /// Its name. C++ names have their parameters. [`NO_SYMBOLS`] stands for all functions of an object without symbols.
    pub name: String,
    /// The program or library that it is in, as a path; `???` where valgrind does not know it.
    pub object: String,
    /// The source file, if the object has debug information.
    pub file: Option<String>,
    /// The line in it of the function's first code that was executed.
    pub line: Option<u32>,
    /// Instructions of its own, with code that was inlined into it.
    pub exclusive: u64,
    /// Instructions of its own and of what it called. What it executed within a call of itself counts once.
    pub inclusive: u64,
    /// How often it was called by others.
    pub calls: u64,
}

/// The calls of one function by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedCall {
    /// The place of the caller in the list of functions.
    pub caller: usize,
    /// The place of the function that was called.
    pub callee: usize,
    /// How often.
    pub calls: u64,
    /// Instructions between the calls and their ends.
    pub instructions: u64,
}

impl CallgrindProfile {
    /// Reads a file that callgrind wrote.
    ///
    /// # Errors
    /// If it cannot be read, is empty, no file of callgrind, damaged or not complete. The error names file and line.
    pub fn read(path: &Path) -> Result<CallgrindProfile, CallgrindError> {
        let failed = |line, problem| CallgrindError { path: path.to_path_buf(), line, problem };
        let file = crate::open_regular(path).map_err(|source| failed(0, CallgrindProblem::Read(source)))?;
        let (head, graph) = Reader::new(file).read().map_err(|(line, problem)| failed(line, problem))?;
        let (functions, calls) = graph.merged();
        Ok(CallgrindProfile {
            process: head.process.single().unwrap_or(0),
            thread: head.thread.single(),
            part: head.part.single(),
            command: head.command,
            instructions: graph.instructions(),
            functions,
            calls,
            graph,
        })
    }

    /// What some functions and everything that they called did, e.g. `dispatch_command` of MySQL. Names are as in
    /// [`CountedFunction::name`]. A call of one of them within another counts as a part of the outer one.
    pub fn within_function(&self, is_it: impl Fn(&str) -> bool) -> CountedPart {
        self.graph.part(&self.graph.functions_named(is_it))
    }

    /// What the functions of one object did, with what they called in other objects, such as `memcpy` and `malloc`. What those called
    /// back in the object counts once. The path is that of [`CountedFunction::object`]: without links, as the kernel knows the file.
    pub fn within_object(&self, path: &Path) -> CountedPart {
        self.graph.part(&self.graph.functions_in(path))
    }
}
