//! Where the server's time went, by stacks of functions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is looked at while a step runs. It costs time, so that trials of different observation are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Counters at both ends of the window and nothing in between, and no plans of statements.
    Off,
    /// Counters at both ends and every second, and plans after the step.
    #[default]
    Usual,
    /// Also the stacks of the server's threads.
    Profiled,
}

impl Observation {
    /// Every one, the least first.
    pub const ALL: [Observation; 3] = [Observation::Off, Observation::Usual, Observation::Profiled];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Observation::Off => "off",
            Observation::Usual => "usual",
            Observation::Profiled => "profiled",
        }
    }
}

/// What a profile counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// Samples of what runs on a processor.
    Cpu,
    /// Microseconds that threads were off the processors, by where they left it.
    OffCpu,
}

impl ProfileKind {
    /// Every kind.
    pub const ALL: [ProfileKind; 2] = [ProfileKind::Cpu, ProfileKind::OffCpu];

    /// The word on the command line and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            ProfileKind::Cpu => "cpu",
            ProfileKind::OffCpu => "offcpu",
        }
    }
}

impl fmt::Display for ProfileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ProfileKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        ProfileKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// The stacks of the server's processes over a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What it counts.
    pub kind: ProfileKind,
    /// Samples per second and processor that were asked for; 0 where each event was taken.
    pub frequency_hz: u32,
    /// Samples that were taken.
    pub samples: u64,
    /// Samples that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// The stacks in folded form: a line for each, its frames from the outermost to the innermost with semicolons between, a
    /// blank, and how much was counted.
    pub stacks: String,
    /// Binaries and libraries among the frames, with their build ids in hexadecimal digits where they have one.
    pub modules: Vec<(String, Option<String>)>,
}
