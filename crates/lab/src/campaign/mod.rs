//! Several experiments for one question, each made of what the ones before it found.

mod calibration;
mod cpu_stressors;
mod search;
mod setting_trial;
mod slowdown;

pub use self::calibration::{Calibration, luck_request};
pub use self::cpu_stressors::CpuStressors;
pub use self::search::{Probe, Search};
pub use self::setting_trial::AskedSetting;
pub use self::slowdown::Slowdown;
