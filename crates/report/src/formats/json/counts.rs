//! Counts as JSON: instructions per operation, what is decided of them, and the functions behind a change.

use std::collections::BTreeSet;

use basecase_analysis::{Causes, CellCount, Counts, FunctionWork, Luck, Mover, Results, Work};
use basecase_stats::WorkDecision;
use serde::Serialize;

use crate::words::{agreement_word, answers, qualifier_word, work_word};

/// How operations were counted, and a summary of each contender.
#[derive(Serialize)]
pub(super) struct CountsObject<'a> {
    engine: String,
    engine_versions: &'a [&'a str],
    margin: f64,
    left_out: usize,
    nodes_left_out: &'a BTreeSet<u32>,
    refusal: Option<String>,
    answers: Vec<String>,
    summaries: Vec<Summary<'a>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    candidate: &'a str,
    more_work: usize,
    less_work: usize,
    same_work: usize,
    not_enough_data: usize,
    failed: usize,
}

/// What was counted of a cell.
#[derive(Serialize)]
pub(super) struct CountObject<'a> {
    key: Option<&'a str>,
    instructions: Option<f64>,
    /// By start.
    windows: Vec<Vec<f64>>,
    operations: u64,
    spread: Option<f64>,
    failed: Option<&'a str>,
    warnings: Vec<&'a str>,
    #[serde(flatten)]
    compared: Option<Compared<'a>>,
}

/// How a contender compares with the base case.
#[derive(Serialize)]
struct Compared<'a> {
    verdict: String,
    qualifier: Option<&'static str>,
    ratio: f64,
    interval: Option<[f64; 2]>,
    selected_interval: Option<[f64; 2]>,
    p: f64,
    adjusted_p: f64,
    agreement: Option<&'static str>,
    causes: Option<CausesObject<'a>>,
}

#[derive(Serialize)]
struct CausesObject<'a> {
    change: f64,
    by_chance: f64,
    movers: Vec<MoverObject<'a>>,
    unmoved: Vec<MoverObject<'a>>,
    luck: Vec<LuckObject<'a>>,
    without_symbols: Vec<&'a str>,
}

/// A function that accounts for a part of a change.
#[derive(Serialize)]
pub(super) struct MoverObject<'a> {
    function: &'a str,
    object: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    kind: &'static str,
    merged: Vec<&'a str>,
    base: f64,
    candidate: f64,
    change: f64,
    share: Option<f64>,
    inclusive: [f64; 2],
    calls: [f64; 2],
}

#[derive(Serialize)]
struct LuckObject<'a> {
    function: &'a str,
    object: &'a str,
    candidate: &'a str,
    range: f64,
}

/// `None` without counts.
pub(super) fn counts<'a>(results: &Results<'a>) -> Option<CountsObject<'a>> {
    let counts: &'a Counts<'a> = results.counts?;
    let summary = |(candidate, name): (usize, &'a str)| {
        let summary = counts.summary(candidate);
        Summary {
            candidate: name,
            more_work: summary.more,
            less_work: summary.less,
            same_work: summary.same,
            not_enough_data: summary.open,
            failed: summary.failed,
        }
    };
    let contenders = results.candidates().skip(1).map(|(number, facts)| (number, facts.name.0.as_str()));
    Some(CountsObject {
        engine: counts.engine.to_string(),
        engine_versions: &counts.engine_versions,
        margin: counts.margin,
        left_out: counts.left_out,
        nodes_left_out: counts.nodes_left_out,
        refusal: counts.refusal.as_ref().map(ToString::to_string),
        answers: answers(results),
        summaries: contenders.map(summary).collect(),
    })
}

/// `None` if nothing was tried.
pub(super) fn count<'a>(results: &Results<'a>, step: usize, candidate: usize) -> Option<CountObject<'a>> {
    let counts: &'a Counts<'a> = results.counts?;
    let cell: &CellCount<'a> = counts.cell(step, candidate)?;
    Some(CountObject {
        key: cell.key(),
        instructions: cell.instructions(),
        windows: cell.by_start(),
        operations: cell.operations(),
        spread: cell.spread(),
        failed: cell.failure(),
        warnings: cell.warnings().into_iter().collect(),
        compared: counts.work(step, candidate).map(|work| compared(results, counts, work)),
    })
}

fn compared<'a>(results: &Results<'a>, counts: &Counts<'a>, work: &Work) -> Compared<'a> {
    let Work { step, candidate, decision } = work;
    let WorkDecision { verdict, qualifier, selected_interval, p, adjusted_p, .. } = decision;
    let effect = work.effect();
    let causes = counts.causes(*step, *candidate);
    Compared {
        verdict: work_word(*verdict),
        qualifier: qualifier.map(qualifier_word),
        ratio: effect.ratio,
        interval: effect.interval,
        selected_interval: selected_interval.map(|interval| [interval.lower.exp(), interval.upper.exp()]),
        p: *p,
        adjusted_p: *adjusted_p,
        agreement: results.agreement(*step, *candidate).map(agreement_word),
        causes: causes.map(|causes| of_functions(results, &causes, *candidate)),
    }
}

fn of_functions<'a>(results: &Results<'a>, causes: &Causes<'a>, candidate: usize) -> CausesObject<'a> {
    let name =
        |number: usize| results.experiment.candidates.get(number).map_or("", |facts| facts.name.0.as_str());
    let luck = |luck: &Luck<'a>| LuckObject {
        function: luck.function,
        object: luck.object,
        candidate: name(if luck.is_of_base { 0 } else { candidate }),
        range: luck.range,
    };
    CausesObject {
        change: causes.change(),
        by_chance: causes.by_chance,
        movers: movers(causes),
        unmoved: causes.unmoved.iter().map(|mover| moved(causes, mover)).collect(),
        luck: causes.luck.iter().map(luck).collect(),
        without_symbols: causes.without_symbols.clone(),
    }
}

/// The functions that account for a change, the largest first.
pub(super) fn movers<'a>(causes: &Causes<'a>) -> Vec<MoverObject<'a>> {
    causes.movers.iter().map(|mover| moved(causes, mover)).collect()
}

fn moved<'a>(causes: &Causes<'a>, mover: &Mover<'a>) -> MoverObject<'a> {
    let FunctionWork { name, object, file, line, base, contender } = &mover.function;
    MoverObject {
        function: name,
        object,
        file: *file,
        line: *line,
        kind: mover.kind.as_str(),
        merged: mover.merged.iter().map(|function| function.name).collect(),
        base: mover.base(),
        candidate: mover.contender(),
        change: mover.change(),
        share: causes.share(mover),
        inclusive: [base.inclusive, contender.inclusive],
        calls: [base.calls, contender.calls],
    }
}
