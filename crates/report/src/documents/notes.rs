//! Notes that a reader of the tables must not miss.

use basecase_analysis::{self as analysis, Results, Warning, replicates, toolchains};
use basecase_model::Experiment;

use crate::words::{cached, count_warnings, different_limits, first};

/// A note on noise.
pub(crate) fn noise(results: &Results<'_>) -> String {
    let is_known = || results.knows_noise();
    match results.rounds {
        Some(rounds) if rounds.loads() == Some(1) => format!("{IN_ROUNDS} {ONE_LOAD}"),
        Some(_) => IN_ROUNDS.to_owned(),
        None if is_known() => KNOWN_NOISE.to_owned(),
        None => NOISE.to_owned(),
    }
}

const KNOWN_NOISE: &str = "Each cell is one measurement. In parentheses is the 95 % interval of its ratio, if the two runs \
                           differ by chance as much as runs of this step usually do. Marks depend on the thresholds and \
                           are no verdicts; verdicts need repeated rounds.";

const IN_ROUNDS: &str = "Rates are taken over all rounds together, so their quotients differ a little from the mean ratios \
                         of rounds. A step without a verdict of a change may still have changed.";

const ONE_LOAD: &str =
    "All rounds began with one load of the data: verdicts hold for that load (--loads 3 draws others).";

const NOISE: &str = "Each cell is one measurement, so a difference smaller than the noise between runs cannot be detected; \
                     verdicts need repeated rounds.";

/// Notes on how candidates differ, apart from what is compared.
pub(crate) fn candidates(experiment: &Experiment) -> impl Iterator<Item = String> {
    let notes = [
        different_toolchains(experiment),
        different_limits(experiment),
        again(experiment),
        short_timing(experiment),
    ];
    notes.into_iter().flatten()
}

/// A warning that the numbers are meaningless, for an experiment that only tested the program.
fn short_timing(experiment: &Experiment) -> Option<String> {
    let mark = experiment.short_timing()?;
    Some(format!(
        "Warm-ups, slices and pauses had {mark} of their usual length: these numbers test basecase itself, say nothing \
         about servers, and get no verdict."
    ))
}

/// The contenders that are the base case itself; `None` if there are none.
fn again(experiment: &Experiment) -> Option<String> {
    let names = replicates(experiment);
    (!names.is_empty()).then(|| {
        format!(
            "The base case against itself: {}. Differences there are noise, and a change would be a false alarm.",
            names.join(", ")
        )
    })
}

/// How the Insert Benchmark's numbers differ from published ones.
const PUBLISHED: &str = "Compared with published results: prices are plain integers here, where the reference writes \
                         decimals that the server parses and casts, so the server uses less CPU per inserted row; and a \
                         step's clock runs from its first statement to its last, excluding the start of clients.";

/// How the numbers differ from published ones; `None` for a workload file without a mode.
pub(crate) fn published(results: &Results<'_>) -> Option<String> {
    if !results.is_workload_file() {
        return Some(PUBLISHED.into());
    }
    let (_, mode) = results.experiment.parameters.iter().find(|(name, _)| name == "mode")?;
    let meaning = match mode.as_str() {
        "compatible" => {
            "every peculiarity of the published benchmark is kept, so numbers can be compared with published ones."
        }
        "clean" => {
            "biases of the published benchmark are left out, so numbers cannot be compared with published ones."
        }
        _ => return None,
    };
    Some(format!("Mode {mode}: {meaning}"))
}

/// The rows of one dbms that were, or may have been, compiled differently; `None` if its builds share one known toolchain.
fn different_toolchains(experiment: &Experiment) -> Option<String> {
    let groups = toolchains(experiment);
    if groups.is_empty() {
        return None;
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(toolchain, names)| format!("{} with {toolchain}", names.join(", ")))
        .collect();
    Some(format!(
        "These rows were compiled differently, or it is not known how: {}. A difference between them may come from the \
         compiler rather than the version: an -Os build was 10 % slower than an -O2 build of the same version, as much as \
         a regression.",
        groups.join("; ")
    ))
}

/// The experiments of a store that are not comparable with `experiment`, one line for each set of differences.
pub fn kept_apart(experiment: &Experiment, others: &[Experiment]) -> Vec<String> {
    let line = |(reasons, names): (String, Vec<String>)| {
        format!("kept apart, because measured differently ({reasons}): {}", first(&names, NAMED_APART))
    };
    analysis::kept_apart(experiment, others).into_iter().map(line).collect()
}

/// Most experiments named in one such line.
const NAMED_APART: usize = 3;

/// The warnings of all chosen trials, each text once with all its places.
pub(crate) fn warnings(results: &Results<'_>) -> Vec<String> {
    let place = |(name, steps): &(&str, Vec<&str>)| format!("{name} in {}", steps.join(", "));
    let line = |(text, places): &Warning<'_>| {
        format!("{text} ({})", places.iter().map(place).collect::<Vec<_>>().join("; "))
    };
    let counts = results.counts.map(|counts| count_warnings(results, counts)).unwrap_or_default();
    let of_machine = slow_processor(results).into_iter().chain(cached(results));
    of_machine.chain(analysis::warnings(results).iter().map(line)).chain(counts).collect()
}

/// From this share of slow slices on, verdicts may be those of a neighbour: docs/calibration.md, "A disturbed demo".
const DISTURBED_SHARE: f64 = 0.1;

/// A warning that something slowed the processors meanwhile.
fn slow_processor(results: &Results<'_>) -> Option<String> {
    let share = results.rounds?.slow_share().filter(|share| *share >= DISTURBED_SHARE)?;
    Some(format!(
        "something slowed the processors in {:.0} % of the slices, where a few per cent are usual. Intervals do not know of what lasts \
         through all rounds: measure again at a quieter time, into another store",
        share * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn one_toolchain_needs_no_note() {
        let (mut experiment, _) = fixture::sample();
        assert!(different_toolchains(&experiment).unwrap().contains("-Os"));
        let build = experiment.candidates[0].build.clone();
        for candidate in &mut experiment.candidates {
            candidate.build.compiler = build.compiler.clone();
            candidate.build.flags = build.flags.clone();
        }
        assert_eq!(different_toolchains(&experiment), None);
        // Builds of unknown flags may have been compiled in any way.
        for candidate in &mut experiment.candidates {
            candidate.build.flags = None;
        }
        assert!(different_toolchains(&experiment).unwrap().contains("unknown flags"));
    }

    #[test]
    fn experiments_measured_differently_are_named_with_the_differences() {
        let (experiment, _) = fixture::sample();
        let other = |id: &str, protocol_revision: u32| {
            let id = id.to_owned();
            Experiment { id, name: "n".into(), protocol_revision, ..experiment.clone() }
        };
        let same = other("same", experiment.protocol_revision);
        let earlier = ["a", "b", "c", "d"].map(|id| other(id, 0));
        let mut there = other("e", 0);
        (there.host.id, there.host.cores) = ("there".into(), experiment.host.cores + 1);
        let revision = format!("protocol revision 0, here {}", experiment.protocol_revision);
        let cores = format!("cores {}, here {}", there.host.cores, experiment.host.cores);
        assert_eq!(
            kept_apart(&experiment, &[&[same, there][..], &earlier].concat()),
            [
                format!(
                    "kept apart, because measured differently ({revision}): a (n), b (n), c (n) and 1 more"
                ),
                format!("kept apart, because measured differently ({revision}; {cores}): e (n)"),
            ]
        );
    }

    #[test]
    fn processors_that_are_slow_more_often_than_usual_are_told() {
        let (experiment, mut trials) = fixture::in_rounds();
        let told = |trials: &[basecase_model::Trial]| {
            let rounds = basecase_analysis::Rounds::of(&experiment, trials).unwrap();
            slow_processor(&Results::of(&experiment, trials, Some(&rounds)))
        };
        let mut slow_one_in = |n: usize| {
            let slices = trials.iter_mut().flat_map(|trial| &mut trial.slices).enumerate();
            slices
                .for_each(|(number, slice)| slice.canary_ns = Some(if number % n == 0 { 2.4 } else { 1.7 }));
            told(&trials)
        };
        assert_eq!(slow_one_in(15), None);
        assert!(slow_one_in(6).unwrap().starts_with("something slowed the processors in 17 % of the slices"));
        assert_eq!(slow_one_in(usize::MAX), None);
    }

    #[test]
    fn a_warning_appears_once_with_all_its_places() {
        let (experiment, mut trials) = fixture::sample();
        for trial in &mut trials {
            trial.warnings.clear();
        }
        let base = experiment.candidates[0].name.0.clone();
        for trial in
            trials.iter_mut().filter(|trial| trial.candidate == base && trial.step.starts_with("l.i"))
        {
            trial.warnings.push("client was the limit".into());
        }
        let expected = format!("client was the limit ({base} in l.i0, l.i1, l.i2)");
        assert_eq!(warnings(&Results::new(&experiment, &trials)), [expected]);
    }
}
