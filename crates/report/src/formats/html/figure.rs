//! Places of charts, and the numbers that `charts.js` draws there.

use basecase_model::printable_json;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

/// The place of the chart with this number.
pub(super) fn figure(number: usize, caption: &str) -> Markup {
    html! { figure data-chart=(number) { figcaption { (caption) } } }
}

/// The note to readers without JavaScript.
pub(super) fn without_script() -> Markup {
    html! { noscript { p.note { "Charts need JavaScript; all tables work without it." } } }
}

/// The series of all charts of a page, escaped so that they cannot close their element.
pub(super) fn data(charts: &impl Serialize) -> Markup {
    // Serialising plain strings and numbers cannot fail.
    let json = serde_json::to_string(charts).unwrap_or_default().replace('<', "\\u003c");
    html! { script type="application/json" #chart-data { (PreEscaped(printable_json(&json))) } }
}
