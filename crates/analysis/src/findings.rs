//! Which results are beyond the thresholds, group by group.

use crate::results::Results;
use crate::shape::StepGroup;
use crate::thresholds::{Direction, Thresholds};

/// How one candidate compares with the base case on a group of steps.
#[derive(Debug, PartialEq)]
pub struct Finding {
    /// The candidate, by number.
    pub candidate: usize,
    /// Steps with the candidate's relative rate, the slowest first. Steps that cannot be compared are left out.
    pub ratios: Vec<(usize, f64)>,
}

impl Finding {
    /// The findings on each candidate but the base case; those without a comparable step are left out.
    pub fn all(results: &Results<'_>, group: &StepGroup<'_>) -> Vec<Finding> {
        let finding = |candidate| {
            let is_void = |step| results.missed_sla(step, candidate) || results.missed_sla(step, 0);
            let steps = group.steps.iter().filter(|step| !is_void(**step));
            let mut ratios: Vec<(usize, f64)> =
                steps.filter_map(|&step| Some((step, results.relative(step, candidate)?))).collect();
            ratios.sort_by(|left, right| left.1.total_cmp(&right.1));
            Finding { candidate, ratios }
        };
        let others = results.candidates().skip(1).map(|(candidate, _)| finding(candidate));
        others.filter(|finding| !finding.ratios.is_empty()).collect()
    }

    /// The steps beyond the threshold on this side, the furthest from the base case first.
    pub fn beyond(&self, direction: Direction, thresholds: Thresholds) -> Vec<(usize, f64)> {
        let is_beyond = |(_, ratio): &&(usize, f64)| thresholds.direction(*ratio) == Some(direction);
        let mut found: Vec<(usize, f64)> = self.ratios.iter().filter(is_beyond).copied().collect();
        if direction == Direction::Better {
            found.reverse();
        }
        found
    }

    /// The smallest ratio, the median and the largest.
    pub fn range(&self) -> [f64; 3] {
        let ratio = |place: usize| self.ratios.get(place).map_or(f64::NAN, |(_, ratio)| *ratio);
        let last = self.ratios.len().saturating_sub(1);
        let median = f64::midpoint(ratio(last / 2), ratio(self.ratios.len() / 2));
        [ratio(0), median, ratio(last)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_missed_rate_is_no_finding() {
        let (experiment, trials) = fixture::sample();
        let results = Results::new(&experiment, &trials);
        let points = results.families().pop().unwrap();
        assert_eq!((points.name, points.steps.len()), ("point queries", 3));
        let slow =
            Finding::all(&results, &points).into_iter().find(|finding| finding.candidate == 2).unwrap();
        assert_eq!(slow.ratios.len(), 2, "the rate of qp1000 was missed");
    }
}
