//! Why a node failed, in words.

use crate::{Element, ElementState, FleetFolder};

/// Exit code of the job script if the fleet's folder is not what the coordinator sees.
pub(crate) const NOT_SHARED: i32 = 75;
/// Exit code of the job script if the node's own disk cannot be used.
pub(crate) const NO_DISK: i32 = 74;
/// Exit code of the job script, and of a shell, if the program cannot be executed.
pub(crate) const NOT_EXECUTABLE: i32 = 126;
/// How Slurm tells that it could not open the log: signal 53, which is none that kills.
const NO_LOG: i32 = 128 + 53;
/// Killed, often for memory.
const KILLED: i32 = 128 + 9;

/// What is said of an element that did not end well, with a hint; `None` of any other.
pub(crate) fn explain(folder: &FleetFolder, element: &Element) -> Option<String> {
    let node = element.node;
    let host = element.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let reason = element.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let log = folder.log(node);
    let words = folder.last_words(node).map(|words| format!(": {words}")).unwrap_or_default();
    let again = "the same command submits what is missing again";
    let (what, hint) = match element.state {
        ElementState::Cancelled => (format!("was cancelled{reason}"), again.to_owned()),
        ElementState::Gone => (
            "is not known to the scheduler any more, and left no exit code".to_owned(),
            format!("its log is {}; {again}", log.display()),
        ),
        ElementState::Failed { exit_code: Some(NOT_SHARED | NO_LOG) } => (
            format!("does not see the folder {}", folder.path().display()),
            "put --store on a file system that this machine and all nodes share".to_owned(),
        ),
        ElementState::Failed { exit_code: Some(NOT_EXECUTABLE) } => (
            format!("cannot execute the program{words}"),
            format!(
                "nodes must be {} machines as this one is; choose them by --sbatch, e.g. --constraint",
                std::env::consts::ARCH
            ),
        ),
        ElementState::Failed { exit_code: Some(NO_DISK) } => (
            format!("cannot use its own disk{words}"),
            "free some space there, or name another folder by TMPDIR".to_owned(),
        ),
        ElementState::Failed { exit_code: Some(KILLED) } => (
            format!("was killed{reason}{words}"),
            format!("ask for more memory or time by --sbatch; its log is {}", log.display()),
        ),
        ElementState::Failed { exit_code } => {
            let code = exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
            (format!("ended{code}{reason}{words}"), format!("its log is {}; {again}", log.display()))
        }
        _ => return None,
    };
    Some(format!("node {node}{host} {what}\nhint: {hint}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn failed(exit_code: Option<i32>, reason: Option<&str>) -> Element {
        let state = ElementState::Failed { exit_code };
        Element { node: 3, state, host: Some("n3".into()), reason: reason.map(str::to_owned) }
    }

    #[test]
    fn a_failure_is_told_with_its_cause_and_a_hint() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::beside(&place.path().join("s.sqlite"));
        fs::create_dir_all(folder.node(3)).unwrap();
        fs::write(folder.log(3), "round 1\nerror: no space is left on its file system\nhint: free some\n")
            .unwrap();
        let said = |element: &Element| {
            let said = explain(&folder, element).unwrap();
            assert!(said.starts_with("node 3") && said.contains("\nhint: "), "{said}");
            said
        };
        let full = said(&failed(Some(1), None));
        assert!(full.contains("on n3 ended with exit code 1: error: no space is left"), "{full}");
        assert!(said(&failed(Some(NOT_SHARED), None)).contains("does not see the folder"));
        assert!(said(&failed(Some(181), None)).contains("does not see the folder"));
        assert!(said(&failed(Some(NOT_EXECUTABLE), None)).contains(std::env::consts::ARCH));
        assert!(said(&failed(Some(137), Some("OutOfMemory"))).contains("was killed (OutOfMemory)"));
        assert!(said(&failed(None, Some("NodeDown"))).contains("ended (NodeDown)"));
        let other = |state| Element { state, ..failed(None, None) };
        assert!(said(&other(ElementState::Gone)).contains("left no exit code"));
        assert!(said(&other(ElementState::Cancelled)).contains("was cancelled"));
        for state in [ElementState::Waiting, ElementState::Running, ElementState::Done] {
            assert_eq!(explain(&folder, &other(state)), None);
        }
    }
}
