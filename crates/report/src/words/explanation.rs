//! Where the time went, in words.

use std::fmt::Write as _;

use basecase_analysis::{
    Absent, Cause, Cost, CostRatio, Disturbance, Effect, Explanation, HardwareAbsence, Measured,
    MeasuredPrice, PLANNING, PlanChange, SettingChange, SettingTopic, operation,
};
use basecase_model::{PlanUses, StepFacts};
use basecase_stats::JudgedMetric;

use super::{EffectWords as _, JudgedWords as _, brief, grouped, number};

/// Most settings named with a cause.
const SETTINGS: usize = 4;

/// A sentence for each likely cause of the change, likeliest first.
pub(crate) fn causes(explanation: &Explanation<'_>) -> Vec<String> {
    let sentence = |cause| match cause {
        Cause::Plans => planning(explanation),
        Cause::Cost(cost) => Some(cost_sentence(explanation, cost)),
    };
    explanation.causes().into_iter().filter_map(sentence).collect()
}

/// The causes, or that there are none, and any disturbance by the host; never empty.
pub(crate) fn summary(explanation: &Explanation<'_>) -> Vec<String> {
    let mut lines = causes(explanation);
    if lines.is_empty() {
        lines.push(match &explanation.judged {
            _ if explanation.is_changed() => {
                "no cost per operation changed enough to explain the change".to_owned()
            }
            Some(judged) => format!("no change is established: {}", judged.verdict()),
            None => "there is hardly any change to explain".to_owned(),
        });
    }
    lines.extend(disturbance(explanation));
    lines.extend(contradiction(explanation));
    lines
}

/// Why the rates before and after say something else than the ratio; `None` if they do not.
fn contradiction(explanation: &Explanation<'_>) -> Option<String> {
    let throughput = explanation.judged?.throughput;
    let [low, high] = Effect::of_decision(JudgedMetric::Throughput, throughput)?.interval?;
    let quotient = explanation.quotient().filter(|quotient| !(low..=high).contains(quotient))?;
    Some(format!(
        "the quotient of the two rates, {quotient:.3}, is outside the interval of the ratio: rates are over all rounds together, where \
         what was disturbed counts as well; the ratio compares what ran side by side"
    ))
}

/// A sentence on the change.
pub(crate) fn change(explanation: &Explanation<'_>, step: &StepFacts) -> String {
    let value = |measured: &Measured<'_>| number(measured.headline(), 0);
    let quotient = || explanation.quotient().map_or_else(|| "NA".to_owned(), |ratio| format!("{ratio:.3}"));
    let judged = explanation
        .judged
        .and_then(|judged| Effect::of_decision(JudgedMetric::Throughput, judged.throughput));
    let ratio = judged.map_or_else(quotient, |effect| effect.ratio_line());
    format!(
        "{} on {}: {} → {} {} compared with {}, {ratio} of the base case",
        explanation.candidate_name,
        step.label,
        value(&explanation.base),
        value(&explanation.candidate),
        step.headline.unit(),
        explanation.base_name,
    )
}

/// A sentence on changed plans: first those of another shape, then those of another kind.
fn planning(explanation: &Explanation<'_>) -> Option<String> {
    let shapes = explanation
        .plans
        .iter()
        .filter(|change| change.is_of_shape())
        .map(|change| format!("different plan for {}", plan_change(change)));
    let kinds = explanation.planned.iter().filter(|planned| planned.has_other_kind()).filter_map(|planned| {
        let (base, candidate) = (planned.base?, planned.candidate?);
        let (base, candidate) = (executions(base), executions(candidate));
        Some(format!("different kind of plan for {}: executed {base} → {candidate}", planned.statement))
    });
    let both = [and_more(shapes.collect()), and_more(kinds.collect())];
    let mut text = both.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if text.is_empty() {
        return None;
    }
    append_settings(explanation, &mut text, PLANNING);
    Some(text)
}

/// The first of these, and how many more there are; `None` of none.
fn and_more(sentences: Vec<String>) -> Option<String> {
    let more = sentences.len().saturating_sub(1);
    let first = sentences.into_iter().next()?;
    Some(if more > 0 { format!("{first}, and for {more} more") } else { first })
}

/// E.g. `12,000 times with a generic plan, 5 with custom ones`.
pub(crate) fn executions(uses: PlanUses) -> String {
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) };
    match uses {
        PlanUses { generic, custom: 0 } => format!("{} with a generic plan", times(generic)),
        PlanUses { generic: 0, custom } => format!("{} with custom plans", times(custom)),
        PlanUses { generic, custom } if generic > custom => {
            format!("{} with a generic plan, {} with custom ones", times(generic), grouped(custom))
        }
        PlanUses { generic, custom } => {
            format!("{} with custom plans, {} with a generic one", times(custom), grouped(generic))
        }
    }
}

/// The first line in which a plan differs, without its numbers.
fn plan_change(change: &PlanChange<'_>) -> String {
    let (before, after) = change.first_difference();
    format!("{}: {before} → {after}", change.base.statement)
}

/// The effect of other work on the host, if it changes the comparison noticeably.
fn disturbance(explanation: &Explanation<'_>) -> Option<String> {
    let Disturbance { base_us, candidate_us, ratio, undisturbed_ratio } = explanation.disturbance()?;
    Some(format!(
        "other work on the host took {} µs of CPU per {} of the base case and {} µs per {} of the candidate; without it, \
         the ratio would be about {undisturbed_ratio:.2} instead of {ratio:.2}",
        figure(base_us),
        operation(&explanation.base),
        figure(candidate_us),
        operation(&explanation.base),
    ))
}

fn cost_sentence(explanation: &Explanation<'_>, cost: &Cost) -> String {
    let direction = if cost.ratio() > 1.0 { "more" } else { "less" };
    let mut text = format!("{direction} {}", cost.kind.name);
    let unit = if cost.kind.unit.is_empty() { String::new() } else { format!(" {}", cost.kind.unit) };
    let operation = operation(&explanation.base);
    let _ = write!(text, " per {operation}: {} → {}{unit}", figure(cost.base), figure(cost.candidate));
    match explanation.cost_ratio(cost) {
        CostRatio::Rounds(effect) => {
            let _ = write!(text, ", {}× {}", effect.ratio_text(), effect.ratio_interval());
        }
        CostRatio::Single(ratio) | CostRatio::AllRounds(ratio) if ratio.is_finite() => {
            let _ = write!(text, " ({ratio:.2}×)");
        }
        CostRatio::Single(_) | CostRatio::AllRounds(_) => {}
    }
    if let Some(share) = cost.share {
        let about = if cost.is_about { "about " } else { "" };
        let share = (share * 100.0).round();
        let _ = match share {
            _ if share < 0.0 => write!(text, ", against the change"),
            _ if share > 100.0 => write!(text, ", {about}all of the change"),
            _ => write!(text, ", {about}{share:.0} % of the change"),
        };
    }
    if let Some([low, high]) = cost.share_interval {
        let _ = write!(text, " ({:.0} to {:.0} %)", low * 100.0, high * 100.0);
    }
    if let Some(price) = &cost.price {
        let _ = write!(text, ", at {}", priced(price));
    }
    append_settings(explanation, &mut text, cost.kind.topics);
    text
}

/// E.g. `4.3 µs each (3.1 to 5.5), measured in this experiment: 64 sessions`.
pub(crate) fn priced(price: &MeasuredPrice) -> String {
    let MeasuredPrice { unit_us, interval_us: [low, high], sessions } = *price;
    format!(
        "{} µs each ({} to {}), measured in this experiment: {sessions} sessions",
        figure(unit_us),
        figure(low),
        figure(high)
    )
}

/// Adds settings that a config makes differ and that have to do with one of these topics.
fn append_settings(explanation: &Explanation<'_>, text: &mut String, topics: &[SettingTopic]) {
    let touching = explanation.touching(topics);
    let words: Vec<String> = touching.into_iter().take(SETTINGS).map(setting_change).collect();
    if !words.is_empty() {
        let _ = write!(text, "; {}", words.join(", "));
    }
}

/// `name a → b`.
fn setting_change(change: &SettingChange) -> String {
    let (base, candidate) = setting_values(change);
    format!("{} {base} → {candidate}", change.name)
}

/// Both values as shown; of lists, only the items that differ.
pub(crate) fn setting_values(change: &SettingChange) -> (String, String) {
    let (Some(base), Some(candidate)) = (&change.base, &change.candidate) else {
        return (shown(change.base.as_deref()), shown(change.candidate.as_deref()));
    };
    let values = brief(&[base, candidate]);
    (shown(values.first().map(String::as_str)), shown(values.last().map(String::as_str)))
}

/// Longest value shown in full.
const LONGEST: usize = 48;

fn shown(value: Option<&str>) -> String {
    match value {
        None => "absent".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) if value.chars().count() > LONGEST => {
            format!("{}…", value.chars().take(LONGEST).collect::<String>())
        }
        Some(value) => value.to_owned(),
    }
}

/// A sentence on data missing for the base case and one for the candidate, or one for both if they lack the same.
pub(crate) fn absences(explanation: &Explanation<'_>) -> Vec<String> {
    let [base, candidate] = &explanation.absent;
    let trials = [explanation.base.trial, explanation.candidate.trial];
    let reason = if trials.iter().any(|trial| !trial.slices.is_empty()) {
        "because candidates took turns"
    } else {
        "because of --probe off or an older basecase"
    };
    let sentence = |names: &str, absent: &[Absent]| {
        let absent: Vec<&str> = absent.iter().copied().map(absent_words).collect();
        format!("Not recorded for {names}, {reason}: {}.", absent.join(", "))
    };
    let (base_name, candidate_name) = (explanation.base_name, explanation.candidate_name);
    if base == candidate && !base.is_empty() {
        return vec![sentence(&format!("{base_name} and {candidate_name}"), base)];
    }
    let both = [(base_name, base), (candidate_name, candidate)].into_iter();
    both.filter(|(_, absent)| !absent.is_empty()).map(|(name, absent)| sentence(name, absent)).collect()
}

fn absent_words(absent: Absent) -> &'static str {
    match absent {
        Absent::Tracks => "time series",
        Absent::Waits => "wait events",
        Absent::Plans => "plans",
        Absent::Counters => "the server's own counters",
        Absent::Settings => "settings of the running server",
    }
}

/// Why profiled trials have no hardware counters.
pub(crate) fn hardware_absence(absence: HardwareAbsence) -> &'static str {
    match absence {
        HardwareAbsence::NoCounters => {
            "Instructions, cycles, cache misses and branch misses are not available: like most virtual machines, this \
             machine has no hardware counters."
        }
        HardwareAbsence::NothingCounted => {
            "Instructions, cycles, cache misses and branch misses are not available: the kernel counted no events for the \
             server's threads."
        }
    }
}

/// A number with about three significant digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Results, fixture};

    use super::*;

    #[test]
    fn a_setting_is_shown_with_both_values() {
        let change = |base: Option<&str>, candidate: &str| SettingChange {
            name: "io_method".into(),
            base: base.map(str::to_owned),
            candidate: Some(candidate.into()),
            is_default: false,
            topics: Vec::new(),
        };
        assert_eq!(setting_change(&change(Some("sync"), "worker")), "io_method sync → worker");
        assert_eq!(setting_change(&change(None, "worker")), "io_method absent → worker");
    }

    #[test]
    fn executions_are_told_by_kind_of_plan_the_usual_one_first() {
        for (generic, custom, words) in [
            (12_000, 5, "12,000 times with a generic plan, 5 with custom ones"),
            (5, 12_000, "12,000 times with custom plans, 5 with a generic one"),
            (0, 7, "7 times with custom plans"),
            (1, 0, "once with a generic plan"),
        ] {
            assert_eq!(executions(PlanUses { generic, custom }), words);
        }
    }

    #[test]
    fn another_kind_of_plan_is_told_although_it_looks_the_same() {
        let (experiment, mut trials) = fixture::sample();
        let of_base = PlanUses { generic: 12_000, custom: 5 };
        for trial in &mut trials {
            let is_base = trial.candidate == experiment.candidates[0].name.0;
            let uses = if is_base { of_base } else { PlanUses { generic: 0, custom: 9_000 } };
            uses.add_to(&mut trial.counters, "point");
        }
        let results = Results::new(&experiment, &trials);
        let explanation = Explanation::of(&results, 0, 1).unwrap();
        assert_eq!(
            causes(&explanation)[0],
            "different kind of plan for point: executed 12,000 times with a generic plan, 5 with custom ones → 9,000 times with \
             custom plans"
        );
        for trial in &mut trials {
            trial.counters.set("plans.generic.point", 7_000.0);
            trial.counters.set("plans.custom.point", 5.0);
        }
        let alike = Results::new(&experiment, &trials);
        let alike = Explanation::of(&alike, 0, 1).unwrap();
        assert!(
            causes(&alike).iter().all(|cause| !cause.contains("kind of plan")),
            "all have a generic plan"
        );
    }

    #[test]
    fn rates_that_contradict_the_ratio_are_explained() {
        let (experiment, mut trials) = fixture::in_rounds();
        let told = |trials: &[basecase_model::Trial]| {
            let rounds = basecase_analysis::Rounds::of(&experiment, trials);
            let results = Results::of(&experiment, trials, rounds.as_ref());
            contradiction(&Explanation::of(&results, 1, 2).unwrap())
        };
        assert_eq!(told(&trials), None);
        let contender = &experiment.candidates[2].name.0;
        for trial in trials.iter_mut().filter(|trial| &trial.candidate == contender) {
            trial.roles.iter_mut().for_each(|role| role.items /= 2);
        }
        let sentence = told(&trials).unwrap();
        assert!(sentence.contains("is outside the interval of the ratio"), "{sentence}");
    }

    #[test]
    fn data_missing_on_both_sides_is_named_once() {
        use Absent::{Counters, Plans, Settings, Tracks, Waits};
        let (experiment, trials) = fixture::sample();
        let results = Results::new(&experiment, &trials);
        let sentences = |absent: [Vec<Absent>; 2]| {
            let mut explanation = Explanation::of(&results, 0, 1).unwrap();
            explanation.absent = absent;
            absences(&explanation)
        };
        assert_eq!(sentences([vec![], vec![]]), Vec::<String>::new());
        let unwatched = vec![Tracks, Waits, Plans, Counters];
        assert_eq!(
            sentences([unwatched.clone(), unwatched]),
            [
                "Not recorded for pg1711.x10a and pg1711.x10b_sync_off, because of --probe off or an older basecase: time \
                 series, wait events, plans, the server's own counters."
            ]
        );
        assert_eq!(
            sentences([vec![Settings], vec![Tracks, Plans]]),
            [
                "Not recorded for pg1711.x10a, because of --probe off or an older basecase: settings of the running server.",
                "Not recorded for pg1711.x10b_sync_off, because of --probe off or an older basecase: time series, plans."
            ]
        );
    }
}
