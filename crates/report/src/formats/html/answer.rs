//! The answer in sentences, which pages begin with.

use basecase_analysis::Results;
use maud::{Markup, html};

use crate::options::Options;
use crate::words::{sentences, step_sentence, unsettled};

/// Of the whole experiment.
pub(super) fn overview(results: &Results<'_>, options: &Options) -> Markup {
    html! {
        section #answer {
            @for sentence in sentences(results, options.thresholds) { p.lead { (sentence) } }
            @if let Some(unsettled) = unsettled(results) { p { (unsettled) "." } }
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
