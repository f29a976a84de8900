//! Measures one step: runs it, and checks the result against the server, the tables and the workload.

pub(crate) mod neighbours;
mod observing;
mod plans;
pub(crate) mod profiling;
pub(crate) mod settling;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::{Failure, Progress, SessionHistories, StepOutcome, WorkerGroup};
use basecase_model::{
    Check, Measures, Observation, OperationClass, Place, Profile, RoleRecord, ServerReadings,
    StatementRecord, Track, Trial, names,
};
use basecase_stop::pause;
use basecase_workload::insert_benchmark::Purpose;
use basecase_workload::{Chunk, Preparation, StepPlan};

use self::neighbours::Neighbours;
use self::observing::{Observations, memory_at_most, observe};
use self::plans::{count_plan_uses, plans};
use self::profiling::Profiling;
use crate::checks::{self, ServerCounts};
use crate::plan::{Candidate, Plan};
use crate::run::bench::Alone;
use crate::run::blank_trial;
use crate::run::deployment::LiveDeployment;
use crate::workload::WorkloadState;

/// How long the server's counters get to show what closed sessions did.
const COUNTERS_PATIENCE: Duration = Duration::from_secs(5);
/// From this share of a closed loop's time on the CPU, the client is reported as the limit.
const CLIENT_BOUND_SHARE: f64 = 0.8;

/// From this many seconds in which basecase itself did not run, that is reported. In short steps, from half of it and this share of the time.
const STOPPED_S: f64 = 0.5;
const STOPPED_SHARE: f64 = 0.1;

/// What the server had counted before a step.
pub(crate) struct Counted {
    statistics: Measures,
    telemetry: Measures,
}

/// A step that is ready to start.
pub(crate) struct Ready {
    pub(crate) group: WorkerGroup,
    pub(crate) warm_up: Duration,
    /// See [`StepPlan::chunk`].
    pub(crate) chunk: Option<Chunk>,
    pub(crate) before: Counted,
}

/// The result of a step, with what was observed beside it.
pub(crate) struct Ended<'a> {
    pub(crate) place: Place,
    pub(crate) warm_up: Duration,
    pub(crate) before: Counted,
    pub(crate) outcome: StepOutcome,
    pub(crate) tracks: Vec<Track>,
    /// Counters that no snapshot of the window has.
    pub(crate) seen: Measures,
    pub(crate) profiles: Vec<Profile>,
    /// How it was observed.
    pub(crate) observation: Observation,
    /// Whether the server is asked for the plans of its statements.
    pub(crate) wants_plans: bool,
    pub(crate) inspection: Inspection<'a>,
}

/// How the server and its tables are inspected after a step.
#[derive(Clone, Copy)]
pub(crate) struct Inspection<'a> {
    /// Whether all rows are counted.
    pub(crate) counts_rows: bool,
    /// Whether the step's debt is paid at once, until the user stops it.
    pub(crate) drain: Option<&'a AtomicBool>,
}

/// Measures one step of one candidate. `None` when the user stopped it.
pub(crate) fn measure(
    plan: &Plan,
    candidate: &Candidate,
    deployment: &mut LiveDeployment,
    workload_state: &mut dyn WorkloadState,
    step: Alone<'_>,
    begins: &mut dyn FnMut(Arc<Progress>),
) -> Result<Option<Trial>> {
    let Alone { number, place, observation, profile, limits } = step;
    let Ready { group, warm_up, before, .. } =
        ready(plan, candidate, deployment, workload_state, number, place)?;
    begins(group.progress());
    let profiled = profile.zip(deployment.served.pid());
    let profiling = profiled.map(|(order, pid)| Profiling::begin(order, pid)).transpose()?;
    let (mut outcome, observations) = match observation {
        Observation::Off => (group.run(&deployment.watch, &limits), Ok(Observations::default())),
        Observation::Usual | Observation::Profiled => {
            let progress = group.progress();
            observe(deployment, &progress, |watch| group.run(watch, &limits))
        }
    };
    if matches!(outcome.failure, Some(Failure::Interrupted)) {
        return Ok(None);
    }
    let observations = observations.unwrap_or_else(|failure| {
        outcome.failure.get_or_insert(failure);
        Observations::default()
    });
    let (profiles, mut seen) = profiling.map(Profiling::end).transpose()?.unwrap_or_default();
    seen.extend(observations.sessions(outcome.opened, outcome.seconds));
    let ended = Ended {
        place,
        warm_up,
        before,
        tracks: observations.tracks(outcome.opened, outcome.seconds),
        seen,
        profiles,
        observation,
        wants_plans: observation != Observation::Off,
        inspection: Inspection { counts_rows: plan.counts_rows, drain: None },
        outcome,
    };
    let mut trial = conclude(plan, candidate, deployment, workload_state, number, ended)?;
    let is_known = deployment.served.pid().is_some() || candidate.facts.build.dbms.is_embedded();
    let neighbours =
        Neighbours::of(&trial.counters, trial.counters.get(names::SERVER_CPU_US)).filter(|_| is_known);
    trial.warnings.extend(neighbours.and_then(Neighbours::warning));
    Ok(Some(trial))
}

/// Checks the result of a step against the server, the tables and the workload.
pub(crate) fn conclude(
    plan: &Plan,
    candidate: &Candidate,
    deployment: &mut LiveDeployment,
    workload_state: &mut dyn WorkloadState,
    number: usize,
    ended: Ended<'_>,
) -> Result<Trial> {
    let Ended { place, warm_up, before, mut outcome, tracks, seen, profiles, observation, .. } = ended;
    if !warm_up.is_zero() {
        let by_time = outcome.seconds + warm_up.as_secs_f64();
        let counted = counted_seconds(outcome.seconds, &outcome.statements).unwrap_or(by_time);
        outcome.counters.set(names::SERVER_COUNTED_SECONDS, counted);
    }
    workload_state.advance(number, &outcome);
    let mut trial = Trial {
        seconds: outcome.seconds,
        warnings: warnings(&outcome, deployment.served.pid().is_some()),
        checks: workload_state.check_roles(number, &outcome),
        counters: std::mem::take(&mut outcome.counters),
        tracks,
        observation,
        profiles,
        slices: std::mem::take(&mut outcome.slices),
        sessions: std::mem::take(&mut outcome.sessions),
        ..blank_trial(plan, candidate, number, place, outcome.started_at)
    };
    trial.counters.extend(seen);
    let examined = match outcome.failure.take() {
        Some(failure) => Err(failure.into()),
        None => examine(deployment, workload_state, number, &before, &outcome, ended.inspection, &mut trial),
    };
    let examined = examined.and_then(|()| {
        if !outcome.plan_uses.is_empty() {
            let step_plan = workload_state.plan(number, Purpose::Measure)?;
            count_plan_uses(&mut trial, &outcome.plan_uses, step_plan);
        }
        if ended.wants_plans {
            trial.plans = plans(deployment, workload_state.plan(number, Purpose::Measure)?, &trial)?;
            // The session that asked for them must not count as one of the next step.
            deployment.catch_up()?;
        }
        Ok(())
    });
    trial.gauges.extend(outcome.client);
    trial.roles = outcome.roles;
    trial.statements = outcome.statements;
    let examined = examined.and_then(|()| {
        let failures = checks::failures(&trial.checks);
        anyhow::ensure!(failures.is_empty(), failures.join("\n"));
        Ok(())
    });
    if let Err(error) = examined {
        trial.status = deployment.failure(&error);
    }
    Ok(trial)
}

/// Prepares a step: everything before the clock starts.
pub(crate) fn ready(
    plan: &Plan,
    candidate: &Candidate,
    deployment: &mut LiveDeployment,
    workload_state: &dyn WorkloadState,
    number: usize,
    place: Place,
) -> Result<Ready> {
    deployment.served.drop_logs(deployment.control.as_mut())?;
    let step_plan = workload_state.plan(number, Purpose::Measure)?;
    let histories = histories(plan, candidate, &step_plan, place);
    let (warm_up, chunk) = (step_plan.window.warm_up, step_plan.chunk);
    prepare(deployment, &step_plan)?;
    // Only now: counters of a table that is dropped go with it.
    let before = Counted { statistics: deployment.statistics()?, telemetry: deployment.telemetry()? };
    Ok(Ready { group: assemble(deployment, step_plan, Some(histories))?, warm_up, chunk, before })
}

/// What the sessions of a step do before they are measured: drawn for each candidate, round and pass by itself, since what candidates have
/// in common cancels in their ratio, and what rounds have in common is in no interval.
fn histories(plan: &Plan, candidate: &Candidate, step_plan: &StepPlan, place: Place) -> SessionHistories {
    let Place { round, pass, .. } = place;
    let name = format!("sessions of {} in {}, pass {pass}", candidate.facts.name, step_plan.name);
    let seed = plan.orders().seed(&name, round as usize);
    SessionHistories::new(seed, candidate.dialect, step_plan.roles.len())
}

/// Inspects the server and the tables after a step that ran to its end.
fn examine(
    deployment: &mut LiveDeployment,
    workload_state: &mut dyn WorkloadState,
    number: usize,
    before: &Counted,
    outcome: &StepOutcome,
    inspection: Inspection<'_>,
    trial: &mut Trial,
) -> Result<()> {
    let check = |server: ServerCounts<'_>| workload_state.check_server(number, server, outcome);
    let (server, checks, is_short) = counters_at_rest(deployment, &before.statistics, check)?;
    trial.checks.extend(checks);
    if is_short {
        trial.warnings.push(
            "the server counted less than was done: this version may lose some of its counts while it is busy"
                .to_owned(),
        );
    }
    let end = deployment.telemetry()?;
    let (counters, levels) = deployment.counters_and_levels(&before.telemetry, &end);
    trial.counters.extend(counters);
    trial.gauges.extend(levels);
    if trial.place.round == 0 {
        // They are half as large as all else that is stored of a trial, and rounds are many.
        trial.server_readings = ServerReadings { start: before.telemetry.clone(), end };
    }
    trial.counters.extend(server);
    for (name, value) in deployment.debt()?.measures.iter() {
        // What was left of it before the step stands under its own name.
        trial.gauges.set(&format!("end.{name}"), value);
    }
    trial.gauges.extend(deployment.served.sizes(deployment.control.as_mut())?);
    if let Some(bytes) = deployment.served.pid().and_then(basecase_probe::server_pss_bytes) {
        trial.gauges.set(names::SERVER_PSS_BYTES, bytes as f64);
    }
    if let Some(group) = deployment.served.group_counts() {
        trial.gauges.extend(group.gauges());
        trial.gauges.extend(memory_at_most(&trial.tracks));
    }
    if let Some(bytes) = basecase_probe::client_peak_rss_bytes() {
        trial.gauges.set(names::CLIENT_PEAK_RSS_BYTES, bytes as f64);
    }
    if let Some(stop) = inspection.drain {
        trial.gauges.extend(deployment.drain(stop)?);
    }
    // Not before what was put off is paid: reading all rows gives the server time for it.
    trial.state = deployment.state(workload_state, inspection.counts_rows)?;
    trial.checks.extend(deployment.compare(workload_state, &trial.state)?);
    // After the sizes, which count it.
    deployment.served.drop_logs(deployment.control.as_mut())?;
    Ok(())
}

/// Executes what comes before the sessions are opened.
pub(crate) fn prepare(deployment: &mut LiveDeployment, step_plan: &StepPlan) -> Result<()> {
    let control = deployment.control.as_mut();
    for preparation in &step_plan.before {
        match preparation {
            Preparation::Execute(statement) => drop(control.query(statement)?),
            Preparation::Drop(table) => anyhow::ensure!(
                deployment.served.drop_table(control, table)?,
                "the server has a table {table} that basecase did not make, and it was not there when the run began\nhint: name a database of its own"
            ),
        }
    }
    Ok(())
}

/// Opens the sessions.
pub(crate) fn assemble(
    deployment: &mut LiveDeployment,
    step_plan: StepPlan,
    histories: Option<SessionHistories>,
) -> Result<WorkerGroup> {
    Ok(WorkerGroup::assemble(step_plan, deployment.served.endpoint(), histories)?
        .confined(deployment.pin.client.clone()))
}

/// The server's counters since `before`: once they include what the closed sessions did, or as they are after a while. Also the checks of
/// them, and whether the server may have lost the missing counts.
fn counters_at_rest(
    deployment: &mut LiveDeployment,
    before: &Measures,
    check: impl Fn(ServerCounts<'_>) -> Vec<Check>,
) -> Result<(Measures, Vec<Check>, bool)> {
    let until = Instant::now() + COUNTERS_PATIENCE;
    loop {
        let server = deployment.statistics()?.since(before);
        let compare = |may_lack_some| check(ServerCounts { measures: &server, may_lack_some });
        let checks = compare(false);
        let is_whole = checks::failures(&checks).is_empty();
        if is_whole || Instant::now() >= until {
            let is_short = !is_whole && deployment.served.may_lose_counts();
            let checks = if is_short { compare(true) } else { checks };
            return Ok((server, checks, is_short));
        }
        pause(Duration::from_millis(50));
    }
}

/// Warnings about a trial that is otherwise good.
fn warnings(outcome: &StepOutcome, has_server: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(share) =
        outcome.client.get(names::CLIENT_BUSY_SHARE).filter(|share| *share > CLIENT_BOUND_SHARE)
    {
        warnings.push(format!(
            "the client was the limit: in {:.0} % of the time one of its threads had a reply to take in or a statement to send",
            share * 100.0
        ));
    }
    warnings.extend(stopped(&outcome.client, outcome.seconds));
    let is_driven = outcome.client.get(names::CLIENT_BUSY_SHARE).is_some();
    for role in outcome.roles.iter().filter(|role| role.class != OperationClass::Build && role.ended_us > 0) {
        let busy = role.client_cpu_us / role.ended_us as f64;
        if has_server && !is_driven && role.statements > 100 && busy > CLIENT_BOUND_SHARE {
            warnings.push(format!(
                "the client was the limit: {} spent {:.0} % of its time on the CPU",
                whose(&role.role, &[role.client]),
                busy * 100.0
            ));
        }
    }
    warnings.extend(broken_off(outcome));
    warnings.extend(repetitions(&outcome.roles));
    warnings
}

/// The warning that basecase itself was not running for a long time; `None` if it was.
fn stopped(client: &Measures, seconds: f64) -> Option<String> {
    let stopped_s = client.get(names::CLIENT_STOPPED_US)? / 1e6;
    let passes = client.iter().filter(|(name, _)| name.starts_with(names::CLIENT_STOPPED_PASS)).count();
    let is_told = passes > 0 || stopped_s >= STOPPED_S.min((STOPPED_SHARE * seconds).max(STOPPED_S / 2.0));
    is_told.then(|| {
        let left_out = match passes {
            0 => String::new(),
            1 => "; one pass does not count for it".to_owned(),
            passes => format!("; {passes} passes do not count for it"),
        };
        format!(
            "basecase itself did not run for {stopped_s:.1} s of {seconds:.1} s: it was suspended, or other work had the processors{left_out}"
        )
    })
}

/// The warning about events that had not ended long after the window had closed.
fn broken_off(outcome: &StepOutcome) -> Option<String> {
    let ended: u64 = outcome.roles.iter().map(|role| role.events).sum();
    let (events, verb) = if outcome.broken_off == 1 { ("event", "was") } else { ("events", "were") };
    (outcome.broken_off > 0).then(|| {
        format!(
            "{} {events} had not ended well after the time was up and {verb} broken off, and {ended} ended: their statements count as queries; more seconds or fewer threads let more of them end",
            outcome.broken_off
        )
    })
}

/// Which roles retried statements. A role with many connections is mentioned once.
fn repetitions(roles: &[RoleRecord]) -> Vec<String> {
    let mut sums: Vec<(&str, Vec<u32>, u64)> = Vec::new();
    for record in roles.iter().filter(|record| record.retries > 0) {
        match sums.iter_mut().find(|(role, _, _)| *role == record.role) {
            Some((_, clients, retries)) => {
                clients.push(record.client);
                *retries += record.retries;
            }
            None => sums.push((&record.role, vec![record.client], record.retries)),
        }
    }
    let line = |(role, clients, retries): &(&str, Vec<u32>, u64)| {
        let statements = if *retries == 1 { "statement" } else { "statements" };
        format!("{} retried {retries} {statements} after deadlocks or locks", whose(role, clients))
    };
    sums.iter().map(line).collect()
}

/// The roles of one name of some clients, in words.
fn whose(role: &str, clients: &[u32]) -> String {
    match (clients, role) {
        ([client], "client") => format!("client {client}"),
        ([client], _) => format!("the {role} of client {client}"),
        (several, "client") => format!("{} clients", several.len()),
        (several, _) => format!("the {role}s of {} clients", several.len()),
    }
}

/// How many seconds the server's own counters cover, at the pace of the window: as if the warm-up had been as fast. `None` if statements are
/// not counted.
pub(crate) fn counted_seconds(seconds: f64, statements: &[StatementRecord]) -> Option<f64> {
    let of_window: u64 = statements.iter().map(|record| record.window.executed).sum();
    let of_all: u64 = statements.iter().map(|record| record.whole().executed).sum();
    (of_window > 0).then(|| seconds * of_all as f64 / of_window as f64)
}

#[cfg(test)]
mod tests {
    use basecase_model::{StatementClass, StatementCounts};

    use super::*;

    #[test]
    fn defect_18_a_client_that_did_not_run_is_told_with_how_long() {
        let client = |stopped_us: f64, passes: &[u32]| {
            let mut client = Measures::new();
            client.set(names::CLIENT_STOPPED_US, stopped_us);
            for pass in passes {
                client.set(&format!("{}{pass}", names::CLIENT_STOPPED_PASS), 6e5);
            }
            client
        };
        let told = stopped(&client(5.02e6, &[]), 10.0).unwrap();
        let words = "basecase itself did not run for 5.0 s of 10.0 s: it was suspended, or other work had the processors";
        assert_eq!(told, words);
        assert!(stopped(&client(1.2e6, &[3, 7]), 6.0).unwrap().ends_with("; 2 passes do not count for it"));
        assert!(stopped(&client(3e5, &[]), 1.0).is_some(), "much of a short step");
        assert_eq!(stopped(&client(4e5, &[]), 10.0), None);
        assert_eq!(stopped(&Measures::new(), 10.0), None);
    }

    #[test]
    fn defect_28_repetitions_of_many_connections_are_told_once_and_in_english() {
        let role = |client, role, retries| RoleRecord {
            retries,
            ..RoleRecord::idle(client, role, OperationClass::Query, 1000)
        };
        let roles = [role(1, "client", 2), role(2, "client", 0), role(3, "client", 5), role(4, "deleter", 1)];
        let clients = [role(7, "client", 2)];
        assert_eq!(repetitions(&clients), ["client 7 retried 2 statements after deadlocks or locks"]);
        assert_eq!(
            repetitions(&roles),
            [
                "2 clients retried 7 statements after deadlocks or locks",
                "the deleter of client 4 retried 1 statement after deadlocks or locks",
            ]
        );
    }

    #[test]
    fn defect_28_what_a_server_counts_is_told_at_the_pace_of_the_window() {
        // Cold caches: the warm-up takes as long as the window and does a tenth of its statements.
        let counts = |executed| StatementCounts { executed, ..StatementCounts::default() };
        let record = StatementRecord {
            name: "query".into(),
            class: StatementClass::Read,
            window: counts(1000),
            warm_up: counts(100),
        };
        let seconds = counted_seconds(10.0, &[record]).unwrap();
        let rows_read = f64::from(2 * (1000 + 100));
        assert!((rows_read / seconds - 2.0 * 1000.0 / 10.0).abs() < 1e-9, "two rows each: {seconds}");
        assert_eq!(counted_seconds(10.0, &[]), None);
    }
}
