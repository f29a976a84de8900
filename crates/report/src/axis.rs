//! How far the axis of a forest plot reaches.

/// How many times as far as the next one an interval reaches that does not fit.
const FAR: f64 = 4.0;

/// The reach of an axis for intervals of which each reaches so far from 0. Of each three at most one does not fit: those that reach much
/// further than all others, which would be points at 0.
pub(crate) fn reach(ends: impl Iterator<Item = f64>) -> f64 {
    let mut ends: Vec<f64> = ends.collect();
    ends.sort_by(|one, other| other.total_cmp(one));
    let most = ends.len() / 3;
    let gap = ends.windows(2).take(most).rposition(|pair| pair[0] > FAR * pair[1]);
    ends.get(gap.map_or(0, |last| last + 1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_that_reach_far_do_not_hide_the_others() {
        let of = |ends: &[f64]| reach(ends.iter().copied());
        assert_eq!(of(&[0.1, 54.9, 0.05]), 0.1);
        assert_eq!(of(&[0.1, 54.9]), 54.9, "half of them");
        assert_eq!(of(&[0.1, 0.35, 0.05]), 0.35);
        assert_eq!(of(&[900.0, 50.0, 0.1, 0.1, 0.2, 0.1]), 0.2);
        assert_eq!(of(&[50.0, 50.0, 50.0, 0.1]), 50.0);
        assert_eq!(of(&[]), 0.0);
    }
}
