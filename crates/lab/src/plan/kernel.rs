//! What configs need of the kernel.

use anyhow::{Result, bail};
use basecase_probe::io_uring_refusal;
use basecase_server::{ConfigFile, Host};

use super::sources::config_files;
use crate::request::{Missing, Request};

/// Why each candidate's config cannot work with this kernel, in their order; `None` if it can.
///
/// # Errors
/// If a config cannot be read, or cannot work and its candidate is not to be left out.
pub(super) fn refusals(request: &Request, host: Host) -> Result<Vec<Option<String>>> {
    let files = config_files(request, host)?;
    let needs = |file: &Option<ConfigFile>| file.as_ref().is_some_and(|file| needs_io_uring(request, file));
    if !files.iter().any(needs) {
        return Ok(vec![None; files.len()]);
    }
    let refusal = io_uring_refusal();
    let refusals: Vec<Option<String>> =
        files.iter().map(|file| refusal.clone().filter(|_| needs(file))).collect();
    if request.missing == Missing::Refuse
        && let Some((spec, reason)) = request
            .candidates
            .iter()
            .zip(&refusals)
            .find_map(|(spec, refusal)| Some((spec, refusal.as_ref()?)))
    {
        bail!(
            "candidate {spec}: its config has io_method = io_uring, and {reason}\nhint: leave this candidate out, or choose another config, such as x10cw4"
        );
    }
    Ok(refusals)
}

/// Whether some version of Postgres would use io_uring with this config.
fn needs_io_uring(request: &Request, file: &ConfigFile) -> bool {
    let extra = request.extra_settings.iter().rev().find(|(name, _)| name == "io_method");
    match extra {
        Some((_, value)) => value == "io_uring",
        None => file.values("io_method").any(|value| value == "io_uring"),
    }
}
