//! Verdicts on a contender in a step, in words.

use basecase_analysis::{Judged, JudgedSuite, Results, Rounds, percent_of_logarithm};
use basecase_stats::{Decision, Outlook, Qualifier, Verdict};

use super::EffectWords as _;

/// A verdict in words.
pub(crate) trait JudgedWords {
    /// The verdict with its qualifier, e.g. `regression, clear`.
    fn verdict(&self) -> String;

    /// Number of rounds that count, e.g. `8`, or `5 of 8` if others were dropped.
    fn rounds(&self) -> String;

    /// For a change e.g. `24.9 % slower (23.1–26.4 %), clear regression`; otherwise the verdict.
    fn sentence(&self) -> String;
}

impl JudgedWords for Judged<'_> {
    fn verdict(&self) -> String {
        verdict(self.throughput, self.round_s)
    }

    fn rounds(&self) -> String {
        let Decision { rounds, rounds_dropped, .. } = self.throughput;
        match rounds_dropped {
            0 => rounds.to_string(),
            dropped => format!("{rounds} of {}", rounds + dropped),
        }
    }

    fn sentence(&self) -> String {
        match self.effect().filter(|_| self.throughput.verdict.is_change()) {
            Some(effect) => format!("{}, {}", effect.difference(), change(self.throughput)),
            None => self.verdict(),
        }
    }
}

/// The verdict with its qualifier; `round_s` is the length of a round, if known.
pub(crate) fn verdict(decision: &Decision, round_s: Option<f64>) -> String {
    let Decision { verdict, qualifier, .. } = decision;
    match (verdict, qualifier) {
        (_, Some(Qualifier::ShortTiming)) => "no verdict: measured with shortened timing".to_owned(),
        (_, Some(Qualifier::MissedRate)) => format!("{verdict}: {}", missed_rate(decision)),
        (Verdict::Regression | Verdict::Improvement, Some(Qualifier::AtLeast(_))) => change(decision),
        (Verdict::Regression | Verdict::Improvement, _) => format!("{verdict}, clear"),
        (Verdict::NoChange, _) => {
            let tiny = if *qualifier == Some(Qualifier::TinyShift) { ", tiny shift" } else { "" };
            format!("{verdict} beyond ±{}{tiny}", margin(decision.margin))
        }
        (Verdict::NotEnoughData, _) => {
            let suggestive = if *qualifier == Some(Qualifier::Suggestive) { ", suggestive" } else { "" };
            format!("{verdict}{suggestive}{}", outlook(decision, round_s))
        }
    }
}

/// Who missed the target rate in how many rounds, if that decided the verdict.
pub(crate) fn missed_rate(decision: &Decision) -> String {
    let Decision { verdict, missed_rate, rounds, rounds_dropped, .. } = decision;
    let (who, count) = match verdict {
        Verdict::Regression => ("missed the target rate", missed_rate.by_contender),
        Verdict::Improvement => ("the base case missed the target rate", missed_rate.by_base),
        Verdict::NoChange | Verdict::NotEnoughData => ("both missed the target rate", missed_rate.by_both),
    };
    format!("{who} in {count} of {} rounds", rounds + rounds_dropped)
}

/// The verdict on a change, as part of a sentence, e.g. `clear regression`.
fn change(decision: &Decision) -> String {
    let verdict = decision.verdict;
    let Some(Qualifier::AtLeast(nearest)) = decision.qualifier else {
        return format!("clear {verdict}");
    };
    let sign = if verdict == Verdict::Regression { -1.0 } else { 1.0 };
    let least = percent_of_logarithm(sign * nearest).abs();
    let is_on_the_margin = decision.outlook == Outlook::OnTheMargin;
    let open = if is_on_the_margin { "size close to the margin" } else { "size uncertain" };
    format!("{verdict} of at least {least:.1} %, {open}")
}

/// The rounds still needed, e.g. `: about 6 more rounds, 4 min`.
fn outlook(decision: &Decision, round_s: Option<f64>) -> String {
    let more = match decision.outlook {
        Outlook::MoreRounds(more) => more,
        Outlook::OnTheMargin => return ": the change is close to the margin".into(),
        Outlook::Settled => return String::new(),
    };
    let rounds = if more == 1 { "round" } else { "rounds" };
    let count = if decision.leaves {
        format!("{more} {rounds} more than planned")
    } else {
        format!("{more} more {rounds}")
    };
    let seconds = round_s.map(|round| round * more as f64);
    let time = seconds.map(|seconds| format!(", {}", duration(seconds))).unwrap_or_default();
    format!(": about {count}{time}")
}

/// Why rounds cannot be judged; `None` if they can.
pub(crate) fn refusal(rounds: &Rounds<'_>) -> Option<String> {
    Some(format!("The rounds cannot be judged: {}", rounds.refusal.as_ref()?))
}

/// A summary of all steps, one line for each contender.
pub(crate) fn suite_lines(results: &Results<'_>) -> Vec<String> {
    let line = |judged: JudgedSuite<'_>| {
        let JudgedSuite { candidate, suite, effect, steps, unchanged, open } = judged;
        let name = &results.experiment.candidates.get(candidate)?.name;
        Some(format!(
            "{name}: {} of {steps} steps changed, at most {} of them expected to be false; {unchanged} unchanged, {open} \
             without enough data; geometric mean of the ratios {}",
            suite.changed,
            suite.expected_false,
            effect.ratio_line(),
        ))
    };
    results.suites().into_iter().filter_map(line).collect()
}

/// A margin in per cent, e.g. `2 %`.
pub(crate) fn margin(margin: f64) -> String {
    let rounded = (100.0 * percent_of_logarithm(margin)).round() / 100.0;
    format!("{rounded} %")
}

/// A time of which the order matters, e.g. `50 s`, `4 min` or `3.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 90.0 => format!("{seconds:.0} s"),
        _ if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Attribution, Gate, fixture};
    use basecase_model::{Experiment, OperationClass, RoleRecord, Trial};

    use super::*;
    use crate::{TextFormat, gate_summary, junit};

    #[test]
    fn every_verdict_has_its_words() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let line = |judged: Judged<'_>| {
            let step = &experiment.steps[judged.step].label;
            format!(
                "{step} {} | {} | {} | {}",
                judged.candidate,
                judged.sentence(),
                judged.attribution().map_or("", Attribution::as_str),
                judged.flags().join(" ")
            )
        };
        let all: Vec<String> = results.all_judged().into_iter().map(line).collect();
        insta::assert_snapshot!(all.into_iter().chain(suite_lines(&results)).collect::<Vec<_>>().join("\n"));
        assert!(results.changes().iter().all(|judged| judged.throughput.verdict.is_change()));
    }

    /// The invented rounds with writers in a step that reads. The third candidate misses the target rate in every round, the second in none.
    fn with_a_missed_rate() -> (Experiment, Vec<Trial>) {
        let (mut experiment, mut trials) = fixture::in_rounds();
        experiment.steps[1].sla_target = Some(100.0);
        let (step, slow) = (experiment.steps[1].name.clone(), experiment.candidates[2].name.0.clone());
        for trial in trials.iter_mut().filter(|trial| trial.step == step) {
            let rate = if trial.candidate == slow { 94.0 } else { 99.0 };
            trial.roles.push(RoleRecord {
                items: (rate * trial.seconds).round() as u64,
                ended_us: (1e6 * trial.seconds) as u64,
                ..RoleRecord::idle(1, "writer", OperationClass::Insert, 1000)
            });
        }
        (experiment, trials)
    }

    #[test]
    fn defect_09_a_missed_rate_is_a_regression_of_the_gate_and_named_in_every_format() {
        let (experiment, trials) = with_a_missed_rate();
        let contender = &experiment.candidates[2].name.0;
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let gate = Gate::of(&results);
        let (plain, plain_trials) = fixture::in_rounds();
        let plain_rounds = Rounds::of(&plain, &plain_trials);
        let plain_results = Results::of(&plain, &plain_trials, plain_rounds.as_ref());
        assert_eq!(gate.regressions(), Gate::of(&plain_results).regressions());
        let label = &experiment.steps[1].label;
        let words = "regression: missed the target rate in 5 of 5 rounds";
        let escaped = |name: &str| name.replace('_', "\\_");
        let row = format!("| {} | {} | 🔴 {words} |  | 0 of 5 |\n", escaped(label), escaped(contender));
        assert!(gate_summary(&results, None).contains(&row), "{}", gate_summary(&results, None));
        assert!(junit(&gate).contains(&format!("<failure message=\"{words}\">")), "{}", junit(&gate));
        let rendered = |name| {
            let format = TextFormat::named(name).unwrap();
            crate::render(&experiment, &trials, format, &crate::Options::default())
        };
        for format in ["text", "md", "blog"] {
            assert!(rendered(format).contains(words), "{format}: {}", rendered(format));
        }
        let json = rendered("json");
        assert!(rendered("answer").contains("missed rate -"), "{}", rendered("answer"));
        for part in [r#""qualifier": "missed_rate""#, r#""rounds_dropped": 5"#, r#""by_contender": 5"#] {
            assert!(json.contains(part), "{part}");
        }
        assert!(rendered("csv").contains("regression,missed_rate,0,"), "{}", rendered("csv"));
        assert!(suite_lines(&results)[1].contains("of 6 steps changed"), "{:?}", suite_lines(&results));
        let judged = results.judged(1, 2).unwrap();
        assert_eq!((judged.sentence(), judged.attribution()), (words.to_owned(), None));
        assert_eq!(judged.flags(), ["invalid_sla"]);
        assert_eq!(results.judged(1, 1).unwrap().rounds(), "5", "the second candidate reached it");
    }

    #[test]
    fn margins_and_durations_are_short() {
        assert_eq!([1.02_f64, 1.005, 1.0333].map(|ratio| margin(ratio.ln())), ["2 %", "0.5 %", "3.33 %"]);
        assert_eq!([50.4, 240.0, 12_600.0].map(duration), ["50 s", "4 min", "3.5 h"]);
    }
}
