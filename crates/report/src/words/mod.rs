//! Findings in words, for sentences, cells and headings of every format.

mod effect;
mod explanation;
mod failures;
mod findings;
mod gate;
mod judged;
mod machine;
mod memory;
mod value;

pub(crate) use effect::{EffectWords, UNKNOWN, percent_text};
pub(crate) use explanation::{absences, causes, change, figure, hardware_absence, setting_values, summary};
pub(crate) use failures::FailureWords;
pub(crate) use findings::{lines, range};
pub use gate::headline;
pub(crate) use gate::{CaseWords, gate_case};
pub(crate) use judged::{JudgedWords, duration, margin, refusal, suite_lines, verdict};
pub(crate) use machine::{qualifier_word, verdict_word};
pub(crate) use memory::{cached, caption, different_limits};
pub(crate) use value::{NOT_AVAILABLE, brief, first, grouped, number};
