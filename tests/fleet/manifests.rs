//! Manifests: whether those who read them would take them, and whether their commands say what the user said.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use basecase_fleet::{ManifestRequest, github, kubernetes};
use basecase_tests::Sandbox;
use jsonschema::Validator;
use serde_json::{Value, json};

/// Words that a shell, YAML, Kubernetes or GitHub would take for something else.
const WORDS: [&str; 6] = [
    "run",
    "it's \"an\" experiment.toml",
    "--name=a: b # c",
    "$(HOME) ${{ secrets.X }} $$",
    "back\\slash\n%",
    "é…",
];

fn request(words: &[&str]) -> ManifestRequest {
    ManifestRequest {
        name: "postgres-14-to-18".into(),
        nodes: 8,
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        image: "registry.example/base: case@sha256:00".into(),
        claim: "deliveries".into(),
        runner: "ubuntu-24.04".into(),
        install: "cargo install --path 'crates/cli' # \"all\"".into(),
    }
}

fn schema(text: &str) -> Validator {
    let schema: Value = serde_json::from_str(text).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::validator_for(&schema).unwrap()
}

fn job_schema() -> Validator {
    schema(include_str!("schemas/kubernetes_job.json"))
}

fn workflow_schema() -> Validator {
    schema(include_str!("schemas/github_workflow.json"))
}

fn read(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

fn assert_fits(schema: &Validator, document: &Value) {
    let problems: Vec<String> = schema
        .iter_errors(document)
        .map(|problem| format!("{}: {problem}", problem.instance_path()))
        .collect();
    assert_eq!(problems, [""; 0]);
}

/// The words with which a shell command calls basecase.
fn called(command: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let program = sandbox.path().join("basecase");
    fs::write(&program, "#!/bin/sh\nprintf '%s\\0' \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", sandbox.path().display());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env("PATH", path).envs(variables.iter().copied());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn an_indexed_job_fits_the_reference_and_runs_what_the_user_said() {
    let job = read(&kubernetes(&request(&WORDS)));
    assert_fits(&job_schema(), &job);
    let spec = &job["spec"];
    assert_eq!((&spec["completions"], &spec["parallelism"]), (&json!(8), &json!(8)));
    assert_eq!((&spec["completionMode"], &spec["backoffLimitPerIndex"]), (&json!("Indexed"), &json!(3)));
    let pod = &spec["template"]["spec"];
    let apart = &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
    assert_eq!(apart["labelSelector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "registry.example/base: case@sha256:00");
    assert_eq!(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], "deliveries");
    // As Kubernetes reads it: there is no $(NAME), and $$ stands for $.
    let argument = container["args"][0].as_str().unwrap();
    assert!(!argument.replace("$$", "").contains('$'), "{argument}");
    let words = called(&argument.replace("$$", "$"), &[("JOB_COMPLETION_INDEX", "2")]);
    let own = ["--node", "3/8", "--store", "/local/results.sqlite", "--data", "/local/data"];
    let places = ["--deliver", "/deliveries/node-3", "--decided", "/deliveries/decided"];
    assert_eq!(words, [&WORDS[..], &own, &places].concat());
}

#[test]
fn a_workflow_fits_the_schema_and_runs_what_the_user_said() {
    let workflow = read(&github(&request(&WORDS)));
    assert_fits(&workflow_schema(), &workflow);
    let node = &workflow["jobs"]["node"];
    assert_eq!(node["strategy"]["matrix"]["node"], json!([1, 2, 3, 4, 5, 6, 7, 8]));
    let steps = node["steps"].as_array().unwrap();
    assert_eq!(steps[1]["run"], "cargo install --path 'crates/cli' # \"all\"");
    let measure = steps.iter().find(|step| step["name"] == "measure").unwrap();
    // As GitHub reads it: an expression that is a string stands for that.
    let command = measure["run"].as_str().unwrap().replace("${{ '${{' }}", "${{");
    let words = called(&command, &[("NODE", "3")]);
    let own = ["--node", "3/8", "--store", "results.sqlite", "--deliver", "delivery"];
    assert_eq!(words, [&WORDS[..], &own].concat());
    assert_eq!(measure["env"]["NODE"], "${{ matrix.node }}");
    let merge = workflow["jobs"]["merge"]["steps"].as_array().unwrap();
    let runs =
        |text: &str| merge.iter().any(|step| step["run"].as_str().is_some_and(|run| run.contains(text)));
    assert!(runs("basecase store merge fleet.sqlite") && runs("basecase report fleet.sqlite"));
    assert_eq!(workflow["jobs"]["merge"]["needs"], "node");
}

#[test]
fn the_schemas_refuse_what_the_readers_refuse() {
    let (job, workflow) = (read(&kubernetes(&request(&WORDS))), read(&github(&request(&WORDS))));
    let refuses = |schema: &Validator, document: &Value, place: &str, wrong: Value| {
        let mut changed = document.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = wrong;
        assert!(!schema.is_valid(&changed), "{place} is taken");
    };
    let schema = job_schema();
    refuses(&schema, &job, "/metadata/name", json!("No Name"));
    refuses(&schema, &job, "/spec/completionMode", json!("NonIndexed"));
    refuses(&schema, &job, "/spec/template/spec/restartPolicy", json!("OnFailure"));
    refuses(&schema, &job, "/spec/podFailurePolicy/rules/1/action", json!("Fail"));
    refuses(&schema, &job, "/spec/podFailurePolicy/rules/1/onExitCodes/values", json!([0]));
    refuses(&schema, &job, "/spec/completions", json!("8"));
    let schema = workflow_schema();
    refuses(&schema, &workflow, "/jobs/node/strategy/matrix/node", json!([]));
    refuses(&schema, &workflow, "/jobs/merge/steps/0", json!({ "name": "nothing to do" }));
    refuses(&schema, &workflow, "/jobs/node/runs-on", json!(null));
}
