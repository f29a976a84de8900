//! Identifiers of verdicts in files.

use basecase_stats::{Qualifier, Verdict};

/// The identifier of a verdict, e.g. `not_enough_data`.
pub(crate) fn verdict_word(verdict: Verdict) -> String {
    verdict.as_str().replace(' ', "_")
}

/// The identifier of a qualifier.
pub(crate) fn qualifier_word(qualifier: Qualifier) -> &'static str {
    match qualifier {
        Qualifier::Clear => "clear",
        Qualifier::AtLeast(_) => "at_least",
        Qualifier::TinyShift => "tiny_shift",
        Qualifier::Suggestive => "suggestive",
        Qualifier::MissedRate => "missed_rate",
        Qualifier::ShortTiming => "short_timing",
    }
}
