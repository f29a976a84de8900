//! Facts, failures and warnings on the overview.

use basecase_analysis::{Results, distinct_builds, distinct_configs, failures};
use maud::{Markup, html};

use super::{page_name, table};
use crate::tables::{builds, configs, running};
use crate::words::FailureWords as _;

/// The failed trials, with the servers' logs.
pub(super) fn failed(results: &Results<'_>) -> Markup {
    let failures = failures(results);
    html! {
        @if !failures.is_empty() {
            details #failed {
                summary { span.swatch.missed { "!" } " Failed trials (" (failures.len()) ")" }
                @for failure in &failures {
                    article.failure {
                        h3 { (failure.place()) }
                        p { (failure.reason) }
                        @let checks = failure.check_lines();
                        @if !checks.is_empty() {
                            ul { @for line in &checks { li { (line) } } }
                        }
                        @if !failure.log_tail.is_empty() {
                            h4 { "Last lines of the server's log" }
                            pre { (failure.log_tail) }
                        }
                    }
                }
            }
        }
    }
}

/// Warnings.
pub(super) fn warnings(warnings: &[String]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            details #warnings {
                summary { span.swatch.worse { "!" } " Warnings (" (warnings.len()) ")" }
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

/// The list of steps.
pub(super) fn steps(results: &Results<'_>) -> Markup {
    html! {
        details #steps {
            summary { "Steps" }
            p { (if results.has_counts_only() { COUNTED } else { MEASURED }) }
            ul.steps.named[results.is_workload_file()] {
                @for (_, step) in results.steps() {
                    li { a href=(page_name(step)) { (step.label) } span { (step.title) } }
                }
            }
        }
    }
}

const MEASURED: &str =
    "Each page has bars, response times, metrics, roles and per-second charts of one step.";
const COUNTED: &str = "Each page has the work of one step and the functions that account for a difference.";

/// The experiment, the host and the builds.
pub(super) fn facts(results: &Results<'_>) -> Markup {
    let experiment = results.experiment;
    html! {
        details #facts {
            summary { "Experiment, host and builds" }
            (table::render(results, &builds::experiment(results)))
            (table::render(results, &builds::host(experiment)))
            (table::render(results, &builds::builds(experiment)))
            @for build in distinct_builds(experiment) {
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
        }
    }
}

/// Configs, and settings of the running servers.
pub(super) fn settings(results: &Results<'_>) -> Markup {
    let experiment = results.experiment;
    html! {
        details #settings {
            summary { "Configs and settings" }
            @for differences in configs::differences(experiment) { (table::render(results, &differences)) }
            @for differences in running::differences(experiment) { (table::render(results, &differences)) }
            @for config in distinct_configs(experiment) {
                details {
                    summary { "All settings of " (config.label) " for " (config.dbms) }
                    pre { @for (name, value) in &config.facts.settings { (name) " = " (value) "\n" } }
                    p.small { "SHA-256 " code { (config.facts.sha256) } }
                }
            }
        }
    }
}
