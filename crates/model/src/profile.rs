//! Profiles: where the server's time went, by stacks of functions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is observed while a step runs. Observation costs time, so trials with different observation are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Counters at both ends of the window only, and no plans of statements.
    Off,
    /// Counters at both ends and every second, and plans after the step.
    #[default]
    Usual,
    /// Also the stacks of the server's threads.
    Profiled,
}

impl Observation {
    /// All of them, the least observation first.
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
    /// Microseconds that threads were off the processors, by where they left them.
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
    /// Requested samples per second and processor; 0 if every event was recorded.
    pub frequency_hz: u32,
    /// Number of samples taken.
    pub samples: u64,
    /// Samples that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// The stacks in folded form: one line each, with the frames from the outermost to the innermost separated by semicolons, a blank, and
    /// the count.
    pub stacks: String,
    /// Binaries and libraries among the frames, with their build ids in hexadecimal if they have one.
    pub modules: Vec<(String, Option<String>)>,
}
