//! CPU time from the kernel's clocks, in nanoseconds.
//!
//! The CPU clock of a process (`clock_getcpuclockid`) is preferred to `/proc/PID/task/*/schedstat`: it is the same scheduler
//! count, but takes one call instead of a file for each thread, and includes threads that have ended.

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

/// CPU time of the calling thread, in nanoseconds; `None` if the kernel has no such clock.
pub fn thread_cpu_ns() -> Option<u64> {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of the process `pid`, including ended ones but not children, in nanoseconds; `None` if there is
/// no such process.
///
/// Exact for a process that is waiting, such as a server process between two statements. For one that runs on another core,
/// the time since the kernel's last timer tick (1 to 10 ms) is missing.
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    // Process 0 would mean the caller.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    read_ns(clock_getcpuclockid(Pid::from_raw(pid)).ok()?)
}

/// CPU time of this process, in nanoseconds.
pub(crate) fn own_cpu_ns() -> Option<u64> {
    read_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn read_ns(clock: ClockId) -> Option<u64> {
    let time = clock.now().ok()?;
    let seconds = u64::try_from(time.tv_sec()).ok()?;
    let nanoseconds = u64::try_from(time.tv_nsec()).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn burn(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn work_of_a_thread_counts_for_thread_and_process() {
        let (thread, process) = (thread_cpu_ns().unwrap(), own_cpu_ns().unwrap());
        burn(Duration::from_millis(20));
        let worked = thread_cpu_ns().unwrap() - thread;
        assert!(worked > 1_000_000, "{worked}");
        assert!(own_cpu_ns().unwrap() - process >= worked);
    }

    #[test]
    fn a_process_keeps_the_time_of_ended_threads() {
        let before = process_cpu_ns(std::process::id()).unwrap();
        let worked = std::thread::spawn(|| {
            burn(Duration::from_millis(20));
            thread_cpu_ns().unwrap()
        })
        .join()
        .unwrap();
        assert!(process_cpu_ns(std::process::id()).unwrap() - before >= worked);
    }

    #[test]
    fn no_process_has_no_time() {
        assert_eq!(process_cpu_ns(0), None);
        assert_eq!(process_cpu_ns(u32::MAX), None);
        // Larger than any process id in Linux (2^22).
        assert_eq!(process_cpu_ns(1 << 23), None);
    }
}
