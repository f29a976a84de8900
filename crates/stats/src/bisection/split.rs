//! Which version divides an interval best.

use std::collections::BTreeSet;

/// How probably a version builds that lies in no broken range.
const BUILDS: f64 = 0.8;
/// The same of a preferred one. The ratio is what thirds tell, in bits, so that it is taken from the middle third.
const PREFERRED_BUILDS: f64 = BUILDS / 0.9184;
/// How many broken ranges are expected among all versions, for each e-fold of their lengths.
const RANGES: f64 = 0.3;
/// A broken range has at most so many runs of adjacent failed versions. Fewer are ever tried; more may be told beforehand.
const MOST_RUNS: usize = 32;
/// More failed versions make a broken range no more certain.
const MOST_FAILED: usize = 200;

/// What is known about versions before they are measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splits<'a> {
    /// How many versions there are.
    pub(super) versions: usize,
    /// Versions likelier to build; shorter if the rest is not.
    pub(super) preferred: &'a [bool],
    /// Versions that cannot be had.
    pub(super) skipped: &'a BTreeSet<usize>,
}

impl Splits<'_> {
    /// The version between both, of which the most is expected: how probably it builds, times how much it then tells. `None` if there is
    /// none that was not tried.
    pub(super) fn best(&self, before: usize, since: usize) -> Option<usize> {
        if since <= before {
            return None;
        }
        let in_range = self.in_broken_range(before, since);
        let mut best: Option<(usize, f64)> = None;
        for (version, in_range) in (before..since).zip(in_range).skip(1) {
            if self.skipped.contains(&version) {
                continue;
            }
            let is_preferred = self.preferred.get(version) == Some(&true);
            let alone = if is_preferred { PREFERRED_BUILDS } else { BUILDS };
            let expected = alone * (1.0 - in_range) * entropy(version - before, since - version);
            if best.is_none_or(|(_, most)| expected > most) {
                best = Some((version, expected));
            }
        }
        best.map(|(version, _)| version)
    }

    /// Whether all versions between both were tried.
    pub(super) fn are_exhausted(&self, before: usize, since: usize) -> bool {
        since <= before || self.skipped.range(before + 1..since).count() == since - before - 1
    }

    /// How probably each version from `before` up to `since`, both of which were built, lies in a broken range.
    ///
    /// Failed versions may stand alone, each by chance, or a run of them for one broken range that ends anywhere between them and the next
    /// versions. Ranges of all lengths are equally likely, by orders of magnitude, and begin anywhere (Bayes).
    fn in_broken_range(&self, before: usize, since: usize) -> Vec<f64> {
        let mut in_range = vec![0.0; since - before];
        let mut runs = vec![(before, before)];
        for failed in self.skipped.range(before + 1..since) {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == *failed && *end > before => *end = *failed,
                _ => runs.push((*failed, *failed)),
            }
        }
        runs.push((since, since));
        let mut all_odds = 1.0;
        for first in 1..runs.len() - 1 {
            let mut failed = 0;
            for last in first..(runs.len() - 1).min(first + MOST_RUNS) {
                let (outside, beyond) = (runs[first - 1].1, runs[last + 1].0);
                let (begin, end) = (runs[first].0, runs[last].1);
                let edges = [(begin - outside) as f64, (beyond - end) as f64];
                let length = (end - begin) as f64 + (edges[0] + edges[1]) / 2.0;
                failed += runs[last].1 - runs[last].0 + 1;
                let by_chance = (1.0 - BUILDS).powi(failed.min(MOST_FAILED) as i32);
                let odds = RANGES * edges[0] * edges[1] / (self.versions as f64 * length) / by_chance;
                all_odds += odds;
                for version in outside + 1..beyond {
                    let reached = if version < begin {
                        (version - outside) as f64 / edges[0]
                    } else if version > end {
                        (beyond - version) as f64 / edges[1]
                    } else {
                        1.0
                    };
                    in_range[version - before] += odds * reached;
                }
            }
        }
        in_range.iter_mut().for_each(|odds| *odds /= all_odds);
        in_range
    }
}

/// How much a version tells that has so many places of the change on either side, bits.
fn entropy(below: usize, above: usize) -> f64 {
    let whole = (below + above) as f64;
    let part = |places: usize| {
        let share = places as f64 / whole;
        -share * share.log2()
    };
    part(below) + part(above)
}
