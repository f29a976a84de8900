//! The kernel's perf events: whether they may be used, and on which processors they are opened.

use std::fs;
use std::io;

use nix::errno::Errno;
use thiserror::Error;

use crate::processor_set::ProcessorSet;

/// Why the kernel's perf events cannot be used.
#[derive(Debug, Error)]
pub enum PerfError {
    /// The kernel lacks the system call.
    #[error(
        "the kernel has no perf events\n\
         hint: it was built without CONFIG_PERF_EVENTS, or a sandbox hides them: run on another kernel, or do without them"
    )]
    Missing,
    /// The kernel's setting forbids this to the user.
    #[error(
        "the kernel does not let this user {purpose}: kernel.perf_event_paranoid is {setting}\n\
         hint: run as root, or `sysctl kernel.perf_event_paranoid={enough}`, or give the program CAP_PERFMON"
    )]
    Setting {
        /// What was requested.
        purpose: &'static str,
        /// The setting's value.
        setting: i32,
        /// The greatest value that allows it.
        enough: i32,
    },
    /// Something else forbids the call, although the setting allows it.
    #[error(
        "perf_event_open is forbidden here, though kernel.perf_event_paranoid is {setting}\n\
         hint: in a container, allow the call: a seccomp profile that has it, and `--cap-add PERFMON`"
    )]
    Sandbox {
        /// The setting's value, or a note that it cannot be read.
        setting: String,
    },
    /// More samples per second were requested than the kernel takes.
    #[error(
        "the kernel takes at most {most} samples per second, but {asked} were requested\n\
         hint: request fewer, or `sysctl kernel.perf_event_max_sample_rate={asked}`"
    )]
    Rate {
        /// What was requested.
        asked: u32,
        /// The value of `kernel.perf_event_max_sample_rate`.
        most: u32,
    },
    /// The kernel does not know the event.
    #[error("the kernel cannot count {event}\nhint: a newer kernel may be able to; do without it here")]
    Event {
        /// The name of the event, as `perf list` has it.
        event: &'static str,
    },
    /// The event is there, and its counter does not move.
    #[error(
        "the counter of {event} stays at 0\nhint: a virtual machine may show counters that do not count; its host decides that"
    )]
    Silent {
        /// The name of the event.
        event: &'static str,
    },
    /// The processor counted the event for a part of the time.
    #[error(
        "{event} were counted for {per_cent:.1} % of the time only\n\
         hint: end what else uses the processor's counters, such as perf or the watchdog (`sysctl kernel.nmi_watchdog=0`); on a processor \
         with cores of two kinds, keep to one of them: `taskset -c LIST basecase …`"
    )]
    Shared {
        /// The name of the event.
        event: &'static str,
        /// The part of the time.
        per_cent: f64,
    },
    /// There is no memory for the kernel's buffers.
    #[error(
        "no memory for the buffers of perf events: {0}\n\
         hint: run as root, or raise kernel.perf_event_mlock_kb"
    )]
    Buffer(io::Error),
    /// There is no process with that id.
    #[error("there is no process {0}\nhint: observe a running server")]
    Process(u32),
    /// The operating system refused for another reason.
    #[error(
        "cannot open the perf event {event}: {source}\nhint: see perf_event_open(2) for what that error means"
    )]
    Other {
        /// The name of the event.
        event: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The thread that reads samples could not be started, or ended early.
    #[error(
        "the thread that reads samples failed: {0}\nhint: this is a bug in basecase; please report it, with the dbms and the step"
    )]
    Reader(String),
}

/// What was attempted when the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The name of the event.
    pub(crate) event: &'static str,
    /// What it was for, after "does not let this user".
    pub(crate) purpose: &'static str,
    /// The greatest value of `kernel.perf_event_paranoid` that allows it.
    pub(crate) enough: i32,
}

impl Attempt {
    /// Why it was refused.
    pub(crate) fn refused(self, error: io::Error) -> PerfError {
        refusal(self, error, paranoid(), nix::unistd::geteuid().is_root())
    }
}

/// Why it was refused, judged by the error, the value of `kernel.perf_event_paranoid`, and whether that applies to this
/// user.
fn refusal(attempt: Attempt, error: io::Error, setting: Option<i32>, is_root: bool) -> PerfError {
    let Attempt { event, purpose, enough } = attempt;
    match (error.raw_os_error().map(Errno::from_raw), setting) {
        (Some(Errno::ENOSYS), _) => PerfError::Missing,
        (Some(Errno::EACCES | Errno::EPERM), Some(setting)) if setting > enough && !is_root => {
            PerfError::Setting { purpose, setting, enough }
        }
        (Some(Errno::EACCES | Errno::EPERM), setting) => {
            PerfError::Sandbox { setting: setting.map_or("unknown".to_owned(), |value| value.to_string()) }
        }
        (Some(Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENODEV), _) => PerfError::Event { event },
        _ => PerfError::Other { event, source: error },
    }
}

/// The value of `kernel.perf_event_paranoid`.
fn paranoid() -> Option<i32> {
    setting("perf_event_paranoid")
}

/// The most samples per second that the kernel takes of an event. The kernel lowers this by itself when samples take long.
pub(crate) fn most_samples_per_second() -> Option<u32> {
    setting("perf_event_max_sample_rate")
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

/// The processors that are online.
pub(crate) fn online_processors() -> Vec<usize> {
    let listed = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let set = listed.and_then(|text| text.trim().parse::<ProcessorSet>().ok());
    set.or_else(|| ProcessorSet::allowed().ok()).map(|set| set.numbers().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTEMPT: Attempt = Attempt { event: "cycles", purpose: "profile the whole host", enough: 0 };

    fn message(errno: Errno, setting: Option<i32>) -> String {
        refusal(ATTEMPT, errno.into(), setting, false).to_string()
    }

    #[test]
    fn refusals_are_told_apart() {
        assert!(message(Errno::ENOSYS, None).contains("no perf events"));
        assert!(message(Errno::EPERM, Some(0)).contains("container"));
        assert!(message(Errno::EACCES, None).contains("unknown"));
        assert!(message(Errno::ENOENT, Some(2)).contains("cannot count cycles"));
        assert!(message(Errno::EMFILE, Some(2)).contains("perf_event_open(2)"));
        for errno in [Errno::ENOSYS, Errno::EPERM, Errno::ENOENT, Errno::EINVAL] {
            assert!(message(errno, Some(4)).contains("\nhint: "));
        }
    }

    #[test]
    fn the_setting_is_named_with_its_value_and_the_command() {
        assert_eq!(
            message(Errno::EACCES, Some(2)),
            "the kernel does not let this user profile the whole host: kernel.perf_event_paranoid is 2\n\
             hint: run as root, or `sysctl kernel.perf_event_paranoid=0`, or give the program CAP_PERFMON"
        );
    }

    #[test]
    fn the_setting_does_not_bind_root() {
        let error = refusal(ATTEMPT, Errno::EACCES.into(), Some(4), true);
        assert!(matches!(error, PerfError::Sandbox { .. }), "{error}");
    }

    #[test]
    fn this_host_has_processors() {
        assert!(!online_processors().is_empty());
    }
}
