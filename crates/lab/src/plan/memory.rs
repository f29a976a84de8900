//! Limits on the memory of servers: which candidates may have one, and what would fit.

use anyhow::{Result, bail};
use basecase_builds::Build;
use basecase_model::Engine;
use basecase_process::{Account, ControlGroups};
use basecase_server::{CheckError, Config, Host, check, memory_needed};

use super::sources::find_config;
use crate::request::{CandidateSpec, MemorySize, Origin, Places, Request};

/// The most memory that is tried to find out what a config needs, in bytes.
const MOST_BYTES: u64 = 1 << 40;
/// How close to that the answer is: one part in this many.
const PRECISION: u64 = 16;

/// Refuses limits that cannot hold, before anything else is done.
pub(super) fn refuse(request: &Request, host: Host) -> Result<()> {
    for spec in &request.candidates {
        let Some(limit) = request.memory_of(spec) else { continue };
        match &spec.origin {
            Origin::Build(_) if !spec.dbms().is_embedded() => {}
            Origin::Build(_) | Origin::Embedded => bail!(
                "candidate {spec}: SQLite runs inside basecase, so a limit on memory would hold for the client as well\nhint: leave out --memory, or compare servers"
            ),
            Origin::PostgresUrl(_) | Origin::MysqlUrl(_) => bail!(
                "candidate {spec}: a limit on memory needs a server that basecase starts, and this one is your own\nhint: leave out --memory and limit the server yourself, or name a build such as postgres:18.6"
            ),
        }
        if limit.bytes() > host.memory_bytes {
            bail!(
                "each server may use {limit} of memory, and {}\nhint: choose a smaller limit, or leave out --memory",
                host.memory_text()
            );
        }
    }
    Ok(())
}

/// How servers get control groups; `None` if no candidate has a limit.
pub(super) fn groups(request: &Request, device: Option<&str>) -> Result<Option<ControlGroups>> {
    if request.candidates.iter().all(|spec| request.memory_of(spec).is_none()) {
        return Ok(None);
    }
    let account = Account::for_servers()?;
    Ok(Some(ControlGroups::find(account.as_ref(), device)?))
}

/// The host as the server of a candidate may use it.
pub(super) fn host_of(request: &Request, spec: &CandidateSpec, host: Host) -> Host {
    request.memory_of(spec).map_or(host, |limit| host.limited_to(limit.bytes()))
}

/// A server that is asked about its config.
pub(super) struct Asked<'a> {
    pub(super) build: &'a Build,
    pub(super) engine: Option<Engine>,
    pub(super) config: &'a Config,
    pub(super) host: Host,
}

/// The memory that a candidate's server reserves, in bytes. If its limit leaves too little beside that, the error says what would fit.
pub(super) fn reserved(
    asked: &Asked<'_>,
    request: &Request,
    spec: &CandidateSpec,
    places: &Places,
) -> Result<u64> {
    let Asked { build, engine, config, host } = asked;
    let checked = check(build, *engine, config, *host, &places.data);
    let Some(limit) = request.memory_of(spec) else { return Ok(checked?) };
    let too_much = match checked {
        Ok(bytes) if memory_needed(spec.dbms(), bytes) <= limit.bytes() => return Ok(bytes),
        Ok(bytes) => format!(
            "config {} reserves {} MiB of memory for {spec}, and {limit} leave too little for the server's processes\nhint: lower what it reserves, as with --set shared_buffers=64MB or --set innodb_buffer_pool_size=64M",
            config.name,
            bytes >> 20
        ),
        Err(error @ CheckError::Memory { .. }) => error.to_string(),
        Err(error) => return Err(error.into()),
    };
    let fits = |bytes: u64| {
        let host = Host { memory_bytes: bytes, ..*host };
        let config = find_config(spec, host)?.for_version(&build.version);
        let config = config.with_extra(&request.extra_settings)?;
        let checked = check(build, *engine, &config, host, &places.data);
        anyhow::Ok(checked.is_ok_and(|reserved| memory_needed(spec.dbms(), reserved) <= bytes))
    };
    let (problem, hint) = too_much.split_once("\nhint: ").unwrap_or((&too_much, ""));
    match least(limit.bytes(), fits)? {
        Some(enough) => bail!("{problem}\nhint: {} would fit; or {hint}", MemorySize::of_bytes(enough)),
        None => bail!("{problem}\nhint: {hint}"),
    }
}

/// The least number of bytes that fits, within [`PRECISION`] of what does not; `None` if nothing does.
fn least(too_few: u64, fits: impl Fn(u64) -> Result<bool>) -> Result<Option<u64>> {
    let (mut low, mut high) = (too_few, too_few.saturating_mul(2));
    while !fits(high)? {
        if high > MOST_BYTES {
            return Ok(None);
        }
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > high / PRECISION {
        let middle = low + (high - low) / 2;
        if fits(middle)? { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_fit_is_found_from_below() {
        let found =
            |needed: u64| least(100 << 20, |bytes| Ok(bytes >= needed)).unwrap().map(|bytes| bytes >> 20);
        assert!(found(208 << 20).is_some_and(|mib| (208..=222).contains(&mib)), "{:?}", found(208 << 20));
        assert!(found(101 << 20).is_some_and(|mib| (101..=108).contains(&mib)));
        assert_eq!(found(u64::MAX), None);
    }
}
