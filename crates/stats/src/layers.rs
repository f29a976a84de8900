//! Variances of values that come in groups: sessions of one start resemble each other, and rounds of one load.

use crate::sample::mean;

/// The variance between groups and within them (one-way analysis of variance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Layers {
    /// Mean square between groups, per value.
    pub(crate) between: f64,
    /// Mean square within groups.
    pub(crate) within: f64,
    /// Values of a typical group.
    pub(crate) each: f64,
    /// Values of the group that a typical value belongs to.
    mates: f64,
    count: f64,
    /// Degrees of freedom of the mean square between groups.
    pub(crate) freedom: f64,
}

impl Layers {
    /// Of values with the number of their group; `fitted` means were taken off them before. `None` with one group, or with so few values that
    /// groups have one each.
    pub(crate) fn of(values: &[(usize, f64)], fitted: usize) -> Option<Layers> {
        let count = values.len();
        let middle = mean(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        let groups = by_group(values);
        let rest = count.checked_sub(groups.len() + fitted.saturating_sub(1)).filter(|rest| *rest > 0)?;
        let freedom = groups.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
        for group in &groups {
            let (size, own) = (group.len() as f64, mean(group));
            between += size * (own - middle).powi(2);
            within += group.iter().map(|value| (value - own).powi(2)).sum::<f64>();
            squares += size * size;
        }
        let count = count as f64;
        Some(Layers {
            between: between / freedom,
            within: within / rest as f64,
            each: (count - squares / count) / freedom,
            mates: squares / count,
            count,
            freedom,
        })
    }

    /// Variance of the groups themselves.
    fn of_groups(&self) -> f64 {
        ((self.between - self.within) / self.each).max(0.0)
    }

    /// How many independent values these are worth, at most as many as there are.
    pub(crate) fn worth(&self) -> f64 {
        let all = self.of_groups() + self.within;
        let alike = if all > 0.0 { self.of_groups() / all } else { 0.0 };
        self.count / (1.0 + (self.mates - 1.0).max(0.0) * alike)
    }

    /// The variance of the mean of some of the values, of which each group has so many. Never below what independent values of the variance
    /// between groups would have: an estimate from few groups must not come out too small by luck.
    pub(crate) fn of_mean(&self, sizes: &[usize]) -> f64 {
        let count: f64 = sizes.iter().sum::<usize>() as f64;
        let squares: f64 = sizes.iter().map(|size| (*size as f64 / count).powi(2)).sum();
        let layered = self.of_groups() * squares + self.within / count;
        layered.max(self.between.max(self.within) / count)
    }
}

/// The values of each group.
fn by_group(values: &[(usize, f64)]) -> Vec<Vec<f64>> {
    let mut groups: std::collections::BTreeMap<usize, Vec<f64>> = std::collections::BTreeMap::new();
    values.iter().for_each(|(group, value)| groups.entry(*group).or_default().push(*value));
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_that_repeat_themselves_are_worth_one_value_each() {
        let alike: Vec<(usize, f64)> = (0..40).map(|number| (number / 10, (number / 10) as f64)).collect();
        assert!((Layers::of(&alike, 1).unwrap().worth() - 4.0).abs() < 1e-9);
        let unlike: Vec<(usize, f64)> = (0..40).map(|number| (number / 10, (number % 10) as f64)).collect();
        assert!((Layers::of(&unlike, 1).unwrap().worth() - 40.0).abs() < 1e-9);
        assert_eq!(Layers::of(&[(0, 1.0), (0, 2.0)], 1), None, "one start");
        assert_eq!(Layers::of(&[(0, 1.0), (1, 2.0)], 1), None, "one value each");
    }

    #[test]
    fn the_mean_of_one_start_has_all_its_luck() {
        let alike: Vec<(usize, f64)> =
            (0..40).map(|number| (number / 10, (number / 10) as f64 + 0.01 * (number % 2) as f64)).collect();
        let layers = Layers::of(&alike, 1).unwrap();
        assert!(layers.of_mean(&[10]) > 3.9 * layers.of_mean(&[10, 10, 10, 10]));
    }
}
