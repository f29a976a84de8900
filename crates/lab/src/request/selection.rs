//! A part of an experiment: some of its candidates, some of its steps.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use basecase_builds::{alternatives, nearest};
use basecase_model::StepFacts;

use super::{Protocol, Request};

impl Request {
    /// Keeps the candidates with these names, in their order; the first of them is the base case. A name is a candidate as the request has
    /// it, or its build alone, which means all of its configs.
    ///
    /// # Errors
    /// When there is no such candidate; says which are similar.
    pub fn keep_only(&mut self, names: &[String]) -> Result<()> {
        let is_meant = |name: &str, candidate: &str| {
            candidate == name || candidate.split_once('@').is_some_and(|(build, _)| build == name)
        };
        let all: Vec<String> = self.candidates.iter().map(ToString::to_string).collect();
        for name in names {
            if !all.iter().any(|candidate| is_meant(name, candidate)) {
                bail!(
                    "--only {name}: the experiment has no such candidate\nhint: {}",
                    suggestion(name, &all)
                );
            }
        }
        let mut kept = all.iter().map(|candidate| names.iter().any(|name| is_meant(name, candidate)));
        self.candidates.retain(|_| kept.next().unwrap_or(false));
        Ok(())
    }

    /// The names of the steps that these words mean: the name or label of a step, or what a sweep's steps have in common.
    ///
    /// # Errors
    /// When there is no such step, which says which are similar, or when rounds would need all steps.
    pub fn steps_named(&self, words: &[String]) -> Result<BTreeSet<String>> {
        if matches!(self.protocol, Protocol::Rounds(_)) {
            bail!(
                "--steps: rounds judge all of their steps together\nhint: leave out --steps, or detect, rounds, slice and --budget"
            );
        }
        let steps: Vec<StepFacts> =
            self.workload.outlines().into_iter().map(|outline| outline.facts).collect();
        let mut names = BTreeSet::new();
        for word in words {
            let mut meant = StepFacts::named(&steps, word);
            if meant.is_empty() {
                let is_of = |step: &StepFacts| {
                    step.label.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with(['.', '_']))
                };
                meant = (0..steps.len()).filter(|step| is_of(&steps[*step])).collect();
            }
            if meant.is_empty() {
                let labels: Vec<String> = steps.iter().map(|step| step.label.clone()).collect();
                bail!("--steps {word}: the experiment has no such step\nhint: {}", suggestion(word, &labels));
            }
            names.extend(meant.into_iter().map(|step| steps[step].name.clone()));
        }
        Ok(names)
    }
}

/// Which names could have been meant.
fn suggestion(wanted: &str, names: &[String]) -> String {
    let near = nearest(wanted, names.iter().map(String::as_str));
    if near.is_empty() {
        format!("it has {}", names.join(", "))
    } else {
        format!("did you mean {}?", alternatives(&near))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment_file;

    fn request() -> Request {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.toml");
        let text = "builds = [\"mysql:5.7.22\", \"mysql:8.0.31\"]\nconfigs = [\"z12a\", \"default\"]\n\
            workload = \"oltp_read_write\"\n[options]\nthreads = [1, 4]\n";
        std::fs::write(&path, text).unwrap();
        experiment_file::read(&path, None, None).unwrap().remove(0).request
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn candidates_by_name_or_build() {
        let kept = |names: &[&str]| {
            let mut request = request();
            request.keep_only(&words(names)).map_err(|error| error.to_string())?;
            Ok(request.candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(kept(&["mysql:8.0.31"]), Ok("mysql:8.0.31@z12a mysql:8.0.31@default".into()));
        let both = kept(&["mysql:8.0.31@default", "mysql:5.7.22@z12a"]);
        assert_eq!(both, Ok("mysql:5.7.22@z12a mysql:8.0.31@default".into()));
        let refused: Result<String, String> = kept(&["mysql:8.0.31@z12b"]);
        assert!(
            refused
                .unwrap_err()
                .contains("z12b: the experiment has no such candidate\nhint: did you mean mysql:8.0.31@z12a")
        );
    }

    #[test]
    fn steps_by_name_or_what_they_share() {
        let request = request();
        let named = |list: &[&str]| {
            request.steps_named(&words(list)).map(|names| names.len()).map_err(|error| error.to_string())
        };
        assert_eq!((named(&["oltp_read_write.dop4"]), named(&["oltp_read_write"])), (Ok(1), Ok(2)));
        let refused = named(&["oltp_read_write.dop5"]).unwrap_err();
        assert!(refused.contains("dop5: the experiment has no such step\nhint: did you mean "), "{refused}");
        let mut in_rounds = request.clone();
        in_rounds.protocol = Protocol::Rounds(super::super::Rounds::default());
        assert!(in_rounds.steps_named(&words(&["load"])).is_err());
    }
}
