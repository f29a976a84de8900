//! Places of charts, and the numbers that `charts.js` draws there.

use basecase_model::printable_json;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

/// The place of the chart with this number.
pub(super) fn figure(number: usize, caption: &str) -> Markup {
    html! { figure data-chart=(number) { figcaption { (caption) } } }
}

/// What readers without JavaScript are told.
pub(super) fn without_script() -> Markup {
    html! { noscript { p.note { "The charts need JavaScript; every table works without." } } }
}

/// The series of all charts of a page, in a form that cannot end the element that holds it.
pub(super) fn data(charts: &impl Serialize) -> Markup {
    // Serialising plain strings and numbers cannot fail.
    let json = serde_json::to_string(charts).unwrap_or_default().replace('<', "\\u003c");
    html! { script type="application/json" #chart-data { (PreEscaped(printable_json(&json))) } }
}
