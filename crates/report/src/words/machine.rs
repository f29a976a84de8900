//! Identifiers of verdicts in files.

use basecase_stats::{Agreement, Qualifier, Verdict, WorkVerdict};

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

/// The identifier of a verdict on work, e.g. `more_work`.
pub(crate) fn work_word(verdict: WorkVerdict) -> String {
    match verdict {
        WorkVerdict::SameWork => "same_work".to_owned(),
        other => other.as_str().replace(' ', "_"),
    }
}

/// The identifier of what work and time together say.
pub(crate) fn agreement_word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::BothSame => "both_same",
        Agreement::WorkExplains => "work_explains",
        Agreement::WorkExplainsPart => "work_explains_part",
        Agreement::SameWorkSlower => "same_work_slower",
        Agreement::SameWorkFaster => "same_work_faster",
        Agreement::MoreWorkNotSlower => "more_work_not_slower",
        Agreement::LessWorkNotFaster => "less_work_not_faster",
        Agreement::MoreWorkFaster => "more_work_faster",
        Agreement::LessWorkSlower => "less_work_slower",
        Agreement::MoreWorkTimeOpen => "more_work_time_open",
        Agreement::LessWorkTimeOpen => "less_work_time_open",
        Agreement::Open => "open",
    }
}
