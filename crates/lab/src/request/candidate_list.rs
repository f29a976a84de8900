//! The list of candidates in an experiment file.

use std::path::Path;

use super::CandidateSpec;
use super::candidate_entry::CandidateEntry;

/// The candidates that are named, then every build with every config. Files of configs that begin with `./` lie beside the experiment file.
///
/// # Errors
/// A message for people, if there is none, or if one is written wrongly.
pub(super) fn specs(
    named: &[CandidateEntry],
    builds: &[String],
    configs: &[String],
    experiment_file: &Path,
) -> Result<Vec<CandidateSpec>, String> {
    let mut entries = named.to_vec();
    for build in builds {
        if configs.is_empty() {
            entries.push(CandidateEntry::named(build.clone()));
        }
        let with = |config| CandidateEntry::named(format!("{build}@{config}"));
        entries.extend(configs.iter().map(with));
    }
    if entries.is_empty() {
        return Err("it names no candidate\nhint: set candidates = [\"postgres:17.11\", \"postgres:18.6\"], or builds and configs".into());
    }
    let spec = |entry: &CandidateEntry| {
        let mut spec = entry.spec().map_err(|error| error.to_string())?;
        spec.config = spec.config.map(|config| beside(experiment_file, config));
        Ok(spec)
    };
    entries.iter().map(spec).collect()
}

/// A name that begins with `./` as a path from the folder of `file`.
pub(super) fn beside(file: &Path, name: String) -> String {
    match name.strip_prefix("./") {
        Some(rest) => file.parent().unwrap_or(Path::new("")).join(".").join(rest).display().to_string(),
        None => name,
    }
}
