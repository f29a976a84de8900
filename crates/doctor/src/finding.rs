//! One thing that was looked at.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

/// What something does to measurements, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Numbers scatter by it, or are those of something else.
    Disturbs,
    /// Something cannot be measured, or only less of it.
    Limits,
    /// It could not be found out.
    Unknown,
    /// Nothing.
    Fine,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Severity; 4] = [Severity::Disturbs, Severity::Limits, Severity::Unknown, Severity::Fine];
}

/// One thing that was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What was looked at, e.g. `huge pages`.
    pub name: &'static str,
    /// What it does to measurements.
    pub severity: Severity,
    /// What was found, with values and units.
    pub found: String,
    /// What to do about it.
    pub advice: Option<String>,
    /// How much of the time it takes, or of the machine, 0 to 1, where that is known.
    pub share: Option<f64>,
    /// What was measured, by names that end with their units.
    pub values: BTreeMap<&'static str, f64>,
}

impl Finding {
    fn new(name: &'static str, severity: Severity, found: String, advice: Option<String>) -> Self {
        Finding { name, severity, found, advice, share: None, values: BTreeMap::new() }
    }

    pub(crate) fn disturbs(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding::new(name, Severity::Disturbs, found.into(), Some(advice.into()))
    }

    pub(crate) fn limits(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Finding::new(name, Severity::Limits, found.into(), Some(advice.into()))
    }

    pub(crate) fn unknown(name: &'static str, reason: impl Into<String>) -> Self {
        Finding::new(name, Severity::Unknown, reason.into(), None)
    }

    pub(crate) fn fine(name: &'static str, found: impl Into<String>) -> Self {
        Finding::new(name, Severity::Fine, found.into(), None)
    }

    /// By a size that was measured: it disturbs above one limit, and limits above another.
    pub(crate) fn by_size(
        name: &'static str,
        size: f64,
        [limits, disturbs]: [f64; 2],
        found: String,
        advice: &str,
    ) -> Self {
        match size {
            size if size > disturbs => Finding::disturbs(name, found, advice),
            size if size > limits => Finding::limits(name, found, advice),
            _ => Finding::fine(name, found),
        }
    }

    /// What an error says cannot be done here; its hint is the advice.
    pub(crate) fn refused(name: &'static str, error: &str) -> Self {
        let (problem, hint) = error.split_once("\nhint: ").unwrap_or((error, ""));
        let advice = Some(one_line(hint)).filter(|hint| !hint.is_empty());
        Finding::new(name, Severity::Limits, one_line(problem), advice)
    }

    /// The same with its share of the time or of the machine.
    pub(crate) fn of_share(self, share: f64) -> Self {
        Finding { share: Some(share).filter(|share| share.is_finite()), ..self }
    }

    /// The same with a value that was measured.
    pub(crate) fn with(mut self, name: &'static str, value: f64) -> Self {
        if value.is_finite() {
            self.values.insert(name, value);
        }
        self
    }

    /// In one line, for the notes of a run.
    pub fn line(&self) -> String {
        let advice = self.advice.as_ref().map(|advice| format!(" ({advice})")).unwrap_or_default();
        format!("{}: {}{advice}", self.name, self.found)
    }

    /// The order of findings: by severity; of one severity those with a share first, the largest first. Others keep their order.
    fn order(&self, other: &Finding) -> Ordering {
        let share = |finding: &Finding| finding.share.unwrap_or(-1.0);
        self.severity.cmp(&other.severity).then(share(other).total_cmp(&share(self)))
    }
}

/// Puts findings in their order, the worst first.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(Finding::order);
}

/// The lines of a message as one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ").replace(":; ", ": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first_and_of_those_the_largest() {
        let mut findings = vec![
            Finding::fine("a", "").of_share(0.9),
            Finding::unknown("b", ""),
            Finding::disturbs("c", "", ""),
            Finding::limits("d", "", "").of_share(0.5),
            Finding::disturbs("e", "", "").of_share(0.01),
            Finding::disturbs("f", "", "").of_share(0.2),
            Finding::disturbs("g", "", ""),
        ];
        sort(&mut findings);
        let names: String = findings.iter().map(|finding| finding.name).collect();
        assert_eq!(names, "fecgdba");
    }

    #[test]
    fn sizes_have_two_limits() {
        let severity = |size| Finding::by_size("a", size, [1.0, 2.0], String::new(), "").severity;
        assert_eq!([0.5, 1.5, 2.5].map(severity), [Severity::Fine, Severity::Limits, Severity::Disturbs]);
    }

    #[test]
    fn the_hint_of_an_error_is_the_advice() {
        let refused = Finding::refused("a", "it cannot be:\n  x: no\n  y: no\nhint: do this");
        assert_eq!(refused.line(), "a: it cannot be: x: no; y: no (do this)");
        assert_eq!(Finding::refused("a", "no").advice, None);
    }
}
