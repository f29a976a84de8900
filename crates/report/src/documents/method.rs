//! How the rounds were run and decided, in plain words and with their own numbers.

use basecase_analysis::{CalibrationRun, NOISY_MACHINE, Results, Rounds, UNPINNED};
use basecase_stats::{AnalysisPlan, Flag};

use crate::documents::Block;
use crate::tables::{conduct, debt, noise_floor};
use crate::words::margin;

/// What the part is called.
pub(crate) const TITLE: &str = "How this was decided";

/// The whole of it; nothing of an experiment that is not in rounds.
pub(crate) fn blocks(results: &Results<'_>) -> Vec<Block> {
    let Some(rounds) = results.rounds else { return Vec::new() };
    let plan = rounds.plan();
    let mut blocks = vec![
        Block::Heading("The rounds".into()),
        Block::List(course(results, rounds)),
        Block::Table(conduct::table(results, rounds)),
    ];
    blocks.extend(debt::table(results, rounds).map(Block::Table));
    blocks.extend([
        Block::Heading("The decisions".into()),
        Block::List(rules(rounds, &plan)),
        Block::Heading("What holds".into()),
        Block::List(guarantees(&plan)),
        Block::Heading("How small a change could be seen".into()),
    ]);
    blocks.extend(noise_floor::table(results).map(Block::Table));
    blocks.extend(super::calibration(&[CalibrationRun { experiment: results.experiment, rounds }]));
    blocks.extend([Block::Heading("Flags".into()), Block::List(flags())]);
    blocks
}

fn course(results: &Results<'_>, rounds: &Rounds<'_>) -> Vec<String> {
    let steps = results.steps().filter(|(_, step)| step.is_compared());
    let mut placements: Vec<&str> = steps
        .filter_map(|(step, _)| rounds.conduct(step))
        .flat_map(|conduct| conduct.placements.iter().map(String::as_str))
        .collect();
    placements.sort_unstable();
    placements.dedup();
    let takes_turns =
        results.steps().any(|(step, _)| rounds.conduct(step).is_some_and(|conduct| conduct.slices.is_some()));
    let turns = if takes_turns && results.experiment.is_chain() {
        "They go through all steps in lock-step, a portion of the step on one and then on the others, there and back in an order drawn anew \
         for each pass, so that what the machine does hits all alike. The servers of the others stand still meanwhile."
    } else if takes_turns {
        "In each step they take turns in short slices, there and back in an order drawn anew for each pass, so that what the machine does \
         hits all alike."
    } else {
        "Each goes through all steps by itself, in an order drawn for each round, because a step begins with what the one before it left."
    };
    vec![
        "A round starts every candidate afresh from the same data. Two starts of one server differ, so the round is what counts as one \
         observation.".into(),
        turns.into(),
        format!("All orders are drawn from seed {}.", rounds.schedule.seed),
        format!("Client and servers on processors: {}.", placements.join("; ")),
    ]
}

fn rules(rounds: &Rounds<'_>, plan: &AnalysisPlan) -> Vec<String> {
    let schedule = &rounds.schedule;
    let analyses: Vec<String> = schedule.interim_analyses.iter().map(u32::to_string).collect();
    let of_margin = |share: f64| margin((1.0 + share).ln());
    vec![
        "Each round gives one number for a step and a candidate: how far the logarithm of throughput in its slices typically is from that \
         in the base case's slices beside them. It is the difference of means where slices are few, and where one side stalls more than the \
         other.".into(),
        format!(
            "Interim analyses are after {} rounds. The interval holds all effects that the rounds do not contradict, over all interim analyses \
             together with an error of {}. It is that of Student's t for the mean below ten rounds, and of the signed ranks from ten on.",
            analyses.join(", "),
            share(plan.alpha)
        ),
        format!(
            "A change matters from {} on in steps that read and {} in steps that write: the margin, fixed before the first round.",
            of_margin(schedule.read_margin),
            of_margin(schedule.write_margin)
        ),
        "No change: the whole interval lies within the margin. Regression and improvement: the interval leaves out 0, and the step is \
         among the discoveries; clear where the whole interval is beyond the margin. Everything else is not enough data, which does not \
         say that nothing changed."
            .into(),
        "A round in which background writers of either side missed their rate does not count, for whoever writes less has more left for \
         queries. Where the contender alone missed it in more than half of the rounds, that is a regression; where the base case alone \
         did, an improvement."
            .into(),
        format!(
            "Discoveries are judged over all steps and candidates together (Benjamini & Hochberg), with a false discovery rate of {}.",
            share(plan.false_discovery_rate)
        ),
    ]
}

fn guarantees(plan: &AnalysisPlan) -> Vec<String> {
    vec![
        format!("A wrong direction or a false change of a step: {} at most.", share(plan.alpha)),
        format!(
            "False ones among all reported changes: {} at most on average.",
            share(plan.false_discovery_rate)
        ),
        format!(
            "No change in spite of an effect of the margin or more: {} at most.",
            share(plan.alpha / 2.0)
        ),
        "This holds where rounds are independent; rounds that hang together are averaged, and flagged."
            .into(),
    ]
}

/// What each flag means.
fn flags() -> Vec<String> {
    let told = [
        (Flag::Unstable.as_str(), "intervals of different interim analyses have nothing in common"),
        (Flag::Contested.as_str(), "mean and ranks differ in whether there is a change"),
        (
            Flag::MergedRounds.as_str(),
            "neighbouring rounds hang together, and are averaged until they do not",
        ),
        (Flag::Bimodal.as_str(), "the starts of a candidate fall into a slow and a fast group"),
        (Flag::NotSteady.as_str(), "throughput moves within rounds by more than half of the margin"),
        (Flag::Stalls.as_str(), "one side stalls more than the other, so that means are compared"),
        (
            Flag::OrderEffect.as_str(),
            "first halves of rounds differ from second ones otherwise than in the base case",
        ),
        (
            Flag::DebtShift.as_str(),
            "one side leaves a fifth more of its work for later: dead rows, changed pages, files to be compacted; or with the time to pay for it the verdict is another",
        ),
        (
            Flag::InvalidSla.as_str(),
            "background writers missed their rate in some rounds, which do not count",
        ),
        (NOISY_MACHINE, "others used much of the machine meanwhile"),
        (
            UNPINNED,
            "client and server of one connection were on processors as it happened, which comes to a factor and not to a few per cent",
        ),
    ];
    let flags = told.iter().map(|(flag, meaning)| format!("{flag}: {meaning}"));
    std::iter::once(
        "Flags tell what is odd. None of them changes a verdict but unstable, which is not enough data, \
         and invalid_sla where it is that of most rounds."
            .to_owned(),
    )
    .chain(flags)
    .collect()
}

/// E.g. `5 %` of 0.05.
fn share(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}
