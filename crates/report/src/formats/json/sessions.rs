//! The sessions of a cell and what they tell, as JSON.

use std::collections::BTreeMap;

use basecase_analysis::{Effect, MeasuredSession, Results};
use basecase_stats::{CounterPrice, SessionMode, SessionModes, Telltale};
use serde::Serialize;

/// One session.
#[derive(Serialize)]
pub(super) struct SessionObject<'a> {
    round: u32,
    number: u32,
    history: String,
    first_pass: u32,
    passes: u32,
    operations: u64,
    rate: Option<f64>,
    counters: BTreeMap<&'a str, f64>,
}

/// What the sessions of a contender and the base case tell.
#[derive(Serialize)]
pub(super) struct Told {
    sessions: usize,
    base_modes: Option<TwoModes>,
    contender_modes: Option<TwoModes>,
    prices: Vec<Price>,
}

#[derive(Serialize)]
struct TwoModes {
    counter: Option<&'static str>,
    modes: [Mode; 2],
}

#[derive(Serialize)]
struct Mode {
    per_operation: Option<f64>,
    sessions: usize,
    starts: usize,
    share: f64,
    share_interval: [f64; 2],
    ratio: f64,
    interval: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct Price {
    counter: &'static str,
    per_unit: f64,
    interval: [f64; 2],
    sessions: usize,
}

/// The sessions of a candidate; none if they were not told apart.
pub(super) fn sessions<'a>(results: &Results<'a>, step: usize, candidate: usize) -> Vec<SessionObject<'a>> {
    let session = |MeasuredSession { round, record, rate }: MeasuredSession<'a>| {
        let per_operation = |(name, _): (&'a str, f64)| Some((name, record.per_operation(name)?));
        SessionObject {
            round,
            number: record.number,
            history: format!("{:016x}", record.seed),
            first_pass: record.first_pass,
            passes: record.passes,
            operations: record.operations,
            rate,
            counters: record.counters.iter().filter_map(per_operation).collect(),
        }
    };
    results.measured_sessions(step, candidate).into_iter().map(session).collect()
}

/// `None` if sessions were not told apart.
pub(super) fn told(results: &Results<'_>, step: usize, candidate: usize) -> Option<Told> {
    let sessions = results.sessions(step, candidate)?;
    let [base_modes, contender_modes] = sessions.modes.each_ref().map(|modes| modes.as_ref().map(two_modes));
    let price = |price: &CounterPrice| Price {
        counter: price.counter,
        per_unit: price.per_unit,
        interval: [price.interval.lower, price.interval.upper],
        sessions: price.sessions,
    };
    let prices = sessions.prices.iter().map(price).collect();
    Some(Told { sessions: sessions.count, base_modes, contender_modes, prices })
}

fn two_modes(found: &SessionModes) -> TwoModes {
    let mode = |mode: &SessionMode| {
        let Effect { ratio, interval } = Effect::of_estimate(mode.effect);
        Mode {
            per_operation: mode.per_operation,
            sessions: mode.sessions,
            starts: mode.starts,
            share: mode.share,
            share_interval: mode.share_interval,
            ratio,
            interval,
        }
    };
    let counter = match found.telltale {
        Telltale::Counter(counter) => Some(counter),
        Telltale::Throughput => None,
    };
    TwoModes { counter, modes: found.modes.each_ref().map(mode) }
}
