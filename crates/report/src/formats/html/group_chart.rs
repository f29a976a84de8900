//! Charts of relative queries per second: a bar for each step and contender, a drawing for each group.

use std::f64::consts::LN_10;

use basecase_analysis::{Effect, Results, StepGroup, Thresholds};
use maud::{Markup, html};

use super::page_name;
use super::table::small;
use crate::tables::{Highlight, TableCell, relative};

/// Ratios beyond a factor of ten are drawn at the edge, as logarithms.
const FURTHEST: f64 = LN_10;
/// Ratios at which an axis may have a label, most important first.
const TICKS: [f64; 14] = [0.1, 10.0, 0.2, 5.0, 0.5, 2.0, 3.0, 0.8, 1.5, 0.7, 1.25, 0.9, 1.1, 0.98];
/// Least distance between labels, as a share of the axis.
const ROOM: f64 = 0.2;
/// Number of colours of candidates; later ones are fainter.
const COLOURS: usize = 10;

/// A chart for each group, with the names of the contenders above; `None` without ratios.
pub(super) fn charts(results: &Results<'_>, thresholds: Thresholds) -> Option<Markup> {
    let contenders: Vec<usize> = results.candidates().map(|(number, _)| number).skip(1).collect();
    let has_ratio = |step: usize| contenders.iter().any(|number| results.relative(step, *number).is_some());
    let groups = results.groups();
    groups.iter().flat_map(|group| &group.steps).any(|step| has_ratio(*step)).then(|| {
        html! {
            p.small { (reading(results, thresholds)) }
            ul.legend.candidates {
                @for &number in &contenders {
                    li { span.swatch.(class(number)) style=(colour(number)) {} " " (results.experiment.candidates[number].name) }
                }
            }
            div.charts.ratios {
                @for group in &groups {
                    @let chart = Chart { results, contenders: &contenders, thresholds, axis: Axis::of(results, group, &contenders, thresholds) };
                    (chart.of_group(group))
                }
            }
        }
    })
}

fn reading(results: &Results<'_>, thresholds: Thresholds) -> String {
    let [worse, better] = ratios(thresholds);
    let bounds = match results.rounds {
        Some(_) => "Within the grey band a change does not matter. Thin lines are intervals.".to_owned(),
        None => format!("The dashed lines are the thresholds, {worse:.2} and {better:.2}."),
    };
    format!("Bars begin at 1.00, the base case; right of it is faster. The scale is logarithmic. {bounds}")
}

/// The ratios at which cells begin to be marked.
fn ratios(thresholds: Thresholds) -> [f64; 2] {
    [thresholds.worse_to_pct, thresholds.better_from_pct].map(|pct| pct as f64 / 100.0)
}

/// The colour of a candidate's bars, as in the other charts.
fn colour(number: usize) -> String {
    format!("--colour: var(--candidate-{})", number % COLOURS)
}

fn class(number: usize) -> &'static str {
    if number < COLOURS { "bold" } else { "faint" }
}

/// The logarithms at both ends of a chart.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(
        results: &Results<'_>,
        group: &StepGroup<'_>,
        contenders: &[usize],
        thresholds: Thresholds,
    ) -> Axis {
        let [worse, better] = ratios(thresholds).map(f64::ln);
        let mut axis = Axis { low: 1.5 * worse, high: 1.5 * better };
        let places =
            group.steps.iter().flat_map(|&step| contenders.iter().map(move |&number| (step, number)));
        for (step, number) in places {
            let ends = effect(results, step, number)
                .map(|effect| [effect.ratio; 2].into_iter().chain(effect.interval.into_iter().flatten()));
            for end in ends.into_iter().flatten().map(f64::ln) {
                axis.low = axis.low.min(1.05 * end.max(-FURTHEST));
                axis.high = axis.high.max(1.05 * end.min(FURTHEST));
            }
        }
        axis
    }

    /// Where a logarithm is, from the left edge, 0 to 1.
    fn share(&self, effect: f64) -> f64 {
        ((effect - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn place(&self, effect: f64) -> String {
        percent(self.share(effect))
    }

    /// The part of the axis between two logarithms: where it begins, and its width.
    fn span(&self, one: f64, other: f64) -> (String, String) {
        let (low, high) = (self.share(one.min(other)), self.share(one.max(other)));
        (percent(low), percent(high - low))
    }

    /// The ratios with labels: 1.00, those of `first` and others, as many as there is room for.
    fn ticks(&self, first: &[f64]) -> Vec<f64> {
        let mut ticks = vec![1.0_f64];
        for &tick in first.iter().chain(&TICKS) {
            let share = self.share(tick.ln());
            let is_apart = |other: &f64| (self.share(other.ln()) - share).abs() >= ROOM;
            // A label has to fit between the edges.
            if (0.03..=0.97).contains(&share) && ticks.iter().all(is_apart) {
                ticks.push(tick);
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// The ratio of a contender, with its interval if it has one.
fn effect(results: &Results<'_>, step: usize, contender: usize) -> Option<Effect> {
    let alone = || Some(Effect { ratio: results.relative(step, contender)?, interval: None });
    let effect = results.relative_effect(step, contender).or_else(alone)?;
    (effect.ratio.is_finite() && effect.ratio > 0.0).then_some(effect)
}

/// What all drawings of a group share.
struct Chart<'a> {
    results: &'a Results<'a>,
    contenders: &'a [usize],
    thresholds: Thresholds,
    axis: Axis,
}

impl Chart<'_> {
    fn of_group(&self, group: &StepGroup<'_>) -> Markup {
        let bounds = ratios(self.thresholds);
        let first = if self.results.rounds.is_some() { &[][..] } else { &bounds };
        html! {
            figure.ratio-chart.valued[self.has_values()].wide[self.results.rounds.is_some()] {
                figcaption { (group.name) }
                @for &step in &group.steps { (self.of_step(step)) }
                div.effect {
                    span {}
                    svg.axis aria-hidden="true" {
                        @for tick in self.axis.ticks(first) {
                            line x1=(self.axis.place(tick.ln())) x2=(self.axis.place(tick.ln())) y2="4" {}
                            text x=(self.axis.place(tick.ln())) y="16" { (label(tick)) }
                        }
                    }
                }
            }
        }
    }

    /// Whether there is room for numbers beside the bars.
    fn has_values(&self) -> bool {
        self.contenders.len() == 1
    }

    fn of_step(&self, step: usize) -> Markup {
        let facts = &self.results.experiment.steps[step];
        let thickness = self.thickness();
        let gap = if self.contenders.len() > 4 { 8.0 } else { 4.0 };
        let height = thickness * self.contenders.len() as f64 + gap;
        let cells = self.contenders.iter().filter(|_| self.has_values());
        let cells = cells.map(|number| relative::cell(self.results, step, *number, self.thresholds));
        html! {
            div.effect {
                span.name { a href=(page_name(facts)) { (facts.label) } }
                svg height=(height) role="img" aria-label={ (facts.label) " relative to the base case" } {
                    (self.bounds(step))
                    @for (index, &number) in self.contenders.iter().enumerate() {
                        (self.bar((step, number), gap / 2.0 + thickness * index as f64, thickness))
                    }
                    line.zero x1=(self.axis.place(0.0)) x2=(self.axis.place(0.0)) y2="100%" {}
                }
                @for cell in cells { span.value { (value(&cell)) } }
            }
        }
    }

    /// Height of a bar in pixels: the more candidates, the thinner.
    fn thickness(&self) -> f64 {
        match self.contenders.len() {
            1 => 12.0,
            2..=4 => 8.0,
            _ => 5.0,
        }
    }

    /// The lines of the thresholds; in rounds the band in which a change does not matter.
    fn bounds(&self, step: usize) -> Markup {
        let margin = self
            .contenders
            .iter()
            .find_map(|number| Some(self.results.judged(step, *number)?.throughput.margin));
        html! {
            @match (self.results.rounds.is_some(), margin) {
                (true, Some(margin)) => {
                    @let (x, width) = self.axis.span(-margin, margin);
                    rect.band x=(x) width=(width) height="100%" {}
                }
                (true, None) => {}
                (false, _) => {
                    @for bound in ratios(self.thresholds).map(f64::ln) {
                        line.bound x1=(self.axis.place(bound)) x2=(self.axis.place(bound)) y2="100%" {}
                    }
                }
            }
        }
    }

    fn bar(&self, (step, number): (usize, usize), y: f64, thickness: f64) -> Markup {
        let cell = relative::cell(self.results, step, number, self.thresholds);
        let title = format!("{}: {}", self.results.experiment.candidates[number].name, cell.line());
        let middle = format!("{:.1}", y + (thickness - 1.0) / 2.0);
        match effect(self.results, step, number) {
            Some(Effect { ratio, interval }) => {
                let (x, width) = self.axis.span(0.0, ratio.ln());
                html! {
                    rect.bar.(class(number)) style=(colour(number)) x=(x) width=(width) y=(y) height=(thickness - 1.0) { title { (title) } }
                    @if let Some([lower, upper]) = interval {
                        line.interval x1=(self.axis.place(lower.ln())) x2=(self.axis.place(upper.ln())) y1=(middle) y2=(middle) {}
                    }
                }
            }
            None => html! {
                // Where its bar would begin.
                text.absent x=(self.axis.place(0.0)) dx="4" y=(middle) style={ "font-size: " (thickness + 2.0) "px" } { (cell.text) title { (title) } }
            },
        }
    }
}

fn value(cell: &TableCell) -> Markup {
    let sign = if cell.mark == Highlight::None { "" } else { cell.mark.sign() };
    html! { (cell.text) span.sign { (sign) } (small(cell)) }
}

/// A ratio as a label: two decimals below 2, else as short as possible.
fn label(ratio: f64) -> String {
    if ratio < 2.0 { format!("{ratio:.2}") } else { format!("{ratio}") }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Preset, Rounds};

    use super::*;
    use crate::fixture;

    #[test]
    fn labels_keep_their_distance_and_thresholds_come_first() {
        let texts = |low: f64, high: f64| {
            let axis = Axis { low: low.ln(), high: high.ln() };
            axis.ticks(&[0.95, 1.05]).into_iter().map(label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(0.9, 1.1), "0.95 1.00 1.05");
        assert_eq!(texts(0.2, 6.0), "0.50 1.00 2 5");
    }

    #[test]
    fn every_ratio_has_a_bar_and_single_runs_the_lines_of_the_thresholds() {
        let (experiment, trials) = fixture::microbenchmarks(3, &fixture::LIST, 2);
        let results = Results::new(&experiment, &trials);
        let page = charts(&results, Preset::Posts2025.thresholds()).unwrap().into_string();
        let count = |what: &str| page.matches(what).count();
        let known = (0..experiment.steps.len())
            .flat_map(|step| [1, 2].map(|number| (step, number)))
            .filter(|(step, _)| experiment.steps[*step].is_compared())
            .filter(|(step, number)| results.relative(*step, *number).is_some());
        assert_eq!((count("<rect class=\"bar"), count("<figcaption>")), (known.count(), 4));
        assert_eq!(count("class=\"bound\""), 2 * 32);
        assert!(page.contains("0.97 and 1.03") && !page.contains("class=\"band\""));
    }

    #[test]
    fn rounds_have_intervals_and_bands_instead() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let page = charts(&results, Preset::Report.thresholds()).unwrap().into_string();
        assert!(page.contains("class=\"band\"") && page.contains("class=\"interval\""));
        assert!(!page.contains("class=\"bound\"") && page.contains("Thin lines are intervals"));
    }

    #[test]
    fn one_candidate_has_no_chart() {
        let (mut experiment, trials) = fixture::microbenchmarks(2, &fixture::EXCERPT, 2);
        experiment.candidates.truncate(1);
        assert!(charts(&Results::new(&experiment, &trials), Preset::Report.thresholds()).is_none());
    }
}
