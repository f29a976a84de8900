//! Findings in words, for sentences, cells and headings of every format.

mod answer;
mod bisection;
mod candidate;
mod effect;
mod explanation;
mod failures;
mod findings;
mod fleet;
mod gate;
mod history;
mod judged;
mod machine;
mod memory;
mod repetition;
mod sessions;
mod setting_effect;
mod value;
mod work;

pub(crate) use answer::{cause, changed_work, sentences, step_sentence, unsettled};
pub use bisection::brief_reason;
pub(crate) use bisection::{candidate_state, named, short_name, size_of_change};
pub(crate) use candidate::{distinctive, transition};
pub(crate) use effect::{EffectWords, UNKNOWN, percent_text};
pub(crate) use explanation::{
    absences, causes, change, executions, figure, hardware_absence, priced, setting_values, summary,
};
pub(crate) use failures::FailureWords;
pub(crate) use findings::{lines, range};
pub(crate) use fleet::{
    effect_on_nodes, fleet_notes, fleet_sentences, label, machine, nodes, percent_range, standing_out,
};
pub use gate::headline;
pub(crate) use gate::{CaseWords, gate_case};
pub(crate) use history::{answer, cause_of_change, change_place, left_out, places, since, sizes};
pub use judged::duration;
pub(crate) use judged::{JudgedWords, margin, missed_rate, refusal, suite_lines, verdict};
pub(crate) use machine::{agreement_word, qualifier_word, verdict_word, work_word};
pub(crate) use memory::{cached, caption, different_limits};
pub(crate) use repetition::repetition;
pub(crate) use sessions::{TWO_MODES, all_mode_lines, mode_lines};
pub(crate) use setting_effect::left_of_change;
pub(crate) use value::{NOT_AVAILABLE, brief, first, grouped, number};
pub use work::nodes_left_out;
pub(crate) use work::{
    agreement, answers, brief_name, cause_notes, count_failures, count_warnings, function_name, how_counted,
    instructions, instructions_changed, largest_mover, luck_lines, merged_note, mover_change, mover_sentence,
    operation_of, operation_word, place, share, what_became, work_answer, work_error, work_percent,
    work_words,
};
