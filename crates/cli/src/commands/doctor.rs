//! `doctor`, and what a run says of the machine before it begins.

use std::path::Path;
use std::sync::Once;

use anyhow::{Context, Result};
use basecase_doctor::{Finding, Host, disturbances, examine};
use basecase_lab::{Event, Observer};
use basecase_model::printable_json;

use super::perform::data_folder;
use crate::arguments::Doctor;
use crate::output;
use crate::reporter::Reporter;

/// How many findings a run says.
const SAID: usize = 2;
/// What such a note begins with.
const BEGINS: &str = "disturbs measurements here: ";

/// Examines this machine.
pub(crate) fn run(arguments: &Doctor, reporter: &Reporter) -> Result<()> {
    let data = data_folder(arguments.data.as_deref())?;
    let examination = {
        let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
        examine(&Host::here(&data), &mut |line| reporter.note(line))?
    };
    if arguments.json {
        return output::print_report(&printable_json(&format!("{:#}\n", examination.json())));
    }
    output::print(&examination.text(output::columns()))
}

/// Says, once in a command, the worst of what disturbs measurements on this machine, as far as files alone tell.
pub(crate) fn note_disturbances(data: &Path, counts_alone: bool, observer: &mut dyn Observer) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let found = disturbances(&Host::here(data), counts_alone);
        notes(&found).iter().for_each(|note| observer.notice(Event::Note(note)));
    });
}

/// A line for each of the worst, of which the last says where the rest is told.
fn notes(found: &[Finding]) -> Vec<String> {
    let mut notes: Vec<String> =
        found.iter().take(SAID).map(|finding| format!("{BEGINS}{}", finding.line())).collect();
    if let Some(last) = notes.last_mut() {
        last.push_str("; see basecase doctor");
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use basecase_doctor::Severity;

    use super::*;

    fn finding(name: &'static str) -> Finding {
        Finding {
            name,
            severity: Severity::Disturbs,
            found: "found".to_owned(),
            advice: Some("do this".to_owned()),
            share: None,
            values: BTreeMap::new(),
        }
    }

    #[test]
    fn a_run_says_the_two_worst_and_nothing_of_a_good_machine() {
        assert!(notes(&[]).is_empty());
        assert_eq!(
            notes(&["swap", "governor", "ASLR"].map(finding)),
            [
                "disturbs measurements here: swap: found (do this)",
                "disturbs measurements here: governor: found (do this); see basecase doctor"
            ]
        );
    }
}
