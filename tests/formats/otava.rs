//! Apache Otava reads what is exported for it, and finds the changes that are planted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_analysis::JudgedExperiment;
use basecase_builds::default_home;
use basecase_report::{Export, Format, Options, Written, export_history, fixture, write};
use basecase_tests::Sandbox;
use serde_json::{Map, Value, json};

/// The release of Otava.
const RELEASE: &str = "apache-otava==0.8.0";

/// A change that Otava found: metric and candidate.
type Found = BTreeSet<(String, String)>;

/// The folder of Otava's modules, in the home beside the programs that other tests need; `None` without a pip to get it.
fn modules() -> Option<PathBuf> {
    let pip = |arguments: &[&str]| Command::new("python3").args(["-m", "pip"]).args(arguments).output();
    if !pip(&["--version"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 has no module pip (apt-get install python3-pip)");
        return None;
    }
    let tools = default_home().unwrap().join("tools");
    let folder = tools.join(RELEASE);
    if !folder.exists() {
        fs::create_dir_all(&tools).unwrap();
        let work = tempfile::tempdir_in(&tools).unwrap();
        let target = work.path().join("modules");
        let quiet =
            ["install", "--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"];
        let output = pip(&[&quiet[..], &["--target", target.to_str().unwrap(), RELEASE]].concat()).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::rename(target, &folder).unwrap();
    }
    Some(folder)
}

/// The changes that Otava finds in an export.
fn changes(modules: &Path, export: &Export) -> Found {
    let sandbox = Sandbox::new();
    sandbox.write("series.csv", &export.text);
    let header = export.text.lines().next().unwrap();
    let metric = |name: &str| {
        let direction = if name.ends_with("instructions") { -1 } else { 1 };
        (name.to_owned(), json!({ "column": name, "direction": direction }))
    };
    let metrics: Map<String, Value> = header.split(',').skip(3).map(metric).collect();
    let test = json!({ "type": "csv", "file": "series.csv", "time_column": "time", "attributes": ["candidate", "commit"], "metrics": metrics });
    // JSON is YAML as well.
    sandbox.write("otava.yaml", &json!({ "tests": { "series": test } }).to_string());
    let output = Command::new("python3")
        .args(["-m", "otava.main", "analyze", "series", "--output", "json"])
        .args(["--since", "2020-01-01", "--until", "2100-01-01"])
        .env("PYTHONPATH", modules)
        .env("OTAVA_CONFIG", "otava.yaml")
        .env("HOME", sandbox.path())
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let told = sandbox.transcript(&output);
    assert!(output.status.success() && !told.contains("ERROR"), "{told}");
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let groups = found["series"].as_array().unwrap_or_else(|| panic!("{told}"));
    let of_group = |group: &Value| -> Vec<(String, String)> {
        let candidate = text(&group["attributes"]["candidate"]);
        let changes = group["changes"].as_array().unwrap().iter();
        changes.map(|change| (text(&change["metric"]), candidate.clone())).collect()
    };
    groups.iter().flat_map(of_group).collect()
}

#[test]
fn otava_finds_the_changes_that_are_planted() {
    let Some(modules) = modules() else { return };
    let nights = fixture::nights(60, 6).into_iter();
    let mut nights: Vec<JudgedExperiment> = nights.map(JudgedExperiment::from).collect();
    let newest = nights.pop().unwrap();
    let steps: Vec<String> = newest.experiment.steps.iter().map(|step| step.name.clone()).collect();
    let export = export_history(&newest, Some(&nights), None).unwrap();
    let change = |step: usize, metric: &str, date: &str| {
        (format!("{}.{metric}", steps[step]), format!("dev.z12a {date}"))
    };
    let planted = [
        change(2, "relative_throughput", "2025-07-19"),
        change(4, "relative_throughput", "2025-07-28"),
        change(3, "relative_throughput", "2025-08-06"),
        change(3, "instructions", "2025-08-06"),
        change(2, "relative_throughput", "2025-08-18"),
    ];
    assert_eq!(changes(&modules, &export), Found::from(planted));

    let levels: Vec<f64> = (0..20).map(|version| if version < 10 { 0.0 } else { -0.05 }).collect();
    let (experiment, trials) = fixture::history(&levels, 5, 0.005, 11);
    let format = Format::named("otava").unwrap();
    let Ok(Written::Export(export)) = write(&experiment, &trials, format, &Options::default(), Path::new(""))
    else {
        panic!("there is nothing to export")
    };
    assert_eq!(
        changes(&modules, &export),
        Found::from([("l.i0.throughput".to_owned(), "pg1810.x10a".to_owned())])
    );
}
