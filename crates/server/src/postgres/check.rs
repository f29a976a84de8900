//! Asks Postgres whether it accepts a config.

use crate::check::{Answer, Complaint, Question};
use crate::config::Config;

/// Lets `postgres -C` read the config, and returns its answer.
pub(super) fn ask(question: &Question<'_>) -> Result<Answer, String> {
    let memory = memory(question.config);
    question.write("postgresql.conf", &question.config.to_text()).map_err(|error| error.to_string())?;
    let output = question
        .command("postgres")
        .args(["-C", "data_directory", "-D"])
        .arg(question.folder.path())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(Answer { memory, ..Answer::default() });
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let complaints = complaints(&text, question.config);
    if complaints.is_empty() {
        return Err(text.trim().to_owned());
    }
    Ok(Answer { complaints, known: known_settings(question), memory })
}

/// The refused settings in the server's log, in log order.
fn complaints(log: &str, config: &Config) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = Vec::new();
    for line in log.lines() {
        if let Some((_, advice)) = line.split_once("HINT:  ") {
            if let Some(last) = found.last_mut() {
                last.advice = Some(advise(advice, config.value(&last.setting)));
            }
        } else if let Some((_, text)) =
            ["LOG:  ", "FATAL:  ", "ERROR:  "].iter().find_map(|level| line.split_once(level))
            && let Some((_, rest)) = text.split_once("parameter \"")
            && let Some((setting, _)) = rest.split_once('"')
        {
            let text = text.split(" in file \"").next().unwrap_or(text).trim().to_owned();
            let is_unknown = text.starts_with("unrecognized");
            let advice = (!is_unknown).then(|| format!("correct {setting}"));
            found.push(Complaint { setting: setting.to_owned(), text, advice });
        }
    }
    found
}

fn advise(advice: &str, value: Option<&str>) -> String {
    let advice = advice.trim().trim_end_matches('.').replacen("Available", "available", 1);
    if value == Some("io_uring") {
        return format!(
            "this build was compiled without liburing; use Debian's (postgres:VERSION:debian) or another (path:DIR); {advice}"
        );
    }
    advice
}

/// The names of the settings that the build knows; none if it does not tell.
fn known_settings(question: &Question<'_>) -> Vec<String> {
    let output = question.command("postgres").arg("--describe-config").output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

/// The memory that the server reserves, plus that of one maintenance command. Memory of queries does not count, because they
/// allocate it as needed.
fn memory(config: &Config) -> Vec<(&'static str, u64)> {
    [("shared_buffers", 8192), ("wal_buffers", 8192), ("maintenance_work_mem", 1024)]
        .into_iter()
        .map(|(name, unit)| (name, config.value(name).and_then(|value| bytes(value, unit)).unwrap_or(0)))
        .collect()
}

/// A size as Postgres writes it, in bytes. `unit` is the unit of a bare number.
fn bytes(text: &str, unit: u64) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix.trim() {
        "" => unit,
        "B" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFile;
    use crate::config::Host;
    use basecase_model::Dbms;

    const HOST: Host = Host { cores: 2, memory_bytes: 4 << 30, is_limited: false };

    #[test]
    fn defect_30_a_build_with_io_uring_is_named() {
        let advice = advise("Available values: sync, worker.", Some("io_uring"));
        assert!(advice.contains("postgres:VERSION:debian") && advice.ends_with("sync, worker"), "{advice}");
    }

    #[test]
    fn complaints_are_read_from_the_log() {
        let log = "2026-11-21 GMT [1] LOG:  skipping missing configuration file \"/t/postgresql.auto.conf\"\n\
            2026-11-21 GMT [1] LOG:  unrecognized configuration parameter \"io_method\" in file \"/t/p.conf\" line 1\n\
            2026-11-21 GMT [1] LOG:  1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)\n\
            2026-11-21 GMT [1] LOG:  invalid value for parameter \"wal_compression\": \"3\"\n\
            2026-11-21 GMT [1] HINT:  Available values: pglz, on, off.\n\
            2026-11-21 GMT [1] FATAL:  configuration file \"/t/p.conf\" contains errors\n";
        let config = ConfigFile::parse(Dbms::Postgres, "c", "c.conf", "", HOST)
            .unwrap()
            .for_version(&"17.11".parse().unwrap());
        let found = complaints(log, &config);
        let names: Vec<&str> = found.iter().map(|complaint| complaint.setting.as_str()).collect();
        assert_eq!(names, ["io_method", "work_mem", "wal_compression"]);
        assert_eq!(found[0].advice, None);
        assert_eq!(found[0].text, "unrecognized configuration parameter \"io_method\"");
        assert_eq!(found[2].advice.as_deref(), Some("available values: pglz, on, off"));
    }

    #[test]
    fn sizes_in_all_units() {
        assert_eq!(bytes("128MB", 8192), Some(128 << 20));
        assert_eq!(bytes("16384", 8192), Some(128 << 20));
        assert_eq!(bytes("-1", 8192), None);
        assert_eq!(bytes("1 GB", 8192), Some(1 << 30));
    }

    #[test]
    fn memory_adds_what_is_reserved() {
        let text = "shared_buffers = 3GB\nwal_buffers = -1\nmaintenance_work_mem = 1024";
        let config = ConfigFile::parse(Dbms::Postgres, "c", "c.conf", text, HOST)
            .unwrap()
            .for_version(&"17.11".parse().unwrap());
        let total: u64 = memory(&config).iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(total, (3 << 30) + (1 << 20));
    }
}
