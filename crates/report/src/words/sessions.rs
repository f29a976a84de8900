//! Two modes of a candidate's sessions, in words.

use basecase_analysis::{Effect, Results, operation, percent_of_logarithm};
use basecase_model::names;
use basecase_stats::{Estimate, SessionMode, SessionModes, Sessions, Telltale};

use super::EffectWords as _;

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
pub(crate) const TWO_MODES: &str = "Sessions with two modes. Which one a session is in can depend on what it did before, so the \
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
            let amount = |mode: &SessionMode| typical(mode.per_operation.unwrap_or(0.0));
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

/// With two digits, e.g. `20`, `1.8` or `0.08`: it is typical and not exact.
fn typical(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = 1 - value.abs().log10().floor() as i32;
    let step = 10f64.powi(decimals);
    let text = format!("{:.*}", usize::try_from(decimals).unwrap_or(0), (value * step).round() / step);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// E.g. `-8.5 % (-11.2 to -5.9)`.
fn change(estimate: Estimate) -> String {
    let effect = Effect::of_estimate(estimate);
    match estimate.interval {
        Some(_) => format!("{} % {}", effect.percent_text(), effect.percent_interval()),
        None => {
            format!("{:+.1} %, with too few starts for an interval", percent_of_logarithm(estimate.effect))
        }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use basecase_analysis::{Counted, Rounds, fixture};

    use super::*;
    use crate::{FORMATS, Format, Options, Written, explain, write};

    #[test]
    fn both_modes_are_told_in_every_format() {
        let (experiment, trials) = fixture::in_two_modes();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        assert_eq!(all_mode_lines(&results).len(), 1, "of the last candidate alone");
        let [line] = mode_lines(&results, 1, 2).try_into().unwrap();
        let name = &experiment.candidates[2].name.0;
        let beginning = "about 20 page faults per query in ";
        assert!(
            line.starts_with(beginning) && line.contains(&format!(" of 90 sessions of {name}: -")),
            "{line}"
        );
        let modes = results.sessions(1, 2).unwrap().modes[1].clone().unwrap();
        let [low, high] = modes.modes[1].share_interval;
        assert!(low < 1.0 / 3.0 && 1.0 / 3.0 < high && high - low < 0.25, "{low} {high}");
        let holds = |mode: &SessionMode, truth| mode.effect.interval.is_some_and(|own| own.contains(truth));
        assert!(holds(&modes.modes[0], 0.0) && holds(&modes.modes[1], -0.08), "{modes:?}");

        let folder = tempfile::tempdir().unwrap();
        for format in FORMATS.iter().copied().filter(|format| ["text", "md", "blog"].contains(&format.name()))
        {
            let written = write(&experiment, &trials, format, &Options::default(), folder.path()).unwrap();
            let Written::Text(text) = written else { panic!("no text") };
            assert!(text.contains("Sessions with two modes."), "{}", format.name());
            assert_eq!(text.matches(beginning).count(), 1, "{}: {text}", format.name());
        }
        crate::write_pages(&experiment, &trials, &Options::default(), folder.path()).unwrap();
        let pages =
            fs::read_dir(folder.path()).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()));
        let told = pages.filter(|page| page.as_ref().is_ok_and(|page| page.contains(beginning))).count();
        assert_eq!(told, 2, "the overview and the page of the step");
        let thresholds = Options::default().thresholds;
        let wanted = Some("read-only-count");
        let text =
            explain(&experiment, &trials, wanted, thresholds, &Counted::default()).unwrap().text(false);
        assert!(
            text.contains(beginning) && text.contains("measured in this experiment: 90 sessions"),
            "{text}"
        );
        assert!(text.contains("server CPU, kernel, µs"), "{text}");
    }

    #[test]
    fn every_session_is_in_json() {
        let (experiment, trials) = fixture::in_two_modes();
        let json = FORMATS.iter().find_map(|format| match format {
            Format::Text(format) if format.name == "json" => Some(*format),
            _ => None,
        });
        let text = crate::render(&experiment, &trials, json.unwrap(), &Options::default());
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let cell = &report["steps"][1]["cells"][2];
        let sessions = cell["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 90);
        let session = &sessions[10];
        assert_eq!((&session["round"], &session["number"]), (&1.into(), &1.into()));
        assert_eq!(session["history"], "000000005eed000a");
        let faults = session["counters"][names::SERVER_MINOR_FAULTS].as_f64().unwrap();
        let own = trials.iter().find(|trial| {
            trial.candidate == experiment.candidates[2].name.0
                && trial.place.round == 1
                && !trial.slices.is_empty()
        });
        let record = &own.unwrap().sessions[1];
        assert_eq!(Some(faults), record.per_operation(names::SERVER_MINOR_FAULTS));
        let rate = session["rate"].as_f64().unwrap();
        assert!((rate / (record.operations as f64 / 0.4) - 1.0).abs() < 0.01, "{rate}");
        let told = &cell["verdicts"]["sessions"];
        assert_eq!(told["sessions"], 90);
        assert_eq!(told["contender_modes"]["counter"], names::SERVER_MINOR_FAULTS);
        assert_eq!(told["base_modes"], serde_json::Value::Null);
        assert_eq!(told["contender_modes"]["modes"][0]["starts"], 10);
        assert_eq!(told["prices"][0]["counter"], names::SERVER_MINOR_FAULTS);
    }

    #[test]
    fn typical_amounts_have_two_digits() {
        let shown = [0.0, 0.0153, 0.0801, 0.1, 0.927, 1.0, 1.79, 19.8, 213.0, 4096.0].map(typical);
        assert_eq!(shown, ["0", "0.015", "0.08", "0.1", "0.93", "1", "1.8", "20", "210", "4100"]);
    }
}
