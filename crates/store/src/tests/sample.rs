//! Sample experiments and trials.

use std::collections::BTreeMap;

use basecase_model::{
    Aside, BuildFacts, CandidateFacts, CandidateName, Cell, Check, ConfigFacts, Dbms, Experiment, Headline,
    Histogram, HostFacts, Measures, Observation, OperationClass, Place, Profile, ProfileKind, RoleRecord,
    Sample, Series, ServerReadings, SessionRecord, Slice, State, StatementClass, StatementCounts,
    StatementPlan, StatementRecord, StepFacts, TableState, Track, TrackKind, Trial, TrialStatus,
};

pub(crate) fn experiment(id: &str) -> Experiment {
    Experiment {
        id: id.into(),
        name: "a name".into(),
        created_at: "2026-01-02T03:04:05Z".into(),
        command: "basecase compare".into(),
        basecase_version: "0.1.0".into(),
        protocol_revision: 1,
        workload: "insert-benchmark".into(),
        parameters: vec![("rows".into(), "1000".into())],
        clients: 1,
        loaded_rows: 1000,
        seed: 7,
        host: HostFacts {
            id: "host".into(),
            cpu_model: "a processor".into(),
            cores: 2,
            memory_bytes: 1 << 33,
            kernel: "6".into(),
            os: "an os".into(),
            filesystem: "ext4".into(),
            device: None,
            details: BTreeMap::new(),
        },
        candidates: vec![CandidateFacts {
            running: std::collections::BTreeMap::new(),
            name: CandidateName::new("pg176", None, "x10a"),
            engine: None,
            build: BuildFacts {
                dbms: Dbms::Postgres,
                short: "pg176".into(),
                requested: "postgres:17.6".into(),
                version: "17.6".into(),
                provider: "pypi".into(),
                artifact: "postgres==17.6".into(),
                sha256: None,
                compiler: None,
                flags: None,
                details: BTreeMap::new(),
            },
            config: ConfigFacts { name: "x10a".into(), settings: Vec::new(), sha256: "c".into() },
            memory_limit_bytes: None,
        }],
        steps: vec![StepFacts {
            name: "l.i0".into(),
            label: "l.i0".into(),
            title: "load".into(),
            headline: Headline::Inserts,
            // Not a binary fraction, so that careless reading would show.
            sla_target: Some(99.1 / 3.0),
            headline_items: None,
            group: None,
            scanned_rows: Some(7),
            threads: None,
            writes: true,
        }],
        groups: Vec::new(),
        schedule: None,
        work_margin: None,
        calendar_time: None,
        node: None,
    }
}

pub(crate) fn cell(step: &str) -> Cell {
    Cell {
        build: "pypi:postgres==17.6".into(),
        engine: None,
        config: "c".into(),
        workload: "insert-benchmark".into(),
        step: step.into(),
        parameters: serde_json::json!({"rows": 1000, "share": 0.1 + 0.2}),
        host: "host".into(),
        protocol_revision: 1,
    }
}

/// A complete trial of `cell`, distinguished by `number`.
#[expect(clippy::too_many_lines, reason = "every field has a value")]
pub(crate) fn trial(cell: &Cell, number: u32) -> Trial {
    let mut service = Histogram::new();
    for latency_ns in [100_000, 200_000, u64::from(number) * 1_000] {
        service.record_ns(latency_ns);
    }
    let mut counters = Measures::new();
    counters.set("host.context_switches", f64::from(number));
    Trial {
        cell: cell.key(),
        step: cell.step.clone(),
        candidate: "pg176.x10a".into(),
        measured_by: "e".into(),
        place: Place { round: number, pass: 0, position: 0 },
        placement: "unpinned".into(),
        started_at: format!("2026-01-02T03:04:05.{number:09}Z"),
        seconds: 1.5,
        status: TrialStatus::Complete,
        roles: vec![RoleRecord {
            client: 1,
            role: "inserter".into(),
            class: OperationClass::Insert,
            statements: 3,
            items: 300,
            events: 3,
            affected: 300,
            fetched: 0,
            retries: 0,
            mismatches: 0,
            started_us: 0,
            ended_us: 1_500_000,
            client_cpu_us: 10.25,
            server_cpu_us: Some(20.5),
            response: Some(service.clone().into()),
            service: service.into(),
            series: Series {
                interval_ms: 1000,
                samples: vec![Sample { items: 200, max_us: 9 }, Sample { items: 100, max_us: 200 }],
            },
            asides: vec![Aside { name: "min_id".into(), count: 1, total_us: 5, max_us: 5 }],
        }],
        slices: vec![Slice {
            pass: 1,
            position: 5,
            opened_us: 120_000,
            length_us: 30_012.5,
            operations: 300,
            rate: 9_995.8,
            warm_up_operations: 20,
            server_cpu_us: Some(20_000.5),
            others_cpu_us: Some(-2_000.5),
            steal_us: Some(0.0),
            canary_ns: Some(1.75),
        }],
        sessions: vec![SessionRecord {
            number: 0,
            seed: u64::MAX - 1,
            first_pass: 1,
            passes: 1,
            operations: 320,
            counters: Measures::new(),
        }],
        statements: vec![StatementRecord {
            name: "delete".into(),
            class: StatementClass::Write,
            window: StatementCounts { executed: 3, without_effect: 1, affected: 2, ..Default::default() },
            warm_up: StatementCounts { executed: 7, undone: 5, ..Default::default() },
        }],
        gauges: Measures::new(),
        server_readings: ServerReadings { start: counters.clone(), end: counters.clone() },
        counters,
        observation: Observation::Usual,
        tracks: vec![
            Track {
                name: "server.cpu_us".into(),
                kind: TrackKind::Rate,
                interval_ms: 1000,
                values: vec![1.5e6, 0.0, 7.25],
            },
            Track {
                name: "host.dirty_bytes".into(),
                kind: TrackKind::Level,
                interval_ms: 1000,
                values: Vec::new(),
            },
        ],
        plans: vec![StatementPlan {
            statement: "delete".into(),
            sql: "delete from pi1".into(),
            text: "Delete on pi1\n  -> Seq Scan on pi1".into(),
        }],
        profiles: vec![Profile {
            kind: ProfileKind::Cpu,
            frequency_hz: 333,
            samples: 12,
            lost: 1,
            stacks: "postgres;main;exec 12\n".into(),
            modules: vec![("/opt/pg/bin/postgres".into(), Some("ab12".into())), ("[kernel]".into(), None)],
        }],
        state: State {
            tables: vec![TableState {
                table: "pi1".into(),
                rows: Some(300),
                min_id: Some(1),
                max_id: Some(300),
                last_value: None,
            }],
        },
        checks: vec![Check::equal("pi1 rows", &300, &300)],
        warnings: vec!["client was the limit".into()],
    }
}
