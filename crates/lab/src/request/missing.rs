//! Candidates that cannot run here: their builds cannot be had, or the kernel has not what their configs need.

use std::path::Path;

use anyhow::{Result, bail};
use basecase_builds::{BuildRequest, Library};
use serde::Deserialize;

use super::{CandidateSpec, Origin, Request};
use crate::message::explain;

/// What becomes of a candidate that cannot run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The run is refused.
    #[default]
    Refuse,
    /// It is named, and the others run.
    LeaveOut,
}

/// A build, or one candidate, that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The build or the candidate as it was asked for.
    pub name: String,
    /// Why it cannot run.
    pub reason: String,
}

/// The request with those of its candidates that can run, and the others. `refusals` has for each candidate why its config
/// cannot work with this kernel. Builds are obtained.
///
/// # Errors
/// When none is left, the home cannot be used, or the user asks to stop.
pub(crate) fn available(
    request: &Request,
    refusals: Vec<Option<String>>,
    home: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<(Request, Vec<LeftOut>)> {
    let mut request = request.clone();
    let mut left_out = Vec::new();
    if request.missing == Missing::LeaveOut {
        for (spec, refusal) in std::mem::take(&mut request.candidates).into_iter().zip(refusals) {
            match refusal {
                Some(reason) => left_out.push(LeftOut { name: spec.to_string(), reason }),
                None => request.candidates.push(spec),
            }
        }
        let library = Library::open(home)?;
        let known = |build: &BuildRequest| Ok(library.resolve(std::slice::from_ref(build)).map(drop)?);
        keep(&mut request.candidates, known, &mut left_out)?;
        // Builds of one toolchain are preferred among all that are left.
        let builds: Vec<BuildRequest> = request.candidates.iter().filter_map(build_of).cloned().collect();
        let mut sources = library.resolve(&builds)?.into_iter();
        let obtained = |_: &BuildRequest| {
            sources.next().map_or(Ok(()), |source| Ok(library.obtain(&source, notify).map(drop)?))
        };
        keep(&mut request.candidates, obtained, &mut left_out)?;
        if request.candidates.is_empty() {
            let reasons: Vec<String> = left_out.iter().map(|one| format!("  {}", one.reason)).collect();
            bail!(
                "none of the candidates can run here:\n{}\nhint: build one from source with `basecase server get`, or name others; `basecase server list` has what can be had",
                reasons.join("\n")
            );
        }
    }
    Ok((request, left_out))
}

/// Moves the candidates whose build fails to those that are left out.
fn keep(
    candidates: &mut Vec<CandidateSpec>,
    mut is_there: impl FnMut(&BuildRequest) -> Result<()>,
    left_out: &mut Vec<LeftOut>,
) -> Result<()> {
    for spec in std::mem::take(candidates) {
        let Some(build) = build_of(&spec) else {
            candidates.push(spec);
            continue;
        };
        match is_there(build) {
            Ok(()) => candidates.push(spec),
            Err(error) if basecase_stop::is_asked() => return Err(error),
            // Once, however many configs it was to have.
            Err(_) if left_out.iter().any(|one| one.name == build.to_string()) => {}
            Err(error) => {
                let text = explain(&error);
                let reason = text.lines().next().unwrap_or_default().to_owned();
                left_out.push(LeftOut { name: build.to_string(), reason });
            }
        }
    }
    Ok(())
}

fn build_of(spec: &CandidateSpec) -> Option<&BuildRequest> {
    match &spec.origin {
        Origin::Build(build) => Some(build),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn what_cannot_be_had_is_named_and_the_rest_stays_in_order() {
        let names = ["mysql:5.6.51@z10a", "mysql:5.6.51@z11a", "sqlite", "mysql:5.6.24@z10a"];
        let mut candidates: Vec<CandidateSpec> = names.iter().map(|name| name.parse().unwrap()).collect();
        let mut left_out = Vec::new();
        let is_there = |build: &BuildRequest| match build.to_string().as_str() {
            "mysql:5.6.51" => Err(anyhow!("no recipe for mysql 5.6.51\nhint: similar ones")),
            _ => Ok(()),
        };
        keep(&mut candidates, is_there, &mut left_out).unwrap();
        let kept: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        assert_eq!(kept, ["sqlite", "mysql:5.6.24@z10a"]);
        let reason = "no recipe for mysql 5.6.51".to_owned();
        assert_eq!(left_out, [LeftOut { name: "mysql:5.6.51".to_owned(), reason }]);
    }
}
