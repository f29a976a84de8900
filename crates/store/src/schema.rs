//! The schema and its migrations.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, TransactionBehavior};

use crate::{Problem, measure, slice};

/// Marks a SQLite file as a store of basecase: `Base` in ASCII.
pub(crate) const APPLICATION_ID: u32 = 0x4261_7365;

/// The migration from version `n` to `n + 1` at index `n`. A released one never changes.
const MIGRATIONS: [&str; 11] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
    include_str!("schema_8.sql"),
    include_str!("schema_9.sql"),
    include_str!("schema_10.sql"),
    include_str!("schema_11.sql"),
];

/// The version that this basecase writes.
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The first version whose trials have one row for all slices and one for all measures.
const PACKED: u32 = 11;

/// Drops the tables that had a row for each, and makes the view by which tools read measures as before.
const AFTER_PACKING: &str = include_str!("schema_11_packed.sql");

/// The kind of a file, by its first bytes: opening it with SQLite could create files beside it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Missing or empty.
    Absent,
    /// A store of basecase.
    Store,
    /// Anything else.
    Foreign,
}

/// Reads the kind of the file at `path` without changing anything.
pub(crate) fn kind_of(path: &Path) -> Result<FileKind, Problem> {
    let file = match basecase_probe::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileKind::Absent),
        opened => opened?,
    };
    let mut head = Vec::new();
    file.take(72).read_to_end(&mut head)?;
    Ok(kind_of_bytes(&head))
}

/// See <https://www.sqlite.org/fileformat.html>, 1.3: a magic string, and the application id at offset 68.
fn kind_of_bytes(head: &[u8]) -> FileKind {
    let is_store = head.starts_with(b"SQLite format 3\0") && head.ends_with(&APPLICATION_ID.to_be_bytes());
    match head.len() {
        0 => FileKind::Absent,
        72 if is_store => FileKind::Store,
        _ => FileKind::Foreign,
    }
}

/// The store's version; 0 while it has no tables.
pub(crate) fn version(connection: &Connection) -> Result<u32, Problem> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Migrates a store to [`VERSION`], in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Problem> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Check again under the lock: another process may have migrated it meanwhile.
    let found = version(&transaction)?;
    let Some(missing) = MIGRATIONS.get(found as usize..) else {
        return Err(Problem::Newer { found, known: VERSION });
    };
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    for (version, migration) in (found + 1..).zip(missing) {
        transaction.execute_batch(migration)?;
        if version == PACKED {
            slice::pack(&transaction)?;
            measure::pack(&transaction)?;
            transaction.execute_batch(AFTER_PACKING)?;
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// Pause between attempts to copy a store while another process writes to it.
const RETRY_AFTER: Duration = Duration::from_millis(5);

/// A migrated in-memory copy of a store of an older version. The file itself is only read.
pub(crate) fn copy_up_to_date(older: &Connection) -> Result<Connection, Problem> {
    let mut copy = Connection::open_in_memory()?;
    // In one step, so that the copy is consistent.
    Backup::new(older, &mut copy)?.run_to_completion(i32::MAX, RETRY_AFTER, None)?;
    migrate(&mut copy)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_the_first_bytes() {
        let mut head = b"SQLite format 3\0".to_vec();
        head.resize(68, 0);
        head.extend(APPLICATION_ID.to_be_bytes());
        assert_eq!(kind_of_bytes(&head), FileKind::Store);
        head[71] += 1;
        assert_eq!(kind_of_bytes(&head), FileKind::Foreign);
        assert_eq!(kind_of_bytes(&head[..20]), FileKind::Foreign);
        assert_eq!(kind_of_bytes(b"some notes"), FileKind::Foreign);
        assert_eq!(kind_of_bytes(b""), FileKind::Absent);
    }
}
