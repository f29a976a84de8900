//! The scatter of values about the means of their groups.

use crate::sample::mean;

/// A variance and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scatter {
    pub(crate) variance: f64,
    /// Degrees of freedom, above 0.
    pub(crate) freedom: f64,
}

impl Scatter {
    /// Of values around the mean of their group. `None` if no group has two.
    pub(crate) fn of<'a>(groups: impl IntoIterator<Item = &'a [f64]>) -> Option<Scatter> {
        let (mut squares, mut freedom) = (0.0, 0.0);
        for group in groups.into_iter().filter(|group| group.len() > 1) {
            let middle = mean(group);
            squares += group.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
            freedom += (group.len() - 1) as f64;
        }
        (freedom > 0.0).then(|| Scatter { variance: squares / freedom, freedom })
    }
}
