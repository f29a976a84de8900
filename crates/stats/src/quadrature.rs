//! Numerical integration of smooth functions.

/// Points and weights of a quadrature rule.
#[derive(Debug, Clone)]
pub(crate) struct Quadrature {
    /// Where the function is evaluated.
    pub(crate) points: Vec<f64>,
    /// The weight of each value.
    pub(crate) weights: Vec<f64>,
}

impl Quadrature {
    /// The Gauss-Legendre rule with `points` points for the integral from 0 to `end`. The roots of the Legendre polynomial are found by
    /// Newton's method (Press et al., Numerical Recipes, section 4.6).
    pub(crate) fn from_zero(end: f64, points: usize) -> Self {
        let count = points as f64;
        let of_root = |index: usize| {
            let mut root = (std::f64::consts::PI * (index as f64 + 0.75) / (count + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, before) = legendre(points, root);
                slope = count * (root * value - before) / (root * root - 1.0);
                root -= value / slope;
            }
            (0.5 * end * (1.0 - root), end / ((1.0 - root * root) * slope * slope))
        };
        let (points, weights) = (0..points).map(of_root).unzip();
        Quadrature { points, weights }
    }
}

/// The Legendre polynomials of this degree and of the one before, at `x`.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut value, mut before) = (1.0, 0.0);
    for step in 1..=degree {
        let step = step as f64;
        (value, before) = (((2.0 * step - 1.0) * x * value - (step - 1.0) * before) / step, value);
    }
    (value, before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_are_exact_for_polynomials_and_good_for_a_bell() {
        let integral = |end: f64, points: usize, function: &dyn Fn(f64) -> f64| -> f64 {
            let rule = Quadrature::from_zero(end, points);
            rule.points.iter().zip(&rule.weights).map(|(point, weight)| weight * function(*point)).sum()
        };
        assert!((integral(2.0, 5, &|x| x.powi(9)) - 102.4).abs() < 1e-10);
        assert!((integral(6.0, 40, &|x| crate::distribution::normal_density(x, 1.0)) - 0.5).abs() < 1e-8);
    }
}
