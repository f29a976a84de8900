//! Every JSON and TOML form, as it is written and as it is committed, held against its schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use basecase_analysis::{Counted, Fleet, JudgedExperiment, Stored};
use basecase_builds::SourceBuild;
use basecase_model::Dbms;
use basecase_report::{Options, TextFormat, fixture, history, render};
use basecase_tests::running::{HARDLY_SETTLES, MICROBENCHMARKS, PLACES, SHORT_TIMES, TWO_CONFIGS};
use basecase_tests::{Sandbox, workspace};
use serde_json::{Value, json};

use crate::golden_store::unpack;
use crate::schema::{Schema, keys, names};

/// Where a document of each form is wrong, below its root.
fn wrong() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("report", "/steps/0/unit", json!("furlongs")),
        ("history", "/steps/0/changes/0/ratio", json!("5 %")),
        ("bisection", "/by", json!("luck")),
        ("dry-run", "/protocol", json!("waltz")),
        ("progress", "/exit_code", json!("0")),
        ("store-experiment", "/steps/0/headline", json!("deletes")),
        ("store-cell", "/protocol_revision", json!("4")),
        ("store-count", "/operation", json!("guess")),
        ("store-list", "/0/trials", json!(-1)),
        ("server-list", "/0/dbms", json!("abacus")),
        ("doctor", "/findings/0/severity", json!("awful")),
        ("defaults", "/gate/budget", json!({ "minutes": 20 })),
        // Held against what a fleet prints in `tests/fleet`.
        ("fleet-status", "/nodes/0/state", json!("lost")),
        ("fleet", "/kinds/0/steps/0/verdict", json!("maybe")),
        ("bmf", "/point-query_range=100", json!({ "throughput": { "lower_value": 1 } })),
        ("experiment-file", "/candidate", json!(["sqlite"])),
        ("workload-file", "/events/shopping/does", json!("look")),
        ("recipes", "/recipe/0/sha256", json!("5a0e")),
        ("build-types", "/type/0/arguments", json!("-O2")),
        ("source-build", "/made_by", json!("somebody")),
    ]
}

/// Asserts that all of these fit a form, and that the first does not once it is wrong.
fn assert_form(name: &str, documents: &[Value]) {
    let schema = Schema::named(name);
    documents.iter().for_each(|document| schema.assert_fits(document));
    let (_, place, value) = wrong().into_iter().find(|(form, ..)| *form == name).unwrap();
    schema.assert_refuses(&documents[0], place, value);
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The JSON in the snapshots of a folder whose names end so.
fn snapshots(folder: &str, end: &str) -> Vec<Value> {
    let files = fs::read_dir(workspace().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    let content = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        json_of(text.splitn(3, "---\n").nth(2).unwrap())
    };
    files.iter().map(|path| content(path)).collect()
}

#[test]
fn every_schema_is_held_against_documents_and_described() {
    let held: BTreeSet<String> = wrong().into_iter().map(|(form, ..)| form.to_owned()).collect();
    assert_eq!(held, names());
    let formats = fs::read_to_string(workspace().join("docs/formats.md")).unwrap();
    let is_of_word = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let words: BTreeSet<&str> = formats.split(|letter: char| !is_of_word(letter)).collect();
    for name in names() {
        let path = workspace().join(format!("docs/schemas/{name}.json"));
        let mut found = BTreeSet::new();
        keys(&json_of(&fs::read_to_string(path).unwrap()), &mut found);
        let unknown: Vec<&String> = found.iter().filter(|key| !words.contains(key.as_str())).collect();
        assert!(unknown.is_empty(), "docs/formats.md says nothing of {unknown:?} in {name}");
        assert!(formats.contains(&format!("(schemas/{name}.json)")), "docs/formats.md does not name {name}");
    }
}

#[test]
fn reports() {
    let (counts, counted) = fixture::counted();
    let (with_counts, trials, beside) = fixture::counted_in_rounds();
    let uncounted = |(experiment, trials): Stored| (experiment, trials, Counted::default());
    let reports = [
        uncounted(fixture::sample()),
        uncounted(fixture::microbenchmarks(3, &fixture::EXCERPT, 2)),
        uncounted(fixture::in_rounds()),
        uncounted(fixture::in_two_modes()),
        (counts, Vec::new(), counted),
        (with_counts, trials, beside),
    ];
    let written = reports.map(|(experiment, trials, counted)| {
        let options = Options { counted, ..Options::default() };
        json_of(&render(&experiment, &trials, TextFormat::JSON, &options))
    });
    assert!(written[3].to_string().contains("share_interval"), "it has sessions of two modes");
    let golden = snapshots("tests/golden/snapshots", "_json.snap")
        .into_iter()
        .filter(|one| one["candidates"].is_array());
    let golden: Vec<Value> = golden.collect();
    assert!(golden.len() > 4, "{}", golden.len());
    assert_form("report", &[written.to_vec(), golden].concat());
}

#[test]
fn defaults() {
    let page = fs::read_to_string(workspace().join("docs/how-to/defaults.md")).unwrap();
    let (_, after) = page.split_once("    store = ").unwrap();
    let (block, _) = after.split_once("\n\nWhat stands").unwrap();
    let lines: Vec<&str> = block.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    assert_form("defaults", &[toml_of(&format!("store = {}", lines.join("\n")))]);
}

#[test]
fn histories() {
    let levels = [0.0, 0.0, -0.05, -0.05, 0.01, 0.01];
    let of_rounds = JudgedExperiment::of(fixture::history(&levels, 8, 0.005, 3));
    let of_rounds = history(&of_rounds, None, None).unwrap();
    let (experiment, counted) = fixture::counted();
    let of_counts = JudgedExperiment::of((experiment, Vec::new())).counting(counted);
    let of_counts = history(&of_counts, None, None).unwrap();
    let nights = fixture::nights(12, 6).into_iter();
    let mut nights: Vec<JudgedExperiment> = nights.map(JudgedExperiment::from).collect();
    let newest = nights.pop().unwrap();
    let of_nights = history(&newest, Some(&nights), None).unwrap();
    let golden = snapshots("tests/golden/snapshots", "_history_json.snap");
    assert!(golden.len() > 4, "{}", golden.len());
    let written = [of_rounds, of_counts, of_nights].map(|answer| json_of(&answer.json));
    assert!(written[1].to_string().contains("pg_checksum_page"), "{}", written[1]);
    assert_form("history", &[written.to_vec(), golden].concat());
}

#[test]
fn fleets() {
    let effects = [-0.06, -0.05, 0.1, -0.06, -0.055, -0.061];
    let of = |nodes: usize| {
        let nodes = fixture::fleet(&effects[..nodes], 6);
        json_of(&basecase_report::fleet(&Fleet::of(&nodes)).json)
    };
    let written = [of(6), of(1), of(0)];
    let told = written[0].to_string();
    assert!(told.contains("prediction") && told.contains("\"stands_out\":3"), "{told}");
    assert_form("fleet", &written);
}

#[test]
fn bisections() {
    let folder = "crates/report/src/documents/snapshots";
    let by_rounds = snapshots(folder, "bisection__tests__a_search_as_json.snap");
    let of_commits =
        snapshots(folder, "bisection__tests__two_changes_among_commits_of_which_one_does_not_compile-2.snap");
    let confirmed = &of_commits[0]["changes"][0];
    assert!(confirmed["time"].is_object() && confirmed["movers"].is_array(), "{confirmed}");
    assert_form("bisection", &[by_rounds, of_commits].concat());
}

#[test]
fn what_a_run_prints() {
    let sandbox = Sandbox::new();
    let printed = |arguments: &[&str]| {
        let output = sandbox.output(arguments);
        assert!(output.status.success(), "{}", sandbox.transcript(&output));
        (json_of(&String::from_utf8(output.stdout).unwrap()), String::from_utf8(output.stderr).unwrap())
    };
    let compare =
        [&["compare"], &TWO_CONFIGS[..], &MICROBENCHMARKS, &["point-query"], &HARDLY_SETTLES, &PLACES]
            .concat();
    let rounds = [&compare[..], &["--rounds", "5"], &SHORT_TIMES].concat();
    let plan = |more: &[&str]| printed(&[more, &["--dry-run", "--json"]].concat()).0;
    let before = [plan(&compare), plan(&rounds)];

    let (report, events) = printed(&[&rounds[..], &["--json", "--progress", "json"]].concat());
    Schema::named("report").assert_fits(&report);
    let refused = sandbox.output(&["compare", "sqlite:0.0", "--progress", "json", "--store", "none.sqlite"]);
    let refused = String::from_utf8(refused.stderr).unwrap();
    let mut events: Vec<Value> = refused.lines().chain(events.lines()).map(json_of).collect();
    let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    for kind in [
        "begin",
        "experiment_begins",
        "phase",
        "round_begins",
        "step_begins",
        "trial_stored",
        "round_ends",
        "summary",
        "error",
    ] {
        assert!(kinds.contains(kind), "{kind} of {kinds:?}");
    }
    events.reverse();
    assert_eq!(events[0]["event"], "end");
    assert_form("progress", &events);
    Schema::named("progress").assert_refuses(&events[0], "/elapsed_seconds", Value::Null);

    assert_form("dry-run", &[&before[..], &[plan(&rounds)]].concat());
    assert_form("store-list", &[printed(&["store", "ls", "s.sqlite", "--json"]).0]);
    assert_form("server-list", &[printed(&["server", "list", "--json"]).0]);
    let store = sandbox.path().join("s.sqlite");
    facts(&store, "experiment").iter().for_each(|facts| Schema::named("store-experiment").assert_fits(facts));
    facts(&store, "cell").iter().for_each(|facts| Schema::named("store-cell").assert_fits(facts));
    let (bmf, notes) = printed(&["report", "s.sqlite", "--format", "bmf"]);
    assert_eq!(notes, "");
    assert_form("bmf", &[bmf]);
}

/// The facts of all experiments or of all cells of a store.
fn facts(store: &Path, table: &str) -> Vec<Value> {
    let store = rusqlite::Connection::open(store).unwrap();
    let mut statement = store.prepare(&format!("select facts from {table}")).unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(|text| json_of(&text.unwrap())).collect()
}

#[test]
fn facts_in_stores() {
    let sandbox = Sandbox::new();
    let (mut experiments, mut cells) = (Vec::new(), Vec::new());
    for packed in fs::read_dir(workspace().join("tests/golden/stores")).unwrap().map(Result::unwrap) {
        let store = sandbox.path().join(packed.file_name());
        unpack(&packed.path(), &store);
        experiments.extend(facts(&store, "experiment"));
        cells.extend(facts(&store, "cell"));
    }
    assert!(experiments.len() == 6 && cells.len() > 50, "{} {}", experiments.len(), cells.len());
    assert_form("store-experiment", &experiments);
    assert_form("store-cell", &cells);
    // A count is stored as it is, in compressed form.
    let (_, counted) = fixture::counted();
    let counts: Vec<Value> =
        counted.starts.iter().map(|count| serde_json::to_value(count).unwrap()).collect();
    assert_form("store-count", &counts);
}

/// The TOML files of a folder.
fn toml_files(folder: &str) -> Vec<Value> {
    let files = fs::read_dir(workspace().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    let read = |path: &Path| toml_of(&fs::read_to_string(path).unwrap());
    files.iter().map(|path| read(path)).collect()
}

fn toml_of(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The examples in the documentation of a form: indented blocks in a section that are TOML.
fn examples(section: &str) -> Vec<Value> {
    let formats = fs::read_to_string(workspace().join("docs/formats.md")).unwrap();
    let section = formats.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut blocks = vec![String::new()];
    for line in section.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks.last_mut().unwrap().push_str(&format!("{code}\n")),
            None if line.is_empty() => blocks.last_mut().unwrap().push('\n'),
            None => blocks.push(String::new()),
        }
    }
    blocks.iter().filter(|block| !block.trim().is_empty()).map(|block| toml_of(block)).collect()
}

#[test]
fn files_that_users_write() {
    let of_docs = examples("Experiment files");
    assert!(of_docs.len() > 3, "{}", of_docs.len());
    let committed = toml_files("experiments");
    assert!(committed.len() > 10, "{}", committed.len());
    assert_form("experiment-file", &[of_docs.clone(), committed].concat());
    let schema = Schema::named("experiment-file");
    for (place, wrong) in [
        ("/sizes/scale", json!(0)),
        ("/schedule/settle", json!("quickly")),
        ("/schedule/slices", json!("30ms")),
    ] {
        schema.assert_refuses(&of_docs[0], place, wrong);
    }
    let folders = ["workloads", "experiments/innodb-concurrency", "experiments/mysql-thread-sweep"];
    let committed = folders.map(toml_files).concat();
    assert!(committed.len() > 3, "{}", committed.len());
    assert_form("workload-file", &[examples("Workload files"), committed].concat());
}

#[test]
fn recipes_and_builds_from_source() {
    assert_form("recipes", &toml_files("recipes"));
    let both = json!({ "version": "1", "provider": "pypi", "artifact": "a", "sha256": "0".repeat(64), "suite": "sid" });
    Schema::named("recipes").assert_refuses(&toml_files("recipes")[0], "/recipe/0", both);
    assert_form("build-types", &toml_files("recipes/source"));
    let build = SourceBuild {
        dbms: Dbms::Postgres,
        version: "17.6".into(),
        label: "o2nofp".into(),
        hash: "5a0e1f3c".repeat(8),
        artifact: format!("postgres@{}", "5a0e1f3c".repeat(5)),
        compiler: "gcc 12.2.0".into(),
        flags: "-O2".into(),
        arguments: vec!["--without-icu".into()],
        patches: vec!["fix.patch sha256:00".into()],
        is_of_candidate: true,
    };
    let clean = SourceBuild { patches: Vec::new(), is_of_candidate: false, ..build.clone() };
    assert_form("source-build", &[build, clean].map(|build| toml_of(&toml::to_string(&build).unwrap())));
}
