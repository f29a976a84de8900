//! The difference of two means with unequal variances.

use crate::distribution::{t_critical, t_p_value};
use crate::interval::Interval;
use crate::sample::{Sample, mean};

/// A difference of means with its error (Welch 1947).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Welch {
    /// The mean of the later values less that of the earlier.
    pub(super) difference: f64,
    standard_error: f64,
    freedom: f64,
}

impl Welch {
    /// Compares two groups of values. A group of one value is assumed to vary as the other does; `None` if a group is empty or both have
    /// one value.
    pub(super) fn of(earlier: &[f64], later: &[f64]) -> Option<Self> {
        if earlier.is_empty() || later.is_empty() {
            return None;
        }
        let samples = [Sample::of(earlier), Sample::of(later)];
        let [variance_earlier, variance_later] =
            [samples[0].or(samples[1])?, samples[1].or(samples[0])?].map(|sample| sample.variance());
        let parts = [variance_earlier / earlier.len() as f64, variance_later / later.len() as f64];
        let sum = parts[0] + parts[1];
        // Satterthwaite's degrees of freedom; a group of one value contributes none.
        let squares: f64 = samples
            .iter()
            .zip(parts)
            .filter_map(|(sample, part)| sample.map(|sample| part * part / sample.freedom()))
            .sum();
        let most: f64 = samples.iter().flatten().map(Sample::freedom).sum();
        Some(Welch {
            difference: mean(later) - mean(earlier),
            standard_error: sum.sqrt(),
            freedom: (sum * sum / squares).clamp(1.0, most),
        })
    }

    /// The same with a further error of this variance, known with `freedom` degrees of freedom.
    pub(super) fn with_error(self, variance: f64, freedom: f64) -> Self {
        let own = self.standard_error.powi(2);
        let sum = own + variance;
        let squares = own * own / self.freedom + variance * variance / freedom;
        Welch { standard_error: sum.sqrt(), freedom: (sum * sum / squares).max(1.0), ..self }
    }

    /// The difference in squared standard errors.
    pub(super) fn squared_errors(&self) -> f64 {
        (self.difference / self.standard_error).powi(2)
    }

    /// The two-sided p-value of no difference.
    pub(super) fn p_value(&self) -> f64 {
        t_p_value(self.difference / self.standard_error, self.freedom)
    }

    /// The interval of the difference at error `alpha`.
    pub(super) fn interval(&self, alpha: f64) -> Interval {
        Interval::around(self.difference, t_critical(alpha, self.freedom) * self.standard_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_tested_as_in_a_worked_example() {
        // Means 2 and 5, variances 1 and 4, three values each: t = 3/√(5/3) with 50/17 degrees of freedom.
        let welch = Welch::of(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]).unwrap();
        assert!((welch.difference - 3.0).abs() < 1e-12);
        assert!((welch.freedom - 50.0 / 17.0).abs() < 1e-9, "{}", welch.freedom);
        assert!((welch.standard_error - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!(welch.interval(0.05).contains(0.0) == (welch.p_value() > 0.05));
    }

    #[test]
    fn a_further_error_counts_as_a_third_group_does() {
        let welch = Welch::of(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]).unwrap();
        assert_eq!(welch.with_error(0.0, 4.0).standard_error, welch.standard_error);
        // Parts of 1/3, 4/3 and 1/3, with two degrees of freedom each: 4 / ((1/9 + 16/9 + 1/9) / 2).
        let wider = welch.with_error(1.0 / 3.0, 2.0);
        assert!((wider.standard_error - 2.0f64.sqrt()).abs() < 1e-12);
        assert!((wider.freedom - 4.0).abs() < 1e-9, "{}", wider.freedom);
        assert_eq!(wider.difference, welch.difference);
    }

    #[test]
    fn one_value_varies_as_the_others_do() {
        let welch = Welch::of(&[1.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!((welch.standard_error - (1.0f64 + 1.0 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Welch::of(&[1.0], &[2.0]), None);
        assert_eq!(Welch::of(&[], &[2.0, 3.0]), None);
    }
}
