//! A chart of levels over candidates or versions in order: each with its interval, and where they change.

use basecase_analysis::{Effect, percent};
use maud::{Markup, html};

use super::axis_labels::{Label, Name, labels};

/// Top and height of the plot, pixels; numbers of changes are above it.
const TOP: f64 = 22.0;
const HEIGHT: f64 = 220.0;
/// Position of the axis.
const AXIS: f64 = TOP + HEIGHT + 14.0;
/// Height of a row of labels below it.
const ROW: f64 = 16.0;
/// Positions of the first and the last place, per cent from the left; labels of levels are left of them.
const SIDES: (f64, f64) = (17.0, 97.0);
/// About how many lines divide the plot.
const LINES: f64 = 5.0;
/// Differences below this are not told apart, per cent.
const SMALLEST: f64 = 0.1;
/// From more levels on, they are drawn as a whole, and have no titles.
const MANY: usize = 80;
/// The least width of a band, and the least distance between the numbers of two, per cent.
const BAND: f64 = 0.5;
const NUMBERS: f64 = 3.0;
/// Units of the drawing of many levels: of a place and of a pixel.
const FINE: f64 = 10.0;

/// What is shown.
pub(super) struct LevelChart {
    /// What it shows, in one line.
    pub(super) caption: String,
    /// The same for those who do not see it.
    pub(super) description: String,
    /// The last place of the axis; the first is 0.
    pub(super) last: usize,
    /// What was measured, in the order of places.
    pub(super) levels: Vec<Level>,
    /// The changes, in their order.
    pub(super) bands: Vec<Band>,
    /// Names of places, the most important first; those that find room are shown.
    pub(super) names: Vec<Name>,
    /// Places that cannot be had, each with what is to be said of it.
    pub(super) skipped: Vec<(usize, String)>,
}

/// The level at a place.
pub(super) struct Level {
    pub(super) place: usize,
    /// Relative to the first, which has no interval.
    pub(super) effect: Effect,
    /// What it is.
    pub(super) title: String,
}

/// A change, from the last place without it to the first with it.
pub(super) struct Band {
    /// Its number in the list of changes.
    pub(super) number: usize,
    pub(super) before: usize,
    pub(super) since: usize,
    /// The CSS class of what it means: `gain`, `loss` or `open`.
    pub(super) colour: &'static str,
    /// What changed.
    pub(super) title: String,
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

    fn share(&self, place: usize) -> f64 {
        let share = place as f64 / self.last.max(1) as f64;
        SIDES.0 + share * (SIDES.1 - SIDES.0)
    }

    fn x(&self, place: usize) -> String {
        format!("{:.2}%", self.share(place))
    }

    fn y(&self, ratio: f64) -> String {
        self.y_of(percent(ratio))
    }

    fn y_of(&self, difference: f64) -> String {
        format!("{:.1}", TOP + HEIGHT * self.depth(difference))
    }

    /// How far below the top a difference is, 0 to 1.
    fn depth(&self, difference: f64) -> f64 {
        1.0 - ((difference - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
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

impl LevelChart {
    pub(super) fn render(&self) -> Markup {
        let scale = Scale::of(self.last, &self.levels);
        let (labels, rows) = labels(&self.names, |place| scale.share(place));
        let height = AXIS + 10.0 + ROW * rows as f64;
        html! {
            figure.effects.levels {
                figcaption { (self.caption) }
                svg height=(height) role="img" aria-label=(self.description) {
                    @for (difference, text) in scale.ticks() {
                        line.tick x1=(scale.x(0)) x2=(scale.x(self.last)) y1=(scale.y_of(difference)) y2=(scale.y_of(difference)) {}
                        text.side x=(format!("{}%", SIDES.0 - 2.5)) y=(scale.y_of(difference)) { (text) }
                    }
                    (bands(&scale, &self.bands))
                    (self.axis(&scale))
                    (tags(&scale, &labels))
                    @if self.has_many() {
                        (many(&scale, &self.levels))
                    } @else {
                        @for pair in self.levels.windows(2) { (step(&scale, &pair[0], &pair[1])) }
                        @for level in &self.levels { (point(&scale, level)) }
                    }
                }
            }
        }
    }

    fn has_many(&self) -> bool {
        self.levels.len() > MANY
    }

    /// A mark for each place that was measured, and a cross for each that cannot be had. The others are gaps.
    fn axis(&self, scale: &Scale) -> Markup {
        html! {
            line.tick x1=(scale.x(0)) x2=(scale.x(scale.last)) y1=(AXIS) y2=(AXIS) {}
            @if !self.has_many() {
                @for Level { place, .. } in &self.levels {
                    line.measured x1=(scale.x(*place)) x2=(scale.x(*place)) y1=(AXIS - 4.0) y2=(AXIS + 4.0) {}
                }
            }
            @for (place, title) in &self.skipped {
                text.skipped x=(scale.x(*place)) y=(AXIS) { "×" title { (title) } }
            }
        }
    }
}

/// The bands of changes, each with its number where there is room.
fn bands(scale: &Scale, bands: &[Band]) -> Markup {
    let mut numbered: Vec<f64> = Vec::new();
    let mut has_room = |middle: f64| {
        let has_room = numbered.iter().all(|other| (middle - other).abs() >= NUMBERS);
        numbered.extend(has_room.then_some(middle));
        has_room
    };
    html! {
        @for Band { number, before, since, colour, title } in bands {
            @let (from, to) = (scale.share(*before), scale.share(*since));
            @let (middle, width) = ((from + to) / 2.0, (to - from).max(BAND));
            rect.change.(colour) x=(format!("{:.2}%", middle - width / 2.0)) width=(format!("{width:.2}%")) y=(TOP) height=(HEIGHT) {
                title { (number) ": " (title) }
            }
            @if has_room(middle) {
                text.change.(colour) x=(format!("{middle:.2}%")) y=(TOP - 7.0) { (number) }
            }
        }
    }
}

/// The names below the axis.
fn tags(scale: &Scale, labels: &[Label<'_>]) -> Markup {
    html! {
        @for Label { name, place } in labels {
            @match place {
                Some((row, anchor)) => text.(anchor) x=(scale.x(name.place)) y=(AXIS + 18.0 + ROW * *row as f64) {
                    (name.shown()) title { (name.title) }
                },
                // There is no room for its name.
                None => line.tag x1=(scale.x(name.place)) x2=(scale.x(name.place)) y1=(AXIS + 4.0) y2=(AXIS + 9.0) {
                    title { (name.title) }
                },
            }
        }
    }
}

/// The way from one level to the next.
fn step(scale: &Scale, one: &Level, next: &Level) -> Markup {
    html! {
        line.course x1=(scale.x(one.place)) x2=(scale.x(next.place)) y1=(scale.y(one.effect.ratio)) y2=(scale.y(next.effect.ratio)) {}
    }
}

fn point(scale: &Scale, level: &Level) -> Markup {
    let Level { place, effect, title } = level;
    let x = scale.x(*place);
    html! {
        @if let Some([low, high]) = effect.interval {
            line.interval x1=(x) x2=(x) y1=(scale.y(low)) y2=(scale.y(high)) {}
        }
        circle cx=(x) cy=(scale.y(effect.ratio)) r="4" { title { (title) } }
    }
}

/// Many levels in three paths: their intervals, the course, and a dot for each.
fn many(scale: &Scale, levels: &[Level]) -> Markup {
    let y = |ratio: f64| format!("{:.0}", FINE * HEIGHT * scale.depth(percent(ratio)));
    let x = |level: &Level| FINE * level.place as f64;
    let path = |part: &dyn Fn(&Level) -> String| levels.iter().map(part).collect::<String>();
    let intervals = path(&|level| match level.effect.interval {
        Some([low, high]) => format!("M{} {}V{}", x(level), y(low), y(high)),
        None => String::new(),
    });
    let course: Vec<String> =
        levels.iter().map(|level| format!("{} {}", x(level), y(level.effect.ratio))).collect();
    let dots = path(&|level| format!("M{} {}h0", x(level), y(level.effect.ratio)));
    let width = format!("{}%", SIDES.1 - SIDES.0);
    let view = format!("0 0 {} {}", FINE * scale.last.max(1) as f64, FINE * HEIGHT);
    html! {
        svg.many x=(scale.x(0)) y=(TOP) width=(width) height=(HEIGHT) viewBox=(view) preserveAspectRatio="none" {
            path.interval d=(intervals) {}
            path.course d={ "M" (course.join("L")) } {}
            path.dots d=(dots) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(low: f64, high: f64) -> Scale {
        Scale { last: 10, low, high }
    }

    fn level(place: usize) -> Level {
        let ratio = 1.0 + 0.01 * (place % 3) as f64;
        let interval = Some([ratio - 0.01, ratio + 0.01]);
        Level { place, effect: Effect { ratio, interval }, title: format!("version {place}") }
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
        let odd = Level { effect: Effect { ratio: f64::NAN, interval: None }, ..level(0) };
        let flat = Scale::of(0, &[odd]);
        assert!(flat.high > flat.low && flat.x(0) == "17.00%");
    }

    #[test]
    fn many_levels_stay_small_and_numbers_apart() {
        let drawn = |count: usize| {
            let band = |before: usize| {
                let title = "slower".into();
                Band { number: before, before, since: before + 1, colour: "loss", title }
            };
            let chart = LevelChart {
                caption: String::new(),
                description: String::new(),
                last: count - 1,
                levels: (0..count).map(level).collect(),
                bands: vec![band(3), band(4), band(count - 2)],
                names: Vec::new(),
                skipped: Vec::new(),
            };
            chart.render().into_string()
        };
        let (few, many) = (drawn(MANY), drawn(500));
        assert_eq!((few.matches("<circle").count(), few.matches("<path").count()), (MANY, 0));
        assert_eq!((many.matches("<circle").count(), many.matches("h0").count()), (0, 500));
        assert!(many.len() < 25_000, "{} bytes", many.len());
        let numbers = |page: &str| page.matches("<text class=\"change").count();
        assert_eq!((numbers(&few), numbers(&many)), (2, 2), "two bands are next to each other");
        assert_eq!(many.matches("<rect").count(), 3);
    }
}
