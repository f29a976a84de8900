//! Stored values come back equal.

use basecase_model::{
    Aside, Check, Histogram, Measures, Observation, OperationClass, PackedHistogram, Place, Profile,
    ProfileKind, RoleRecord, Sample, Series, ServerReadings, SessionRecord, Slice, State, StatementClass,
    StatementCounts, StatementPlan, StatementRecord, TableState, Track, TrackKind, Trial, TrialStatus,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::sample;
use crate::Store;

/// Counts that SQLite can hold.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000_u64, Just(i64::MAX as u64)]
}

fn finite() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL
}

fn histogram() -> impl Strategy<Value = PackedHistogram> {
    vec(any::<u64>(), 0..20).prop_map(|latencies| {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|latency_ns| histogram.record_ns(*latency_ns));
        histogram.into()
    })
}

fn measures() -> impl Strategy<Value = Measures> {
    vec((any::<String>(), finite()), 0..6).prop_map(|pairs| {
        let mut measures = Measures::new();
        pairs.iter().for_each(|(name, value)| measures.set(name, *value));
        measures
    })
}

prop_compose! {
    fn series()(
        interval_ms in any::<u32>(),
        samples in vec((any::<u32>(), any::<u32>()), 0..50),
    ) -> Series {
        let samples = samples.into_iter().map(|(items, max_us)| Sample { items, max_us }).collect();
        Series { interval_ms, samples }
    }
}

prop_compose! {
    fn aside()(name in any::<String>(), count in any::<u64>(), total_us in count(), max_us in count()) -> Aside {
        Aside { name, count, total_us, max_us }
    }
}

prop_compose! {
    fn role()(
        client in any::<u32>(),
        role in any::<String>(),
        class in prop_oneof![
            Just(OperationClass::Insert),
            Just(OperationClass::Delete),
            Just(OperationClass::Query),
            Just(OperationClass::Build),
        ],
        counts in prop::array::uniform9(count()),
        client_cpu_us in finite(),
        server_cpu_us in prop::option::of(finite()),
        service in histogram(),
        response in prop::option::of(histogram()),
        series in series(),
        asides in vec(aside(), 0..3),
    ) -> RoleRecord {
        let [statements, items, events, affected, fetched, retries, mismatches, started_us, ended_us] = counts;
        RoleRecord {
            client, role, class, statements, items, events, affected, fetched, retries, mismatches, started_us,
            ended_us, client_cpu_us, server_cpu_us, service, response, series, asides,
        }
    }
}

prop_compose! {
    fn slice()(
        places in any::<(u32, u32)>(),
        counts in prop::array::uniform3(count()),
        numbers in prop::array::uniform2(finite()),
        times in prop::array::uniform4(prop::option::of(finite())),
    ) -> Slice {
        let ((pass, position), [opened_us, operations, warm_up_operations]) = (places, counts);
        let ([length_us, rate], [server_cpu_us, others_cpu_us, steal_us, canary_ns]) = (numbers, times);
        Slice {
            pass, position, opened_us, length_us, operations, rate, warm_up_operations, server_cpu_us,
            others_cpu_us, steal_us, canary_ns,
        }
    }
}

prop_compose! {
    fn session()(number in 0_u32..1, seed: u64, passes: (u32, u32), operations in count(), counters in measures()) -> SessionRecord {
        SessionRecord { number, seed, first_pass: passes.0, passes: passes.1, operations, counters }
    }
}

prop_compose! {
    fn counts()(counts in prop::array::uniform6(count())) -> StatementCounts {
        let [executed, without_effect, affected, undone, fetched, mismatches] = counts;
        StatementCounts { executed, without_effect, affected, undone, fetched, mismatches }
    }
}

prop_compose! {
    fn statement()(
        name in any::<String>(),
        class in prop_oneof![
            Just(StatementClass::Read),
            Just(StatementClass::Write),
            Just(StatementClass::Other),
        ],
        window in counts(),
        warm_up in counts(),
    ) -> StatementRecord {
        StatementRecord { name, class, window, warm_up }
    }
}

prop_compose! {
    fn table()(
        table in any::<String>(),
        rows in prop::option::of(count()),
        ids in prop::array::uniform3(any::<Option<i64>>()),
    ) -> TableState {
        let [min_id, max_id, last_value] = ids;
        TableState { table, rows, min_id, max_id, last_value }
    }
}

prop_compose! {
    fn check()(texts in prop::array::uniform3(any::<String>()), passed in any::<bool>()) -> Check {
        let [name, expected, actual] = texts;
        Check { name, expected, actual, passed }
    }
}

prop_compose! {
    fn track()(
        name in any::<String>(),
        is_rate in any::<bool>(),
        interval_ms in any::<u32>(),
        values in vec(-1e9_f32..1e9, 0..9),
    ) -> Track {
        Track { name, kind: if is_rate { TrackKind::Rate } else { TrackKind::Level }, interval_ms, values }
    }
}

fn tracks() -> impl Strategy<Value = Vec<Track>> {
    vec(track(), 0..4)
}

prop_compose! {
    fn plan()(texts in prop::array::uniform3(any::<String>())) -> StatementPlan {
        let [statement, sql, text] = texts;
        StatementPlan { statement, sql, text }
    }
}

prop_compose! {
    fn profile()(
        kind in prop::sample::select(&ProfileKind::ALL[..]),
        frequency_hz in any::<u32>(),
        counts in (count(), count()),
        stacks in any::<String>(),
        modules in vec(any::<(String, Option<String>)>(), 0..3),
    ) -> Profile {
        Profile { kind, frequency_hz, samples: counts.0, lost: counts.1, stacks, modules }
    }
}

fn status() -> impl Strategy<Value = TrialStatus> {
    let failed =
        any::<(String, String)>().prop_map(|(reason, log_tail)| TrialStatus::Failed { reason, log_tail });
    prop_oneof![Just(TrialStatus::Complete), failed]
}

prop_compose! {
    fn trial()(
        texts in prop::array::uniform4(any::<String>()),
        place in any::<(u32, u32, u32)>(),
        seconds in finite(),
        status in status(),
        roles in vec(role(), 0..4),
        statements in vec(statement(), 0..12),
        measures in (measures(), measures(), measures(), measures()),
        tables in vec(table(), 0..3),
        checks in vec(check(), 0..3),
        warnings in vec(any::<String>(), 0..3),
        seen in ((vec(slice(), 0..4), prop::option::of(session())), tracks(), vec(plan(), 0..3), prop::option::of(profile()), prop::sample::select(&Observation::ALL[..])),
    ) -> Trial {
        let ((slices, session), tracks, plans, profile, observation) = seen;
        let sessions = session.into_iter().collect();
        let profiles = profile.into_iter().collect();
        let [step, candidate, placement, started_at] = texts;
        let (round, pass, position) = place;
        let (counters, gauges, start, end) = measures;
        Trial {
            cell: sample::cell(&step).key(), step, candidate, place: Place { round, pass, position }, placement,
            started_at, seconds, status, roles, statements, counters, gauges, server_readings: ServerReadings { start, end }, state: State { tables }, checks, warnings,
            observation, tracks, plans, profiles, slices, sessions, measured_by: "e".to_owned(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_trial_comes_back_equal(trial in trial()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let mut store = Store::create_or_open(&path).unwrap();
        store.save_experiment(&sample::experiment("e")).unwrap();
        store.save_trial("e", &sample::cell(&trial.step), &trial).unwrap();
        drop(store);
        let store = Store::open_read_only(&path).unwrap();
        prop_assert_eq!(store.trials("e").unwrap(), vec![trial]);
        prop_assert_eq!(store.experiment("e").unwrap(), Some(sample::experiment("e")));
    }
}
