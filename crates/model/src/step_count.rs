//! How much work an operation is: instructions that were counted, not timed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::OperationClass;

/// What counts the instructions. Counts of different engines are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountEngine {
    /// Valgrind's tool callgrind, which executes the server on a simulated processor and knows each function.
    Callgrind,
    /// The processor's own counter of instructions in user mode.
    Hardware,
}

impl fmt::Display for CountEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CountEngine::Callgrind => "callgrind",
            CountEngine::Hardware => "hardware counters",
        })
    }
}

/// The instructions of a step's operations on one candidate, in one start of its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCount {
    /// Key of the cell.
    pub cell: String,
    /// The step's name.
    pub step: String,
    /// The candidate's printed name.
    pub candidate: String,
    /// Which start of the server it is, from 0.
    pub start: u32,
    /// When the start began, RFC 3339.
    pub started_at: String,
    /// What counted.
    pub engine: CountEngine,
    /// The version of what counted, e.g. `valgrind-3.19.0`.
    pub engine_version: String,
    /// Why nothing was counted; `None` if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What one operation is.
    pub operation: OperationClass,
    /// The windows of this start, in order.
    pub windows: Vec<CountWindow>,
    /// The functions that did the work; empty if the engine does not know them.
    pub functions: Vec<FunctionCount>,
    /// Advice for the reader, e.g. what was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The difference between two sessions of which one executed more operations than the other. Connecting, preparing, warming up and ending
/// are the same in both, and so are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CountWindow {
    /// Operations that the longer session executed beyond those of the shorter one.
    pub operations: u64,
    /// The same in events, which may have several operations.
    #[serde(default)]
    pub events: u64,
    /// Instructions that the longer session took beyond those of the shorter one.
    pub instructions: i64,
}

impl CountWindow {
    /// Instructions per operation.
    pub fn per_operation(&self) -> f64 {
        self.instructions as f64 / self.operations as f64
    }
}

/// One function's part of the work, in instructions per operation, for each window of the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCount {
    /// The function; of an object without symbols, all of the object's.
    pub name: String,
    /// The file name of its program or library.
    pub object: String,
    /// The source file, if the build has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it of the function's first code that was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Instructions of its own.
    pub exclusive: Vec<f64>,
    /// Instructions of its own and of all that it called.
    pub inclusive: Vec<f64>,
    /// How often it was called.
    pub calls: Vec<f64>,
    /// The names of the functions that called it; empty if they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}

impl StepCount {
    /// Whether something was counted.
    pub fn is_complete(&self) -> bool {
        self.failure.is_none()
    }

    /// Instructions per operation of each window.
    pub fn per_operation(&self) -> impl Iterator<Item = f64> {
        self.windows.iter().map(CountWindow::per_operation)
    }
}
