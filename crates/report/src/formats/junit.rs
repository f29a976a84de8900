//! The verdicts of an experiment in rounds as JUnit test cases.

use basecase_analysis::{Conclusion, Gate};
use basecase_model::printable;
use basecase_stats::Verdict;
use maud::{PreEscaped, html};

use super::VerdictFormat;
use crate::words::gate_case;

/// Test cases as JUnit has them.
pub(super) const FORMAT: VerdictFormat = VerdictFormat { name: "junit", render };

/// A decided regression is a failure, what failed is an error, what is not decided is skipped.
pub(crate) fn render(gate: &Gate<'_>) -> String {
    let suite = html! {
        testsuites {
            testsuite name=(gate.experiment.name) tests=(gate.cases.len()) failures=(gate.regressions())
                skipped=(gate.count(Conclusion::Judged(Verdict::NotEnoughData))) errors=(gate.failed()) {
                @for case in &gate.cases {
                    @let told = gate_case(gate, case);
                    testcase classname=(told.candidate) name=(told.step) {
                        @match case.conclusion() {
                            Conclusion::Failed => error message=(told.words) { (told.details) },
                            Conclusion::Judged(Verdict::Regression) => failure message=(told.words) { (told.details) },
                            Conclusion::Judged(Verdict::NotEnoughData) => skipped message=(told.words) {},
                            Conclusion::Judged(Verdict::Improvement | Verdict::NoChange) => {
                                system-out { (told.words) ": " (told.details) }
                            }
                        }
                    }
                }
            }
        }
    };
    let PreEscaped(text) = suite;
    // XML has no way to write most control characters.
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", printable(&text))
}
