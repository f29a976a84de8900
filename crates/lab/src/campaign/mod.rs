//! Several experiments for one question, each made of what the ones before it found.

mod build_ahead;
mod calibration;
mod commit_range;
mod cpu_stressors;
mod outlook;
mod search;
mod setting_trial;
mod slowdown;
#[cfg(test)]
pub(crate) mod tests;

pub use self::build_ahead::BuildAhead;
pub use self::calibration::{Calibration, luck_request};
pub use self::commit_range::{CommitRange, RangeOrder};
pub use self::cpu_stressors::CpuStressors;
pub use self::outlook::outlook;
pub use self::search::{BuildTally, Probe, Search, SearchOptions, attempt};
pub use self::setting_trial::AskedSetting;
pub use self::slowdown::Slowdown;
