//! Facts, failures and warnings on the overview.

use maud::{Markup, html};

use super::table;
use crate::failures::failures;
use crate::notes;
use crate::results::Results;
use crate::tables::{builds, configs};

/// The trials that failed, with what the server said.
pub(super) fn failed(results: &Results<'_>) -> Markup {
    let failures = failures(results);
    html! {
        @if !failures.is_empty() {
            section #failed {
                h2 { "Failed trials" }
                @for failure in &failures {
                    article.failure {
                        h3 { (failure.place()) }
                        p { (failure.reason) }
                        @let checks = failure.check_lines();
                        @if !checks.is_empty() {
                            ul { @for line in &checks { li { (line) } } }
                        }
                        @if !failure.log_tail.is_empty() {
                            details {
                                summary { "Last lines of the server's log" }
                                pre { (failure.log_tail) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Advice that makes no trial fail.
pub(super) fn warnings(results: &Results<'_>) -> Markup {
    let warnings = notes::warnings(results);
    html! {
        @if !warnings.is_empty() {
            section #warnings {
                h2 { "Warnings" }
                ul { @for warning in &warnings { li { (warning) } } }
            }
        }
    }
}

/// What was run with what, where.
pub(super) fn facts(results: &Results<'_>) -> Markup {
    let experiment = results.experiment;
    html! {
        section #facts {
            h2 { "Facts" }
            (table::render(results, &builds::experiment(results)))
            (table::render(results, &builds::host(experiment)))
            (table::render(results, &builds::builds(experiment)))
            @for build in builds::distinct(experiment) {
                @if build.flags.is_some() || !build.details.is_empty() {
                    details {
                        summary { "How " (build.short) " was built" }
                        pre {
                            @if let Some(flags) = &build.flags { "flags = " (flags) "\n" }
                            @for (name, value) in &build.details { (name) " = " (value) "\n" }
                        }
                    }
                }
            }
            @for differences in configs::differences(experiment) { (table::render(results, &differences)) }
            @for config in configs::distinct(experiment) {
                details {
                    summary { "All settings of " (config.label) " for " (config.dbms) }
                    pre { @for (name, value) in &config.facts.settings { (name) " = " (value) "\n" } }
                    p.small { "SHA-256 " code { (config.facts.sha256) } }
                }
            }
        }
    }
}
