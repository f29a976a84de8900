//! Changes to a store.

use std::io::{Read, Write};
use std::path::Path;
use std::{fs, str};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::Connection;
use rusqlite::types::Value;

/// The tables, each with what orders its rows.
const TABLES: [(&str, &str); 14] = [
    ("experiment", "id"),
    ("cell", "key"),
    ("experiment_cell", "experiment, cell"),
    ("trial", "id"),
    ("role", "trial, number"),
    ("measures", "trial"),
    ("table_state", "trial, number"),
    ("comparison", "trial, number"),
    ("in_flight", "id"),
    ("statement", "trial, number, phase"),
    ("track", "trial, number"),
    ("plan", "trial, number"),
    ("profile", "trial, kind"),
    ("slices", "trial"),
];

/// Makes the changes that can be made; others are left out.
pub(super) fn apply(path: &Path, changes: &str) {
    let connection = Connection::open(path).expect("a store");
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;
             PRAGMA journal_mode = OFF;",
        )
        .expect("pragmas");
    let (of_file, of_rows): (Vec<&str>, Vec<&str>) =
        changes.lines().take(40).partition(|line| line.starts_with("file "));
    for line in of_rows {
        // A change that does not fit the rows or their types is none.
        let _ = change(&connection, line);
    }
    drop(connection);
    let mut bytes = fs::read(path).expect("a store");
    for line in of_file {
        if let Some((at, new)) = line.strip_prefix("file ").and_then(place) {
            overwrite(&mut bytes, at, &new);
        }
    }
    fs::write(path, bytes).expect("a store");
}

fn change(connection: &Connection, line: &str) -> Option<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "loose" => connection
            .execute_batch(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = replace(replace(sql, ') STRICT, WITHOUT', ') WITHOUT'), ') STRICT', ')');
                 PRAGMA writable_schema = RESET;",
            )
            .ok(),
        "alter" | "drop" => connection.execute_batch(line).ok(),
        "delete" => {
            let (table, row) = rest.strip_suffix(']')?.split_once('[')?;
            let chosen = chosen(table, row)?;
            connection.execute(&format!("DELETE FROM {table} {chosen}"), []).ok().map(drop)
        }
        "version" => connection.pragma_update(None, "user_version", rest.trim().parse::<u32>().ok()?).ok(),
        "plain" | "raw" => {
            let (cell, change) = rest.split_once(' ')?;
            let cell = Cell::read(cell)?;
            let (at, new) = place(change)?;
            cell.set(connection, |old| {
                let Value::Blob(mut blob) = old else { return None };
                if word == "raw" {
                    overwrite(&mut blob, at, &new);
                    return Some(Value::Blob(blob));
                }
                // A histogram's maximum stands before its zlib stream, behind eight bytes of its own.
                let head = if cell.column == "service" || cell.column == "response" { 16 } else { 0 };
                let (head, stream) = blob.split_at_checked(head)?;
                let mut plain = Vec::new();
                ZlibDecoder::new(stream).take(1 << 20).read_to_end(&mut plain).ok()?;
                overwrite(&mut plain, at, &new);
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&plain).ok()?;
                let stream = encoder.finish().ok()?;
                let mut blob = head.to_vec();
                if let Some(length) = blob.get_mut(12..16) {
                    length.copy_from_slice(&(stream.len() as u32).to_be_bytes());
                }
                blob.extend(stream);
                Some(Value::Blob(blob))
            })
        }
        "json" => {
            let (cell, change) = rest.split_once(' ')?;
            let (pointer, new) = change.split_once(" = ")?;
            let new: serde_json::Value = serde_json::from_str(new).ok()?;
            Cell::read(cell)?.set(connection, |old| {
                let Value::Text(text) = old else { return None };
                let mut json: serde_json::Value = serde_json::from_str(&text).ok()?;
                set(&mut json, pointer, new.clone())?;
                Some(Value::Text(json.to_string()))
            })
        }
        _ => {
            let (cell, value) = line.split_once(" = ")?;
            let value = literal(value.trim())?;
            Cell::read(cell)?.set(connection, |_| Some(value.clone()))
        }
    }
}

/// `AT x'HEX'`.
fn place(text: &str) -> Option<(usize, Vec<u8>)> {
    let (at, new) = text.trim().split_once(' ')?;
    Some((at.parse().ok()?, hex(new)?))
}

/// Writes `new` over what stands at `at`, which counts from the end where it is too large; a long blob grows by it.
fn overwrite(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    let at = if bytes.is_empty() { 0 } else { at % (bytes.len() + 1) };
    let end = (at + new.len()).min(bytes.len());
    bytes.splice(at..end, new.iter().copied());
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim().strip_prefix("x'")?.strip_suffix('\'')?;
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// `null`, an integer, a number, a text as JSON writes it, bytes; `deflate x'…'` is compressed.
fn literal(text: &str) -> Option<Value> {
    if let Some(plain) = text.strip_prefix("deflate ") {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&hex(plain)?).ok()?;
        return Some(Value::Blob(encoder.finish().ok()?));
    }
    Some(match text.as_bytes().first()? {
        b'n' => Value::Null,
        b'x' => Value::Blob(hex(text)?),
        b'"' => Value::Text(serde_json::from_str(text).ok()?),
        _ => match text.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Real(text.parse().ok()?),
        },
    })
}

/// Sets what stands at a JSON pointer, or a new member of an object.
fn set(json: &mut serde_json::Value, pointer: &str, new: serde_json::Value) -> Option<()> {
    if let Some(old) = json.pointer_mut(pointer) {
        *old = new;
        return Some(());
    }
    let (parent, name) = pointer.rsplit_once('/')?;
    match json.pointer_mut(parent)? {
        serde_json::Value::Object(members) => drop(members.insert(name.to_owned(), new)),
        serde_json::Value::Array(elements) => elements.push(new),
        _ => return None,
    }
    Some(())
}

/// `WHERE …` of a row, counted in the order of its key; `*` is every row.
fn chosen(table: &str, row: &str) -> Option<String> {
    let (_, key) = TABLES.iter().find(|(known, _)| *known == table)?;
    if row == "*" {
        return Some(String::new());
    }
    let row: u16 = row.parse().ok()?;
    Some(format!("WHERE ({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {row})"))
}

/// A cell of a row, or of every row.
struct Cell<'a> {
    table: &'a str,
    column: &'a str,
    chosen: String,
}

impl<'a> Cell<'a> {
    /// `TABLE.COLUMN[ROW]`.
    fn read(text: &'a str) -> Option<Self> {
        let (cell, row) = text.trim().strip_suffix(']')?.split_once('[')?;
        let (table, column) = cell.split_once('.')?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        column.chars().all(is_plain).then_some(())?;
        Some(Cell { table, column, chosen: chosen(table, row)? })
    }

    fn set(&self, connection: &Connection, new: impl FnOnce(Value) -> Option<Value>) -> Option<()> {
        let Cell { table, column, chosen } = self;
        let question = format!("SELECT {column} FROM {table} {chosen} LIMIT 1");
        let old = connection.query_row(&question, [], |row| row.get(0)).ok()?;
        connection.execute(&format!("UPDATE {table} SET {column} = ?1 {chosen}"), [new(old)?]).ok().map(drop)
    }
}
