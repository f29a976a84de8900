//! What `scontrol show job --oneliner` prints: a line of `Name=value` for each element, and one for all that still wait.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Element, ElementState};

/// What Slurm has in the place of a number that it does not have, as of an array that was cancelled before it started.
const NO_NUMBER: u32 = u32::MAX - 1;

/// The elements of an array.
pub(super) fn elements(text: &str) -> Vec<Element> {
    let mut elements: Vec<Element> = text.lines().flat_map(of_line).collect();
    elements.sort_by_key(|element| element.node);
    elements
}

/// The ids of the arrays that run this script.
pub(super) fn jobs_of(text: &str, script: &Path) -> Vec<String> {
    let command = format!(" Command={} ", script.display());
    let of_script = text.lines().filter(|line| line.contains(&command));
    let ids: BTreeSet<String> = of_script.filter_map(|line| value(line, "ArrayJobId")).collect();
    ids.into_iter().collect()
}

/// The first value of this name in a line, because those of later ones may be anybody's words.
fn value(line: &str, name: &str) -> Option<String> {
    let find =
        |word: &'_ str| word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned);
    line.split(' ').find_map(find).filter(|value| !matches!(value.as_str(), "" | "(null)" | "None"))
}

/// The elements that one line is about.
fn of_line(line: &str) -> Vec<Element> {
    let value = |name: &str| value(line, name);
    let Some(numbers) = value("ArrayTaskId") else { return Vec::new() };
    let has_run_before = value("Restarts").is_some_and(|restarts| restarts != "0");
    let state = state(&value("JobState").unwrap_or_default(), has_run_before, value("ExitCode").as_deref());
    let element = |node| Element { node, state, host: value("NodeList"), reason: value("Reason") };
    nodes(&numbers).into_iter().filter(|node| *node != NO_NUMBER).map(element).collect()
}

/// Numbers as `5` or `1-3,7` or `1-9:2%4`, of which `%` limits how many run at once.
fn nodes(text: &str) -> Vec<u32> {
    let text = text.split('%').next().unwrap_or_default();
    let range = |part: &str| -> Option<Vec<u32>> {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let step = step.parse::<usize>().ok().filter(|step| *step > 0)?;
        Some((first..=last).step_by(step).collect())
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// What a state of Slurm means. See "JOB STATE CODES" in squeue(1).
fn state(name: &str, has_run_before: bool, exit_code: Option<&str>) -> ElementState {
    match name {
        "PENDING" if has_run_before => ElementState::Requeued,
        "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => ElementState::Requeued,
        "PENDING" | "CONFIGURING" | "RESV_DEL_HOLD" => ElementState::Waiting,
        "RUNNING" | "COMPLETING" | "RESIZING" | "SIGNALING" | "STAGE_OUT" | "STOPPED" | "SUSPENDED" => {
            ElementState::Running
        }
        "COMPLETED" => ElementState::Done,
        "CANCELLED" | "REVOKED" => ElementState::Cancelled,
        _ => ElementState::Failed { exit_code: exit_code.and_then(code) },
    }
}

/// An exit code as a shell tells it, of `CODE:SIGNAL`; `None` if both are 0.
fn code(text: &str) -> Option<i32> {
    let (code, signal) = text.split_once(':')?;
    let (code, signal): (i32, i32) = (code.parse().ok()?, signal.parse().ok()?);
    Some(if signal > 0 { 128 + signal } else { code }).filter(|code| *code != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Slurm 22.05 says of an array of which element 2 has ended and element 1 was requeued after its machine died; of one that
    /// waits; and of one that was cancelled before it started.
    const REQUEUED: &str = "JobId=1 ArrayJobId=1 ArrayTaskId=2 JobName=basecase fleet.sqlite UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=COMPLETED Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:26 TimeLimit=UNLIMITED TimeMin=N/A SubmitTime=2026-11-26T09:12:18 EligibleTime=2026-11-26T09:12:20 AccrueTime=Unknown StartTime=2026-11-26T09:12:20 EndTime=2026-11-26T09:12:46 Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-26T09:12:20 Scheduler=Main Partition=p AllocNode:Sid=localhost:31997 ReqNodeList=(null) ExcNodeList=(null) NodeList=n2 BatchHost=n2 NumNodes=1 Comment=two words JobState=none Power= \n\
        JobId=2 ArrayJobId=1 ArrayTaskId=1 JobName=basecase fleet.sqlite UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=PENDING Reason=BeginTime Dependency=(null) Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A SubmitTime=2026-11-26T09:12:46 EligibleTime=2026-11-26T09:14:47 AccrueTime=2026-11-26T09:14:47 StartTime=2026-11-26T09:14:47 EndTime=Unknown Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-26T09:12:20 Scheduler=Main Partition=p AllocNode:Sid=localhost:31997 ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1 Power= \n";
    const WAITING: &str = "JobId=1 ArrayJobId=1 ArrayTaskId=1-3,7 JobName=wrap UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=PENDING Reason=BeginTime Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:00\n";
    const CANCELLED: &str = "JobId=1 ArrayJobId=1 ArrayTaskId=4294967294 JobName=wrap UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 Account=(null) QOS=(null) JobState=CANCELLED Reason=BeginTime Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0\n";
    const FAILED: &str = "JobId=2 ArrayJobId=1 ArrayTaskId=1 JobName=basecase fleet.sqlite UserId=root(0) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=2:0 NodeList=n1 BatchHost=n1\n";

    fn said(text: &str) -> Vec<(u32, ElementState, Option<String>, Option<String>)> {
        let all = elements(text).into_iter();
        all.map(|element| (element.node, element.state, element.host, element.reason)).collect()
    }

    #[test]
    fn records_of_slurm_are_read() {
        let reason = |text: &str| Some(text.to_owned());
        assert_eq!(
            said(REQUEUED),
            [
                (1, ElementState::Requeued, None, reason("BeginTime")),
                (2, ElementState::Done, Some("n2".to_owned()), None)
            ]
        );
        let waiting = said(WAITING);
        assert_eq!(waiting.iter().map(|element| element.0).collect::<Vec<_>>(), [1, 2, 3, 7]);
        assert!(waiting.iter().all(|element| element.1 == ElementState::Waiting));
        assert!(elements(CANCELLED).is_empty() && elements("").is_empty());
        let failed = ElementState::Failed { exit_code: Some(2) };
        assert_eq!(said(FAILED), [(1, failed, Some("n1".to_owned()), reason("NonZeroExitCode"))]);
    }

    #[test]
    fn jobs_are_known_by_their_script() {
        let job = |id: u32, element: u32, folder: &str| {
            format!(
                "JobId={} ArrayJobId={id} ArrayTaskId={element} JobName=basecase JobState=PENDING \
                 Command=/shared/{folder}/job.sh WorkDir=/home StdOut=/shared/log Power=\n",
                id + element
            )
        };
        let all =
            job(7, 1, "a fleet") + &job(7, 2, "a fleet") + &job(20, 1, "another") + &job(9, 1, "a fleet");
        assert_eq!(jobs_of(&all, Path::new("/shared/a fleet/job.sh")), ["7", "9"]);
        assert!(jobs_of("No jobs in the system\n", Path::new("/shared/a fleet/job.sh")).is_empty());
    }

    #[test]
    fn states_of_slurm_that_no_record_here_has() {
        let of = |name: &str| state(name, false, Some("0:9"));
        assert_eq!(of("COMPLETING"), ElementState::Running);
        assert_eq!(of("REQUEUE_HOLD"), ElementState::Requeued);
        let killed = ElementState::Failed { exit_code: Some(137) };
        assert_eq!([of("OUT_OF_MEMORY"), of("TIMEOUT"), of("NODE_FAIL")], [killed; 3]);
    }

    #[test]
    fn numbers_of_elements_are_read_in_each_form() {
        assert_eq!(nodes("5"), [5]);
        assert_eq!(nodes("1-3,7"), [1, 2, 3, 7]);
        assert_eq!(nodes("1-9:4%2"), [1, 5, 9]);
        assert!(nodes("N/A").is_empty());
    }

    #[test]
    fn an_exit_code_is_that_of_a_shell() {
        assert_eq!((code("3:0"), code("0:9"), code("0:0"), code("?")), (Some(3), Some(137), None, None));
    }
}
