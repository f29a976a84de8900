//! The verdicts of an experiment in rounds as Markdown, e.g. for a pull request.

use basecase_analysis::{Conclusion, Gate, GateCase, Mover, Results};
use basecase_stats::{Verdict, WorkVerdict};

use crate::documents::notes;
use crate::formats::history_address;
use crate::formats::markdown::escaped;
use crate::words::{CaseWords, first, function_name, gate_case, headline, instructions_changed};

/// Failures, changes and undecided steps first, then what disturbed the measurement, the rest folded away. Steps link to their histories if
/// those are published.
pub(crate) fn render(results: &Results<'_>, history: Option<&str>) -> String {
    let gate = &Gate::of(results);
    let base = gate.experiment.candidates.first().map_or("", |base| base.name.0.as_str());
    let is_unchanged = |case: &&GateCase<'_>| {
        matches!(
            case.conclusion(),
            Conclusion::Judged(Verdict::NoChange) | Conclusion::Counted(WorkVerdict::SameWork)
        )
    };
    let (unchanged, telling): (Vec<_>, Vec<_>) = gate.cases.iter().partition(is_unchanged);
    let table = |cases: &[&GateCase<'_>]| {
        let rows: String = cases.iter().map(|case| row(gate, case, history)).collect();
        format!("| step | candidate | verdict | change | rounds |\n|---|---|---|---:|---:|\n{rows}")
    };
    let mut text = format!("### {}\n\nCompared with {}.\n", headline(gate), escaped(base));
    if !telling.is_empty() {
        text.push_str(&format!("\n{}", table(&telling)));
    }
    let functions: String = gate.cases.iter().filter_map(|case| functions(gate, case)).collect();
    if !functions.is_empty() {
        text.push_str(&format!("\nFunctions whose instructions per operation changed most:\n\n{functions}"));
    }
    let warnings = notes::warnings(results);
    if !warnings.is_empty() {
        let lines: String =
            warnings.iter().take(WARNINGS).map(|line| format!("* {}\n", escaped(line))).collect();
        let more = warnings.len().saturating_sub(WARNINGS);
        let more = if more > 0 { format!("* {more} more in the report\n") } else { String::new() };
        text.push_str(&format!("\nWarnings:\n\n{lines}{more}"));
    }
    if !unchanged.is_empty() {
        let count = unchanged.len();
        let steps = if count == 1 { "step" } else { "steps" };
        text.push_str(&format!(
            "\n<details><summary>{count} unchanged {steps}</summary>\n\n{}\n</details>\n",
            table(&unchanged)
        ));
    }
    text
}

/// How many warnings are told.
const WARNINGS: usize = 3;
/// How many functions are named for a case.
const FUNCTIONS: usize = 3;

/// A line with the functions that account for a change of work; `None` where there is none, or they are not known.
fn functions(gate: &Gate<'_>, case: &GateCase<'_>) -> Option<String> {
    case.work.filter(|work| work.verdict().is_change() && !gate.is_base_again(case))?;
    let causes = gate.counts?.causes(case.step, case.candidate)?;
    let name = |mover: &Mover<'_>| {
        format!(
            "`{}` {}",
            function_name(&mover.function).replace('`', "'"),
            instructions_changed(mover.change())
        )
    };
    let names: Vec<String> = causes.movers.iter().map(name).collect();
    let CaseWords { step, candidate, .. } = gate_case(gate, case);
    let [step, candidate] = [step, candidate].map(escaped);
    (!names.is_empty()).then(|| format!("* {step}, {candidate}: {}\n", first(&names, FUNCTIONS)))
}

fn row(gate: &Gate<'_>, case: &GateCase<'_>, history: Option<&str>) -> String {
    let CaseWords { step, candidate, words, details, rounds } = gate_case(gate, case);
    let change = if case.conclusion() == Conclusion::Failed { String::new() } else { details };
    let cells = [step, candidate, &words, &change].map(escaped);
    let [step, candidate, words, change] = cells;
    let step = match history.zip(gate.experiment.steps.get(case.step)) {
        Some((folder, facts)) => format!("[{step}](<{}>)", history_address(folder, facts)),
        None => step,
    };
    format!("| {step} | {candidate} | {}{words} | {change} | {rounds} |\n", sign(case.conclusion()))
}

/// The sign before the words of a case.
fn sign(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Failed => "❌ ",
        Conclusion::Judged(Verdict::Regression)
        | Conclusion::MoreWork
        | Conclusion::Counted(WorkVerdict::MoreWork) => "🔴 ",
        Conclusion::Judged(Verdict::Improvement) | Conclusion::Counted(WorkVerdict::LessWork) => "🟢 ",
        Conclusion::Judged(Verdict::NotEnoughData) | Conclusion::Counted(WorkVerdict::NotEnoughData) => "⚪ ",
        Conclusion::Judged(Verdict::NoChange) | Conclusion::Counted(WorkVerdict::SameWork) => "",
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counts, Rounds, fixture};
    use basecase_model::{Trial, TrialStatus};

    use super::*;
    use crate::formats::junit;

    fn fail(trial: &mut Trial) {
        let reason = "the server closed the connection\nhint: see its log".into();
        let log_tail = "PANIC: \u{1b}[31mno <memory>\u{0}\n".into();
        trial.status = TrialStatus::Failed { reason, log_tail };
        trial.slices.clear();
    }

    #[test]
    fn the_functions_behind_more_work_are_named() {
        let (experiment, counted) = fixture::counted();
        let counts = Counts::of(&experiment, &counted);
        let results = Results::of(&experiment, &[], None).counting(counts.as_ref());
        let summary = render(&results, Some("https://bench.example.org/history/"));
        assert!(
            summary.contains("](<https://bench.example.org/history/history-range-covered-pk"),
            "{summary}"
        );
        let (_, functions) =
            summary.split_once("Functions whose instructions per operation changed most:").unwrap();
        assert!(
            functions.contains("* range-covered-pk") && functions.contains(": `pg_checksum_page` +"),
            "{summary}"
        );
    }

    #[test]
    fn what_disturbed_the_measurement_is_told() {
        let (experiment, mut trials) = fixture::in_rounds();
        let slices = trials.iter_mut().flat_map(|trial| &mut trial.slices).enumerate();
        slices.for_each(|(number, slice)| slice.canary_ns = Some(if number % 4 == 0 { 2.4 } else { 1.7 }));
        let rounds = Rounds::of(&experiment, &trials);
        let summary = render(&Results::of(&experiment, &trials, rounds.as_ref()), None);
        assert!(
            summary.contains("\nWarnings:\n\n* something slowed the processors in 25 % of the slices"),
            "{summary}"
        );
    }

    #[test]
    fn defect_10_a_candidate_that_never_came_up_has_an_error_for_each_step() {
        let (experiment, mut trials) = fixture::in_rounds();
        let last = experiment.candidates[2].name.0.clone();
        trials.retain(|trial| trial.candidate != last || trial.step == experiment.steps[0].name);
        trials.iter_mut().filter(|trial| trial.candidate == last).for_each(fail);
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let gate = Gate::of(&results);
        let steps = gate.failed();
        let headline = headline(&gate);
        assert!(headline.starts_with(&format!("{steps} steps failed, 0 regressions")), "{headline}");
        insta::assert_snapshot!(render(&results, None));
        let junit = junit::render(&gate);
        assert!(junit.contains(&format!("errors=\"{steps}\"")), "{junit}");
        assert_eq!(junit.matches("<error message=").count(), steps, "{junit}");
        assert!(
            junit.contains("[U+001B][31mno &lt;memory&gt;[U+0000]") && junit.contains("hint: see its log"),
            "{junit}"
        );
    }
}
