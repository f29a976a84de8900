//! Reproduces published tables from the data that went into them.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use basecase_model::{Experiment, Histogram, OperationClass, RoleRecord, Trial, names};
use basecase_report::{Options, TextFormat, fixture, render};

const MIB: f64 = 1024.0 * 1024.0;

/// An experiment of one step with this many candidates on a host with this many cores, and an empty trial for each.
fn experiment(step: &str, candidates: usize, cores: u32, seconds: f64) -> (Experiment, Vec<Trial>) {
    let all: &'static [&'static str] = &fixture::STEPS;
    let number = all.iter().position(|name| *name == step).unwrap();
    let shape = fixture::Shape { candidates, steps: &all[number..=number], seconds: 1, clients: 1 };
    let (mut experiment, _) = fixture::synthetic(shape);
    experiment.host.cores = cores;
    let trial = |(number, candidate): (usize, &mut basecase_model::CandidateFacts)| {
        candidate.name.0 = format!("row{number}");
        Trial { step: step.into(), candidate: candidate.name.0.clone(), seconds, ..fixture::empty_trial() }
    };
    let trials = experiment.candidates.iter_mut().enumerate().map(trial).collect();
    (experiment, trials)
}

/// A role that finished this many items in a whole trial.
fn role(trial: &Trial, class: OperationClass, items: f64) -> RoleRecord {
    let ended_us = (trial.seconds * 1e6) as u64;
    RoleRecord { items: items as u64, events: items as u64, ended_us, ..fixture::idle_role("any", class) }
}

/// A cell of a table in the Markdown report, by caption, row and column.
fn cell(report: &str, caption: &str, row: &str, column: &str) -> String {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_start_matches('|').trim_end_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = report.lines().skip_while(|line| *line != format!("### {caption}"));
    let header = lines.find(|line| line.starts_with('|')).unwrap_or_else(|| panic!("no table {caption}"));
    let place = cells(header).iter().position(|name| name.replace('\\', "") == column);
    let line = lines.map(cells).find(|cells| cells[0] == row).unwrap_or_else(|| panic!("no row {row}"));
    line[place.unwrap_or_else(|| panic!("no column {column} in {header}"))].clone()
}

fn report(experiment: &Experiment, trials: &[Trial]) -> String {
    let markdown = TextFormat::named("md").unwrap();
    render(experiment, trials, markdown, &Options { steps: true, ..Options::default() })
}

#[test]
fn metrics_of_mysql_5_6_21() {
    let (experiment, mut trials) = experiment("l.i0", 1, 8, 290.0);
    let trial = &mut trials[0];
    trial.roles = vec![role(trial, OperationClass::Insert, 30e6)];
    trial.counters.set(names::HOST_CPU_USER_US, 0.228 * 8e6 * 290.0);
    trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.0);
    trial.counters.set(names::HOST_CONTEXT_SWITCHES, 12_308.0 * 290.0);
    trial.counters.set(names::DEVICE_WRITTEN_BYTES, 31.2 * MIB * 290.0);
    let report = report(&experiment, &trials);
    let published = [
        ("ips", "103448"),
        ("cpups", "22.8"),
        ("cpupq", "18"),
        ("csps", "12308"),
        ("cspq", "0.119"),
        ("wmbps", "31.2"),
        ("wkbpi", "0.309"),
    ];
    for (name, value) in published {
        assert_eq!(cell(&report, "l.i0 metrics", "row0", name), value, "{name}");
    }
}

#[test]
fn metrics_of_postgres_13_1() {
    let (experiment, mut trials) = experiment("qr100", 1, 4, 1800.0);
    let trial = &mut trials[0];
    trial.roles = vec![
        role(trial, OperationClass::Query, 7724.0 * 1800.0),
        role(trial, OperationClass::Insert, 100.0 * 1800.0),
    ];
    trial.counters.set(names::HOST_CPU_USER_US, 0.277 * 4e6 * 1800.0);
    trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.0);
    trial.counters.set(names::HOST_CONTEXT_SWITCHES, 29_730.0 * 1800.0);
    trial.counters.set(names::DEVICE_WRITES, 187.0 * 1800.0);
    let report = report(&experiment, &trials);
    let published = [
        ("ips", "100"),
        ("qps", "7724"),
        ("wps", "187.0"),
        ("wpi", "1.870"),
        ("cspq", "3.849"),
        ("cpupq", "143"),
    ];
    for (name, value) in published {
        assert_eq!(cell(&report, "qr100 metrics", "row0", name), value, "{name}");
    }
}

#[test]
fn colours_of_table_1_and_the_sla_of_four_clients() {
    let (mut experiment, mut trials) = experiment("qr1000", 6, 8, 1800.0);
    experiment.steps[0].sla_target = Some(4000.0);
    let queries = [4592.0, 5018.0, 11_338.0, 3038.0, 3176.0, 11_877.0];
    let inserts = [3989.0, 3989.0, 3989.0, 550.0, 406.0, 3700.0];
    for (trial, (queries, inserts)) in trials.iter_mut().zip(queries.into_iter().zip(inserts)) {
        trial.roles = vec![
            role(trial, OperationClass::Query, queries * 1800.0),
            role(trial, OperationClass::Insert, inserts * 1800.0),
        ];
    }
    let report = report(&experiment, &trials);
    let column = |caption: &str, name: &str| {
        (0..6).map(|row| cell(&report, caption, &format!("row{row}"), name)).collect::<Vec<_>>()
    };
    // The reference colours the fourth and fifth red although they failed the SLA, because its red rule comes first.
    assert_eq!(
        column("Table 1: throughput", "qr1000"),
        ["4592 `-`", "5018 `-`", "11338 `+`", "3038 `!`", "3176 `!`", "11877 `!`"]
    );
    assert_eq!(
        column("Table 3: insert rate in the read-write steps", "qr1000.L5"),
        ["3989", "3989", "3989", "550 `!`", "406 `!`", "3700 `!`"]
    );
    assert_eq!(cell(&report, "Table 3: insert rate in the read-write steps", "target", "qr1000.L5"), "4000");
}

#[test]
fn colours_of_table_2() {
    for (base, other, shown) in
        [(103_448.0, 98_039.0, "0.95"), (101_352.0, 107_914.0, "1.06 `+`"), (18_527.0, 17_338.0, "0.94 `-`")]
    {
        let (experiment, mut trials) = experiment("l.i0", 2, 8, 100.0);
        for (trial, rate) in trials.iter_mut().zip([base, other]) {
            trial.roles = vec![role(trial, OperationClass::Insert, rate * 100.0)];
        }
        let report = report(&experiment, &trials);
        let caption = "Table 2: throughput relative to the base case";
        assert_eq!(cell(&report, caption, "row1", "l.i0"), shown);
        assert_eq!(cell(&report, caption, "row0", "l.i0"), "1.00");
    }
}

#[test]
fn response_time_histogram() {
    let (experiment, mut trials) = experiment("l.i1", 1, 8, 100.0);
    let mut service = Histogram::new();
    // One latency within each published bucket: up to 1 ms, 4 ms, 16 ms, 64 ms and 256 ms.
    for (count, latency_us) in [(94_239, 900), (5643, 3_000), (110, 10_000), (4, 40_000), (3, 200_000)] {
        (0..count).for_each(|_| service.record_ns(latency_us * 1000));
    }
    assert_eq!(service.count(), 99_999);
    trials[0].roles =
        vec![RoleRecord { service: service.into(), ..role(&trials[0], OperationClass::Insert, 99_999.0) }];
    let report = report(&experiment, &trials);
    let buckets = ["256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt"];
    let shown = buckets.map(|bucket| cell(&report, "l.i1 insert, service time", "row0", bucket));
    assert_eq!(shown, ["", "94.240", "5.643", "0.110", "0.004", "0.003", "", "", "", ""]);
}

#[test]
fn costs_of_a_point_query_of_sysbench_on_48_cores() {
    let (mut experiment, mut trials) = experiment("qr100", 2, 48, 600.0);
    let step = &mut experiment.steps[0];
    (step.threads, step.sla_target) = (Some(40), None);
    for trial in &mut trials {
        trial.roles = vec![role(trial, OperationClass::Query, 848_290.78 * 600.0)];
        trial.counters.set(names::HOST_CPU_USER_US, 0.835 * 48e6 * 600.0);
        trial.counters.set(names::HOST_CPU_SYSTEM_US, 0.0);
        trial.counters.set(names::DEVICE_READS, 0.0);
        trial.counters.set(names::DEVICE_WRITTEN_BYTES, 0.0);
    }
    trials[1].counters.set(names::DEVICE_WRITTEN_BYTES, 1e9);
    let report = report(&experiment, &trials);
    let absolute = |name| cell(&report, "qr100.L1 costs", "row0", name);
    assert_eq!(absolute("cpu/o"), "0.000098");
    assert_eq!(absolute("cpu_us/o"), "47.2", "published as 47 microseconds of machine CPU");
    assert_eq!(absolute("o/s"), "848291");
    // 0/0 is 1, anything else divided by 0 is inf.
    let relative = |name| cell(&report, "qr100.L1 costs relative to the base case", "row1", name);
    assert_eq!([relative("cpu/o"), relative("r/o"), relative("wKB/o")], ["1.00", "1.00", "inf"]);
}

#[test]
fn rows_per_second_of_a_scan() {
    let (mut experiment, mut trials) = experiment("qr100", 1, 8, 60.0);
    let step = &mut experiment.steps[0];
    (step.threads, step.sla_target, step.scanned_rows) = (Some(8), None, Some(10_000_000));
    let mut service = Histogram::new();
    (0..20).for_each(|_| service.record_ns(2_761_490_000));
    trials[0].roles =
        vec![RoleRecord { service: service.into(), ..role(&trials[0], OperationClass::Query, 20.0) }];
    let shown = cell(&report(&experiment, &trials), "qr100.L1 events", "row0", "K rows/s");
    // Latencies have three significant digits.
    let rate: f64 = shown.parse().unwrap();
    assert!((rate - 3621.0).abs() <= 4.0, "{shown}");
}

/// The lines of a page below docs/studies: the cells of tables, and none of other lines.
fn page(name: &str) -> Vec<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let inside = |line: &str| Some(line.strip_prefix('|')?.strip_suffix('|')?.to_owned());
    let cells = |line: String| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    text.lines().map(|line| inside(line).map(cells).unwrap_or_default()).collect()
}

/// The rows below the header with this cell among its first two.
fn published(name: &str, header: &str) -> Vec<Vec<String>> {
    let lines = page(name).into_iter().skip_while(|cells| !cells.iter().take(2).any(|cell| cell == header));
    let rows: Vec<Vec<String>> = lines.skip(2).take_while(|cells| !cells.is_empty()).collect();
    assert!(!rows.is_empty(), "{name} has no table of {header}");
    rows
}

/// What table 2 says of a rate, divided by that of the base case.
fn relative(base: f64, other: f64) -> f64 {
    let (experiment, mut trials) = experiment("l.i0", 2, 8, 1000.0);
    for (trial, rate) in trials.iter_mut().zip([base, other]) {
        trial.roles = vec![role(trial, OperationClass::Insert, rate * 1000.0)];
    }
    let shown =
        cell(&report(&experiment, &trials), "Table 2: throughput relative to the base case", "row1", "l.i0");
    shown.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn quotients_of_the_durability_study() {
    let rates = published("durability.md", "config here");
    assert_eq!(rates.len(), 24, "twelve of each");
    let rates = |name: &str, columns: std::ops::Range<usize>| -> Vec<f64> {
        let row = rates.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no row {name}"));
        row[columns].iter().map(|rate| rate.parse().unwrap()).collect()
    };
    let printed = published("durability.md", "small, no fsync");
    let [own, bl0, bl1, postgres] = &printed[..] else { panic!("{printed:?}") };
    let mut compared = 0;
    for (column, sync, server) in [(1, 0, 2..5), (2, 1, 2..5), (3, 0, 5..8), (4, 1, 5..8)] {
        let mysql = |binary_log: u32| rates(&format!("bl{binary_log}_sync{sync}_dw1"), server.clone());
        let postgres = rates(&format!("sync{sync}_{}", postgres[column]), server.clone());
        let pairs = [(own, mysql(0), mysql(1)), (bl0, postgres.clone(), mysql(0)), (bl1, postgres, mysql(1))];
        for (printed, base, other) in pairs {
            let (words, margin) = match printed[column].strip_prefix("about ") {
                // "About" stands for all three.
                Some(percent) => (vec![percent; 3], 3.0),
                None => (printed[column].split(", ").collect(), 0.0),
            };
            for ((word, base), other) in words.iter().zip(base).zip(other) {
                let (percent, shown) = (word.parse::<f64>().unwrap(), relative(base, other) * 100.0);
                assert!((shown - percent).abs() <= margin + 0.001, "{shown} is printed {printed:?} {word}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 36);
}

#[test]
fn conclusions_of_the_study_of_2011() {
    // Tables of reads, of updates and of purge lag, in this order.
    let is_row = |cells: &Vec<String>| cells.first().is_some_and(|version| version.starts_with("5."));
    let rows: Vec<Vec<String>> = page("innodb-concurrency.md").into_iter().filter(is_row).collect();
    let (reads, updates) = (&rows[..7], &rows[7..18]);
    let rates = |table: &[Vec<String>], version: &str, config: &str| -> Vec<f64> {
        let config = format!("`{config}`");
        let row = table.iter().find(|row| row[0] == version && row[1] == config).unwrap();
        row[2..].iter().map(|rate| rate.parse().unwrap()).collect()
    };
    let peak = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    // Unmodified servers lose a third of their reads and more beyond 64 threads, the patched one does not.
    for (version, config, least, most) in
        [("5.1.47", "tc0", 0.5, 0.7), ("5.5.8", "base", 0.5, 0.7), ("5.1.52", "tc0", 0.9, 1.0)]
    {
        let rates = rates(reads, version, config);
        let left = relative(peak(&rates), rates[6]);
        assert!((least..=most).contains(&left), "{version} {config}: {left}");
    }
    // Without the doublewrite buffer the peak is often 10 to 20 % higher.
    let gains = ["5.1.47", "5.5.8", "5.1.52"].map(|version| {
        relative(peak(&rates(updates, version, "base")), peak(&rates(updates, version, "dw0")))
    });
    assert_eq!(gains, [1.01, 1.21, 1.12]);
    // More pools raise the peak of 5.5.8 by no more than a version's noise.
    let pools = relative(peak(&rates(updates, "5.5.8", "base")), peak(&rates(updates, "5.5.8", "bp4")));
    assert_eq!(pools, 1.04);
    // What compressed pages cost updates is published by their rates alone.
    let compressed =
        relative(peak(&rates(updates, "5.1.47", "base")), peak(&rates(updates, "5.1.47", "compressed")));
    assert_eq!(compressed, 0.60);
}
