//! Candidates whose builds cannot be had.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use basecase_builds::{BuildRequest, Library, Source};
use basecase_server::Host;

use super::sources::checked_configs;
use crate::message::explain;
use crate::request::{Origin, Places, Request};

/// A candidate that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The candidate as it was asked for.
    pub candidate: String,
    /// Why its build cannot be had, and what to do.
    pub reason: String,
}

impl Request {
    /// Leaves out candidates whose builds cannot be had, and obtains the other builds. Returns which were left out.
    ///
    /// # Errors
    /// When the base case is one of them, or fewer than two candidates are left of several; or when the home cannot be used.
    pub fn leave_out_unavailable(
        &mut self,
        places: &Places,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Vec<LeftOut>> {
        let requests: Vec<BuildRequest> = self.builds().into_values().collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        // Before any download: what is wrong with the others should be told at once.
        self.check()?;
        super::take_folder(&places.data)?;
        checked_configs(self, places, Host::detect())?;
        let library = Library::open(&places.home)?;
        let reasons = reasons(&library, requests, notify);
        if basecase_stop::is_asked() {
            return Ok(Vec::new());
        }
        self.leave_out(&reasons)
    }

    /// The builds that are asked for, by how they are written.
    fn builds(&self) -> BTreeMap<String, BuildRequest> {
        let build = |origin: &Origin| match origin {
            Origin::Build(request) => Some((request.to_string(), request.clone())),
            _ => None,
        };
        self.candidates.iter().filter_map(|spec| build(&spec.origin)).collect()
    }

    /// Leaves out the candidates of the builds for which there is a reason.
    fn leave_out(&mut self, reasons: &BTreeMap<String, String>) -> Result<Vec<LeftOut>> {
        let reason = |origin: &Origin| match origin {
            Origin::Build(request) => reasons.get(&request.to_string()),
            _ => None,
        };
        if let Some(base) = self.candidates.first()
            && let Some(reason) = reason(&base.origin)
        {
            bail!("the base case {base} cannot be had: {reason}");
        }
        let several = self.candidates.len() > 1;
        let mut left_out = Vec::new();
        self.candidates.retain(|spec| {
            let reason = reason(&spec.origin);
            let gone = reason.map(|reason| LeftOut { candidate: spec.to_string(), reason: reason.clone() });
            left_out.extend(gone);
            reason.is_none()
        });
        if let ([first, ..], [_]) = (&left_out[..], &self.candidates[..])
            && several
        {
            bail!("only the base case is left, because {} cannot be had: {}", first.candidate, first.reason);
        }
        Ok(left_out)
    }
}

/// Why builds cannot be had, by how they are written. The others are obtained.
fn reasons(
    library: &Library,
    mut requests: Vec<BuildRequest>,
    notify: &mut dyn FnMut(&str),
) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    requests.retain(|request| {
        let problem = library.resolve(std::slice::from_ref(request)).err();
        reasons.extend(problem.map(|error| (request.to_string(), explain(&error.into()))));
        !reasons.contains_key(&request.to_string())
    });
    // Together, as the plan does it, so that no build is got that the run does not use.
    let sources: Vec<Source> = library.resolve(&requests).unwrap_or_default();
    for source in sources {
        if let Err(error) = library.obtain(&source, notify) {
            reasons.insert(source.request.to_string(), explain(&error.into()));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment_file;

    fn without(candidates: &str, gone: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.toml");
        std::fs::write(&path, format!("candidates = {candidates}")).unwrap();
        let mut request = experiment_file::read(&path, None).unwrap().remove(0).request;
        let reasons = gone
            .iter()
            .map(|build| ((*build).to_owned(), "no such version\nhint: another".to_owned()))
            .collect();
        let left_out = request.leave_out(&reasons).map_err(|error| error.to_string())?;
        let kept = request.candidates.iter().map(ToString::to_string).collect();
        Ok((kept, left_out.into_iter().map(|one| one.candidate).collect()))
    }

    #[test]
    fn what_cannot_be_had_is_left_out_unless_it_is_the_base_case() {
        let three = "[\"mysql:5.7.22@z12a\", \"mysql:5.1.47@z12a\", \"mysql:8.0.31@z12a\"]";
        let (kept, left_out) = without(three, &["mysql:5.1.47"]).unwrap();
        assert_eq!(
            (kept.join(" "), left_out.join(" ")),
            ("mysql:5.7.22@z12a mysql:8.0.31@z12a".into(), "mysql:5.1.47@z12a".into(),)
        );
        assert_eq!(without(three, &[]).unwrap().1, Vec::<String>::new());
        let base = without(three, &["mysql:5.7.22"]).unwrap_err();
        assert!(
            base.contains("the base case mysql:5.7.22@z12a cannot be had") && base.contains("hint: "),
            "{base}"
        );
        let alone = without(three, &["mysql:5.1.47", "mysql:8.0.31"]).unwrap_err();
        assert!(alone.contains("only the base case is left") && alone.contains("no such version"), "{alone}");
    }
}
