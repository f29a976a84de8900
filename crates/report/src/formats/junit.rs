//! The verdicts of an experiment in rounds as JUnit test cases.

use basecase_analysis::{Conclusion, Gate};
use basecase_model::printable;
use basecase_stats::Verdict;
use maud::{PreEscaped, html};

use super::VerdictFormat;
use crate::words::gate_case;

/// JUnit test cases.
pub(super) const FORMAT: VerdictFormat = VerdictFormat { name: "junit", render };

/// A regression is a failure, a failed trial an error, and an undecided step skipped.
pub(crate) fn render(gate: &Gate<'_>) -> String {
    let suite = html! {
        testsuites {
            testsuite name=(gate.experiment.name) tests=(gate.cases.len()) failures=(gate.regressions())
                skipped=(gate.count(Conclusion::Judged(Verdict::NotEnoughData))) errors=(gate.failed()) {
                @for case in &gate.cases {
                    @let words = gate_case(gate, case);
                    testcase classname=(words.candidate) name=(words.step) {
                        @match case.conclusion() {
                            Conclusion::Failed => error message=(words.words) { (words.details) },
                            Conclusion::Judged(Verdict::Regression) => failure message=(words.words) { (words.details) },
                            Conclusion::Judged(Verdict::NotEnoughData) => skipped message=(words.words) {},
                            Conclusion::Judged(Verdict::Improvement | Verdict::NoChange) => {
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
