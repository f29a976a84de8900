//! Two modes of a candidate's sessions, in words.

use basecase_analysis::{Effect, Results, operation, percent_of_logarithm};
use basecase_model::names;
use basecase_stats::{Estimate, SessionMode, SessionModes, Sessions, Telltale};

use super::EffectWords as _;
use super::explanation::figure;

/// A sentence for each side of a comparison whose sessions fall into two groups; none if there is one group or sessions were not told apart.
pub(crate) fn mode_lines(results: &Results<'_>, step: usize, candidate: usize) -> Vec<String> {
    let Some(sessions) = results.sessions(step, candidate) else { return Vec::new() };
    let name = |number: usize| results.experiment.candidates.get(number).map_or("", |facts| &facts.name.0);
    let Some(measured) = results.measured(step, candidate) else { return Vec::new() };
    let operation = operation(&measured);
    let [base, contender] = &sessions.modes;
    let of_contender =
        contender.as_ref().map(|modes| sentence(sessions, modes, name(candidate), name(0), operation));
    let of_base = base.as_ref().map(|modes| {
        let line = sentence(sessions, modes, name(0), name(candidate), operation);
        format!("{line} (the change is that of {} against these sessions)", name(candidate))
    });
    of_contender.into_iter().chain(of_base).collect()
}

/// The same for all steps and contenders, each line with its step.
pub(crate) fn all_mode_lines(results: &Results<'_>) -> Vec<String> {
    let of_step = |(step, facts): (usize, &basecase_model::StepFacts)| {
        let of_candidate = move |(candidate, _)| mode_lines(results, step, candidate);
        let lines = results.candidates().skip(1).flat_map(of_candidate);
        lines.map(|line| format!("{}: {line}", facts.label)).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = results.steps().flat_map(of_step).collect();
    // The modes of the base case come once with every contender.
    lines.dedup();
    lines
}

/// Leads to the lines.
pub(crate) const TWO_MODES: &str = "Sessions with two modes. Which one a session is in depends on what it did before, so the \
                                    change above is a mean over both, and another client may always meet one of them. \
                                    Intervals are of 95 %.";

fn sentence(sessions: &Sessions, found: &SessionModes, name: &str, other: &str, operation: &str) -> String {
    let count = sessions.count;
    let [less, more] = &found.modes;
    let share = |mode: &SessionMode| {
        let [low, high] = mode.share_interval;
        format!("{:.0} % ({:.0} to {:.0}) of", 100.0 * mode.share, 100.0 * low, 100.0 * high)
    };
    let change = |mode: &SessionMode| {
        let starts = if mode.starts == 1 { " (all in one start)" } else { "" };
        format!("{}{starts}", change(mode.effect))
    };
    match found.telltale {
        Telltale::Counter(counter) => {
            let amount = |mode: &SessionMode| figure(rounded(mode.per_operation.unwrap_or(0.0)));
            format!(
                "about {} {} per {operation} in {} {count} sessions of {name}: {}; {} in the others: {}",
                amount(more),
                counter_word(counter),
                share(more),
                change(more),
                amount(less),
                change(less),
            )
        }
        Telltale::Throughput => format!(
            "no counter tells them apart, but {} {count} sessions of {name} compare with those of {other} as {}, and the \
             others as {}",
            share(more),
            change(more),
            change(less),
        ),
    }
}

/// With two digits: it is typical and not exact.
fn rounded(value: f64) -> f64 {
    let digits = 1 - value.abs().log10().floor() as i32;
    if value == 0.0 || digits > 6 { value } else { (value * 10f64.powi(digits)).round() / 10f64.powi(digits) }
}

/// E.g. `-8.5 % (-11.2 to -5.9)`.
fn change(estimate: Estimate) -> String {
    let effect = Effect::of_estimate(estimate);
    match estimate.interval {
        Some(_) => format!("{} % {}", effect.percent_text(), effect.percent_interval()),
        None => format!("{:+.1} %, with too few starts for an interval", percent_of_logarithm(estimate.effect)),
    }
}

fn counter_word(counter: &str) -> &str {
    match counter {
        names::SERVER_MINOR_FAULTS => "page faults",
        names::SERVER_MAJOR_FAULTS => "page faults that read from storage",
        names::SERVER_READ_BYTES => "bytes read from storage",
        names::SERVER_VOLUNTARY_SWITCHES => "voluntary context switches",
        names::SERVER_INVOLUNTARY_SWITCHES => "involuntary context switches",
        names::SERVER_CPU_SYSTEM_US => "µs of server CPU in the kernel",
        names::SERVER_CPU_US => "µs of server CPU",
        other => other,
    }
}
