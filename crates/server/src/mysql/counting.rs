//! By what the threads of sessions are known in counts of instructions.

use basecase_client::{Error, Kind, Session};
use basecase_model::Dbms;

use crate::served::{integer, text};

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

/// What the operating system calls the thread of a session.
pub(super) fn thread_of(session: &mut dyn Session, dbms: Dbms) -> Result<u32, Error> {
    let handling = text(session, "select @@thread_handling")?;
    if !handling.starts_with("one-thread-per-connection") {
        return Err(Error::refusal(
            format!("sessions have no threads of their own, since thread_handling is {handling}"),
            "count with thread_handling = one-thread-per-connection, or with --counts-engine callgrind",
        ));
    }
    let (sql, least) = match dbms {
        Dbms::Mariadb => {
            ("select tid from information_schema.processlist where id = connection_id()", "MariaDB 10.0")
        }
        _ => (
            "select thread_os_id from performance_schema.threads where processlist_id = connection_id()",
            "MySQL 5.7 with performance_schema = 1",
        ),
    };
    let told = match integer(session, sql) {
        // The column is not there.
        Err(error) if error.kind() == Kind::Refused => None,
        told => told?,
    };
    told.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0).ok_or_else(|| {
        Error::refusal(
            format!("the server does not tell the threads of its sessions, as {least} and later ones do"),
            "count with --counts-engine callgrind",
        )
    })
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
