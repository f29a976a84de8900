//! The difference of a contender from the base case, as text.

use basecase_analysis::{Effect, percent};

/// Shown in place of an unknown interval.
pub(crate) const UNKNOWN: &str = "(?)";

/// An effect as text.
pub(crate) trait EffectWords {
    /// E.g. `0.76`, with as many digits as its interval allows.
    fn ratio_text(&self) -> String;

    /// E.g. `(0.74–0.78)`.
    fn ratio_interval(&self) -> String;

    /// E.g. `0.76 (0.74–0.78)`.
    fn ratio_line(&self) -> String;

    /// The difference in per cent, e.g. `-24.9`.
    fn percent_text(&self) -> String;

    /// Its interval, e.g. `(-26.4 to -23.1)`.
    fn percent_interval(&self) -> String;

    /// Half the width of its interval in points with so many digits, e.g. `±1.7`; `None` if it is not known.
    fn half_interval(&self, digits: usize) -> Option<String>;

    /// The size of a change, e.g. `24.9 % slower (23.1–26.4 %)`.
    fn difference(&self) -> String;

    /// The size of a change of work, e.g. `1.92 % more work (1.89–1.95 %)`.
    fn work_difference(&self) -> String;

    /// The size of a change without its interval, e.g. `24.9 % slower`.
    fn size(&self) -> String;

    /// The size of a change of work without its interval, e.g. `1.92 % more work`.
    fn work_size(&self) -> String;
}

impl EffectWords for Effect {
    fn ratio_text(&self) -> String {
        format!("{:.*}", ratio_digits(self), self.ratio)
    }

    fn ratio_interval(&self) -> String {
        let digits = ratio_digits(self);
        let text = |[low, high]: [f64; 2]| format!("({low:.digits$}–{high:.digits$})");
        self.interval.map_or_else(|| UNKNOWN.to_owned(), text)
    }

    fn ratio_line(&self) -> String {
        format!("{} {}", self.ratio_text(), self.ratio_interval())
    }

    fn percent_text(&self) -> String {
        percent_text(self.ratio, percent_digits(self))
    }

    fn percent_interval(&self) -> String {
        let digits = percent_digits(self);
        let text = |[low, high]: [f64; 2]| {
            format!("({} to {})", percent_text(low, digits), percent_text(high, digits))
        };
        self.interval.map_or_else(|| UNKNOWN.to_owned(), text)
    }

    fn half_interval(&self, digits: usize) -> Option<String> {
        self.interval.map(|[low, high]| format!("±{:.digits$}", 50.0 * (high - low)))
    }

    fn difference(&self) -> String {
        difference(self, TIME)
    }

    fn work_difference(&self) -> String {
        difference(self, WORK)
    }

    fn size(&self) -> String {
        sized(self, TIME)
    }

    fn work_size(&self) -> String {
        sized(self, WORK)
    }
}

/// The words for a ratio below 1 and for one above.
const TIME: [&str; 2] = ["slower", "faster"];
const WORK: [&str; 2] = ["less work", "more work"];

/// The size of a change with the word for its direction.
fn sized(effect: &Effect, [below, above]: [&str; 2]) -> String {
    let word = if effect.ratio < 1.0 { below } else { above };
    format!("{:.*} % {word}", percent_digits(effect), percent(effect.ratio).abs())
}

/// The same with its interval.
fn difference(effect: &Effect, words: [&str; 2]) -> String {
    let digits = percent_digits(effect);
    let size = |ratio: f64| percent(ratio).abs();
    let interval = match effect.interval {
        Some([low, high]) => {
            let (least, most) = (size(low).min(size(high)), size(low).max(size(high)));
            format!("({least:.digits$}–{most:.digits$} %)")
        }
        None => UNKNOWN.to_owned(),
    };
    format!("{} {interval}", sized(effect, words))
}

fn width(effect: &Effect) -> f64 {
    effect.interval.map_or(f64::INFINITY, |[low, high]| high - low)
}

fn ratio_digits(effect: &Effect) -> usize {
    if width(effect) < 0.02 { 3 } else { 2 }
}

fn percent_digits(effect: &Effect) -> usize {
    if width(effect) < 0.002 { 2 } else { 1 }
}

/// The difference of a ratio from 1 in per cent with its sign, e.g. `-24.9`; what rounds to 0 has no sign.
pub(crate) fn percent_text(ratio: f64, digits: usize) -> String {
    let text = format!("{:+.digits$}", percent(ratio));
    if text.chars().any(|letter| ('1'..='9').contains(&letter)) { text } else { format!("{:.digits$}", 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_interval() {
        let effect = |ratio, interval| Effect { ratio, interval };
        let wide = effect(0.751, Some([0.736, 0.769]));
        assert_eq!((wide.ratio_text(), wide.ratio_interval()), ("0.75".into(), "(0.74–0.77)".into()));
        assert_eq!(
            (wide.percent_text(), wide.percent_interval()),
            ("-24.9".into(), "(-26.4 to -23.1)".into())
        );
        assert_eq!(wide.difference(), "24.9 % slower (23.1–26.4 %)");
        let narrow = effect(1.0002, Some([0.9996, 1.0007]));
        assert_eq!((narrow.ratio_text(), narrow.ratio_interval()), ("1.000".into(), "(1.000–1.001)".into()));
        assert_eq!(
            (narrow.percent_text(), narrow.percent_interval()),
            ("+0.02".into(), "(-0.04 to +0.07)".into())
        );
        let unknown = effect(1.00004, None);
        assert_eq!((unknown.ratio_interval(), unknown.percent_text()), ("(?)".into(), "0.0".into()));
    }
}
