//! The answer in sentences, which pages begin with.

use basecase_analysis::Results;
use maud::{Markup, html};

use crate::documents::answer::first_warnings;
use crate::options::Options;
use crate::words::{sentences, step_sentence, unsettled};

/// Of the whole experiment, with the first of its warnings.
pub(super) fn overview(results: &Results<'_>, options: &Options, warnings: &[String]) -> Markup {
    let sentences = sentences(results, options.thresholds);
    let has_verdicts = results.rounds.is_some() || results.has_counts_only();
    let warnings = if has_verdicts { first_warnings(warnings) } else { Vec::new() };
    html! {
        section #answer {
            @if has_verdicts {
                @for sentence in &sentences { p.lead { (sentence) } }
            } @else {
                // The tables of single runs are to stay on the first screen.
                p { (sentences.join(" ")) }
            }
            @if let Some(unsettled) = unsettled(results) { p { (unsettled) "." } }
            @for warning in &warnings {
                p.small { a href="#warnings" { span.swatch.worse { "!" } } " " (warning) }
            }
        }
    }
}

/// Of a step, one for each contender.
pub(super) fn of_step(results: &Results<'_>, step: usize) -> Markup {
    let sentence = |(candidate, _)| step_sentence(results, step, candidate);
    let sentences: Vec<String> = results.candidates().skip(1).filter_map(sentence).collect();
    html! {
        @if !sentences.is_empty() {
            section #answer { @for sentence in sentences { p.lead { (sentence) } } }
        }
    }
}
