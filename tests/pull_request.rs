//! `action.yml`: a pull request that a pipeline gates. The test plays the runner.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use basecase_tests::running::PLACES;
use basecase_tests::sqlite_repository::{QUERY, Repository, flags};
use basecase_tests::{Sandbox, program, workspace};
use serde_json::Value;

use crate::counts::{CALLGRIND, can_count};

/// The script behind the steps of the action.
const SCRIPT: &str = "tools/pull_request.sh";

fn action() -> Value {
    serde_saphyr::from_str(&fs::read_to_string(workspace().join("action.yml")).unwrap()).unwrap()
}

/// The entries of a part of the action: inputs, outputs, what a step hands over.
fn entries(part: &Value) -> impl Iterator<Item = (&str, &Value)> {
    part.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// A runner that executes the action for a pull request into `main`, in the repository `r` of a sandbox.
struct Runner<'a> {
    sandbox: &'a Sandbox,
    base_branch: &'a str,
    inputs: BTreeMap<String, String>,
    /// What steps told, by their ids and its names.
    outputs: BTreeMap<(String, String), String>,
    /// The exit code of the first step that failed.
    failed: Option<i32>,
    /// What steps wrote to standard error.
    log: String,
    /// Folders that were given to actions of others, by the names of these.
    kept: Vec<(String, PathBuf)>,
}

impl<'a> Runner<'a> {
    fn new(sandbox: &'a Sandbox, base_branch: &'a str, with: &[(&str, &str)]) -> Self {
        let action = action();
        let default = |(name, input): (&str, &Value)| {
            (name.to_owned(), input["default"].as_str().unwrap_or_default().to_owned())
        };
        let mut inputs: BTreeMap<String, String> = entries(&action["inputs"]).map(default).collect();
        for (name, value) in with {
            *inputs.get_mut(*name).unwrap() = (*value).to_owned();
        }
        let (outputs, kept) = (BTreeMap::new(), Vec::new());
        Runner { sandbox, base_branch, inputs, outputs, failed: None, log: String::new(), kept }
    }

    /// Executes all steps, and returns the outputs of the action.
    fn run(&mut self) -> BTreeMap<String, String> {
        let action = action();
        fs::create_dir_all(self.temporary()).unwrap();
        for step in action["runs"]["steps"].as_array().unwrap() {
            if !self.is_due(step["if"].as_str()) {
                continue;
            }
            match (step["run"].as_str(), step["uses"].as_str()) {
                (Some(script), None) => self.execute(step, script),
                (None, Some(other)) => {
                    let given = |(name, value): (&str, &Value)| {
                        (name.to_owned(), self.evaluated(value.as_str().unwrap()))
                    };
                    let given: BTreeMap<String, String> = entries(&step["with"]).map(given).collect();
                    assert!(given.values().all(|value| !value.is_empty()), "{other} {given:?}");
                    self.kept
                        .push((other.split('@').next().unwrap().to_owned(), given["path"].clone().into()));
                }
                _ => panic!("a step that is neither a script nor an action: {step}"),
            }
        }
        entries(&action["outputs"])
            .map(|(name, output)| (name.to_owned(), self.evaluated(output["value"].as_str().unwrap())))
            .collect()
    }

    fn is_due(&self, condition: Option<&str>) -> bool {
        match condition {
            Some("always()") => true,
            _ if self.failed.is_some() => false,
            None => true,
            Some(condition) => self.value(condition.strip_suffix(" == ''").unwrap()).is_empty(),
        }
    }

    /// `RUNNER_TEMP`.
    fn temporary(&self) -> PathBuf {
        self.sandbox.path().join("temporary")
    }

    /// The file behind the page of the run.
    fn page(&self) -> PathBuf {
        self.temporary().join("page.md")
    }

    /// A text of the action with the values of its expressions.
    fn evaluated(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut evaluated = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            evaluated.push_str(&self.value(expression.trim()));
            evaluated.push_str(rest);
        }
        evaluated
    }

    fn value(&self, expression: &str) -> String {
        let names: Vec<&str> = expression.split('.').collect();
        match names[..] {
            ["inputs", name] => self.inputs[name].clone(),
            // Empty where the step has told nothing, as on a real runner.
            ["steps", step, "outputs", name] => {
                self.outputs.get(&(step.to_owned(), name.to_owned())).cloned().unwrap_or_default()
            }
            ["runner", "os"] => "Linux".to_owned(),
            ["github", "event", "pull_request", "base", "sha"] => "0123456789abcdef".to_owned(),
            _ => panic!("what is {expression}?"),
        }
    }

    /// Executes the script of a step.
    fn execute(&mut self, step: &Value, script: &str) {
        let told = self.temporary().join("told.txt");
        fs::write(&told, "").unwrap();
        let place = self.evaluated(step["working-directory"].as_str().unwrap_or_default());
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.sandbox.path().join("r").join(place))
            .env("GITHUB_ACTION_PATH", workspace())
            .env("GITHUB_WORKSPACE", self.sandbox.path().join("r"))
            .env("GITHUB_BASE_REF", self.base_branch)
            .env("GITHUB_OUTPUT", &told)
            .env("GITHUB_STEP_SUMMARY", self.page())
            .env("RUNNER_TEMP", self.temporary());
        for (name, value) in entries(&step["env"]) {
            bash.env(name, self.evaluated(value.as_str().unwrap()));
        }
        let output = bash.output().unwrap();
        self.log.push_str(&self.sandbox.transcript(&output));
        if !output.status.success() {
            self.failed = self.failed.or(output.status.code());
        }
        let step = step["id"].as_str().unwrap_or_default();
        for (name, value) in outputs(&fs::read_to_string(&told).unwrap()) {
            self.outputs.insert((step.to_owned(), name), value);
        }
    }
}

/// The outputs in a file of them: `name=value`, or `name<<END` with lines up to one that is `END`.
fn outputs(text: &str) -> Vec<(String, String)> {
    let mut lines = text.lines();
    let mut outputs = Vec::new();
    while let Some(line) = lines.next() {
        if let Some((name, value)) = line.split_once('=') {
            outputs.push((name.to_owned(), value.to_owned()));
        } else {
            let (name, end) = line.split_once("<<").unwrap();
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            outputs.push((name.to_owned(), value.join("\n")));
        }
    }
    outputs
}

#[test]
fn a_pull_request_that_needs_more_work_fails_and_its_comment_names_the_function() {
    let sandbox = Sandbox::new();
    if !can_count(&sandbox, &[&["count", "sqlite:3.45.0"][..], &QUERY, &CALLGRIND, &PLACES].concat()) {
        return;
    }
    let repository = Repository::new(&sandbox);
    let common = repository.commit("Import", 0, "");
    repository.git(&["switch", "-q", "-c", "branch"]);
    repository.commit("Check each row more carefully", 100, "");
    // Meanwhile the other branch goes on, with more work still.
    repository.git(&["switch", "-q", "main"]);
    repository.commit("Check each row still more carefully", 200, "");
    repository.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    repository.git(&["switch", "-q", "branch"]);
    let options = format!(
        "--tables 1 --rows 500 --build-flags '{}' --counts-engine callgrind\n--timing 1/50 --settle-limit 50ms --loads 1",
        flags(&sandbox)
    );
    let program = program().to_str().unwrap();
    let with = [("program", program), ("steps", "point-query"), ("budget", "1ms"), ("options", &options)];
    let mut runner = Runner::new(&sandbox, "main", &with);
    let outputs = runner.run();

    assert_eq!(runner.failed, Some(3), "{}", runner.log);
    let summary = &outputs["summary"];
    assert!(summary.contains(&common[..8]), "compared is with the merge base: {summary}");
    assert!(summary.contains("🔴") && summary.contains("`sqlite3_step` +"), "{summary}");
    for file in [runner.page(), PathBuf::from(&outputs["summary-file"])] {
        assert_eq!(fs::read_to_string(file).unwrap().trim_end(), summary);
    }
    let [(cache, builds), (upload, results)] = &runner.kept[..] else { panic!("{:?}", runner.kept) };
    assert_eq!((cache.as_str(), upload.as_str()), ("actions/cache", "actions/upload-artifact"));
    assert!(builds.is_dir());
    for file in ["basecase.sqlite", "report/index.html", "verdicts.xml", "summary.md"] {
        assert!(results.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_pipeline_learns_what_a_gate_lacks() {
    let sandbox = Sandbox::new();
    let repository = Repository::new(&sandbox);
    repository.commit("Import", 0, "");
    let program = program().to_str().unwrap();
    let refused = |base_branch: &str, with: &[(&str, &str)]| {
        let with = [&[("program", program), ("counts", "false")], with].concat();
        let mut runner = Runner::new(&sandbox, base_branch, &with);
        let outputs = runner.run();
        assert!(matches!(runner.failed, Some(1 | 2)), "{}", runner.log);
        (runner.log, outputs["summary"].clone())
    };
    let (log, _) = refused("", &[]);
    assert!(
        log.contains("this is no pull request") && log.contains("hint: name it by the input base"),
        "{log}"
    );
    let (log, _) = refused("main", &[("candidate", "sqlite")]);
    assert!(log.contains("sqlite is no commit, so it has no merge base\nhint: "), "{log}");
    let (log, _) = refused("main", &[("options", "--label 'half")]);
    assert!(log.contains("the input options cannot be read") && log.contains("hint: "), "{log}");
    let (log, _) = refused("main", &[("program", "no-such-program")]);
    assert!(log.contains("there is no program no-such-program\nhint: "), "{log}");
    let (log, summary) = refused("main", &[]);
    assert!(log.contains("has no tag, branch or commit \"origin/main\"\nhint: "), "{log}");
    assert!(
        summary.starts_with("basecase could not compare git:.@HEAD with git:.@origin/main."),
        "{summary}"
    );
}

#[test]
fn each_input_of_the_action_is_declared_handed_over_and_used() {
    let action = action();
    let declared: BTreeSet<String> = entries(&action["inputs"]).map(|(name, _)| name.to_owned()).collect();
    let text = action["runs"].to_string();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let named = |text: &str, before: &str| -> BTreeSet<String> {
        let rest = text.split(before).skip(1);
        rest.map(|rest| rest.split(|letter| !is_of_name(letter)).next().unwrap().to_owned()).collect()
    };
    assert_eq!(named(&text, "inputs."), declared);
    let script = fs::read_to_string(workspace().join(SCRIPT)).unwrap();
    let code: Vec<&str> = script.lines().filter(|line| !line.starts_with('#')).collect();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let handed: BTreeMap<&str, &str> = steps
        .iter()
        .flat_map(|step| entries(&step["env"]))
        .map(|(name, value)| (name.strip_prefix("INPUT_").unwrap(), value.as_str().unwrap()))
        .collect();
    let names: BTreeSet<String> = handed.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(named(&code.join("\n"), "INPUT_"), names);
    for (name, value) in handed {
        let input = name.to_lowercase().replace('_', "-");
        assert_eq!(value, format!("${{{{ inputs.{input} }}}}"));
    }
    let told: BTreeSet<String> = named(&code.join("\n"), "    tell ");
    let asked = named(&action.to_string(), ".outputs.");
    assert!(asked.iter().all(|name| told.contains(name) || name == "summary"), "{asked:?} {told:?}");
}
