//! Asks MySQL or MariaDB whether it accepts a config.
//!
//! Given `--verbose --help` and an option file, every version prints the value of each setting that it would start with. So
//! an unknown setting is missing, and a silently adjusted one differs from the config. Its messages add to this; from MySQL
//! 8.0.16 on, `--validate-config` gives more of them.

use std::collections::BTreeMap;
use std::process::Output;

use basecase_model::{Dbms, Engine};

use super::option_file::{own_settings, setting as line};
use crate::check::{Answer, CheckError, Complaint, Question};
use crate::config::Setting;

/// Makes a server print the settings that it would start with.
const HELP: &[&str] = &["--verbose", "--help"];
/// The same for MariaDB: some versions crash when their table of plugins is missing.
const HELP_OF_MARIADB: &[&str] = &["--bootstrap", "--verbose", "--help"];
/// The size of InnoDB's buffer pool.
const POOL: &str = "innodb_buffer_pool_size";
/// Memory that is reserved at the start, and grows to its full size.
const MEMORY: &[&str] = &[POOL, "innodb_log_buffer_size", "key_buffer_size", "rocksdb_block_cache_size"];
/// Settings that the server lowers if it may not open as many files as they need.
const NEEDS_FILES: &[&str] = &["max_connections", "open_files_limit", "table_cache", "table_open_cache"];

/// Refuses an engine that the build lacks.
pub(super) fn check_engine(question: &Question<'_>) -> Result<(), CheckError> {
    let build = question.build;
    if question.engine != Some(Engine::Rocksdb) || build.tree().rocksdb_plugin().is_some() {
        return Ok(());
    }
    let is_compiled_in = build.facts.dbms == Dbms::Mysql
        && run(question, &[], HELP)
            .is_ok_and(|output| Known::read(&output.stdout).has_names_with("rocksdb_"));
    if is_compiled_in {
        return Ok(());
    }
    let folder = build.tree().plugins().unwrap_or_else(|| build.tree().prefix().to_path_buf());
    Err(CheckError::Engine {
        build: build.title(),
        engine: Engine::Rocksdb,
        reason: format!("there is no ha_rocksdb.so in {}", folder.display()),
        hint: "MariaDB brings RocksDB as a plugin in some builds, e.g. mariadb:10.11.18",
    })
}

/// Lets the server read the config, and returns its answer.
pub(super) fn ask(question: &Question<'_>) -> Result<Answer, String> {
    let settings = &question.config.settings;
    let help = if question.build.facts.dbms == Dbms::Mariadb { HELP_OF_MARIADB } else { HELP };
    let helped = run(question, settings, help)?;
    let mut known = Known::read(&helped.stdout);
    let mut log = String::from_utf8_lossy(&helped.stderr).into_owned();
    let build = question.build;
    if build.facts.dbms == Dbms::Mysql && build.version.is_at_least(&[8, 0, 16]) {
        let validated = run(question, settings, &["--validate-config", "--log-error-verbosity=2"])?;
        log.push_str(&String::from_utf8_lossy(&validated.stderr));
    }
    let mut complaints: Vec<Complaint> = Vec::new();
    if known.values.is_empty() {
        // One bad value makes the server end before it reports anything on the others, in some versions without a message.
        // So each setting is tried alone.
        for setting in settings {
            let alone = run(question, std::slice::from_ref(setting), help)?;
            let (of_it, log) = (Known::read(&alone.stdout), String::from_utf8_lossy(&alone.stderr));
            let refusal = || refused(setting, format!("{} = {} is refused", setting.name, setting.value));
            let found = complaint(setting, &of_it, &log);
            complaints.extend(found.or_else(|| (!alone.status.success()).then(refusal)));
            known = if of_it.names.is_empty() { known } else { of_it };
        }
    } else {
        let pool_unit = pool_unit(question, &known);
        let found = |setting| complaint(setting, &known, &log).or_else(|| rounded(setting, pool_unit));
        complaints.extend(settings.iter().filter_map(found));
    }
    if complaints.is_empty() && !helped.status.success() {
        return Err(log.trim().to_owned());
    }
    let memory = MEMORY.iter().filter_map(|name| Some((*name, known.number(name)? as u64))).collect();
    Ok(Answer { complaints, known: known.names, memory })
}

fn run(question: &Question<'_>, settings: &[Setting], arguments: &[&str]) -> Result<Output, String> {
    let ask = || {
        let [data, temporary] =
            ["data", "tmp"].map(|name| question.folder.folder(name).map_err(std::io::Error::other));
        let (data, temporary) = (data?, temporary?);
        let lines: String = settings.iter().map(|setting| line(&setting.name, &setting.value)).collect();
        let own = own_settings(question.build, question.engine, data.path(), temporary.path());
        let file = question.write("my.cnf", &format!("[mysqld]\n{lines}{own}"))?;
        question
            .command(question.build.tree().server())
            .arg(format!("--defaults-file={}", file.display()))
            .args(arguments)
            .output()
    };
    ask().map_err(|error: std::io::Error| error.to_string())
}

fn refused(setting: &Setting, text: String) -> Complaint {
    Complaint { setting: setting.name.clone(), text, advice: Some(format!("correct {}", setting.name)) }
}

/// What is wrong with a setting.
fn complaint(setting: &Setting, known: &Known, log: &str) -> Option<Complaint> {
    let Setting { name, value, .. } = setting;
    if !known.has(name) {
        let text = format!("unknown setting {name}");
        return Some(Complaint { setting: name.clone(), text, advice: None });
    }
    if let Some(text) = said_of(name, log) {
        return Some(refused(setting, text));
    }
    // 0 and -1 often mean that the server chooses a value.
    let (wanted, taken) = (number(value).filter(|number| *number > 0.0)?, known.number(name)?);
    if wanted == taken || (name == "open_files_limit" && taken > wanted) {
        return None;
    }
    let mut complaint = refused(setting, format!("{name} = {value} becomes {taken}"));
    if NEEDS_FILES.contains(&name.as_str()) && taken < wanted {
        complaint.advice = Some(format!(
            "let servers open more files (`ulimit -n`, LimitNOFILE of a service), or lower {name}"
        ));
    }
    Some(complaint)
}

/// The unit that InnoDB rounds the size of its buffer pool up to, in bytes: one chunk for each of its instances. It does so
/// silently at the start (<https://dev.mysql.com/doc/refman/8.0/en/innodb-buffer-pool-resize.html>). `None` if it does not.
fn pool_unit(question: &Question<'_>, known: &Known) -> Option<f64> {
    let build = question.build;
    let size = known.number(POOL)?;
    let chunk = known.number("innodb_buffer_pool_chunk_size").filter(|bytes| *bytes > 0.0)?;
    let wanted = known.number("innodb_buffer_pool_instances").filter(|number| *number > 0.0);
    let instances = match build.facts.dbms {
        _ if size < f64::from(1 << 30) => 1.0,
        Dbms::Mariadb if build.version.is_at_least(&[10, 5]) => 1.0,
        Dbms::Mysql if build.version.is_at_least(&[8, 4]) => {
            let usual = f64::from(question.host.cores / 4).min(size / chunk / 2.0).floor();
            wanted.unwrap_or(usual.clamp(1.0, 64.0))
        }
        _ => wanted.unwrap_or(8.0),
    };
    // A pool smaller than its chunks gets smaller chunks.
    Some(chunk * instances).filter(|unit| *unit <= size)
}

fn rounded(setting: &Setting, pool_unit: Option<f64>) -> Option<Complaint> {
    let (unit, size) = (pool_unit?, number(&setting.value).filter(|_| setting.name == POOL)?);
    let taken = (size / unit).ceil() * unit;
    if taken == size {
        return None;
    }
    let [taken, unit] = [taken, unit].map(|bytes| bytes / f64::from(1 << 20));
    let text = format!("{POOL} = {} becomes {taken}M", setting.value);
    let advice = format!(
        "choose a multiple of {unit}M, which is innodb_buffer_pool_chunk_size times innodb_buffer_pool_instances"
    );
    Some(Complaint { setting: setting.name.clone(), text, advice: Some(advice) })
}

/// The log's complaint about the setting `name`.
fn said_of(name: &str, log: &str) -> Option<String> {
    log.lines().find_map(|line| {
        let (level, text) =
            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).unwrap_or(("", line));
        let is_against = match level.to_lowercase().as_str() {
            "warning" => ["adjusted to", "invalid value", "recognized", "Unknown suffix"]
                .iter()
                .any(|words| text.contains(words)),
            "error" | "" => true,
            _ => false,
        };
        // Names are quoted, as in `'innodb-flush-method'`, `'--log-bin'` or `'x=y'`.
        let mut quoted = text.split('\'').skip(1).step_by(2);
        let names_it = quoted.any(|part| {
            let part = part.trim_start_matches('-').split('=').next().unwrap_or_default();
            part.replace('-', "_").to_lowercase() == name
        });
        (is_against && names_it).then(|| plain(text))
    })
}

/// A line of the log without the codes and the program's path before the message.
fn plain(text: &str) -> String {
    let mut text = text.trim();
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        text = rest.trim_start();
    }
    for prefix in ["Buffered warning: ", "Buffered error: "] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    let after_path = text.split_once(": ").filter(|(path, _)| path.starts_with('/') && !path.contains(' '));
    after_path.map_or(text, |(_, rest)| rest).trim_end_matches('.').to_owned()
}

/// The settings that a build knows.
#[derive(Debug, Default)]
struct Known {
    /// All names, with `_`.
    names: Vec<String>,
    /// The values that the server would start with.
    values: BTreeMap<String, String>,
}

impl Known {
    /// Reads the output of `--verbose --help`: descriptions of options, then a table of names and values.
    fn read(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut known = Known::default();
        let mut is_table = false;
        for line in text.lines() {
            if line.starts_with("-----") {
                is_table = true;
            } else if is_table && line.is_empty() {
                break;
            } else if is_table {
                let (name, value) = line.split_once(' ').unwrap_or((line, ""));
                known.values.insert(name.replace('-', "_"), value.trim().to_owned());
            } else if line.starts_with("  -")
                && let Some((_, rest)) = line.split_once("--")
            {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
                known.names.push(rest[..end.unwrap_or(rest.len())].replace('-', "_"));
            }
        }
        known.names.extend(known.values.keys().cloned());
        known.names.sort();
        known.names.dedup();
        known
    }

    /// Whether a config may have the setting `name`, which may switch another on or off. The prefix `loose_` is not allowed,
    /// because it hides unknown settings. A server that has printed nothing counts as knowing every name.
    fn has(&self, name: &str) -> bool {
        let is_known = |name: &str| self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
        let switched = ["skip_", "disable_", "enable_"].iter().find_map(|prefix| name.strip_prefix(prefix));
        self.names.is_empty() || is_known(name) || switched.is_some_and(is_known)
    }

    fn has_names_with(&self, start: &str) -> bool {
        self.names.iter().any(|name| name.starts_with(start))
    }

    /// The value that the server would start with, as a number.
    fn number(&self, name: &str) -> Option<f64> {
        number(self.values.get(name)?)
    }
}

/// A number as MySQL and MariaDB read it, with or without a suffix for a power of 1024.
fn number(text: &str) -> Option<f64> {
    let factor = match text.chars().last()?.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        'P' => 50,
        'E' => 60,
        _ => 0,
    };
    let digits = if factor == 0 { text } else { &text[..text.len() - 1] };
    // Parsing as `f64` would accept words such as `inf` and `nan`.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
    let number = digits.parse::<f64>().ok().filter(|_| is_number)?;
    Some(number * f64::from(factor).exp2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRINTED: &str = "mysqld  Ver 5.7.22 for linux\n\nUsage: mysqld [OPTIONS]\n\n\
        The following options may be given as the first argument:\n\
        --print-defaults        Print the program argument list and exit.\n\
        \x20 -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax.\n\
        \x20 --innodb-buffer-pool-size=# \n                      The size.\n\
        \x20 --log-bin[=name]    Log\n\n\
        Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value (after reading options)\n\
        ---------------------------------- ------------------------------\n\
        innodb-buffer-pool-size            5242880\n\
        innodb-doublewrite                 TRUE\n\
        innodb-max-dirty-pages-pct         90.000000\n\
        log-bin                            (No default value)\n\
        max-connections                    19190\n\
        sql-mode                           \n\
        table-open-cache                   400\n\n\
        To see what values a running MySQL server is using\n";

    fn judge(name: &str, value: &str, log: &str) -> Option<String> {
        let setting = Setting { name: name.into(), value: value.into(), place: "c.conf:1".into() };
        complaint(&setting, &Known::read(PRINTED.as_bytes()), log).map(|complaint| complaint.text)
    }

    #[test]
    fn what_is_not_in_the_help_is_unknown() {
        assert_eq!(
            judge("innodb_buffer_pol_size", "1G", "").as_deref(),
            Some("unknown setting innodb_buffer_pol_size")
        );
        assert_eq!(judge("loose_log_bin", "x", "").as_deref(), Some("unknown setting loose_log_bin"));
        for (name, value) in [("log_bin", "x"), ("skip_log_bin", "1"), ("ansi", "1"), ("sql_mode", "ANSI")] {
            assert_eq!(judge(name, value, ""), None, "{name}");
        }
    }

    #[test]
    fn values_that_the_server_would_change_are_named() {
        assert_eq!(
            judge("innodb_buffer_pool_size", "1024", "").as_deref(),
            Some("innodb_buffer_pool_size = 1024 becomes 5242880")
        );
        for (name, value) in [
            ("innodb_buffer_pool_size", "5M"),
            ("innodb_max_dirty_pages_pct", "90"),
            ("innodb_doublewrite", "1"),
            ("table_open_cache", "-1"),
        ] {
            assert_eq!(judge(name, value, ""), None, "{name}");
        }
        let setting =
            Setting { name: "table_open_cache".into(), value: "8000".into(), place: "--set".into() };
        let advice = complaint(&setting, &Known::read(PRINTED.as_bytes()), "").unwrap().advice.unwrap();
        assert!(advice.contains("ulimit -n"), "{advice}");
    }

    #[test]
    fn a_pool_that_is_no_multiple_of_its_chunks_is_refused() {
        let pool = |value: &str| Setting { name: POOL.into(), value: value.into(), place: "--set".into() };
        let gib = Some(f64::from(1 << 30));
        let complaint = rounded(&pool("1300M"), gib).unwrap();
        assert_eq!(complaint.text, "innodb_buffer_pool_size = 1300M becomes 2048M");
        assert!(complaint.advice.unwrap().contains("a multiple of 1024M"));
        assert_eq!(rounded(&pool("2G"), gib), None);
        assert_eq!(rounded(&pool("1300M"), None), None);
    }

    #[test]
    fn what_the_log_says_against_a_setting_is_passed_on() {
        for (log, expected) in [
            (
                "2026-11-21T17:49:07.74Z 0 [ERROR] [MY-011071] [Server] /t/bin/mysqld: Error while setting value 'x' to 'log-bin'.",
                Some("Error while setting value 'x' to 'log-bin'"),
            ),
            (
                "2026-11-21 17:50:18 0 [Warning] /t/sbin/mariadbd: ignoring option '--log-bin' due to invalid value 'x'",
                Some("ignoring option '--log-bin' due to invalid value 'x'"),
            ),
            (
                "261121 17:49:06 [Warning] option 'log-bin': unsigned value 7 adjusted to 2",
                Some("option 'log-bin': unsigned value 7 adjusted to 2"),
            ),
            (
                "Unknown suffix 'a' used for variable 'log_bin' (value 'x')",
                Some("Unknown suffix 'a' used for variable 'log_bin' (value 'x')"),
            ),
            ("2026 0 [Warning] 'log_bin' is deprecated and will be removed in a future release.", None),
            ("2026 0 [ERROR] unknown variable 'log_bin2=x'", None),
            ("2026 0 [Note] Plugin 'log_bin' is disabled.", None),
        ] {
            assert_eq!(judge("log_bin", "x", log).as_deref(), expected, "{log}");
        }
    }

    #[test]
    fn numbers_have_suffixes() {
        assert_eq!(number("16k"), Some(16384.0));
        assert_eq!(number("1G"), Some(f64::from(1 << 30)));
        assert_eq!(number("-1"), Some(-1.0));
        for text in ["", "ON", "inf", "1MB", "K", "O_DIRECT"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_help_and_any_log_are_read(help in "(?s).{0,200}", log in "(?s).{0,200}", value in ".{0,12}") {
            let known = Known::read(help.as_bytes());
            let setting = Setting { name: "a".into(), value, place: "--set".into() };
            let _ = complaint(&setting, &known, &log);
        }
    }
}
