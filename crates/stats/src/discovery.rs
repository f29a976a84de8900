//! Controls the share of false discoveries among many comparisons.

/// How the p-values of a family may depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependence {
    /// Independent, or positively dependent as comparisons with one base are (Benjamini & Hochberg 1995).
    #[default]
    Positive,
    /// In any way: stricter by the factor 1 + 1/2 + … + 1/M (Benjamini & Yekutieli 2001).
    Any,
}

/// The adjusted p-value of each comparison: the smallest false discovery rate at which it would be a discovery.
pub(crate) fn adjusted(p_values: &[f64], dependence: Dependence) -> Vec<f64> {
    let family = p_values.len();
    let factor = match dependence {
        Dependence::Positive => 1.0,
        Dependence::Any => (1..=family).map(|rank| 1.0 / rank as f64).sum(),
    };
    let mut order: Vec<usize> = (0..family).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut adjusted = vec![1.0; family];
    let mut smallest: f64 = 1.0;
    for (index, place) in order.iter().enumerate().rev() {
        smallest = smallest.min(p_values[*place] * factor * family as f64 / (index + 1) as f64);
        adjusted[*place] = smallest;
    }
    adjusted
}

/// The error of an interval that is reported because its comparison is among the discoveries. Of all such intervals, no larger a share than
/// `rate` misses its effect (Benjamini & Yekutieli 2005).
pub(crate) fn selected_error(rate: f64, discoveries: usize, family: usize) -> f64 {
    rate * discoveries as f64 / family.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_1995() {
        // Table of section 3.2 in Benjamini & Hochberg (1995): four of fifteen are discoveries at 5 %.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.000,
        ];
        let count = |dependence| adjusted(&p_values, dependence).iter().filter(|p| **p <= 0.05).count();
        assert_eq!((count(Dependence::Positive), count(Dependence::Any)), (4, 3));
        assert!((selected_error(0.05, 4, 15) - 0.2 / 15.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn adjustment_keeps_order_and_never_lowers(p_values in prop::collection::vec(0.0..=1.0f64, 0..60)) {
            for dependence in [Dependence::Positive, Dependence::Any] {
                let adjusted = adjusted(&p_values, dependence);
                for (left, p) in p_values.iter().enumerate() {
                    prop_assert!(*p <= adjusted[left] + 1e-12 && adjusted[left] <= 1.0);
                    for (right, other) in p_values.iter().enumerate() {
                        prop_assert!(p > other || adjusted[left] <= adjusted[right] + 1e-12);
                    }
                }
            }
        }
    }
}
