//! What is known of candidates: before they run, and by what their servers say.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use basecase_client::Endpoint;
use basecase_model::{BuildFacts, CandidateFacts, CandidateName, ConfigFacts, Dbms};
use basecase_server::{SelfReport, Settle, of_url};

use super::candidate::Source;
use super::connections;
use crate::request::{CandidateSpec, MemorySize, Request};

/// What is known of each candidate before it runs. A URL is asked here, so that a wrong password ends the run at once.
pub(crate) fn candidate_facts(request: &Request, sources: &[Source]) -> Result<Vec<CandidateFacts>> {
    request
        .candidates
        .iter()
        .zip(sources)
        .map(|(spec, source)| {
            let (build, config) = match source {
                Source::Build(build, config) => (build.facts.clone(), config.facts()),
                Source::Embedded(Some(build), config) => (build.facts.clone(), config.facts()),
                Source::Embedded(None, config) => (bundled_facts(spec), config.facts()),
                Source::Url(endpoint) => (
                    url_facts(spec, endpoint, request)?,
                    ConfigFacts { name: "as_is".into(), settings: Vec::new(), sha256: String::new() },
                ),
            };
            let engine = spec.table_engine();
            Ok(CandidateFacts {
                name: CandidateName::new(&build.short, engine, &config.name),
                build,
                engine,
                config,
                running: BTreeMap::new(),
                memory_limit_bytes: request.memory_of(spec).map(MemorySize::bytes),
            })
        })
        .collect()
}

fn bundled_facts(spec: &CandidateSpec) -> BuildFacts {
    let bundled = basecase_client::sqlite::Library::bundled();
    let version = bundled.version();
    BuildFacts {
        dbms: Dbms::Sqlite,
        short: format!("sqlite{}", version.replace('.', "")),
        requested: spec.to_string(),
        version: version.to_owned(),
        provider: "bundled".into(),
        artifact: format!("SQLite {version}"),
        sha256: None,
        compiler: None,
        flags: None,
        details: BTreeMap::new(),
    }
}

/// Asks the user's server which one it is, and refuses to touch tables that are not basecase's, or to work without rights that it will
/// need after a load.
fn url_facts(spec: &CandidateSpec, endpoint: &Endpoint, request: &Request) -> Result<BuildFacts> {
    let workload = &request.workload;
    let mut session = endpoint.connect()?;
    let server = of_url(endpoint.clone(), spec.table_engine())?.context("a URL names a server")?;
    let tables = &workload.tables();
    for table in tables {
        if server.is_foreign(session.as_mut(), table)? {
            bail!(
                "candidate {spec} has a table {table} that basecase did not make\nhint: use a separate database: the run drops and creates {}",
                names_of(tables)
            );
        }
    }
    if request.settle != Settle::Off {
        server.check_rights(session.as_mut()).with_context(|| format!("candidate {spec}"))?;
    }
    connections::ask(&spec.to_string(), session.as_mut(), server.dbms(), workload.sessions())?;
    let report = server.report(session.as_mut())?;
    let requested = spec.to_string();
    let dbms = server.dbms();
    let mut facts = BuildFacts {
        dbms,
        short: format!("{}{}_url", dbms.short_prefix(), report.version.replace('.', "")),
        artifact: requested.trim_start_matches("url:").to_owned(),
        requested,
        version: String::new(),
        provider: "url".into(),
        sha256: None,
        compiler: None,
        flags: None,
        details: BTreeMap::new(),
    };
    complete(&mut facts, report);
    Ok(facts)
}

/// Some tables in words.
fn names_of(tables: &[String]) -> String {
    match tables {
        [] => "no table".to_owned(),
        [only] => format!("the table {only}"),
        [first, .., last] => format!("the tables {first} to {last}"),
    }
}

/// Adds what the running server says to what was known of its build.
pub(crate) fn complete(facts: &mut BuildFacts, report: SelfReport) {
    if facts.version.is_empty() {
        facts.version = report.version;
    }
    facts.compiler = facts.compiler.take().or(report.compiler);
    facts.flags = facts.flags.take().or(report.flags);
    for (name, value) in report.details {
        facts.details.entry(name).or_insert(value);
    }
}
