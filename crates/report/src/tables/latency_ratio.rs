//! Latencies of contenders divided by those of the base case, in rounds.

use basecase_analysis::{Clock, LEAST_BEYOND, LatencyRatio, PERCENTILES, Results, timed_name};
use basecase_model::{OperationClass, StepFacts};

use super::{Column, MISSING, Row, Table, TableCell, relative_to};

/// The percentiles of every contender; `None` if none has a ratio.
pub(crate) fn table(
    results: &Results<'_>,
    (step, facts): (usize, &StepFacts),
    class: OperationClass,
    clock: Clock,
) -> Option<Table> {
    let cell = |ratio: &LatencyRatio| match &ratio.effect {
        Some(effect) => TableCell::ratio(effect),
        None => TableCell::plain(MISSING),
    };
    let ratios = |candidate| results.latency_ratios(step, candidate, class, clock);
    let all: Vec<_> =
        results.candidates().skip(1).map(|(candidate, facts)| (facts, ratios(candidate))).collect();
    let is_known = |(_, ratios): &(_, Vec<LatencyRatio>)| ratios.iter().any(|ratio| ratio.effect.is_some());
    all.iter().any(is_known).then(|| Table {
        caption: format!(
            "{} {}, {} relative to the base case",
            facts.name,
            timed_name(facts, class),
            clock.title()
        ),
        reading: format!(
            "{}. Above 1 is slower. A percentile has a ratio only if at least {LEAST_BEYOND} statements of each round \
             exceed it.",
            relative_to(results)
        ),
        corner: "dbms",
        columns: PERCENTILES.iter().map(|(name, _)| Column::numbers(*name, "")).collect(),
        rows: all
            .iter()
            .map(|(facts, ratios)| Row::new(&facts.name.0, ratios.iter().map(cell).collect()))
            .collect(),
        ..Table::default()
    })
}
