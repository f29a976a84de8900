//! Manifests for schedulers that are not built in: files that the user reads, keeps and submits.

mod github;
mod kubernetes;

pub use github::github;
pub use kubernetes::kubernetes;

use crate::job_script::quote;

/// What a manifest is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManifestRequest {
    /// The name of the job or the workflow.
    pub name: String,
    /// How many nodes the fleet has. GitHub starts at most 256 jobs of a matrix.
    pub nodes: u32,
    /// The words behind `basecase` that every node runs, without the options of the node.
    pub command: Vec<String>,
    /// For Kubernetes: the container image, which has basecase in its `PATH`, and a shell.
    pub image: String,
    /// For Kubernetes: the claim of a volume that all nodes can write (`ReadWriteMany`), for their deliveries.
    pub claim: String,
    /// For GitHub: the label of the runners.
    pub runner: String,
    /// For GitHub: the shell command that installs basecase on a runner.
    pub install: String,
}

impl ManifestRequest {
    /// The command line of every node, up to the options of the node.
    fn command_line(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| quote(word)).collect();
        format!("basecase {}", words.join(" "))
    }
}

/// A text as a double-quoted scalar of YAML.
fn scalar(text: &str) -> String {
    let mut scalar = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => scalar.push_str("\\\""),
            '\\' => scalar.push_str("\\\\"),
            '\n' => scalar.push_str("\\n"),
            letter if is_escaped(letter) => scalar.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => scalar.push(letter),
        }
    }
    scalar.push('"');
    scalar
}

/// Whether a character is not printable in YAML, or ends a line there.
fn is_escaped(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Fills in the places of a template in one pass, so that a value that looks like a place stays what it is.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len() + 1024);
    let mut rest = template;
    while let Some(at) = rest.find('@') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        match values.iter().find(|(name, _)| from.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &from[name.len()..];
            }
            None => {
                filled.push('@');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_like_a_place_stays_what_it_is() {
        let values = [("@NAME", "@NODES".to_owned()), ("@NODES", "3".to_owned())];
        assert_eq!(fill("a@v4 @NAME: @NODES", &values), "a@v4 @NODES: 3");
    }

    #[test]
    fn a_scalar_escapes_what_would_end_it() {
        assert_eq!(scalar("it's \"a\" \\ b\n"), r#""it's \"a\" \\ b\n""#);
        assert_eq!(scalar("\u{7}\u{2028}é"), r#""\u0007\u2028é""#);
    }

    #[test]
    fn words_of_the_user_are_no_expressions_of_a_scheduler() {
        let request = ManifestRequest {
            name: "n".into(),
            nodes: 2,
            command: vec!["run".into(), "$(A) ${{ secrets.B }}".into()],
            ..ManifestRequest::default()
        };
        let job = kubernetes(&request);
        assert!(job.contains("'$$(A) $${{ secrets.B }}'") && !job.contains(" $(A)"), "{job}");
        let workflow = github(&request);
        assert!(workflow.contains("'$(A) ${{ '${{' }} secrets.B }}'"), "{workflow}");
    }
}
