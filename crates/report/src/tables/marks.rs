//! The rules by which cells are coloured.

use basecase_analysis::{Direction, Thresholds};

use super::Mark;

/// One value of a column as it is shown, and whether it is not to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The value, a whole number.
    pub(crate) value: i64,
    /// Whether the background writers missed their rate.
    pub(crate) ignored: bool,
}

/// Marks the best and the worst quarter of a column's range, most being best.
///
/// Values that are not to be compared count for the smallest value but not for the largest, and are marked as such
/// whatever they are. Nothing is in the worst quarter when the smallest value reaches 80 % of the largest, and
/// nothing is marked at all when they are equal.
pub(crate) fn quarters(column: &[Option<Shown>]) -> Vec<Mark> {
    let min = column.iter().flatten().map(|shown| shown.value).min().unwrap_or(0);
    let max =
        column.iter().flatten().filter(|shown| !shown.ignored).map(|shown| shown.value).max().unwrap_or(min);
    let quarter = (max - min).div_euclid(4);
    let top = max - quarter;
    let bottom = if min as f64 >= 0.8 * max as f64 { 0 } else { min + quarter };
    let mark = |shown: &Option<Shown>| match shown {
        None => Mark::None,
        Some(shown) if shown.ignored => Mark::Ignored,
        Some(_) if min == max => Mark::None,
        Some(shown) if shown.value <= bottom => Mark::BottomQuarter,
        Some(shown) if shown.value >= top => Mark::TopQuarter,
        Some(_) => Mark::None,
    };
    column.iter().map(mark).collect()
}

/// Marks the best and the worst quarter of a column's range, least being best.
///
/// Nothing is in the worst quarter when the smallest value reaches 80 % of the largest.
pub(crate) fn quarters_least_is_best(column: &[Option<i64>]) -> Vec<Mark> {
    let min = column.iter().flatten().min().copied().unwrap_or(0);
    let max = column.iter().flatten().max().copied().unwrap_or(0);
    let quarter = (max - min) / 4;
    let none_worst = min as f64 >= 0.8 * max as f64;
    let mark = |value: &Option<i64>| match *value {
        None => Mark::None,
        Some(_) if min == max => Mark::None,
        Some(value) if value >= max - quarter && !none_worst => Mark::BottomQuarter,
        Some(value) if value <= min + quarter => Mark::TopQuarter,
        Some(_) => Mark::None,
    };
    column.iter().map(mark).collect()
}

/// Marks a value relative to the base case by its rounded per cent.
pub(crate) fn relative(ratio: f64, thresholds: Thresholds) -> Mark {
    match thresholds.direction(ratio) {
        Some(Direction::Better) => Mark::Better,
        Some(Direction::Worse) => Mark::Worse,
        None => Mark::None,
    }
}

/// What the marks of [`relative`] mean.
pub(crate) fn relative_legend(thresholds: Thresholds) -> Vec<(Mark, String)> {
    vec![
        (Mark::Better, format!("{:.2} or more", thresholds.better_from_pct as f64 / 100.0)),
        (Mark::Worse, format!("{:.2} or less", thresholds.worse_to_pct as f64 / 100.0)),
    ]
}

#[cfg(test)]
mod tests {
    use basecase_analysis::Preset;

    use super::*;

    fn column(values: &[i64]) -> Vec<Option<Shown>> {
        values.iter().map(|&value| Some(Shown { value, ignored: false })).collect()
    }

    #[test]
    fn published_column_of_table_1() {
        // qr1000 with 4 clients; the last three rows failed the SLA. The reference shows red, red, green, red, red,
        // gray because its red rule comes first. Here gray wins, as its meaning is that the value says nothing.
        let mut shown = column(&[4592, 5018, 11_338, 3038, 3176, 11_877]);
        for failed in &mut shown[3..] {
            failed.as_mut().unwrap().ignored = true;
        }
        let expected = [
            Mark::BottomQuarter,
            Mark::BottomQuarter,
            Mark::TopQuarter,
            Mark::Ignored,
            Mark::Ignored,
            Mark::Ignored,
        ];
        assert_eq!(quarters(&shown), expected);
    }

    #[test]
    fn bounds_of_table_1() {
        // Of the same column: top 9263, bottom 5113, both inclusive.
        let marks = quarters(&column(&[3038, 5113, 5114, 9262, 9263, 11_338]));
        let expected = [
            Mark::BottomQuarter,
            Mark::BottomQuarter,
            Mark::None,
            Mark::None,
            Mark::TopQuarter,
            Mark::TopQuarter,
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn a_narrow_column_has_no_worst_quarter() {
        assert_eq!(quarters(&column(&[80, 100])), [Mark::None, Mark::TopQuarter]);
        assert_eq!(quarters(&column(&[79, 100])), [Mark::BottomQuarter, Mark::TopQuarter]);
        assert_eq!(quarters(&column(&[7, 7])), [Mark::None, Mark::None]);
        assert_eq!(quarters(&[None]), [Mark::None]);
        assert_eq!(quarters(&[]), []);
    }

    #[test]
    fn worked_ratios_of_table_2() {
        let mark = |value: f64, base: f64| relative(value / base, Preset::Report.thresholds());
        assert_eq!(mark(98_039.0, 103_448.0), Mark::None);
        assert_eq!(mark(107_914.0, 101_352.0), Mark::Better);
        assert_eq!(mark(17_338.0, 18_527.0), Mark::Worse);
    }

    #[test]
    fn thresholds_of_the_posts() {
        let mark = |ratio, preset: Preset| relative(ratio, preset.thresholds());
        assert_eq!(mark(0.95, Preset::Posts2024), Mark::Worse);
        assert_eq!(mark(0.96, Preset::Posts2024), Mark::None);
        assert_eq!(mark(1.04, Preset::Posts2024), Mark::None);
        assert_eq!(mark(1.05, Preset::Posts2024), Mark::Better);
        assert_eq!(mark(0.97, Preset::Posts2025), Mark::Worse);
        assert_eq!(mark(0.98, Preset::Posts2025), Mark::None);
        assert_eq!(mark(1.02, Preset::Posts2025), Mark::None);
        assert_eq!(mark(1.03, Preset::Posts2025), Mark::Better);
        assert_eq!(mark(1.05, Preset::Report), Mark::None);
        assert_eq!(mark(1.06, Preset::Report), Mark::Better);
    }

    #[test]
    fn longest_statements_are_worst() {
        let marks = quarters_least_is_best(&[Some(10), Some(100), Some(50), None]);
        assert_eq!(marks, [Mark::TopQuarter, Mark::BottomQuarter, Mark::None, Mark::None]);
        assert_eq!(quarters_least_is_best(&[Some(90), Some(100)]), [Mark::TopQuarter, Mark::None]);
    }
}
