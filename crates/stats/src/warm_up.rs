//! Where the warm-up of a curve ends.

use crate::sample::mean;

/// How many values count as one.
const BATCH: usize = 5;

/// How many values at the start of a curve belong to the warm-up, by the rule MSER-5 (White 1997): the truncation, in batches
/// of five, with the smallest squared deviation of the rest divided by the square of its length.
///
/// Absent where the best truncation would leave less than half of the curve, or where there are fewer than four batches: the
/// curve is too short to tell. The curve is to be pooled over the candidates, and not one of those that are compared.
pub fn warm_up(curve: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = curve.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < 4 || batches.iter().any(|batch| !batch.is_finite()) {
        return None;
    }
    let error = |truncated: &usize| {
        let rest = &batches[*truncated..];
        let middle = mean(rest);
        rest.iter().map(|batch| (batch - middle).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    // The last few batches are alike by chance; truncations that leave fewer than three are not looked at.
    let candidates = 0..batches.len() - 2;
    let best = candidates.min_by(|left, right| error(left).total_cmp(&error(right)))?;
    (best <= batches.len() / 2).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulation::Simulation;

    #[test]
    fn the_end_of_a_rise_is_found() {
        let mut simulation = Simulation::new("warm-up", 0);
        let curve: Vec<f64> = (0..200)
            .map(|index| 10.0 - 3.0 * (-f64::from(index) / 8.0).exp() + 0.05 * simulation.gaussian())
            .collect();
        let found = warm_up(&curve).unwrap();
        assert!((20..=60).contains(&found), "{found}");
    }

    #[test]
    fn a_steady_curve_has_none_and_a_steady_rise_has_no_end() {
        let alternating: Vec<f64> = (0..100).map(|index| f64::from(index % 2)).collect();
        assert_eq!(warm_up(&alternating), Some(0));
        let rise: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(warm_up(&rise), None);
        assert_eq!(warm_up(&[1.0; 19]), None);
        assert_eq!(warm_up(&[f64::NAN; 40]), None);
    }
}
