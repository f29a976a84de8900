//! Facts about the experiment, the host and the builds as tables.

use basecase_analysis::{Results, distinct_builds};
use basecase_model::{BuildFacts, Experiment};

use super::{Column, Row, Table, TableCell, grouped};

/// The experiment: workload, parameters, command.
pub(crate) fn experiment(results: &Results<'_>) -> Table {
    let experiment = results.experiment;
    let concurrency = if results.is_workload_file() { "threads" } else { "clients" };
    let mut facts = vec![
        ("workload".to_owned(), experiment.workload.clone()),
        (concurrency.to_owned(), results.concurrency().0),
        ("rows loaded".to_owned(), grouped(experiment.loaded_rows)),
        ("seed".to_owned(), experiment.seed.to_string()),
    ];
    let known: Vec<String> = facts.iter().map(|(name, _)| name.clone()).collect();
    facts.extend(experiment.parameters.iter().filter(|(name, _)| !known.contains(name)).cloned());
    facts.extend([
        ("command".to_owned(), experiment.command.clone()),
        ("started".to_owned(), experiment.created_at.clone()),
        ("basecase".to_owned(), experiment.basecase_version.clone()),
        ("protocol revision".to_owned(), experiment.protocol_revision.to_string()),
        ("experiment".to_owned(), experiment.id.clone()),
    ]);
    pairs("Experiment", facts)
}

/// The machine.
pub(crate) fn host(experiment: &Experiment) -> Table {
    let host = &experiment.host;
    let gib = host.memory_bytes as f64 / (1_u64 << 30) as f64;
    let mut facts = vec![
        ("processor".to_owned(), host.cpu_model.clone()),
        ("cores".to_owned(), host.cores.to_string()),
        ("memory".to_owned(), format!("{gib:.1} GiB")),
        ("operating system".to_owned(), host.os.clone()),
        ("kernel".to_owned(), host.kernel.clone()),
        ("file system".to_owned(), host.filesystem.clone()),
        ("device".to_owned(), host.device.clone().unwrap_or_else(|| "unknown".into())),
    ];
    facts.extend(host.details.iter().map(|(name, value)| (name.clone(), value.clone())));
    pairs("Host", facts)
}

/// The builds, each once.
pub(crate) fn builds(experiment: &Experiment) -> Table {
    let row = |build: &BuildFacts| {
        Row::new(
            &build.short,
            [
                format!("{} {}", build.dbms, build.version),
                build.requested.clone(),
                format!("{}: {}", build.provider, build.artifact),
                build.toolchain(),
                build.sha256.as_deref().unwrap_or("").chars().take(16).collect(),
            ]
            .into_iter()
            .map(TableCell::plain)
            .collect(),
        )
    };
    let embedded = experiment.candidates.iter().any(|candidate| candidate.build.dbms.is_embedded());
    Table {
        caption: "Builds".into(),
        reading: if embedded { SQLITE_CPU.to_owned() } else { String::new() },
        corner: "build",
        columns: ["version", "requested", "source", "toolchain", "sha256 prefix"].map(Column::words).to_vec(),
        rows: distinct_builds(experiment).into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// Which metrics have the CPU time of an embedded engine.
const SQLITE_CPU: &str = "SQLite is embedded: its engine runs inside basecase, so its CPU time counts as the client's \
                          (client_cpupq), and there is no server to measure (server_cpupq and rss are NA).";

fn pairs(caption: &str, facts: Vec<(String, String)>) -> Table {
    Table {
        caption: caption.to_owned(),
        corner: "fact",
        columns: vec![Column::words("value")],
        rows: facts.into_iter().map(|(name, value)| Row::new(name, vec![TableCell::plain(value)])).collect(),
        ..Table::default()
    }
}
