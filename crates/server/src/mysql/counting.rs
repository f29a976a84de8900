//! By what the threads of sessions are known in counts of instructions.

use basecase_client::{Error, Session};

/// Marks up to this one cost the same.
const MARKS: usize = 32;

/// Whether a function executes one command of a session.
pub fn is_command(name: &str) -> bool {
    name == "dispatch_command" || name.starts_with("dispatch_command(")
}

/// Whether a function is the one whose calls [`crate::Served::mark`] makes.
pub fn is_mark(name: &str) -> bool {
    name == "Item_func_crc32::val_int" || name.starts_with("Item_func_crc32::val_int(")
}

/// Calls the function of marks so many times. Calls of another one that costs about as much make up the rest.
pub(super) fn mark(session: &mut dyn Session, mark: usize) -> Result<(), Error> {
    session.query(&statement(mark)).map(drop)
}

fn statement(mark: usize) -> String {
    let calls = (0..MARKS.max(mark)).map(|call| if call < mark { "crc32('a')" } else { "ascii('a')" });
    format!("do {}", calls.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_in_calls_of_one_function() {
        for mark in [0, 1, 7, MARKS, MARKS + 3] {
            let statement = statement(mark);
            assert_eq!(statement.matches("crc32").count(), mark);
            assert_eq!(statement.matches("('a')").count(), MARKS.max(mark));
        }
    }

    #[test]
    fn functions_are_known_with_and_without_parameters() {
        assert!(is_command("dispatch_command(THD*, COM_DATA const*, enum_server_command)"));
        assert!(is_command("dispatch_command") && !is_command("dispatch_command_x"));
        assert!(is_mark("Item_func_crc32::val_int()") && !is_mark("Item_func_ascii::val_int()"));
    }
}
