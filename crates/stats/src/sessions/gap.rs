//! Whether values fall into two groups with nothing between them.

use crate::layers::Layers;
use crate::modes::clearness;

/// How many within-group standard deviations the gap must exceed, times the number of independent values: gaps of one group shrink as fast
/// as their number grows. Of 15 to 160 sessions with seven counters of one mode, at most 1 % are taken for two.
const GAP: f64 = 55.0;
/// The smallest number of independent values; with fewer, two groups cannot be told from chance.
const LEAST: f64 = 10.0;
/// The gap never has to exceed less than this.
const LEAST_GAP: f64 = 0.6;
/// The smallest share of values in the smaller group.
const SHARE: f64 = 0.15;

/// Which values belong to the upper of two groups; `None` if there is one group. Each value comes with the number of its start.
pub(super) fn upper_group(values: &[(usize, f64)]) -> Option<Vec<bool>> {
    let worth = Layers::of(values, 1)?.worth();
    if worth < LEAST || values.iter().any(|(_, value)| !value.is_finite()) {
        return None;
    }
    let needed = (GAP / worth).max(LEAST_GAP);
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let least = (SHARE * sorted.len() as f64).ceil() as usize;
    let split = (least..=sorted.len().checked_sub(least)?)
        .filter(|split| *split > 0 && *split < sorted.len())
        .max_by(|one, other| clearness(&sorted, *one).total_cmp(&clearness(&sorted, *other)))?;
    let least_of_upper = *sorted.get(split)?;
    (clearness(&sorted, split) > needed)
        .then(|| values.iter().map(|(_, value)| *value >= least_of_upper).collect())
}
