//! The chart of a bisection: the level of each candidate that was measured, and where changes lie.

use basecase_analysis::{Bisected, Effect, percent};
use basecase_stats::{BisectedChange, ChangeKind};
use maud::{Markup, html};

use super::axis_labels::{Label, labels};
use crate::documents::bisection::line;
use crate::tables::bisection::is_worse;
use crate::words::{EffectWords as _, brief_reason, named};

/// Top and height of the plot, pixels; numbers of changes are above it.
const TOP: f64 = 22.0;
const HEIGHT: f64 = 220.0;
/// Position of the axis of candidates.
const AXIS: f64 = TOP + HEIGHT + 14.0;
/// Height of a row of labels below it.
const ROW: f64 = 16.0;
/// Positions of the first and the last candidate, per cent from the left; labels of levels are left of them.
const SIDES: (f64, f64) = (17.0, 97.0);
/// About how many lines divide the plot.
const LINES: f64 = 5.0;
/// Differences below this are not told apart, per cent.
const SMALLEST: f64 = 0.1;

/// A candidate that was measured.
struct Level {
    candidate: usize,
    /// Relative to the first, which has no interval.
    effect: Effect,
}

/// Places on the chart.
struct Scale {
    last: usize,
    /// The lowest and the highest difference in per cent.
    low: f64,
    high: f64,
}

impl Scale {
    fn of(last: usize, levels: &[Level]) -> Scale {
        let ends = levels.iter().flat_map(|level| {
            let [low, high] = level.effect.interval.unwrap_or([level.effect.ratio; 2]);
            [low, high, level.effect.ratio].map(percent)
        });
        let (low, high) = ends
            .filter(|end| end.is_finite())
            .fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        let room = (0.08 * (high - low)).max(SMALLEST);
        Scale { last, low: low - room, high: high + room }
    }

    fn share(&self, candidate: usize) -> f64 {
        let share = candidate as f64 / self.last.max(1) as f64;
        SIDES.0 + share * (SIDES.1 - SIDES.0)
    }

    fn x(&self, candidate: usize) -> String {
        format!("{:.2}%", self.share(candidate))
    }

    fn y(&self, ratio: f64) -> String {
        self.y_of(percent(ratio))
    }

    fn y_of(&self, difference: f64) -> String {
        let share = ((difference - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        format!("{:.1}", TOP + HEIGHT * (1.0 - share))
    }

    /// Round differences that divide the plot, with as many decimals as they need.
    fn ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / LINES;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let decimals = (-step.log10().floor()).clamp(0.0, 3.0) as usize;
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let tick = |number: i64| {
            let value = number as f64 * step;
            let sign = if number > 0 { "+" } else { "" };
            (value, format!("{sign}{value:.decimals$} %"))
        };
        (first..=last).map(tick).collect()
    }
}

/// The chart; `None` if nothing was compared.
pub(super) fn chart(bisected: &Bisected<'_>) -> Option<Markup> {
    let last = bisected.candidates.len().checked_sub(1)?;
    let level = |candidate: usize| Some(Level { candidate, effect: bisected.level(candidate)? });
    let compared: Vec<Level> =
        (1..=last).filter(|candidate| bisected.is_measured(*candidate)).filter_map(level).collect();
    if compared.is_empty() {
        return None;
    }
    let first = Level { candidate: 0, effect: Effect { ratio: 1.0, interval: None } };
    let levels: Vec<Level> = std::iter::once(first).chain(compared).collect();
    let scale = Scale::of(last, &levels);
    let shares: Vec<f64> = (0..=last).map(|candidate| scale.share(candidate)).collect();
    let (labels, rows) = labels(bisected, &shares);
    let height = AXIS + 10.0 + ROW * rows as f64;
    Some(html! {
        figure.effects.levels {
            figcaption { "Level of each " (kind(bisected)) " that was measured, in per cent of the first" }
            svg height=(height) role="img" aria-label="levels in per cent of the first, in order" {
                @for (difference, text) in scale.ticks() {
                    line.tick x1=(scale.x(0)) x2=(scale.x(last)) y1=(scale.y_of(difference)) y2=(scale.y_of(difference)) {}
                    text.side x=(format!("{}%", SIDES.0 - 2.5)) y=(scale.y_of(difference)) { (text) }
                }
                @for (number, change) in bisected.bisection.changes().iter().enumerate() {
                    (band(bisected, &scale, number, change))
                }
                (axis(bisected, &scale, &levels))
                (tags(&scale, &labels))
                @for pair in levels.windows(2) { (step(&scale, &pair[0], &pair[1])) }
                @for level in &levels { (point(bisected, &scale, level)) }
            }
        }
    })
}

/// What the candidates are.
pub(super) fn kind(bisected: &Bisected<'_>) -> &'static str {
    if bisected.commits.is_some() { "commit" } else { "candidate" }
}

/// The band of a change, from the last candidate without it to the first with it.
fn band(bisected: &Bisected<'_>, scale: &Scale, number: usize, change: &BisectedChange) -> Markup {
    let BisectedChange { before, since, kind, .. } = *change;
    let (from, to) = (scale.share(before), scale.share(since));
    let colour = match bisected.effect(change) {
        _ if kind != ChangeKind::Began => "open",
        Some(effect) if is_worse(bisected, &effect) => "loss",
        _ => "gain",
    };
    html! {
        rect.change.(colour) x=(scale.x(before)) width=(format!("{:.2}%", to - from)) y=(TOP) height=(HEIGHT) {
            title { (number + 1) ": " (line(bisected, change)) }
        }
        text.change.(colour) x=(format!("{:.2}%", (from + to) / 2.0)) y=(TOP - 7.0) { (number + 1) }
    }
}

/// A mark for each candidate that was measured, and a cross for each that cannot be had. The others are gaps.
fn axis(bisected: &Bisected<'_>, scale: &Scale, levels: &[Level]) -> Markup {
    html! {
        line.tick x1=(scale.x(0)) x2=(scale.x(scale.last)) y1=(AXIS) y2=(AXIS) {}
        @for Level { candidate, .. } in levels {
            line.measured x1=(scale.x(*candidate)) x2=(scale.x(*candidate)) y1=(AXIS - 4.0) y2=(AXIS + 4.0) {}
        }
        @for (candidate, reason) in bisected.skipped {
            text.skipped x=(scale.x(*candidate)) y=(AXIS) {
                "×" title { (named(bisected, *candidate)) ", skipped: " (brief_reason(reason)) }
            }
        }
    }
}

/// The names below the axis.
fn tags(scale: &Scale, labels: &[Label]) -> Markup {
    html! {
        @for Label { candidate, text, title, place } in labels {
            @match place {
                Some((row, anchor)) => text.(anchor) x=(scale.x(*candidate)) y=(AXIS + 18.0 + ROW * *row as f64) {
                    (text) title { (title) }
                },
                // There is no room for its name.
                None => line.tag x1=(scale.x(*candidate)) x2=(scale.x(*candidate)) y1=(AXIS + 4.0) y2=(AXIS + 9.0) {
                    title { (title) }
                },
            }
        }
    }
}

/// The way from one level to the next.
fn step(scale: &Scale, one: &Level, next: &Level) -> Markup {
    html! {
        line.course x1=(scale.x(one.candidate)) x2=(scale.x(next.candidate)) y1=(scale.y(one.effect.ratio)) y2=(scale.y(next.effect.ratio)) {}
    }
}

fn point(bisected: &Bisected<'_>, scale: &Scale, level: &Level) -> Markup {
    let Level { candidate, effect } = level;
    let x = scale.x(*candidate);
    let size = match effect.interval {
        Some(_) => format!(": {} % {}", effect.percent_text(), effect.percent_interval()),
        None => ": the first".to_owned(),
    };
    html! {
        @if let Some([low, high]) = effect.interval {
            line.interval x1=(x) x2=(x) y1=(scale.y(low)) y2=(scale.y(high)) {}
        }
        circle cx=(x) cy=(scale.y(effect.ratio)) r="4" { title { (named(bisected, *candidate)) (size) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(low: f64, high: f64) -> Scale {
        Scale { last: 10, low, high }
    }

    #[test]
    fn ticks_are_round_and_few() {
        let texts = |low, high| scale(low, high).ticks().into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(texts(-1.3, 17.2), ["0 %", "+5 %", "+10 %", "+15 %"]);
        assert_eq!(texts(-6.4, 0.5), ["-6 %", "-4 %", "-2 %", "0 %"]);
        assert_eq!(texts(-0.11, 0.31), ["-0.1 %", "0.0 %", "+0.1 %", "+0.2 %", "+0.3 %"]);
        assert_eq!(texts(-80.0, 1000.0), ["0 %", "+500 %", "+1000 %"]);
    }

    #[test]
    fn places_stay_on_the_chart() {
        let scale = scale(-1.0, 1.0);
        assert_eq!([scale.x(0), scale.x(10)], ["17.00%", "97.00%"]);
        assert_eq!([scale.y(9.0), scale.y(0.0)], ["22.0", "242.0"]);
        let flat =
            Scale::of(0, &[Level { candidate: 0, effect: Effect { ratio: f64::NAN, interval: None } }]);
        assert!(flat.high > flat.low && flat.x(0) == "17.00%");
    }
}
