//! The scheduler Slurm, by its programs `sbatch`, `scontrol` and `scancel`. No accounting database is needed.

mod job_record;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use crate::{Element, FleetError, FleetFolder, Job, Scheduler};

/// How Slurm says that it does not know a job, or does not know it any more.
const UNKNOWN_JOB: &str = "Invalid job id specified";

/// What Slurm says when it refuses, and what to do then.
const HINTS: [(&str, &str); 5] = [
    ("partition", "`sinfo --summarize` lists partitions; name one by --sbatch '--partition=NAME'"),
    ("account", "`sacctmgr show associations` lists your accounts; name one by --sbatch '--account=NAME'"),
    (
        "node configuration is not available",
        "no node has what --sbatch asks for, or there are fewer nodes; `sinfo --Node --long` lists them",
    ),
    ("contact slurm controller", "`scontrol ping` tells whether Slurm's controller runs"),
    ("memory", "ask for less memory by --sbatch '--mem=SIZE'"),
];

/// Slurm's programs.
#[derive(Debug, Clone, Default)]
pub struct Slurm {
    folder: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

impl Slurm {
    /// The programs in `PATH`, with the environment of this process.
    pub fn of_system() -> Self {
        Slurm::default()
    }

    /// The programs in a folder, with these variables as well.
    pub fn at(folder: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        Slurm { folder: Some(folder), environment }
    }

    /// Runs one of the programs to its end.
    fn run(
        &self,
        program: &str,
        arguments: &[String],
        input: Stdio,
        ends_on_stop: bool,
    ) -> Result<Output, FleetError> {
        let path = self.folder.as_ref().map_or_else(|| program.into(), |folder| folder.join(program));
        let mut command = Command::new(path);
        command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must not end a submission whose id would then be lost.
        command.process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).env("LC_ALL", "C");
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => {
                FleetError::NoProgram { program: program.to_owned(), nodes: "N".to_owned() }
            }
            _ => FleetError::Run { program: program.to_owned(), source },
        };
        let child = command.spawn().map_err(failed)?;
        let _registration = ends_on_stop.then(|| basecase_process::end_on_stop(&child, Signal::TERM));
        child.wait_with_output().map_err(|source| FleetError::Run { program: program.to_owned(), source })
    }
}

impl Scheduler for Slurm {
    fn name(&self) -> &str {
        "slurm"
    }

    fn submit(&self, job: &Job) -> Result<String, FleetError> {
        let lock = job.folder.submission_lock().map_or_else(Stdio::null, Stdio::from);
        let output = self.run("sbatch", &arguments(job), lock, false).map_err(|error| match error {
            FleetError::NoProgram { program, .. } => {
                FleetError::NoProgram { program, nodes: job.nodes.len().to_string() }
            }
            error => error,
        })?;
        if !output.status.success() {
            return Err(refused("sbatch", &output));
        }
        // `JOB`, or `JOB;CLUSTER`.
        let said = String::from_utf8_lossy(&output.stdout);
        let id = said.trim().split(';').next().unwrap_or_default();
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FleetError::Refused {
                program: "sbatch".to_owned(),
                reason: format!("it answers `{}`, which is no job id", said.trim()),
                hint: "check that --sbatch has no option such as --test-only".to_owned(),
            });
        }
        Ok(id.to_owned())
    }

    fn jobs(&self, folder: &FleetFolder) -> Result<Vec<String>, FleetError> {
        let output =
            self.run("scontrol", &["show", "job", "--oneliner"].map(str::to_owned), Stdio::null(), true)?;
        if output.status.success() {
            Ok(job_record::jobs_of(&String::from_utf8_lossy(&output.stdout), &folder.script()))
        } else {
            Err(refused("scontrol", &output))
        }
    }

    fn elements(&self, job: &str) -> Result<Vec<Element>, FleetError> {
        let arguments = ["show", "job", "--oneliner", job].map(str::to_owned);
        // Otherwise a long list of elements that wait is cut.
        let unlimited = Slurm {
            environment: [("SLURM_BITSTR_LEN".into(), "0".into())]
                .into_iter()
                .chain(self.environment.iter().cloned())
                .collect(),
            folder: self.folder.clone(),
        };
        let output = unlimited.run("scontrol", &arguments, Stdio::null(), true)?;
        if output.status.success() {
            return Ok(job_record::elements(&String::from_utf8_lossy(&output.stdout)));
        }
        if both(&output).contains(UNKNOWN_JOB) { Ok(Vec::new()) } else { Err(refused("scontrol", &output)) }
    }

    fn cancel(&self, job: &str) -> Result<(), FleetError> {
        let output = self.run("scancel", &[job.to_owned()], Stdio::null(), false)?;
        if output.status.success() || both(&output).contains(UNKNOWN_JOB) {
            Ok(())
        } else {
            Err(refused("scancel", &output))
        }
    }
}

/// The arguments of `sbatch`. Those of the user come first, so that none of them takes back what the coordinator needs.
fn arguments(job: &Job) -> Vec<String> {
    // In a file's name, `%` begins a pattern.
    let folder = job.folder.path().to_string_lossy().replace('%', "%%");
    let ours = [
        "--parsable".to_owned(),
        format!("--array={}", ranges(&job.nodes)),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--job-name={}", job.name),
        format!("--output={folder}/node-%a/log"),
        format!("--error={folder}/node-%a/log"),
        job.folder.script().to_string_lossy().into_owned(),
    ];
    job.options.iter().cloned().chain(ours).collect()
}

/// Numbers as `1-3,5`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn both(output: &Output) -> String {
    [&output.stderr, &output.stdout].map(|said| String::from_utf8_lossy(said).trim().to_owned()).join("\n")
}

/// The error of a program that did not succeed.
fn refused(program: &str, output: &Output) -> FleetError {
    let said = both(output);
    let prefixes =
        [&format!("{program}: error: "), &format!("{program}: fatal: "), "slurm_load_jobs error: "];
    let lines: Vec<&str> = said
        .lines()
        .map(|line| prefixes.iter().find_map(|prefix| line.strip_prefix(*prefix)).unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
        .collect();
    let reason = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    let small = reason.to_lowercase();
    let hint = HINTS.iter().find(|(word, _)| small.contains(word)).map(|(_, hint)| *hint);
    let hint = hint.unwrap_or("the words behind --sbatch are given to sbatch as they are");
    FleetError::Refused { program: program.to_owned(), reason, hint: hint.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Slurm whose programs are this shell script.
    fn scripted(place: &Path, program: &str, script: &str) -> Slurm {
        let path = place.join(program);
        // Another process writes it: children of other threads must not have it open for writing when it is run.
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
        let written = Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(script).status().unwrap();
        assert!(written.success());
        Slurm::at(place.to_owned(), Vec::new())
    }

    fn job(place: &Path) -> Job {
        Job {
            name: "basecase fleet".into(),
            folder: FleetFolder::beside(&place.join("100%.sqlite")),
            nodes: (1..=8).collect(),
            options: vec!["--partition=bench".into(), "--exclusive".into()],
        }
    }

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&(1..=8).collect()), "1-8");
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 5, 7, 8])), "1-3,5,7-8");
        assert_eq!(ranges(&BTreeSet::from([4])), "4");
    }

    #[test]
    fn the_words_of_the_user_come_before_those_of_the_coordinator() {
        let words = arguments(&job(Path::new("/shared")));
        assert_eq!(&words[..3], ["--partition=bench", "--exclusive", "--parsable"]);
        assert!(words.contains(&"--array=1-8".to_owned()));
        assert!(words.contains(&"--output=/shared/100%%.sqlite.fleet/node-%a/log".to_owned()), "{words:?}");
        assert_eq!(words.last().unwrap(), "/shared/100%.sqlite.fleet/job.sh");
    }

    #[test]
    fn the_id_of_a_job_is_what_sbatch_prints() {
        let place = tempfile::tempdir().unwrap();
        let submit = |script: &str| scripted(place.path(), "sbatch", script).submit(&job(place.path()));
        assert_eq!(submit("echo 42").unwrap(), "42");
        assert_eq!(submit("echo '42;cluster'").unwrap(), "42");
        let message = submit("echo 'sbatch: Job 5 to start at …'").unwrap_err().to_string();
        assert!(message.contains("no job id"), "{message}");
    }

    #[test]
    fn sbatch_keeps_the_lock_of_the_submission() {
        let place = tempfile::tempdir().unwrap();
        let (job, at) = (job(place.path()), place.path().display());
        fs::create_dir_all(job.folder.path()).unwrap();
        fs::write(job.folder.path().join("submitting.json"), "{}").unwrap();
        let waits = format!("touch {at}/runs; until [ -e {at}/ends ]; do sleep 0.01; done; echo 42");
        let slurm = scripted(place.path(), "sbatch", &waits);
        thread::scope(|scope| {
            let submitted = scope.spawn(|| slurm.submit(&job));
            while !place.path().join("runs").exists() && !submitted.is_finished() {
                thread::yield_now();
            }
            let locked = job.folder.await_submission(Duration::ZERO);
            fs::write(place.path().join("ends"), "").unwrap();
            assert!(matches!(locked, Err(FleetError::Submitting { .. })), "{locked:?}");
            assert_eq!(submitted.join().unwrap().unwrap(), "42");
        });
        // Children of other threads have copies between fork and exec.
        job.folder.await_submission(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn what_slurm_refuses_is_told_in_its_words_with_a_hint() {
        let place = tempfile::tempdir().unwrap();
        let refusal = |text: &str| {
            let script = format!("printf '%s\\n' '{text}' >&2; exit 1");
            scripted(place.path(), "sbatch", &script).submit(&job(place.path())).unwrap_err().to_string()
        };
        let message = refusal(
            "sbatch: error: invalid partition specified: nowhere\nsbatch: error: Batch job submission failed: Invalid partition name specified",
        );
        assert_eq!(
            message,
            "sbatch refuses: invalid partition specified: nowhere; Batch job submission failed: Invalid partition name specified\n\
             hint: `sinfo --summarize` lists partitions; name one by --sbatch '--partition=NAME'"
        );
        let message = refusal(
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        );
        assert!(message.contains("hint: `sinfo") || message.contains("hint: `sacctmgr"), "{message}");
        let message = refusal(
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        );
        assert!(message.contains("`sinfo --Node --long`"), "{message}");
        assert!(refusal("").contains("exit status: 1\nhint: "));
    }

    #[test]
    fn without_slurm_one_is_told_how_to_do_without() {
        let place = tempfile::tempdir().unwrap();
        let slurm = Slurm::at(place.path().to_owned(), Vec::new());
        let message = slurm.submit(&job(place.path())).unwrap_err().to_string();
        assert_eq!(
            message,
            "there is no sbatch here\nhint: install Slurm's client programs, or run the nodes yourself with --node 1/8"
        );
    }

    #[test]
    fn a_job_that_slurm_has_forgotten_has_no_elements_and_needs_no_cancelling() {
        let place = tempfile::tempdir().unwrap();
        let forgotten = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1";
        assert_eq!(scripted(place.path(), "scontrol", forgotten).elements("7").unwrap(), []);
        let silent =
            "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1";
        let message = scripted(place.path(), "scontrol", silent).elements("7").unwrap_err().to_string();
        assert!(
            message.contains("scontrol refuses: Unable to contact") && message.contains("ping"),
            "{message}"
        );
        let unknown =
            "echo 'scancel: error: Kill job error on job id 7: Invalid job id specified' >&2; exit 1";
        scripted(place.path(), "scancel", unknown).cancel("7").unwrap();
    }
}
