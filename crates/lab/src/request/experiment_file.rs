//! Experiment files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use basecase_workload::insert_benchmark;
use serde::Deserialize;
use thiserror::Error;

use super::candidate_entry::CandidateEntry;
use super::candidate_list::{beside, specs};
use super::candidate_spec::without_urls;
use super::schedule::{Schedule, value};
use super::{
    CandidateSpec, MemoryRequest, MemorySize, Missing, PinError, PinRequest, Protocol, Request, Scale, Sizes,
    read_settle_limit,
};
use crate::message::explain;
use crate::workload::{InsertBenchmark, Workload, WorkloadFile};

/// Why an experiment file was refused.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error(
        "cannot read experiment file {path}: {source}\nhint: name a file such as experiments/first-light.toml; the source and the archive of a release have that folder"
    )]
    Read {
        /// The file.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The file is not the TOML of an experiment. The message names line and column.
    #[error(
        "experiment file {path} cannot be understood\n{reason}\nhint: docs/formats.md describes every key"
    )]
    Syntax {
        /// The file.
        path: String,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// A value that no run can have.
    #[error("experiment file {path}: {reason}")]
    Value {
        /// The file.
        path: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    name: Option<String>,
    workload: Option<String>,
    #[serde(default)]
    candidates: Vec<CandidateEntry>,
    #[serde(default)]
    builds: Vec<String>,
    #[serde(default)]
    configs: Vec<String>,
    #[serde(default)]
    missing: Missing,
    #[serde(default)]
    sizes: Sizes,
    #[serde(default)]
    size: Vec<Size>,
    #[serde(default)]
    list: Vec<String>,
    #[serde(default)]
    options: toml::Table,
    #[serde(default)]
    settings: toml::Table,
    #[serde(default)]
    schedule: Schedule,
    memory: Option<MemoryRequest>,
    published_memory: Option<MemorySize>,
}

/// One of several sizes.
#[derive(Deserialize)]
struct Size {
    name: String,
    memory: Option<MemoryRequest>,
    published_memory: Option<MemorySize>,
    /// In place of the file's, where there are any.
    #[serde(default)]
    candidates: Vec<CandidateEntry>,
    #[serde(default)]
    builds: Vec<String>,
    #[serde(default)]
    configs: Vec<String>,
    /// What differs from `sizes`, or from `options` of a workload file.
    #[serde(flatten)]
    values: toml::Table,
}

/// One experiment of a file. A file has one for each of its sizes.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What its size is called; `None` of a file with one.
    pub size: Option<String>,
    /// What is asked for.
    pub request: Request,
}

/// Reads an experiment file: an experiment for each of its sizes, multiplied by the scale. `memory` takes the place of the file's limit on
/// the memory of each server.
///
/// # Errors
/// When the file cannot be read, is not the TOML of an experiment, or holds a value that no run can have.
pub fn read(
    path: &Path,
    scale: Option<Scale>,
    memory: Option<MemoryRequest>,
) -> Result<Vec<Variant>, FileError> {
    let name = path.display().to_string();
    let text =
        basecase_probe::read_text(path).map_err(|source| FileError::Read { path: name.clone(), source })?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("experiment");
    parse(&text, &name, stem, scale, memory)
}

fn parse(
    text: &str,
    path: &str,
    stem: &str,
    scale: Option<Scale>,
    memory: Option<MemoryRequest>,
) -> Result<Vec<Variant>, FileError> {
    let file: ExperimentFile = toml::from_str(text).map_err(|error| FileError::Syntax {
        path: path.to_owned(),
        reason: without_urls(error.to_string().trim_end()),
    })?;
    let refuse = |reason: String| FileError::Value { path: path.to_owned(), reason };
    let protocol = file.schedule.protocol().map_err(refuse)?;
    let settle_limit = value("settle_limit", file.schedule.settle_limit.as_deref(), read_settle_limit);
    let settle_limit = settle_limit.map_err(refuse)?;
    let pin = file.schedule.pin.as_deref().map_or(Ok(PinRequest::default()), str::parse);
    let pin = pin.map_err(|error: PinError| refuse(error.to_string()))?;
    check_names(&file.size).map_err(refuse)?;
    let name = file.name.as_deref().unwrap_or(stem);
    let variant = |size: Option<&Size>| {
        let workload = workload(&file, size, path, Sizing::Scaled(scale))?;
        let published = || self::workload(&file, size, path, Sizing::Published);
        let memory = limit(memory, &file, size, workload.as_ref(), published)?;
        if let Protocol::Rounds(rounds) = &protocol {
            rounds.interim_analyses(workload.as_ref()).map_err(|error| format!("schedule.{error}"))?;
        }
        let request = Request {
            name: size.map_or_else(|| name.to_owned(), |size| format!("{name} {}", size.name)),
            candidates: candidates(&file, size, path)?,
            workload,
            pin: pin.clone(),
            settle: file.schedule.settle,
            settle_limit,
            verify: file.schedule.verify,
            step_limit_seconds: file.schedule.step_limit_seconds,
            extra_settings: texts(&file.settings),
            memory,
            meant_io_bound: is_io_bound(&file, size)?,
            protocol: protocol.clone(),
            replicates: Vec::new(),
            missing: file.missing,
            node: None,
        };
        request.check().map_err(|error| error.to_string())?;
        Ok(Variant { size: size.map(|size| size.name.clone()), request })
    };
    let variants: Result<Vec<Variant>, String> = match &file.size[..] {
        [] => variant(None).map(|variant| vec![variant]),
        sizes => sizes.iter().map(|size| variant(Some(size))).collect(),
    };
    variants.map_err(refuse)
}

/// The limit on the memory of each server: the one asked for, or that of the size or of the file.
fn limit(
    asked: Option<MemoryRequest>,
    file: &ExperimentFile,
    size: Option<&Size>,
    workload: &dyn Workload,
    published: impl FnOnce() -> Result<Arc<dyn Workload>, String>,
) -> Result<Option<MemorySize>, String> {
    match asked.or(size.and_then(|size| size.memory)).or(file.memory) {
        None => Ok(None),
        Some(MemoryRequest::Limit(limit)) => Ok(Some(limit)),
        Some(MemoryRequest::Auto) => {
            let had = size.and_then(|size| size.published_memory).or(file.published_memory).ok_or(
                "memory is auto, and nothing says how much the published server had\nhint: add published_memory = \"32G\", or give a size such as 400M",
            )?;
            let rows = published()?.loaded_rows().max(1);
            Ok(Some(had.times(workload.loaded_rows() as f64 / rows as f64)))
        }
    }
}

/// The candidates of a size. Each of the three keys that it names stands in place of the file's.
fn candidates(file: &ExperimentFile, size: Option<&Size>, path: &str) -> Result<Vec<CandidateSpec>, String> {
    let names_builds = size.is_some_and(|size| !size.candidates.is_empty() || !size.builds.is_empty());
    // A size that says what it runs runs nothing else.
    let (named, builds) = match size.filter(|_| names_builds) {
        Some(size) => (&size.candidates, &size.builds),
        None => (&file.candidates, &file.builds),
    };
    let configs = size.map(|size| &size.configs).filter(|own| !own.is_empty()).unwrap_or(&file.configs);
    specs(named, builds, configs, Path::new(path))
}

/// Refuses names of sizes that cannot name a folder, or are used twice.
fn check_names(sizes: &[Size]) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for Size { name, .. } in sizes {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.starts_with('.') || name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "a size is named {name:?}\nhint: its pages go into a folder of this name: use letters, digits, - and _, e.g. name = \"cached\""
            ));
        }
        if !known.insert(name) {
            return Err(format!("two sizes are named {name}\nhint: give each its own name"));
        }
    }
    Ok(())
}

/// How the sizes of a file are taken.
#[derive(Clone, Copy, PartialEq)]
enum Sizing {
    /// As they are written, times a factor.
    Scaled(Option<Scale>),
    /// As they were published: without the file's own factor.
    Published,
}

/// The sizes of the Insert Benchmark that a size has of its own.
fn own_sizes(size: Option<&Size>) -> Result<Sizes, String> {
    let Some(size) = size else { return Ok(Sizes::default()) };
    size.values.clone().try_into::<Sizes>().map_err(|error| {
        let problem = without_urls(error.message());
        format!("size {}: {problem}\nhint: docs/formats.md describes every key", size.name)
    })
}

/// Whether a size was published as one that is bound by input and output.
fn is_io_bound(file: &ExperimentFile, size: Option<&Size>) -> Result<bool, String> {
    let is_chain = file.workload.as_deref().is_none_or(|name| name == insert_benchmark::NAME);
    Ok(is_chain && own_sizes(size)?.over(&file.sizes).is_io_bound())
}

/// The workload with its sizes or options. The error says what is wrong and what to do.
fn workload(
    file: &ExperimentFile,
    size: Option<&Size>,
    path: &str,
    sizing: Sizing,
) -> Result<Arc<dyn Workload>, String> {
    let scale = if let Sizing::Scaled(scale) = sizing { scale } else { None };
    let name = file.workload.as_deref().unwrap_or(insert_benchmark::NAME);
    let seed = file.schedule.seed;
    if name == insert_benchmark::NAME {
        if !file.options.is_empty() || !file.list.is_empty() {
            return Err(format!(
                "options and list are for workload files, and {name} is not one\nhint: its sizes go under [sizes]"
            ));
        }
        let mut sizes = own_sizes(size)?.over(&file.sizes);
        if sizing == Sizing::Published {
            sizes.scale = None;
        }
        let parameters = sizes.parameters(file.schedule.pace, seed)?;
        let scaled = match scale {
            Some(scale) => scale.parameters(&parameters).map_err(|error| error.to_string())?,
            None => parameters,
        };
        return Ok(Arc::new(InsertBenchmark::new(scaled)));
    }
    if file.sizes != Sizes::default() {
        return Err(format!(
            "sizes are for {}\nhint: the options of {name} go under [options]",
            insert_benchmark::NAME
        ));
    }
    let mut options = texts(&file.options);
    // The last value of an option counts.
    options.extend(size.map(|size| texts(&size.values)).unwrap_or_default());
    options.extend(seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    let named = beside(Path::new(path), name.to_owned());
    let definition = WorkloadFile::definition_of(&named).map_err(|error| explain(&error))?;
    if let Some(scale) = scale {
        options = scale.options(&definition, options);
    }
    let chosen = WorkloadFile::new(definition, &options, &file.list).map_err(|error| error.to_string())?;
    Ok(Arc::new(chosen))
}

/// Names and values as a command line would give them.
fn texts(table: &toml::Table) -> Vec<(String, String)> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(values) => values
            .iter()
            .map(|value| value.to_string().trim_matches('"').to_owned())
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    };
    table.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use basecase_server::Settle;

    use super::super::Rounds;
    use super::*;

    /// The only experiment of a file.
    fn parse(text: &str, path: &str, stem: &str, scale: Option<Scale>) -> Result<Request, FileError> {
        let mut variants = super::parse(text, path, stem, scale, None)?;
        assert_eq!(variants.len(), 1);
        Ok(variants.remove(0).request)
    }

    #[test]
    fn an_experiment_for_each_size() {
        let variants = |text: &str| {
            let text = format!("candidates = [\"sqlite\"]\n{text}");
            let variants =
                super::parse(&text, "e.toml", "e", None, None).map_err(|error| error.to_string())?;
            Ok(variants
                .into_iter()
                .map(|one| (one.request.name, one.request.workload.loaded_rows()))
                .collect())
        };
        let expected = |pairs: &[(&str, u64)]| -> Result<Vec<(String, u64)>, String> {
            Ok(pairs.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect())
        };
        let chain = "[sizes]\nrows = 2000\n[[size]]\nname = \"one\"\n[[size]]\nname = \"four\"\nclients = 4";
        assert_eq!(variants(chain), expected(&[("e one", 2_000), ("e four", 8_000)]));
        let file = "workload = \"oltp_read_write\"\n[options]\ntable-size = 1000\n[[size]]\nname = \"a\"\n[[size]]\nname = \"b\"\ntable_size = 3000";
        assert_eq!(variants(file), expected(&[("e a", 1_000), ("e b", 3_000)]));
        let refused = |text: &str| variants(text).unwrap_err();
        let unknown = refused("[[size]]\nname = \"a\"\nrow = 3");
        assert!(unknown.contains("size a: unknown field `row`") && unknown.contains("hint: "), "{unknown}");
        let misplaced = refused("[[size]]\nname = \"a\"\nrows = \"url:postgres://me:topsecret@h/d\"");
        assert!(misplaced.contains("size a: ") && !misplaced.contains("topsecret"), "{misplaced}");
        let twice = refused("[[size]]\nname = \"a\"\n[[size]]\nname = \"a\"");
        assert!(twice.contains("two sizes are named a\nhint: "), "{twice}");
        assert!(refused("[[size]]\nname = \"../a\"").contains("hint: its pages go into a folder"));
        assert!(refused("[[size]]\nrows = 3").contains("missing field `name`"));
        assert!(refused("[[size]]\nname = \"a\"\nrows = 3").contains("rows is 3"));
    }

    #[test]
    fn builds_times_configs() {
        let text = r#"
            builds = ["postgres:17.11", "postgres:18.6"]
            configs = ["x10a", "default"]
            candidates = ["sqlite@wal_normal"]
            [sizes]
            preset = "cached-c8"
            scale = 0.001
            clients = 2
            [schedule]
            settle = "formula"
        "#;
        let request = parse(text, "e.toml", "e", None).unwrap();
        let names: Vec<String> = request.candidates.iter().map(ToString::to_string).collect();
        assert_eq!(
            names.join(" "),
            "sqlite@wal_normal postgres:17.11@x10a postgres:17.11@default postgres:18.6@x10a postgres:18.6@default"
        );
        let sizes = request.workload.cell_sizes(0);
        assert_eq!(["clients", "rows", "seconds"].map(|name| sizes[name].as_u64()), [2, 30_000, 2].map(Some));
        assert_eq!((request.settle, request.name.as_str()), (Settle::Formula, "e"));
    }

    #[test]
    fn defect_24_how_long_settling_may_take() {
        let read = |schedule: &str| {
            let text = format!("candidates = [\"sqlite\"]\n[schedule]\n{schedule}");
            parse(&text, "e.toml", "e", None).map(|request| (request.settle, request.settle_limit))
        };
        assert_eq!(read("").unwrap(), (Settle::Condition, None));
        let purged = read("settle = \"purged\"\nsettle_limit = \"none\"").unwrap();
        assert_eq!(purged, (Settle::Purged, Some(basecase_server::SettleLimit::Endless)));
        let time = Some(basecase_server::SettleLimit::Time(std::time::Duration::from_secs(5400)));
        assert_eq!(read("settle_limit = \"90m\"").unwrap(), (Settle::Condition, time));
        assert!(read("settle_limit = \"soon\"").unwrap_err().to_string().contains("or none"));
        assert!(
            read("settle = \"off\"\nsettle_limit = \"90m\"")
                .unwrap_err()
                .to_string()
                .contains("leave out the limit")
        );
    }

    #[test]
    fn refusals_name_file_and_place() {
        let refuse = |text: &str| parse(text, "e.toml", "e", None).unwrap_err().to_string();
        let syntax = refuse("candidates = [\n  \"sqlite\"\nsizes = 3");
        assert!(syntax.contains("e.toml") && syntax.contains("line 3, column"), "{syntax}");
        let unknown = refuse("candidate = [\"sqlite\"]");
        assert!(
            unknown.contains("unknown field `candidate`") && unknown.contains("`candidates`"),
            "{unknown}"
        );
        let empty = refuse("name = \"x\"");
        assert!(empty.contains("names no candidate") && empty.contains("hint:"), "{empty}");
        let preset = refuse("candidates = [\"sqlite\"]\n[sizes]\npreset = \"cachd\"");
        assert!(preset.contains("cached-c8"), "{preset}");
        let workload = refuse("workload = \"tpcc\"\ncandidates = [\"sqlite\"]");
        assert!(workload.contains("insert-benchmark"), "{workload}");
        let options = refuse("candidates = [\"sqlite\"]\n[options]\ntables = 3");
        assert!(options.contains("[sizes]"), "{options}");
        let range = refuse("workload = \"microbenchmarks\"\ncandidates = [\"sqlite\"]\n[options]\nrow = 3");
        assert!(range.contains("e.toml") && range.contains("unknown option `row`"), "{range}");
    }

    #[test]
    fn a_size_may_have_candidates_of_its_own_and_configs_beside_the_file() {
        let candidates = |text: &str| {
            let variants = super::parse(text, "studies/e.toml", "e", None, None).unwrap();
            let named = |one: Variant| one.request.candidates.iter().map(ToString::to_string).collect();
            variants.into_iter().map(named).collect::<Vec<Vec<String>>>()
        };
        let text = r#"
            missing = "leave-out"
            builds = ["postgres:18.6"]
            configs = ["x10b", "./e/own.conf"]
            [[size]]
            name = "all"
            [[size]]
            name = "fewer"
            configs = ["x10b"]
            [[size]]
            name = "others"
            candidates = ["sqlite", "sqlite@./own.conf"]
        "#;
        assert_eq!(
            candidates(text),
            [
                vec!["postgres:18.6@x10b", "postgres:18.6@studies/./e/own.conf"],
                vec!["postgres:18.6@x10b"],
                vec!["sqlite", "sqlite@studies/./own.conf"],
            ]
        );
        let wrong = super::parse("missing = \"skip\"\ncandidates = [\"sqlite\"]", "e.toml", "e", None, None);
        assert!(
            wrong
                .unwrap_err()
                .to_string()
                .contains("unknown variant `skip`, expected `refuse` or `leave-out`")
        );
    }

    #[test]
    fn rounds_by_any_of_their_keys() {
        let protocol = |schedule: &str| {
            let text = format!("candidates = [\"sqlite@wal_normal\", \"sqlite\"]\n[schedule]\n{schedule}\n");
            parse(&text, "e.toml", "e", None)
                .map(|request| request.protocol)
                .map_err(|error| error.to_string())
        };
        let rounds = |rounds: Rounds| Ok(Protocol::Rounds(rounds));
        assert_eq!(protocol(""), Ok(Protocol::Classic));
        assert_eq!(protocol("protocol = \"classic\""), Ok(Protocol::Classic));
        assert_eq!(protocol("protocol = \"rounds\""), rounds(Rounds::default()));
        assert_eq!(protocol("detect = \"3%\""), rounds(Rounds { detect: Some(0.03), ..Rounds::default() }));
        assert_eq!(protocol("rounds = 10"), rounds(Rounds { most: Some(10), ..Rounds::default() }));
        let slice = Some(std::time::Duration::from_millis(30));
        assert_eq!(protocol("slice = \"30ms\""), rounds(Rounds { slice, ..Rounds::default() }));
        let refusals = [
            ("detect = \"3\"", "schedule.detect is \"3\"\nhint: write a change such as 3%"),
            ("slice = \"soon\"", "schedule.slice is \"soon\"\nhint: write a time such as"),
            ("rounds = 3", "schedule.rounds is 3, and nothing can be decided in fewer than 5\nhint: "),
            ("protocol = \"classic\"\nrounds = 10", "schedule.protocol is \"classic\""),
            ("protocol = \"twice\"", "unknown variant `twice`"),
        ];
        let alone =
            parse("candidates = [\"sqlite\"]\n[schedule]\nrounds = 10", "e.toml", "e", None).unwrap_err();
        assert!(alone.to_string().starts_with("experiment file e.toml: rounds compare"), "{alone}");
        for (schedule, words) in refusals {
            let refusal = protocol(schedule).unwrap_err();
            assert!(refusal.contains("e.toml") && refusal.contains(words), "{refusal}");
        }
    }

    #[test]
    fn a_sweep_of_a_workload_file() {
        let text = r#"
            workload = "oltp_read_write"
            candidates = ["sqlite"]
            [options]
            threads = [8, 16]
            skip_trx = true
            table-size = 1000
            [settings]
            max_connections = 100
            [schedule]
            seed = 7
        "#;
        let request = parse(text, "e.toml", "e", None).unwrap();
        assert_eq!(request.extra_settings, [("max_connections".to_owned(), "100".to_owned())]);
        let facts = request.workload.facts();
        for fact in [("threads", "8,16"), ("skip_trx", "on"), ("table_size", "1000"), ("seed", "7")] {
            let fact = (fact.0.to_owned(), fact.1.to_owned());
            assert!(facts.contains(&fact), "{fact:?} {facts:?}");
        }
        let labels: Vec<String> =
            request.workload.outlines().into_iter().map(|outline| outline.facts.label).collect();
        assert_eq!(labels, ["load", "oltp_read_write.dop8", "oltp_read_write.dop16"]);
    }

    #[test]
    fn a_study_runs_small() {
        let rows = |text: &str, scale: &str| {
            let scale = scale.parse().unwrap();
            parse(text, "e.toml", "e", Some(scale)).unwrap().workload.loaded_rows()
        };
        let preset = "candidates = [\"sqlite\"]\n[sizes]\npreset = \"cached-c8\"\nscale = 0.1";
        assert_eq!(rows(preset, "0.01"), 30_000, "on top of the file's own");
        assert_eq!(rows("candidates = [\"sqlite\"]\n[sizes]\nrows = 2_000_000", "0.01"), 20_000);
        let file =
            "workload = \"microbenchmarks\"\ncandidates = [\"sqlite\"]\n[options]\nrows = 40_000\ntables = 2";
        assert_eq!(rows(file, "0.5"), 40_000);
    }

    #[test]
    fn limits_on_memory_of_all_of_one_and_as_published() {
        let limits = |text: &str, scale: Option<&str>, asked: Option<&str>| {
            let scale = scale.map(|scale| scale.parse().unwrap());
            let asked = asked.map(|asked| asked.parse().unwrap());
            let variants =
                super::parse(text, "e.toml", "e", scale, asked).map_err(|error| error.to_string())?;
            let Request { candidates, .. } = &variants[0].request;
            let limit = |spec| variants[0].request.memory_of(spec).map(|limit| limit.to_string());
            Ok::<_, String>(candidates.iter().map(limit).collect::<Vec<_>>())
        };
        let told = |mib: u64| Some(format!("{mib} MiB"));
        let mixed = "memory = \"400M\"\ncandidates = [\"postgres:18.6\", { name = \"postgres:17.11\", memory = \"1G\" }]";
        assert_eq!(limits(mixed, None, None).unwrap(), [told(400), told(1024)]);
        assert_eq!(limits(mixed, None, Some("300M")).unwrap(), [told(300), told(1024)]);
        let published = "candidates = [\"postgres:18.6\"]\n[[size]]\nname = \"io\"\npreset = \"io-c8\"\nscale = 0.1\npublished_memory = \"32G\"\nmemory = \"auto\"\n";
        assert_eq!(limits(published, None, None).unwrap(), [told(3276)]);
        assert_eq!(limits(published, Some("0.1"), None).unwrap(), [told(327)]);
        let file = "workload = \"microbenchmarks\"\npublished_memory = \"16G\"\ncandidates = [\"mysql:8.0.33\"]\n[options]\nrows = 10_000_000";
        assert_eq!(limits(file, Some("0.01"), Some("auto")).unwrap(), [told(163)]);
        assert_eq!(limits(file, Some("0.01"), None).unwrap(), [None]);
        let refused = |text: &str, asked| limits(text, None, asked).unwrap_err();
        let unknown = refused("candidates = [\"postgres:18.6\"]", Some("auto"));
        assert!(unknown.contains("e.toml") && unknown.contains("\nhint: add published_memory"), "{unknown}");
        let wrong = refused("memory = \"much\"\ncandidates = [\"sqlite\"]", None);
        assert!(wrong.contains("write one in MiB or GiB, such as 400M"), "{wrong}");
        let entry = refused("candidates = [{ memory = \"400M\" }]", None);
        assert!(entry.contains("line 1, column 15") && entry.contains("missing field `name`"), "{entry}");
    }

    #[test]
    fn a_published_size_that_is_io_bound_is_known_as_one() {
        let meant = |sizes: &str| {
            let text = format!("candidates = [\"sqlite\"]\n[sizes]\n{sizes}\nscale = 0.001");
            parse(&text, "e.toml", "e", None).unwrap().meant_io_bound
        };
        assert!(meant("preset = \"io-c8\"") && meant("preset = \"less-io-c48\""));
        assert!(!meant("preset = \"cached-c8\"") && !meant("rows = 20_000_000"));
    }
}
