//! Levels of the whole host: memory, frequency, temperature.

use std::fs;
use std::path::PathBuf;

use basecase_model::{Measures, names};

use crate::memory;

/// The current levels. What this host does not report is absent: virtual machines have neither frequency nor temperature.
pub(crate) fn read() -> Measures {
    let mut measures = Measures::new();
    let mut set = |name, value: Option<f64>| {
        if let Some(value) = value {
            measures.set(name, value);
        }
    };
    set(names::HOST_MEMORY_AVAILABLE_BYTES, memory::available_bytes().map(|bytes| bytes as f64));
    set(names::HOST_DIRTY_BYTES, memory::host_dirty_bytes().map(|bytes| bytes as f64));
    let kilohertz = numbers("/sys/devices/system/cpu", "cpu", "cpufreq/scaling_cur_freq");
    let mean = kilohertz.iter().sum::<f64>() / kilohertz.len() as f64;
    set(names::HOST_CPU_MHZ, Some(mean / 1e3).filter(|mean| mean.is_finite()));
    let millidegrees = numbers("/sys/class/thermal", "thermal_zone", "temp");
    set(names::HOST_TEMPERATURE_C, millidegrees.into_iter().reduce(f64::max).map(|highest| highest / 1e3));
    measures
}

/// The numbers in the files `FOLDER/PREFIX*/FILE`.
fn numbers(folder: &str, prefix: &str, file: &str) -> Vec<f64> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_one =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    let number = |path: PathBuf| fs::read_to_string(path.join(file)).ok()?.trim().parse().ok();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_one).filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_side_by_side() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("zone0", "41000\n"), ("zone1", "n/a"), ("zone2", "39500"), ("other", "7")] {
            fs::create_dir(directory.path().join(name)).unwrap();
            fs::write(directory.path().join(name).join("temp"), text).unwrap();
        }
        let mut found = numbers(directory.path().to_str().unwrap(), "zone", "temp");
        found.sort_by(f64::total_cmp);
        assert_eq!(found, [39_500.0, 41_000.0]);
        assert!(numbers("/nowhere", "zone", "temp").is_empty());
    }

    #[test]
    fn reads_this_host() {
        assert!(read().get(names::HOST_MEMORY_AVAILABLE_BYTES).unwrap() > 0.0);
    }
}
