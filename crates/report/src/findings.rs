//! Which results are beyond the thresholds, group by group.

use basecase_stats::Verdict;

use crate::judged::Judged;
use crate::options::Thresholds;
use crate::results::Results;
use crate::shape::StepGroup;
use crate::tables::Mark;
use crate::tables::marks::relative;

/// Most steps of a candidate that are told by name.
const NAMED: usize = 3;

/// How one candidate compares with the base case on a group of steps.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    /// The candidate, by number.
    pub(crate) candidate: usize,
    /// Steps with the candidate's rate divided by the base case's, the slowest first. Steps that cannot be compared are
    /// not among them.
    pub(crate) ratios: Vec<(usize, f64)>,
}

impl Finding {
    /// What is known of each candidate but the base case; those without a comparable step are left out.
    pub(crate) fn all(results: &Results<'_>, group: &StepGroup<'_>) -> Vec<Finding> {
        let of = |candidate| {
            let is_void = |step| results.missed_sla(step, candidate) || results.missed_sla(step, 0);
            let steps = group.steps.iter().filter(|step| !is_void(**step));
            let mut ratios: Vec<(usize, f64)> =
                steps.filter_map(|&step| Some((step, results.relative(step, candidate)?))).collect();
            ratios.sort_by(|left, right| left.1.total_cmp(&right.1));
            Finding { candidate, ratios }
        };
        let others = results.candidates().skip(1).map(|(candidate, _)| of(candidate));
        others.filter(|finding| !finding.ratios.is_empty()).collect()
    }

    /// The steps with this mark, the furthest from the base case first.
    pub(crate) fn marked(&self, mark: Mark, thresholds: Thresholds) -> Vec<(usize, f64)> {
        let has_mark = |(_, ratio): &&(usize, f64)| relative(*ratio, thresholds) == mark;
        let mut found: Vec<(usize, f64)> = self.ratios.iter().filter(has_mark).copied().collect();
        if mark == Mark::Better {
            found.reverse();
        }
        found
    }

    /// E.g. `slower on 2 of 9 steps: scan 0.84, hot-points 0.91; faster on 1 of 9 steps: …`; `None` when nothing is beyond
    /// the thresholds.
    pub(crate) fn beyond(&self, results: &Results<'_>, thresholds: Thresholds) -> Option<String> {
        let part = |(word, mark): (&str, Mark)| {
            let found = self.marked(mark, thresholds);
            let label = |(step, ratio): &(usize, f64)| {
                format!("{} {ratio:.2}", results.experiment.steps[*step].label)
            };
            let mut named: Vec<String> = found.iter().take(NAMED).map(label).collect();
            if found.len() > NAMED {
                named.push(format!("{} more", found.len() - NAMED));
            }
            let (count, all) = (found.len(), self.ratios.len());
            let steps = if all == 1 { "step" } else { "steps" };
            (count > 0).then(|| format!("{word} on {count} of {all} {steps}: {}", named.join(", ")))
        };
        let parts: Vec<String> =
            [("slower", Mark::Worse), ("faster", Mark::Better)].into_iter().filter_map(part).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// E.g. `0.84 to 1.02, median 0.93, on 9 steps`.
    pub(crate) fn range(&self) -> String {
        let ratio = |index: usize| self.ratios[index].1;
        let (last, middle) = (self.ratios.len() - 1, self.ratios.len() / 2);
        let median = f64::midpoint(ratio(last / 2), ratio(middle));
        match last {
            0 => format!("{:.2} on one step", ratio(0)),
            _ => format!("{:.2} to {:.2}, median {median:.2}, on {} steps", ratio(0), ratio(last), last + 1),
        }
    }
}

/// The most telling lines of a comparison: in rounds what is decided, else for each group which candidates are beyond the
/// thresholds, how far and where.
pub(crate) fn lines(results: &Results<'_>, thresholds: Thresholds) -> Vec<String> {
    if results.rounds.is_some() {
        return decided(results);
    }
    let name = |finding: &Finding| results.experiment.candidates[finding.candidate].name.to_string();
    let mut lines = Vec::new();
    for group in results.families() {
        let mut within = Vec::new();
        for finding in Finding::all(results, &group) {
            match finding.beyond(results, thresholds) {
                Some(beyond) => lines.push(format!("{}: {} is {beyond}", group.name, name(&finding))),
                None => within.push(name(&finding)),
            }
        }
        if !within.is_empty() {
            let (low, high) = (thresholds.worse_to_pct, thresholds.better_from_pct);
            let (low, high) = ((low + 1) as f64 / 100.0, (high - 1) as f64 / 100.0);
            lines.push(format!(
                "{}: from {low:.2} to {high:.2} on every step: {}",
                group.name,
                within.join(", ")
            ));
        }
    }
    lines
}

/// Most decided steps that are told by themselves.
const DECIDED: usize = 12;

/// Changes and steps that only cost more CPU, the largest first; then what is open, and what all steps say together.
fn decided(results: &Results<'_>) -> Vec<String> {
    let all = results.all_judged();
    let place =
        |judged: &Judged<'_>| format!("{} on {}", judged.step_name(results), judged.candidate_name(results));
    let line = |judged: &Judged<'_>| {
        let reading = judged.attribution();
        let reading = if reading.is_empty() { String::new() } else { format!("; {reading}") };
        format!("{}: {}{reading}", place(judged), judged.sentence())
    };
    let is_telling =
        |judged: &&Judged<'_>| judged.throughput.verdict.is_change() || !judged.attribution().is_empty();
    let mut lines: Vec<String> = all.iter().filter(is_telling).map(line).collect();
    let more = lines.len().saturating_sub(DECIDED);
    lines.truncate(DECIDED);
    if more > 0 {
        lines.push(format!("{more} more, in the table of verdicts"));
    }
    let open = all.iter().filter(|judged| judged.throughput.verdict == Verdict::NotEnoughData);
    let open: Vec<String> = open.map(place).collect();
    if !open.is_empty() {
        lines.push(format!("not enough data: {}", open.join(", ")));
    }
    lines.extend(results.suite_lines());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::options::Preset;

    #[test]
    fn the_furthest_steps_are_named_and_the_others_counted() {
        let (experiment, trials) = fixture::microbenchmarks(2, &fixture::LIST, 2);
        let results = Results::new(&experiment, &trials);
        let ratios = vec![(1, 0.5), (2, 0.7), (3, 0.8), (4, 0.9), (5, 1.0), (6, 1.2)];
        let finding = Finding { candidate: 1, ratios };
        let label = |step: usize| experiment.steps[step].label.as_str();
        let expected = format!(
            "slower on 4 of 6 steps: {} 0.50, {} 0.70, {} 0.80, 1 more; faster on 1 of 6 steps: {} 1.20",
            label(1),
            label(2),
            label(3),
            label(6)
        );
        assert_eq!(finding.beyond(&results, Preset::Report.thresholds()), Some(expected));
        assert_eq!(finding.range(), "0.50 to 1.20, median 0.85, on 6 steps");
        let alone = Finding { candidate: 1, ratios: vec![(1, 1.0)] };
        assert_eq!(alone.beyond(&results, Preset::Report.thresholds()), None);
        assert_eq!(alone.range(), "1.00 on one step");
    }

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
