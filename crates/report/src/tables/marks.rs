//! The rules for marking cells.

use basecase_analysis::{Direction, Standing, Thresholds};

use super::Highlight;

impl From<Standing> for Highlight {
    fn from(standing: Standing) -> Highlight {
        match standing {
            Standing::Best => Highlight::TopQuarter,
            Standing::Between => Highlight::None,
            Standing::Worst => Highlight::BottomQuarter,
            Standing::Ignored => Highlight::Ignored,
        }
    }
}

/// The mark of a value relative to the base case, by its rounded per cent.
pub(crate) fn relative(ratio: f64, thresholds: Thresholds) -> Highlight {
    match thresholds.direction(ratio) {
        Some(Direction::Better) => Highlight::Better,
        Some(Direction::Worse) => Highlight::Worse,
        None => Highlight::None,
    }
}

/// What the marks of [`relative`] mean.
pub(crate) fn relative_legend(thresholds: Thresholds) -> Vec<(Highlight, String)> {
    vec![
        (Highlight::Better, format!("{:.2} or more", thresholds.better_from_pct as f64 / 100.0)),
        (Highlight::Worse, format!("{:.2} or less", thresholds.worse_to_pct as f64 / 100.0)),
    ]
}

#[cfg(test)]
mod tests {
    use basecase_analysis::Preset;

    use super::*;

    #[test]
    fn worked_ratios_of_table_2() {
        let mark = |value: f64, base: f64| relative(value / base, Preset::Report.thresholds());
        assert_eq!(mark(98_039.0, 103_448.0), Highlight::None);
        assert_eq!(mark(107_914.0, 101_352.0), Highlight::Better);
        assert_eq!(mark(17_338.0, 18_527.0), Highlight::Worse);
    }

    #[test]
    fn thresholds_of_the_posts() {
        let mark = |ratio, preset: Preset| relative(ratio, preset.thresholds());
        assert_eq!(mark(0.95, Preset::Posts2024), Highlight::Worse);
        assert_eq!(mark(0.96, Preset::Posts2024), Highlight::None);
        assert_eq!(mark(1.04, Preset::Posts2024), Highlight::None);
        assert_eq!(mark(1.05, Preset::Posts2024), Highlight::Better);
        assert_eq!(mark(0.97, Preset::Posts2025), Highlight::Worse);
        assert_eq!(mark(0.98, Preset::Posts2025), Highlight::None);
        assert_eq!(mark(1.02, Preset::Posts2025), Highlight::None);
        assert_eq!(mark(1.03, Preset::Posts2025), Highlight::Better);
        assert_eq!(mark(1.05, Preset::Report), Highlight::None);
        assert_eq!(mark(1.06, Preset::Report), Highlight::Better);
    }
}
