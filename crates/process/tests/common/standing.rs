//! Whether a process is suspended.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Whether a process is suspended. Waits a while for that to be as `wanted`.
pub(crate) fn is_stopped(pid: u32, wanted: bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let is_stopped = stat.rsplit_once(')').unwrap().1.trim_start().starts_with('T');
        if is_stopped == wanted || Instant::now() > until {
            return is_stopped;
        }
        sleep(Duration::from_millis(1));
    }
}
