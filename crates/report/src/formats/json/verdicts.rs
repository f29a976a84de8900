//! Verdicts of rounds as JSON, with all numbers behind them.

use basecase_analysis::{Attribution, Conduct, Effect, Level, Results};
use basecase_model::CalendarTime;
use basecase_stats::{Decision, Interval, JudgedMetric, Judgement, Modes, Outlook, Qualifier};
use serde::Serialize;

use super::sessions::{Told, told};
use crate::words::{qualifier_word, refusal, verdict_word};

/// The plan of an experiment in rounds, and a summary of each contender's steps.
#[derive(Serialize)]
pub(super) struct PlanObject<'a> {
    seed: u64,
    #[serde(rename = "looks")]
    interim_analyses: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    calendar_time: Option<CalendarTime>,
    read_margin: f64,
    write_margin: f64,
    alpha: f64,
    false_discovery_rate: f64,
    refusal: Option<String>,
    suites: Vec<Suite<'a>>,
}

#[derive(Serialize)]
struct Suite<'a> {
    candidate: &'a str,
    metric: &'static str,
    rounds: usize,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    changed: usize,
    expected_false: usize,
}

/// The course of a step's rounds.
#[derive(Serialize)]
pub(super) struct Gates<'a> {
    placements: &'a [String],
    slices_per_round: Option<[usize; 2]>,
    slice_s: Option<f64>,
    round_s: Option<f64>,
    copy_bytes: Option<Levels>,
    copy_s: Option<Levels>,
    others_cores: Option<Levels>,
    steal_share: Option<Levels>,
    slowed: Option<Levels>,
}

#[derive(Serialize)]
struct Levels {
    mean: f64,
    largest: f64,
}

/// The verdicts on a contender in a step.
#[derive(Serialize)]
pub(super) struct Verdicts<'a> {
    throughput: Statistics<'a>,
    server_cpu: Option<Statistics<'a>>,
    debt_inclusive: Option<DebtInclusive>,
    reading: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Told>,
    slices: usize,
    seconds: f64,
}

/// The verdict including deferred work.
#[derive(Serialize)]
struct DebtInclusive {
    verdict: String,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    server_cpu_ratio: Option<f64>,
    server_cpu_interval: Option<[f64; 2]>,
}

/// The statistics of one metric. Effects, deviations and margins are natural logarithms, and effects are above 0 if the contender is
/// better; ratios are of the metric itself.
#[derive(Serialize)]
struct Statistics<'a> {
    verdict: String,
    qualifier: Option<&'static str>,
    at_least: Option<f64>,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    effect: Option<f64>,
    effect_interval: Option<[f64; 2]>,
    selected_effect_interval: Option<[f64; 2]>,
    estimator: &'static str,
    level: Option<f64>,
    repeated_p: f64,
    adjusted_p: f64,
    rounds: usize,
    rounds_used: usize,
    rounds_merged: usize,
    rounds_dropped: usize,
    missed_rate: MissedRate,
    #[serde(rename = "block_sd")]
    between_round_sd: Option<f64>,
    start_sd: Option<f64>,
    pass_sd: Option<f64>,
    run_sd: Option<f64>,
    detectable: Option<f64>,
    margin: f64,
    smallest_margin: Option<f64>,
    flags: Vec<&'static str>,
    base_modes: Option<TwoModes>,
    contender_modes: Option<TwoModes>,
    leaves: bool,
    more_rounds: Option<usize>,
    on_the_margin: bool,
    effects: &'a [f64],
}

#[derive(Serialize)]
struct MissedRate {
    by_base: usize,
    by_contender: usize,
    by_both: usize,
}

#[derive(Serialize)]
struct TwoModes {
    slow_share: f64,
    slow: f64,
    fast: f64,
}

/// `None` for an experiment that is not in rounds.
pub(super) fn plan<'a>(results: &Results<'a>) -> Option<PlanObject<'a>> {
    let rounds = results.rounds?;
    let plan = rounds.plan();
    let suite = |metric: JudgedMetric| {
        results.candidates().filter_map(move |(candidate, facts)| {
            let suite = rounds.judgement.suite(metric, candidate)?;
            let effect = Effect::of_suite(metric, suite);
            Some(Suite {
                candidate: &facts.name.0,
                metric: name(metric),
                rounds: suite.rounds,
                ratio: effect.map(|effect| effect.ratio),
                interval: effect.and_then(|effect| effect.interval),
                changed: suite.changed,
                expected_false: suite.expected_false,
            })
        })
    };
    Some(PlanObject {
        seed: rounds.schedule.seed,
        interim_analyses: &rounds.schedule.interim_analyses,
        calendar_time: results.experiment.calendar_time,
        read_margin: rounds.schedule.read_margin,
        write_margin: rounds.schedule.write_margin,
        alpha: plan.alpha,
        false_discovery_rate: plan.false_discovery_rate,
        refusal: refusal(rounds),
        suites: JudgedMetric::ALL.into_iter().flat_map(suite).collect(),
    })
}

/// `None` for an experiment that is not in rounds.
pub(super) fn gates<'a>(results: &Results<'a>, step: usize) -> Option<Gates<'a>> {
    let levels = |level: Option<Level>| level.map(|Level { mean, largest }| Levels { mean, largest });
    let conduct: &Conduct = results.rounds?.conduct(step)?;
    Some(Gates {
        placements: &conduct.placements,
        slices_per_round: conduct.slices.map(|(fewest, most)| [fewest, most]),
        slice_s: conduct.slice_s,
        round_s: conduct.round_s,
        copy_bytes: levels(conduct.copy_bytes),
        copy_s: levels(conduct.copy_s),
        others_cores: levels(conduct.others_cores),
        steal_share: levels(conduct.steal_share),
        slowed: levels(conduct.slowed),
    })
}

/// `None` if nothing is judged.
pub(super) fn verdicts<'a>(results: &Results<'a>, step: usize, candidate: usize) -> Option<Verdicts<'a>> {
    let judged = results.judged(step, candidate)?;
    let judgement = &results.rounds?.judgement;
    let trial = results.measured(step, candidate)?.trial;
    let effects = |metric| judgement.effects(metric, step, candidate);
    Some(Verdicts {
        throughput: Statistics {
            flags: judged.flags(),
            ..statistics(JudgedMetric::Throughput, judged.throughput, effects(JudgedMetric::Throughput))
        },
        server_cpu: judged
            .cpu
            .map(|cpu| statistics(JudgedMetric::ServerCpu, cpu, effects(JudgedMetric::ServerCpu))),
        debt_inclusive: debt_inclusive(judgement, step, candidate),
        reading: judged.attribution().map(Attribution::as_str),
        sessions: told(results, step, candidate),
        slices: results.slice_count(step, candidate),
        seconds: trial.seconds,
    })
}

/// `None` if it is not known.
fn debt_inclusive(judgement: &Judgement, step: usize, candidate: usize) -> Option<DebtInclusive> {
    let decision = judgement.with_debt(JudgedMetric::Throughput, step, candidate)?;
    let throughput = Effect::of_decision(JudgedMetric::Throughput, decision);
    let cpu = judgement.with_debt(JudgedMetric::ServerCpu, step, candidate);
    let cpu = cpu.and_then(|cpu| Effect::of_decision(JudgedMetric::ServerCpu, cpu));
    Some(DebtInclusive {
        verdict: verdict_word(decision.verdict),
        ratio: throughput.map(|effect| effect.ratio),
        interval: throughput.and_then(|effect| effect.interval),
        server_cpu_ratio: cpu.map(|effect| effect.ratio),
        server_cpu_interval: cpu.and_then(|effect| effect.interval),
    })
}

fn statistics<'a>(metric: JudgedMetric, decision: &Decision, effects: &'a [f64]) -> Statistics<'a> {
    let ends = |interval: Option<Interval>| interval.map(|interval| [interval.lower, interval.upper]);
    let effect = Effect::of_decision(metric, decision);
    Statistics {
        verdict: verdict_word(decision.verdict),
        qualifier: decision.qualifier.map(qualifier_word),
        at_least: match decision.qualifier {
            Some(Qualifier::AtLeast(effect)) => Some(effect),
            _ => None,
        },
        ratio: effect.map(|effect| effect.ratio),
        interval: effect.and_then(|effect| effect.interval),
        effect: decision.estimate,
        effect_interval: ends(decision.interval),
        selected_effect_interval: ends(decision.selected_interval),
        estimator: decision.estimator.as_str(),
        level: decision.level,
        repeated_p: decision.repeated_p,
        adjusted_p: decision.adjusted_p,
        rounds: decision.rounds,
        rounds_used: decision.rounds_used,
        rounds_merged: decision.rounds_merged,
        rounds_dropped: decision.rounds_dropped,
        missed_rate: missed_rate(decision.missed_rate),
        between_round_sd: decision.between_round_sd,
        start_sd: decision.start_sd,
        pass_sd: decision.pass_sd,
        run_sd: decision.run_sd,
        detectable: decision.detectable,
        margin: decision.margin,
        smallest_margin: decision.smallest_margin,
        flags: decision.flags.iter().map(|flag| flag.as_str()).collect(),
        base_modes: decision.base_modes.map(modes),
        contender_modes: decision.contender_modes.map(modes),
        leaves: decision.leaves,
        more_rounds: match decision.outlook {
            Outlook::MoreRounds(more) => Some(more),
            Outlook::Settled | Outlook::OnTheMargin => None,
        },
        on_the_margin: decision.outlook == Outlook::OnTheMargin,
        effects,
    }
}

fn missed_rate(missed: basecase_stats::MissedRate) -> MissedRate {
    let basecase_stats::MissedRate { by_base, by_contender, by_both } = missed;
    MissedRate { by_base, by_contender, by_both }
}

fn name(metric: JudgedMetric) -> &'static str {
    match metric {
        JudgedMetric::Throughput => "throughput",
        JudgedMetric::ServerCpu => "server_cpu",
    }
}

fn modes(Modes { slow_share, slow, fast }: Modes) -> TwoModes {
    TwoModes { slow_share, slow, fast }
}
