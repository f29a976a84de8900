//! An examination for people.

use std::fmt::Write as _;

use crate::examination::Examination;
use crate::finding::{Finding, Severity};

/// What stands before advice.
const ARROW: &str = "→ ";

/// A sentence, then the findings, the worst first.
pub(crate) fn render(examination: &Examination, columns: usize) -> String {
    let mut text = String::new();
    let data = format!("Servers' data would lie in {}.", examination.data.display());
    for line in wrap(&sentence(examination), columns).into_iter().chain(wrap(&data, columns)) {
        let _ = writeln!(text, "{line}");
    }
    let names = examination.findings.iter().map(|finding| finding.name.chars().count());
    let name_width = names.max().unwrap_or(0);
    for severity in Severity::ALL {
        let of_severity: Vec<&Finding> =
            examination.findings.iter().filter(|finding| finding.severity == severity).collect();
        if of_severity.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", heading(severity));
        of_severity.iter().for_each(|finding| write_finding(&mut text, finding, name_width, columns));
    }
    text
}

fn heading(severity: Severity) -> &'static str {
    match severity {
        Severity::Disturbs => "Disturbs",
        Severity::Limits => "Limits",
        Severity::Unknown => "Unknown",
        Severity::Fine => "Fine",
    }
}

/// How many findings there are of each severity.
fn sentence(examination: &Examination) -> String {
    let things = |count: usize| if count == 1 { "1 thing".to_owned() } else { format!("{count} things") };
    let verb =
        |count: usize, one: &'static str, several: &'static str| if count == 1 { one } else { several };
    let mut parts = vec![match examination.count(Severity::Disturbs) {
        0 => "Nothing disturbs measurements here".to_owned(),
        count => format!("{} {} measurements here", things(count), verb(count, "disturbs", "disturb")),
    }];
    for (severity, one, several) in [
        (Severity::Limits, "limits them", "limit them"),
        (Severity::Unknown, "is unknown", "are unknown"),
        (Severity::Fine, "is fine", "are fine"),
    ] {
        match examination.count(severity) {
            0 => {}
            count => parts.push(format!("{count} {}", verb(count, one, several))),
        }
    }
    format!("{}.", parts.join(", "))
}

/// A name, and what was found beside it, with the advice below.
fn write_finding(text: &mut String, finding: &Finding, name_width: usize, columns: usize) {
    let indent = 2 + name_width + 2;
    let room = columns.saturating_sub(indent).max(20);
    let advice = finding.advice.iter().flat_map(|advice| {
        let lines = wrap(advice, room.saturating_sub(ARROW.chars().count()));
        lines.into_iter().enumerate().map(|(number, line)| {
            let lead = if number == 0 { ARROW } else { "  " };
            format!("{lead}{line}")
        })
    });
    for (number, line) in wrap(&finding.found, room).into_iter().chain(advice).enumerate() {
        let name = if number == 0 { finding.name } else { "" };
        let _ = writeln!(text, "  {name:<name_width$}  {line}");
    }
}

/// The words in lines of at most so many letters, unless one word is longer.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn examination(findings: Vec<Finding>) -> Examination {
        Examination { data: PathBuf::from("/data"), seconds: 25.0, findings }
    }

    #[test]
    fn the_worst_come_first_with_their_advice_and_all_fits_the_terminal() {
        let found = examination(vec![
            Finding::disturbs(
                "neighbours",
                "others used 1.23 of 2 processors for 20 s: rustc 1.10, mysqld 0.10",
                "end them, or measure when they rest; basecase count does not mind them",
            ),
            Finding::limits("SMT", "on", "off"),
            Finding::limits("turbo", "on", "off"),
            Finding::fine("swap", "off"),
        ]);
        let text = found.text(80);
        assert_eq!(
            text,
            "1 thing disturbs measurements here, 2 limit them, 1 is fine.\n\
             Servers' data would lie in /data.\n\
             \n\
             Disturbs\n\
             \x20 neighbours  others used 1.23 of 2 processors for 20 s: rustc 1.10, mysqld 0.10\n\
             \x20             → end them, or measure when they rest; basecase count does not\n\
             \x20               mind them\n\
             \n\
             Limits\n\
             \x20 SMT         on\n\
             \x20             → off\n\
             \x20 turbo       on\n\
             \x20             → off\n\
             \n\
             Fine\n\
             \x20 swap        off\n"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn counts_are_sentences() {
        let unknown = || Finding::unknown("a", "");
        let said = |findings| sentence(&examination(findings));
        assert_eq!(said(vec![unknown()]), "Nothing disturbs measurements here, 1 is unknown.");
        let two = vec![Finding::disturbs("a", "", ""), Finding::disturbs("b", "", ""), unknown(), unknown()];
        assert_eq!(said(two), "2 things disturb measurements here, 2 are unknown.");
    }
}
