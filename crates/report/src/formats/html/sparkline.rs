//! Throughput over time as word-sized sparklines.

use std::fmt::Write;

use basecase_analysis::{Results, Throughput};
use maud::{Markup, PreEscaped, html};

use super::page_name;

/// Most points of a sparkline.
const POINTS: usize = 48;
/// Height of a sparkline in its own units; the largest throughput of any candidate in the step reaches the top.
const HEIGHT: u64 = 20;

/// The sparklines of all trials, by step and candidate.
pub(super) struct Sparklines {
    // The path of each sparkline, with the number of its points.
    paths: Vec<Vec<Option<(usize, String)>>>,
}

impl Sparklines {
    /// Draws every measured trial with at least two intervals.
    pub(super) fn of(results: &Results<'_>) -> Sparklines {
        Sparklines { paths: results.steps().map(|(step, _)| paths(results, step)).collect() }
    }

    /// The sparkline of one trial as a link to the charts of its step.
    pub(super) fn render(&self, results: &Results<'_>, (step, candidate): (usize, usize)) -> Markup {
        let path = self.paths.get(step).and_then(|paths| paths.get(candidate)?.as_ref());
        html! {
            @if let (Some((points, path)), Some(facts)) = (path, results.experiment.steps.get(step)) {
                a.trend href={ (page_name(facts)) "#charts" } title={ (facts.label) " over time" } { (drawn(*points, path)) }
            }
        }
    }
}

fn drawn(points: usize, path: &str) -> Markup {
    html! {
        svg viewBox={ "0 0 " (points - 1) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            path d=(PreEscaped(path)) {}
        }
    }
}

/// Differences to 1 that take the whole height at least, so that noise does not look like changes.
const LEAST: f64 = 0.02;
/// The height of a course, in units of its numbers.
const FINE: f64 = 1000.0;

/// The course of ratios to 1 over many versions, from the lowest to the highest. What is missing is as before.
pub(super) fn course(ratios: &[Option<f64>]) -> Markup {
    let known: Vec<f64> = ratios
        .iter()
        .scan(None, |last, ratio| {
            *last = ratio.filter(|ratio| ratio.is_finite()).or(*last);
            Some(*last)
        })
        .flatten()
        .collect();
    let coarse: Vec<f64> = known
        .chunks(known.len().div_ceil(POINTS).max(1))
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect();
    let low = coarse.iter().copied().fold(1.0 - LEAST, f64::min);
    let high = coarse.iter().copied().fold(1.0 + LEAST, f64::max);
    let items: Vec<u64> = coarse.iter().map(|ratio| (FINE * (ratio - low) / (high - low)) as u64).collect();
    html! { @if items.len() > 1 { span.trend { (drawn(items.len(), &path(&items, FINE as u64))) } } }
}

/// The paths of one step, all on one scale.
fn paths(results: &Results<'_>, step: usize) -> Vec<Option<(usize, String)>> {
    let throughput = |(candidate, _)| results.measured(step, candidate)?.throughput();
    let all: Vec<Option<Throughput>> = results.candidates().map(throughput).collect();
    let longest = all.iter().flatten().map(|fine| fine.items.len()).max().unwrap_or(0);
    let factor = longest.div_ceil(POINTS).max(1);
    let coarse: Vec<Option<Vec<u64>>> =
        all.iter().map(|fine| fine.as_ref().map(|fine| fine.coarser(factor).items)).collect();
    let largest = coarse.iter().flatten().flatten().copied().max().unwrap_or(0).max(1);
    let draw = |items: Vec<u64>| (items.len() > 1).then(|| (items.len(), path(&items, largest)));
    coarse.into_iter().map(|items| items.and_then(draw)).collect()
}

/// E.g. `M0 3 1 20`: a line through all values, one unit apart, from the bottom at 0 to the top at `largest`.
fn path(items: &[u64], largest: u64) -> String {
    let mut path = String::from("M");
    for (x, items) in items.iter().enumerate() {
        let separator = if x == 0 { "" } else { " " };
        let _ = write!(path, "{separator}{x} {}", HEIGHT - (items * HEIGHT + largest / 2) / largest);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_sparkline_reaches_from_bottom_to_top() {
        assert_eq!(path(&[0, 50, 100], 100), "M0 20 1 10 2 0");
    }

    #[test]
    fn a_course_has_few_points_and_gaps_are_as_before() {
        let ratios = [Some(1.0), None, Some(0.9), None];
        assert!(course(&ratios).into_string().contains("M0 3 1 3 2 20 3 20"), "{}", course(&ratios).0);
        assert_eq!(course(&[None, Some(1.0)]).into_string(), "", "one level is no course");
        let many: Vec<Option<f64>> = (0..500).map(|number| Some(1.0 + f64::from(number) / 1000.0)).collect();
        assert!(course(&many).into_string().contains("viewBox=\"0 0 45 20\""), "{}", course(&many).0);
    }

    #[test]
    fn every_measured_trial_has_a_sparkline_of_at_most_48_points() {
        let (experiment, trials) = fixture::sample_of(100, 1);
        let results = Results::new(&experiment, &trials);
        let sparklines = Sparklines::of(&results);
        let (points, _) = sparklines.paths[0][0].as_ref().unwrap();
        assert!(*points <= POINTS, "{points}");
        assert!(sparklines.render(&results, (0, 0)).into_string().contains("step-l.i0.html#charts"));
        assert_eq!(sparklines.render(&results, (9, 3)).into_string(), "", "a trial that is missing");
    }
}
