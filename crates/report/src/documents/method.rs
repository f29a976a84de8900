//! How rounds were run and verdicts reached, with the experiment's own numbers.

use basecase_analysis::{CalibrationRun, NOISY_MACHINE, Results, Rounds, UNPINNED};
use basecase_model::CalendarTime;
use basecase_stats::{AnalysisPlan, Flag, Judge};

use crate::documents::Block;
use crate::tables::{conduct, debt, noise_floor};
use crate::words::{duration, margin};

/// Title of this part.
pub(crate) const TITLE: &str = "How this was decided";

/// All of it; empty for an experiment that is not in rounds.
pub(crate) fn blocks(results: &Results<'_>) -> Vec<Block> {
    let Some(rounds) = results.rounds else { return Vec::new() };
    let plan = rounds.plan();
    let mut blocks = vec![
        Block::Heading("The rounds".into()),
        Block::List(procedure(results, rounds)),
        Block::Table(conduct::table(results, rounds)),
    ];
    blocks.extend(debt::table(results, rounds).map(Block::Table));
    blocks.extend([
        Block::Heading("The verdicts".into()),
        Block::List(rules(rounds, &plan, results.experiment.calendar_time)),
        Block::Heading("Guarantees".into()),
        Block::List(guarantees(&plan)),
        Block::Heading("Smallest detectable changes".into()),
    ]);
    blocks.extend(noise_floor::table(results).map(Block::Table));
    if let Some(first) = results.experiment.candidates.get(1) {
        let of = format!("{} against the base case", first.name);
        blocks.extend(super::components::blocks_of(results.experiment, rounds.trials, &of));
    }
    blocks.extend(super::calibration(&[CalibrationRun { experiment: results.experiment, rounds }]));
    blocks.extend([Block::Heading("Flags".into()), Block::List(flags())]);
    blocks
}

fn procedure(results: &Results<'_>, rounds: &Rounds<'_>) -> Vec<String> {
    let mut placements: Vec<&str> = results
        .compared_steps()
        .filter_map(|(step, _)| rounds.conduct(step))
        .flat_map(|conduct| conduct.placements.iter().map(String::as_str))
        .collect();
    placements.sort_unstable();
    placements.dedup();
    let takes_turns =
        results.steps().any(|(step, _)| rounds.conduct(step).is_some_and(|conduct| conduct.slices.is_some()));
    let turns = if takes_turns && results.experiment.is_chain() {
        "Candidates go through all steps in lock-step, one chunk of a step after the other, forward and back in an order \
         drawn anew for each pass, so that disturbances of the machine affect all alike. Meanwhile the servers of the others \
         are suspended."
    } else if takes_turns {
        "In each step, candidates take turns in short slices, forward and back in an order drawn anew for each pass, so \
         that disturbances of the machine affect all alike."
    } else {
        "Each candidate goes through all steps by itself, in an order drawn for each round, because each step starts from \
         what the previous one left."
    };
    let mut procedure = vec![
        "Each round starts every candidate anew from the same data. Two starts of one server differ, so a whole round \
         counts as one observation.".into(),
        turns.into(),
    ];
    procedure.extend(rounds.loads().map(|loads| of_loads(loads, rounds)));
    procedure.extend([
        format!("All orders are drawn from seed {}.", rounds.schedule.seed),
        format!("Processors of client and servers: {}.", placements.join("; ")),
    ]);
    procedure
}

/// How often data was loaded, and what rounds of one load have in common.
fn of_loads(loads: usize, rounds: &Rounds<'_>) -> String {
    if loads == 1 {
        return "All rounds began with one load of the data, so what they say holds for that load."
            .to_owned();
    }
    let correlation = rounds.judgement.judge().map_or(0.0, Judge::load_correlation);
    let wider = if correlation > 0.0 {
        format!(
            " Rounds of one load have {:.0} % of their variance in common, over all steps and contenders, and intervals are wider for \
             that.",
            100.0 * correlation
        )
    } else {
        String::new()
    };
    format!("The data of each candidate was loaded {loads} times over the rounds.{wider}")
}

fn rules(rounds: &Rounds<'_>, plan: &AnalysisPlan, calendar_time: Option<CalendarTime>) -> Vec<String> {
    let schedule = &rounds.schedule;
    let margin_of = |share: f64| margin((1.0 + share).ln());
    vec![
        "Each round gives one number per step and candidate: how far the logarithm of throughput in its slices typically \
         is from that in the base case's neighbouring slices. It is the difference of means if there are few slices, or if \
         one side stalls more than the other.".into(),
        format!(
            "There are interim analyses {}. The interval contains all effects that the rounds do not contradict, with an \
             error of {} over all interim analyses together. It is that of Student's t for the mean below ten rounds, and of \
             the signed ranks from ten on.",
            when(&schedule.interim_analyses, calendar_time),
            share(plan.alpha)
        ),
        format!(
            "A change matters if it reaches the margin: {} in steps that read, {} in steps that write. Margins were fixed \
             before the first round.",
            margin_of(schedule.read_margin),
            margin_of(schedule.write_margin)
        ),
        "No change: the whole interval lies within the margin. Regression or improvement: the interval excludes 0, and the \
         step is among the discoveries; the change is clear if the whole interval lies beyond the margin. Everything else \
         is not enough data, which does not mean that nothing changed."
            .into(),
        "A round in which background writers of either side missed their target rate does not count, because whoever \
         writes less has more capacity left for queries. If only the contender missed it in more than half of the rounds, \
         that is a regression; if only the base case did, an improvement."
            .into(),
        format!(
            "Discoveries are judged over all steps and candidates together (Benjamini & Hochberg), with a false discovery rate of {}.",
            share(plan.false_discovery_rate)
        ),
    ]
}

/// When the interim analyses are, and how the error is spent over them.
fn when(analyses: &[u32], calendar_time: Option<CalendarTime>) -> String {
    match calendar_time {
        None => {
            let rounds: Vec<String> = analyses.iter().map(u32::to_string).collect();
            format!("after {} rounds", rounds.join(", "))
        }
        Some(CalendarTime { budget_seconds, passed_seconds }) => format!(
            "after every round from {} to {}. The error is spent over the budget's time, nine tenths of it by its end: {} of {} have \
             passed",
            analyses.first().unwrap_or(&0),
            analyses.last().unwrap_or(&0),
            duration(passed_seconds),
            duration(budget_seconds)
        ),
    }
}

fn guarantees(plan: &AnalysisPlan) -> Vec<String> {
    vec![
        format!("Wrong direction or false change in a step: at most {}.", share(plan.alpha)),
        format!(
            "False changes among all reported changes: at most {} on average.",
            share(plan.false_discovery_rate)
        ),
        format!(
            "Verdict of no change despite an effect of the margin or more: at most {}.",
            share(plan.alpha / 2.0)
        ),
        "This holds if rounds are independent. Correlated rounds are averaged and flagged.".into(),
    ]
}

/// What each flag means.
fn flags() -> Vec<String> {
    let meanings = [
        (Flag::Unstable.as_str(), "intervals of different interim analyses do not overlap"),
        (Flag::Contested.as_str(), "mean and ranks disagree on whether there is a change"),
        (
            Flag::MergedRounds.as_str(),
            "neighbouring rounds are correlated, and are averaged until they are not",
        ),
        (Flag::Bimodal.as_str(), "the starts of a candidate form a slow and a fast group"),
        (Flag::NotSteady.as_str(), "throughput drifts within rounds by more than half of the margin"),
        (Flag::Stalls.as_str(), "one side stalls more than the other, so means are compared"),
        (
            Flag::OrderEffect.as_str(),
            "first and second halves of rounds differ in another way than for the base case",
        ),
        (
            Flag::DebtShift.as_str(),
            "one side defers a fifth more work than the other: dead rows, changed pages, files to be compacted; or the \
             verdict is another if the time for that work is included",
        ),
        (
            Flag::InvalidSla.as_str(),
            "background writers missed their target rate in some rounds, which do not count",
        ),
        (NOISY_MACHINE, "other work used much of the machine"),
        (
            UNPINNED,
            "client and server of a single connection were not pinned to processors, which can change throughput by a \
             factor, not just by a few per cent",
        ),
    ];
    let flags = meanings.iter().map(|(flag, meaning)| format!("{flag}: {meaning}"));
    std::iter::once(
        "Flags point out anomalies. Only two of them affect a verdict: unstable, which makes it not enough data, and \
         invalid_sla, if it applies to most rounds."
            .to_owned(),
    )
    .chain(flags)
    .collect()
}

/// E.g. `5 %` of 0.05.
fn share(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}
