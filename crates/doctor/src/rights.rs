//! What the kernel lets this user do. Each is tried.

use basecase_model::ProfileKind;
use basecase_probe::{
    CounterEvent, InstructionCounter, PerfError, Profiler, device_number, io_uring_refusal, raise_open_files,
};
use basecase_process::ControlGroups;

use crate::finding::Finding;
use crate::host::Host;

/// With fewer files there is room for some hundred sessions only, which take two each.
const FEW_FILES: u64 = 1024;

/// The processor's counter of instructions.
pub(crate) fn counter() -> Finding {
    of_counter(InstructionCounter::try_event(CounterEvent::Instructions))
}

fn of_counter(tried: Result<(), PerfError>) -> Finding {
    let name = "perf counter";
    match tried {
        Ok(()) => Finding::fine(name, "the processor counts instructions at full speed"),
        Err(PerfError::Event { .. }) => Finding::limits(
            name,
            "the processor shows no counter of instructions, as in most virtual machines",
            "count with valgrind, which needs none",
        ),
        Err(error) => Finding::refused(name, &error.to_string()),
    }
}

/// Stacks of servers.
pub(crate) fn profiles() -> Finding {
    let kinds = [ProfileKind::Cpu];
    let tried = Profiler::start(std::process::id(), &kinds, Profiler::USUAL_FREQUENCY_HZ);
    match tried.and_then(Profiler::finish) {
        Ok(_) => Finding::fine("profiles", "--profile may sample the stacks of servers"),
        Err(error) => Finding::refused("profiles", &error.to_string()),
    }
}

/// Limits on the memory of servers.
pub(crate) fn control_groups(host: &Host) -> Finding {
    let device = host.device.as_deref().and_then(device_number);
    // Under this user's own account, for that of servers would be made.
    match ControlGroups::find(None, device.as_deref()) {
        Ok(_) => Finding::fine("control groups", "--memory may limit the memory of servers"),
        Err(error) => Finding::refused("control groups", &error.to_string()),
    }
}

/// The kernel's queue of input and output that Postgres 18 can use.
pub(crate) fn io_uring() -> Finding {
    match io_uring_refusal() {
        None => Finding::fine("io_uring", "may be used"),
        Some(reason) => Finding::limits(
            "io_uring",
            format!("{reason}; only configs with io_method = io_uring need it"),
            "sysctl kernel.io_uring_disabled=0, or in a container a seccomp profile that allows it",
        ),
    }
}

/// How many files this process may open.
pub(crate) fn open_files() -> Finding {
    of_open_files(raise_open_files())
}

fn of_open_files(limit: Option<u64>) -> Finding {
    let finding = match limit {
        None => Finding::unknown("open files", "the kernel does not tell"),
        Some(limit) if limit < FEW_FILES => Finding::limits(
            "open files",
            format!("at most {limit}: two for each session"),
            "raise the hard limit (ulimit -Hn 65536)",
        ),
        Some(limit) => Finding::fine("open files", format!("at most {limit}")),
    };
    finding.with("most", limit.map_or(f64::NAN, |limit| limit as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    #[test]
    fn a_refusal_is_told_with_its_hint_and_is_no_failure() {
        let setting =
            PerfError::Setting { purpose: "count the instructions of its processes", setting: 4, enough: 2 };
        let found = of_counter(Err(setting));
        assert_eq!(found.severity, Severity::Limits);
        assert!(found.found.contains("perf_event_paranoid is 4"), "{}", found.found);
        assert!(found.advice.unwrap().contains("sysctl kernel.perf_event_paranoid=2"));
        let none = of_counter(Err(PerfError::Event { event: "instructions" }));
        assert!(none.found.contains("virtual machines"), "{}", none.found);
        assert_eq!(of_counter(Ok(())).severity, Severity::Fine);
    }

    #[test]
    fn few_files_limit() {
        assert_eq!(of_open_files(Some(256)).severity, Severity::Limits);
        assert_eq!(of_open_files(Some(65_536)).values["most"], 65_536.0);
        assert_eq!(of_open_files(None).severity, Severity::Unknown);
    }

    #[test]
    fn whatever_this_machine_allows_is_found_out() {
        let (_folder, host) = crate::host::invented::host(&[]);
        for finding in [counter(), profiles(), control_groups(&host), io_uring(), open_files()] {
            assert!(!finding.found.is_empty() && !finding.found.contains('\n'), "{finding:?}");
            assert_eq!(finding.severity == Severity::Limits, finding.advice.is_some(), "{finding:?}");
        }
    }
}
