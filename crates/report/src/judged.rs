//! What the rounds say of a contender on a step, in words.

use basecase_stats::{Decision, Metric, Outlook, Qualifier, Suite, Verdict};

use crate::effect::{Effect, percent_of_logarithm};
use crate::results::Results;
use crate::rounds::Conduct;

/// The flag of a step during which others used much of the machine.
pub(crate) const NOISY_MACHINE: &str = "noisy_machine";

/// The flag of a step of one connection that the operating system placed with its server as it liked.
pub(crate) const UNPINNED: &str = "unpinned";

/// A contender on a step, judged.
#[derive(Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// The step, by number.
    pub(crate) step: usize,
    /// The contender, by number.
    pub(crate) candidate: usize,
    /// What is decided on its throughput: its verdict.
    pub(crate) throughput: &'a Decision,
    /// What is decided on the server's CPU time per operation, where it is known.
    pub(crate) cpu: Option<&'a Decision>,
    conduct: Option<&'a Conduct>,
    /// How long a round of it takes, with the steps of a chain that lead to it.
    round_s: Option<f64>,
}

impl<'a> Results<'a> {
    /// A contender on a step; `None` where there is no round of both, or no round at all.
    pub(crate) fn judged(&self, step: usize, candidate: usize) -> Option<Judged<'a>> {
        let rounds = self.rounds?;
        let decision = |metric| rounds.judgement.decision(metric, step, candidate);
        let seconds = |step: usize| rounds.conduct(step)?.round_s;
        let of_chain = || (0..=step).filter_map(seconds).sum();
        Some(Judged {
            step,
            candidate,
            throughput: decision(Metric::Throughput)?,
            cpu: decision(Metric::ServerCpu),
            conduct: rounds.conduct(step),
            round_s: seconds(step).map(|own| if self.experiment.is_chain() { of_chain() } else { own }),
        })
    }

    /// Everything that is judged: changes first, then what is open, then what is unchanged, the largest effect first.
    pub(crate) fn all_judged(&self) -> Vec<Judged<'a>> {
        let of_step =
            |(step, _)| self.candidates().filter_map(move |(candidate, _)| self.judged(step, candidate));
        let mut all: Vec<Judged<'a>> = self.steps().flat_map(of_step).collect();
        let size = |judged: &Judged<'_>| judged.throughput.estimate.map_or(0.0, f64::abs);
        all.sort_by(|one, other| one.order().cmp(&other.order()).then(size(other).total_cmp(&size(one))));
        all
    }

    /// The changes, those that lost most first.
    pub(crate) fn changes(&self) -> Vec<Judged<'a>> {
        let mut changes = self.all_judged();
        changes.retain(|judged| judged.throughput.verdict.is_change());
        let effect = |judged: &Judged<'_>| judged.throughput.estimate.unwrap_or(0.0);
        changes.sort_by(|one, other| effect(one).total_cmp(&effect(other)));
        changes
    }

    /// What the steps of each contender say together, in a line each.
    pub(crate) fn suite_lines(&self) -> Vec<String> {
        let Some(rounds) = self.rounds else { return Vec::new() };
        let line = |(candidate, suite): (usize, &Suite)| {
            let verdicts: Vec<Verdict> = self
                .steps()
                .filter_map(|(step, _)| Some(self.judged(step, candidate)?.throughput.verdict))
                .collect();
            let count = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
            let name = &self.experiment.candidates.get(candidate)?.name;
            let effect = Effect::of_suite(Metric::Throughput, suite)?;
            Some(format!(
                "{name}: {} of {} steps changed, expected false at most {}; {} unchanged, {} without enough data; geometric mean of the ratios {}",
                suite.changed,
                verdicts.len(),
                suite.expected_false,
                count(Verdict::NoChange),
                count(Verdict::NotEnoughData),
                effect.ratio_line(),
            ))
        };
        let suites = self.candidates().filter_map(|(candidate, _)| {
            Some((candidate, rounds.judgement.suite(Metric::Throughput, candidate)?))
        });
        suites.filter_map(line).collect()
    }
}

impl Judged<'_> {
    /// The label of its step.
    pub(crate) fn step_name<'r>(&self, results: &Results<'r>) -> &'r str {
        results.experiment.steps.get(self.step).map_or("", |step| &step.label)
    }

    /// The contender's name.
    pub(crate) fn candidate_name<'r>(&self, results: &Results<'r>) -> &'r str {
        results.experiment.candidates.get(self.candidate).map_or("", |facts| &facts.name.0)
    }

    fn order(&self) -> u8 {
        match self.throughput.verdict {
            Verdict::Regression | Verdict::Improvement => 0,
            Verdict::NotEnoughData => 1,
            Verdict::NoChange => 2,
        }
    }

    /// The verdict with its qualifier, e.g. `regression, clear`.
    pub(crate) fn verdict(&self) -> String {
        let Decision { verdict, qualifier, .. } = self.throughput;
        match (verdict, qualifier) {
            (_, Some(Qualifier::ShortTiming)) => "no verdict: its times were shorter than usual".to_owned(),
            (_, Some(Qualifier::MissedRate)) => format!("{verdict}: {}", self.missed_rate()),
            (Verdict::Regression | Verdict::Improvement, Some(Qualifier::AtLeast(_))) => self.change(),
            (Verdict::Regression | Verdict::Improvement, _) => format!("{verdict}, clear"),
            (Verdict::NoChange, _) => {
                let tiny = if *qualifier == Some(Qualifier::TinyShift) { ", tiny shift" } else { "" };
                format!("{verdict} beyond ±{}{tiny}", margin(self.throughput.margin))
            }
            (Verdict::NotEnoughData, _) => {
                let suggestive = if *qualifier == Some(Qualifier::Suggestive) { ", suggestive" } else { "" };
                format!("{verdict}{suggestive}{}", self.outlook())
            }
        }
    }

    /// Who missed the rate in how many rounds, where that is the verdict.
    fn missed_rate(&self) -> String {
        let Decision { verdict, missed_rate, rounds, rounds_dropped, .. } = self.throughput;
        let (who, count) = match verdict {
            Verdict::Regression => ("missed rate", missed_rate.by_contender),
            Verdict::Improvement => ("the base case missed the rate", missed_rate.by_base),
            Verdict::NoChange | Verdict::NotEnoughData => ("both missed the rate", missed_rate.by_both),
        };
        format!("{who} in {count} of {} rounds", rounds + rounds_dropped)
    }

    /// How many rounds count, e.g. `8`, or `5 of 8` where others were dropped.
    pub(crate) fn rounds(&self) -> String {
        let Decision { rounds, rounds_dropped, .. } = self.throughput;
        match rounds_dropped {
            0 => rounds.to_string(),
            dropped => format!("{rounds} of {}", rounds + dropped),
        }
    }

    /// The verdict on a change within a sentence, e.g. `clear regression`.
    fn change(&self) -> String {
        let verdict = self.throughput.verdict;
        let Some(Qualifier::AtLeast(nearest)) = self.throughput.qualifier else {
            return format!("clear {verdict}");
        };
        let sign = if verdict == Verdict::Regression { -1.0 } else { 1.0 };
        let least = percent_of_logarithm(sign * nearest).abs();
        let open = if self.throughput.outlook == Outlook::OnTheMargin {
            "size on the margin"
        } else {
            "size not settled"
        };
        format!("{verdict} of at least {least:.1} %, {open}")
    }

    /// E.g. `24.9 % slower (23.1–26.4 %), clear regression`, of a change; of anything else the verdict.
    pub(crate) fn sentence(&self) -> String {
        match Effect::of_decision(Metric::Throughput, self.throughput)
            .filter(|_| self.throughput.verdict.is_change())
            .filter(|_| self.throughput.qualifier != Some(Qualifier::MissedRate))
        {
            Some(effect) => format!("{}, {}", effect.difference(), self.change()),
            None => self.verdict(),
        }
    }

    /// What more rounds would bring, e.g. `: about 6 more rounds, 4 min`.
    fn outlook(&self) -> String {
        let more = match self.throughput.outlook {
            Outlook::MoreRounds(more) => more,
            Outlook::OnTheMargin => return ": the change is on the margin".into(),
            Outlook::Settled => return String::new(),
        };
        let rounds = if more == 1 { "round" } else { "rounds" };
        let told = if self.throughput.leaves {
            format!("{more} {rounds} more than planned")
        } else {
            format!("{more} more {rounds}")
        };
        let seconds = self.round_s.map(|round| round * more as f64);
        let time = seconds.map(|seconds| format!(", {}", duration(seconds))).unwrap_or_default();
        format!(": about {told}{time}")
    }

    /// What throughput and CPU time per operation say together of the cause; empty where they say nothing.
    pub(crate) fn attribution(&self) -> &'static str {
        use Verdict::{Improvement, NoChange, Regression};
        if self.throughput.qualifier == Some(Qualifier::MissedRate) {
            return "";
        }
        match (self.throughput.verdict, self.cpu.map(|cpu| cpu.verdict)) {
            (Regression, Some(Regression)) => "more CPU per operation",
            (Regression, Some(NoChange)) => "waiting",
            (NoChange, Some(Regression)) => "hidden: will show at saturation",
            (Improvement, Some(Improvement)) => "less CPU per operation",
            (Improvement, Some(NoChange)) => "less waiting",
            _ => "",
        }
    }

    /// What is odd about its rounds and about the machine meanwhile.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let is_set =
            |flag, is_set: fn(&Conduct) -> bool| self.conduct.filter(|conduct| is_set(conduct)).map(|_| flag);
        let of_machine =
            [is_set(NOISY_MACHINE, Conduct::is_noisy), is_set(UNPINNED, |conduct| conduct.is_unpinned)];
        self.throughput
            .flags
            .iter()
            .map(|flag| flag.as_str())
            .chain(of_machine.into_iter().flatten())
            .collect()
    }
}

/// The word of a verdict in files, e.g. `not_enough_data`.
pub(crate) fn verdict_word(verdict: Verdict) -> String {
    verdict.as_str().replace(' ', "_")
}

/// The word of a qualifier in files.
pub(crate) fn qualifier_word(qualifier: Qualifier) -> &'static str {
    match qualifier {
        Qualifier::Clear => "clear",
        Qualifier::AtLeast(_) => "at_least",
        Qualifier::TinyShift => "tiny_shift",
        Qualifier::Suggestive => "suggestive",
        Qualifier::MissedRate => "missed_rate",
        Qualifier::ShortTiming => "short_timing",
    }
}

/// A margin in per cent, e.g. `2 %`.
pub(crate) fn margin(margin: f64) -> String {
    let rounded = (100.0 * percent_of_logarithm(margin)).round() / 100.0;
    format!("{rounded} %")
}

/// E.g. `50 s`, `4 min` or `3.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 90.0 => format!("{seconds:.0} s"),
        _ if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::{Experiment, OperationClass, RoleRecord, Trial};

    use super::*;
    use crate::rounds::Rounds;
    use crate::{Format, Gate, fixture};

    #[test]
    fn every_verdict_has_its_words() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let told = |judged: Judged<'_>| {
            let step = &experiment.steps[judged.step].label;
            format!(
                "{step} {} | {} | {} | {}",
                judged.candidate,
                judged.sentence(),
                judged.attribution(),
                judged.flags().join(" ")
            )
        };
        let all: Vec<String> = results.all_judged().into_iter().map(told).collect();
        insta::assert_snapshot!(all.into_iter().chain(results.suite_lines()).collect::<Vec<_>>().join("\n"));
        assert!(results.changes().iter().all(|judged| judged.throughput.verdict.is_change()));
    }

    /// The invented rounds with writers on a step that reads: the third candidate misses their rate in every round, and the second in none.
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
        let (plain, contender) = (fixture::in_rounds().0, &experiment.candidates[2].name.0);
        let gate = Gate::new(&experiment, &trials);
        assert_eq!(gate.regressions(), Gate::new(&plain, &fixture::in_rounds().1).regressions());
        let label = &experiment.steps[1].label;
        let words = "regression: missed rate in 5 of 5 rounds";
        let escaped = |name: &str| name.replace('_', "\\_");
        let row = format!("| {} | {} | 🔴 {words} |  | 0 of 5 |\n", escaped(label), escaped(contender));
        assert!(gate.summary().contains(&row), "{}", gate.summary());
        assert!(gate.junit().contains(&format!("<failure message=\"{words}\">")), "{}", gate.junit());
        let rendered = |format| crate::render(&experiment, &trials, format, &crate::Options::default());
        for format in [Format::Text, Format::Markdown, Format::Blog] {
            assert!(rendered(format).contains(words), "{format:?}: {}", rendered(format));
        }
        let json = rendered(Format::Json);
        for part in [r#""qualifier": "missed_rate""#, r#""rounds_dropped": 5"#, r#""by_contender": 5"#] {
            assert!(json.contains(part), "{part}");
        }
        assert!(rendered(Format::Csv).contains("regression,missed_rate,0,"), "{}", rendered(Format::Csv));
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        assert!(results.suite_lines()[1].contains("of 6 steps changed"), "{:?}", results.suite_lines());
        let judged = results.judged(1, 2).unwrap();
        assert_eq!((judged.sentence(), judged.attribution()), (words.to_owned(), ""));
        assert_eq!(judged.flags(), ["invalid_sla"]);
        assert_eq!(results.judged(1, 1).unwrap().rounds(), "5", "the second candidate kept it");
    }

    #[test]
    fn margins_and_durations_are_told_shortly() {
        assert_eq!([1.02_f64, 1.005, 1.0333].map(|ratio| margin(ratio.ln())), ["2 %", "0.5 %", "3.33 %"]);
        assert_eq!([50.4, 240.0, 12_600.0].map(duration), ["50 s", "4 min", "3.5 h"]);
    }
}
