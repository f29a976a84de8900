//! The results beyond the thresholds, by group, in words.

use basecase_analysis::{Direction, Finding, Judged, Results, Thresholds};
use basecase_stats::Verdict;

use super::{JudgedWords as _, suite_lines};

/// Most steps named for one candidate.
const NAMED: usize = 3;

/// E.g. `slower on 2 of 9 steps: scan 0.84, hot-points 0.91; faster on 1 of 9 steps: …`; `None` if nothing is beyond
/// the thresholds.
fn beyond(finding: &Finding, results: &Results<'_>, thresholds: Thresholds) -> Option<String> {
    let part = |(word, direction): (&str, Direction)| {
        let found = finding.beyond(direction, thresholds);
        let label =
            |(step, ratio): &(usize, f64)| format!("{} {ratio:.2}", results.experiment.steps[*step].label);
        let mut named: Vec<String> = found.iter().take(NAMED).map(label).collect();
        if found.len() > NAMED {
            named.push(format!("{} more", found.len() - NAMED));
        }
        let (count, all) = (found.len(), finding.ratios.len());
        let steps = if all == 1 { "step" } else { "steps" };
        (count > 0).then(|| format!("{word} on {count} of {all} {steps}: {}", named.join(", ")))
    };
    let parts: Vec<String> =
        [("slower", Direction::Worse), ("faster", Direction::Better)].into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// E.g. `0.84 to 1.02, median 0.93, on 9 steps`.
pub(crate) fn range(finding: &Finding) -> String {
    let [least, median, most] = finding.range();
    match finding.ratios.len() {
        1 => format!("{least:.2} on one step"),
        steps => format!("{least:.2} to {most:.2}, median {median:.2}, on {steps} steps"),
    }
}

/// The main results, one line each: in rounds the decided changes, else for each group the candidates beyond the thresholds, by how
/// much and where.
pub(crate) fn lines(results: &Results<'_>, thresholds: Thresholds) -> Vec<String> {
    if results.rounds.is_some() {
        return decided(results);
    }
    let name = |finding: &Finding| results.experiment.candidates[finding.candidate].name.to_string();
    let mut lines = Vec::new();
    for group in results.families() {
        let mut within = Vec::new();
        for finding in Finding::all(results, &group) {
            match beyond(&finding, results, thresholds) {
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

/// Most decided steps with a line of their own.
const DECIDED: usize = 12;

/// Changes, and steps that only cost more CPU, largest first; then undecided steps, and the summary over all steps.
fn decided(results: &Results<'_>) -> Vec<String> {
    let all = results.all_judged();
    let place =
        |judged: &Judged<'_>| format!("{} on {}", judged.step_name(results), judged.candidate_name(results));
    let line = |judged: &Judged<'_>| {
        let reading = judged.attribution().map(|cause| format!("; {cause}")).unwrap_or_default();
        format!("{}: {}{reading}", place(judged), judged.sentence())
    };
    let is_telling =
        |judged: &&Judged<'_>| judged.throughput.verdict.is_change() || judged.attribution().is_some();
    let mut lines: Vec<String> = all.iter().filter(is_telling).map(line).collect();
    let more = lines.len().saturating_sub(DECIDED);
    lines.truncate(DECIDED);
    if more > 0 {
        lines.push(format!("{more} more in the table of verdicts"));
    }
    let open = all.iter().filter(|judged| judged.throughput.verdict == Verdict::NotEnoughData);
    let open: Vec<String> = open.map(place).collect();
    if !open.is_empty() {
        lines.push(format!("not enough data: {}", open.join(", ")));
    }
    lines.extend(suite_lines(results));
    lines
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Preset, fixture};

    use super::*;

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
        assert_eq!(beyond(&finding, &results, Preset::Report.thresholds()), Some(expected));
        assert_eq!(range(&finding), "0.50 to 1.20, median 0.85, on 6 steps");
        let alone = Finding { candidate: 1, ratios: vec![(1, 1.0)] };
        assert_eq!(beyond(&alone, &results, Preset::Report.thresholds()), None);
        assert_eq!(range(&alone), "1.00 on one step");
    }
}
