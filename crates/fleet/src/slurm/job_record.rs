//! What `scontrol show job --oneliner` prints: a line of `Name=value` for each element, and one for all that still wait.

use crate::{Element, ElementState};

/// The elements of an array.
pub(super) fn elements(text: &str) -> Vec<Element> {
    let mut elements: Vec<Element> = text.lines().flat_map(of_line).collect();
    elements.sort_by_key(|element| element.node);
    elements
}

/// The elements that one line is about.
fn of_line(line: &str) -> Vec<Element> {
    // The first of a name, because the values of later ones may be anybody's words.
    let value = |name: &str| {
        let find = |word: &'_ str| {
            word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned)
        };
        line.split(' ').find_map(find).filter(|value| !matches!(value.as_str(), "" | "(null)" | "None"))
    };
    let Some(numbers) = value("ArrayTaskId") else { return Vec::new() };
    let has_run_before = value("Restarts").is_some_and(|restarts| restarts != "0");
    let state = state(&value("JobState").unwrap_or_default(), has_run_before, value("ExitCode").as_deref());
    let element = |node| Element { node, state, host: value("NodeList"), reason: value("Reason") };
    nodes(&numbers).into_iter().map(element).collect()
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
