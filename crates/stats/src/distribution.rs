//! Tails and quantiles of the normal, Student's t, χ² and F distributions.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;
use statrs::function::gamma::checked_gamma_ur;

/// The probability that a standard normal variable exceeds `z`.
pub(crate) fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The density of a normal variable with mean 0 and standard deviation `sd`.
pub(crate) fn normal_density(x: f64, sd: f64) -> f64 {
    let z = x / sd;
    (-0.5 * z * z).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
}

/// The two-sided p-value of a statistic with Student's t distribution.
pub(crate) fn t_p_value(t: f64, freedom: f64) -> f64 {
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The value that Student's t exceeds in absolute value with probability `p`. It is accurate down to p = 1e-6 for one degree of freedom,
/// and to 1e-12 for two or more.
pub(crate) fn t_critical(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| -t.inverse_cdf(p / 2.0))
}

/// The probability that χ² with these degrees of freedom exceeds `value`.
pub(crate) fn chi_squared_tail(value: f64, freedom: f64) -> f64 {
    // Beyond the range of the function lie 0 and infinity.
    checked_gamma_ur(freedom / 2.0, value / 2.0).unwrap_or(if value > 0.0 { 0.0 } else { 1.0 })
}

/// The value below which χ² with these degrees of freedom is with probability `p`, 0 to 1.
pub(crate) fn chi_squared_quantile(p: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom).map_or(f64::INFINITY, |chi_squared| chi_squared.inverse_cdf(p))
}

/// The probability that F exceeds `value`, 0 or more; `over` and `under` are the degrees of freedom of its two mean squares.
pub(crate) fn f_tail(value: f64, over: f64, under: f64) -> f64 {
    beta_reg(under / 2.0, over / 2.0, under / (under + over * value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_chi_squared_and_f_are_those_of_printed_tables() {
        assert!((chi_squared_tail(9.487_729, 4.0) - 0.05).abs() < 1e-7);
        assert!((chi_squared_quantile(0.95, 4.0) - 9.487_729).abs() < 1e-5);
        assert_eq!((chi_squared_tail(0.0, 4.0), chi_squared_tail(f64::INFINITY, 4.0)), (1.0, 0.0));
        assert!((f_tail(3.238_872, 3.0, 16.0) - 0.05).abs() < 1e-6);
        assert_eq!(f_tail(0.0, 3.0, 16.0), 1.0);
    }

    #[test]
    fn quantiles_far_out_agree_with_tails() {
        for freedom in [2.0, 3.3, 4.0, 9.0, 39.0, 99.0] {
            for p in [0.9, 0.05, 1e-3, 1e-5, 1e-8, 1e-12] {
                let back = t_p_value(t_critical(p, freedom), freedom);
                assert!((back / p - 1.0).abs() < 1e-9, "{freedom} {p} {back}");
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        assert!((t_critical(0.05, 4.0) - 2.776_445).abs() < 1e-6);
        assert!((t_critical(0.01, 9.0) - 3.249_836).abs() < 1e-6);
        assert!((2.0 * normal_tail(1.959_964) - 0.05).abs() < 1e-7);
    }
}
