//! Compares the counters with those of procps over the same time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use basecase_model::{Measures, names};
use basecase_probe::{Target, Watch, device_under};

/// The difference allowed between two readings, which are some milliseconds apart at both ends.
const TOLERANCE: f64 = 0.01;
const WINDOW: Duration = Duration::from_secs(3);

/// The counts since boot from `vmstat -s` and `vmstat -d`; `None` if it is not installed.
fn vmstat(device: Option<&str>) -> Option<Measures> {
    let output = Command::new("vmstat").arg("-s").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).unwrap();
    let number = |ending: &str| -> Option<f64> {
        text.lines().find_map(|line| line.trim().strip_suffix(ending)?.trim().parse().ok())
    };
    let mut measures = Measures::new();
    // A tick is 10 ms, as this program assumes too.
    let ticks = |endings: &[&str]| endings.iter().map(|ending| number(ending)).sum::<Option<f64>>();
    let user = ticks(&[" non-nice user cpu ticks", " nice user cpu ticks"]);
    let system = ticks(&[" system cpu ticks", " IRQ cpu ticks", " softirq cpu ticks"]);
    for (name, value) in [
        (names::HOST_CPU_USER_US, user.map(|ticks| ticks * 1e4)),
        (names::HOST_CPU_SYSTEM_US, system.map(|ticks| ticks * 1e4)),
        (names::HOST_CPU_IDLE_US, ticks(&[" idle cpu ticks"]).map(|ticks| ticks * 1e4)),
        (names::HOST_CONTEXT_SWITCHES, number(" CPU context switches")),
        (names::HOST_INTERRUPTS, number(" interrupts")),
    ] {
        measures.set(name, value?);
    }
    if let Some(device) = device {
        let output = Command::new("vmstat").arg("-d").output().ok()?;
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(device))?;
        let fields: Vec<f64> =
            line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        // Reads: total, merged, sectors, ms. Writes: the same.
        measures.set(names::DEVICE_WRITES, *fields.get(4)?);
        measures.set(names::DEVICE_WRITTEN_BYTES, *fields.get(6)? * 512.0);
    }
    Some(measures)
}

/// Work for processors, scheduler and device.
fn work(folder: &std::path::Path) {
    let until = Instant::now() + WINDOW;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sum = 0_u64;
            while Instant::now() < until {
                sum = (0..10_000).fold(sum, |sum, number| sum.wrapping_add(black_box(number)));
            }
        });
        scope.spawn(|| {
            while Instant::now() < until {
                thread::sleep(Duration::from_micros(50));
            }
        });
        let bytes = vec![7_u8; 1 << 20];
        while Instant::now() < until {
            let path = folder.join("written");
            fs::write(&path, &bytes).unwrap();
            fs::File::open(&path).unwrap().sync_all().unwrap();
        }
    });
}

#[test]
fn the_counters_agree_with_those_of_procps() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let device = device_under(folder.path());
    if vmstat(device.as_deref()).is_none() {
        assert!(std::env::var_os("CI").is_none(), "procps is not installed");
        println!("skipped: procps is not installed (apt-get install procps)");
        return;
    }
    let watch = Watch::new(Target { device: device.clone(), server: None, group: None });
    let theirs_before = vmstat(device.as_deref()).unwrap();
    let ours_before = watch.snapshot();
    work(folder.path());
    let ours = watch.snapshot().since(&ours_before);
    let theirs = vmstat(device.as_deref()).unwrap().since(&theirs_before);
    for (name, value) in theirs.iter() {
        let own = ours.get(name).unwrap_or_else(|| panic!("{name} is absent"));
        // `vmstat` itself takes some milliseconds of CPU, and for small counts one or two more are many per cent.
        let least = match name {
            _ if name.ends_with("_us") => 6e4,
            names::DEVICE_WRITTEN_BYTES => 1e6,
            _ => 200.0,
        };
        let allowed = (value * TOLERANCE).max(least);
        assert!((own - value).abs() <= allowed, "{name}: {own} beside {value}");
    }
}
