//! The rules by which cells are coloured.

use basecase_analysis::{Direction, Standing, Thresholds};

use super::Mark;

impl From<Standing> for Mark {
    fn from(standing: Standing) -> Mark {
        match standing {
            Standing::Best => Mark::TopQuarter,
            Standing::Between => Mark::None,
            Standing::Worst => Mark::BottomQuarter,
            Standing::Ignored => Mark::Ignored,
        }
    }
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
}
