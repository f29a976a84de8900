//! What a bisection found, in words.

use basecase_analysis::{Bisected, CandidateState, Effect, Found};
use basecase_model::Commit;

use super::EffectWords as _;

/// Longest reason in a cell, in letters.
const BRIEF: usize = 80;
/// What a compiler and a linker call what made them fail.
const ERROR: &str = "error:";

/// A candidate as it is called in sentences: of a commit its tag or hash, and what it is about.
pub(crate) fn named(bisected: &Bisected<'_>, candidate: usize) -> String {
    let named_commit = |commit: &Commit| {
        if commit.tags.is_empty() {
            format!("{} \"{}\"", commit.short(), commit.subject)
        } else {
            commit.name().to_owned()
        }
    };
    bisected.commit(candidate).map_or_else(|| bisected.name(candidate).to_owned(), named_commit)
}

/// A candidate as it is called in tables and titles: of a commit its tag or hash.
pub(crate) fn short_name<'a>(bisected: &'a Bisected<'_>, candidate: usize) -> &'a str {
    bisected.commit(candidate).map_or_else(|| bisected.name(candidate), Commit::name)
}

/// The size of a change in time or work, with its interval.
pub(crate) fn size_of_change(bisected: &Bisected<'_>, effect: &Effect) -> String {
    match bisected.found {
        Found::Throughput(_) => effect.difference(),
        Found::Work(_) => effect.work_difference(),
    }
}

/// What is known of a candidate.
pub(crate) fn candidate_state(state: CandidateState<'_>) -> String {
    match state {
        CandidateState::First => "the first".to_owned(),
        CandidateState::NotMeasured => "not measured".to_owned(),
        CandidateState::Skipped(reason) => {
            let brief = brief_reason(reason);
            // There is little room in a table, and the file says less than what is wrong in it.
            format!("skipped: {}", brief.find(ERROR).map_or(&*brief, |place| &brief[place..]))
        }
        CandidateState::NotDecided => "not decided".to_owned(),
        CandidateState::Began(_) => "a change begins".to_owned(),
        CandidateState::Measured => "measured".to_owned(),
    }
}

/// The line of a reason that tells most: the first error of a compiler, or else the first line.
pub fn brief_reason(reason: &str) -> String {
    let telling = reason.lines().find(|line| line.contains(ERROR)).or_else(|| reason.lines().next());
    let line = telling.unwrap_or_default().trim().trim_end_matches(':');
    let is_long = line.chars().count() > BRIEF;
    let line = line.find(ERROR).filter(|_| is_long).map_or(line, |place| &line[place..]);
    if line.chars().count() <= BRIEF {
        return line.to_owned();
    }
    let start: String = line.chars().take(BRIEF - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_by_its_error() {
        let failed =
            "compiling sqlite failed (exit status: 1):\n  sqlite3.c:7:1: error: expected ';'\nlog: /tmp/log";
        assert_eq!(brief_reason(failed), "sqlite3.c:7:1: error: expected ';'");
        assert_eq!(candidate_state(CandidateState::Skipped(failed)), "skipped: error: expected ';'");
        assert_eq!(brief_reason("apt-get says:\nno"), "apt-get says");
        assert_eq!(brief_reason(""), "");
        let deep = format!("x\n{}: fatal error: ü.h: {}", "d/".repeat(40), "w".repeat(90));
        let brief = brief_reason(&deep);
        assert!(brief.starts_with("error: ü.h: w") && brief.ends_with("w…"), "{brief}");
        assert_eq!(brief.chars().count(), BRIEF);
    }
}
