//! The verdicts of an experiment in rounds as JUnit test cases.

use basecase_analysis::{Conclusion, Gate};
use basecase_model::printable;
use basecase_stats::{Verdict, WorkVerdict};
use maud::{PreEscaped, html};

use super::VerdictFormat;
use crate::words::gate_case;

/// JUnit test cases.
pub(super) const FORMAT: VerdictFormat = VerdictFormat { name: "junit", render };

/// A regression or more work is a failure, a failed trial an error, and an undecided step skipped.
pub(crate) fn render(gate: &Gate<'_>) -> String {
    let suite = html! {
        testsuites {
            testsuite name=(gate.experiment.name) tests=(gate.cases.len()) failures=(gate.worse())
                skipped=(undecided(gate)) errors=(gate.failed()) {
                @for case in &gate.cases {
                    @let words = gate_case(gate, case);
                    testcase classname=(words.candidate) name=(words.step) {
                        @match case.conclusion() {
                            Conclusion::Failed => error message=(words.words) { (words.details) },
                            Conclusion::Judged(Verdict::Regression)
                            | Conclusion::MoreWork
                            | Conclusion::Counted(WorkVerdict::MoreWork) => failure message=(words.words) { (words.details) },
                            Conclusion::Judged(Verdict::NotEnoughData)
                            | Conclusion::Counted(WorkVerdict::NotEnoughData) => skipped message=(words.words) {},
                            Conclusion::Judged(Verdict::Improvement | Verdict::NoChange)
                            | Conclusion::Counted(WorkVerdict::LessWork | WorkVerdict::SameWork) => {
                                system-out { (words.words) ": " (words.details) }
                            }
                        }
                    }
                }
            }
        }
    };
    let PreEscaped(text) = suite;
    // XML cannot represent most control characters.
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", printable(&text))
}

/// The number of cases without enough data.
fn undecided(gate: &Gate<'_>) -> usize {
    gate.count(Conclusion::Judged(Verdict::NotEnoughData))
        + gate.count(Conclusion::Counted(WorkVerdict::NotEnoughData))
}
