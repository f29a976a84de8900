//! Mean and standard deviation of a few values.

use crate::distribution::t_p_value;

/// Smaller standard deviations are raised to this: identical values mean a coarse clock, not the absence of noise.
pub(crate) const SMALLEST_SD: f64 = 1e-6;

/// Mean and standard deviation of two values or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Number of values.
    pub(crate) count: usize,
    /// Their mean.
    pub(crate) mean: f64,
    /// Their standard deviation, at least 1e-6.
    pub(crate) sd: f64,
    freedom: f64,
}

impl Sample {
    /// The sample of these values; `None` if there are fewer than two.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let mean = mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = (values.len() - 1) as f64;
        let sd = (squares / freedom).sqrt().max(SMALLEST_SD);
        Some(Sample { count: values.len(), mean, sd, freedom })
    }

    /// The sample of so many values with this mean, whose variance of one value is known with so many degrees of freedom.
    pub(crate) fn with_variance(count: usize, mean: f64, variance: f64, freedom: f64) -> Self {
        Sample { count, mean, sd: variance.sqrt().max(SMALLEST_SD), freedom }
    }

    /// Degrees of freedom of the standard deviation.
    pub(crate) fn freedom(&self) -> f64 {
        self.freedom
    }

    /// Standard error of the mean.
    pub(crate) fn standard_error(&self) -> f64 {
        self.sd / (self.count as f64).sqrt()
    }

    /// The two-sided p-value of Student's test that the mean is 0.
    pub(crate) fn p_value(&self) -> f64 {
        t_p_value(self.mean / self.standard_error(), self.freedom)
    }

    /// The variance of one value.
    pub(crate) fn variance(&self) -> f64 {
        self.sd * self.sd
    }
}

/// The mean; NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
