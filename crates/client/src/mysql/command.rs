//! Commands to the server.

use super::packet::{begin, end};

// <https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html>
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// The type of a parameter that is sent as 8 bytes, little-endian, with a sign: `MYSQL_TYPE_LONGLONG` without flags.
const SIGNED_LONGLONG: [u8; 2] = [0x08, 0x00];

/// Writes a command that carries text, or nothing, into `output`.
fn text_command(output: &mut Vec<u8>, command: u8, text: &str) {
    begin(output);
    output.push(command);
    output.extend_from_slice(text.as_bytes());
    end(output, 0);
}

/// Executes text.
#[inline]
pub(super) fn query(output: &mut Vec<u8>, sql: &str) {
    text_command(output, QUERY, sql);
}

/// Makes a prepared statement.
pub(super) fn prepare(output: &mut Vec<u8>, sql: &str) {
    text_command(output, PREPARE, sql);
}

/// Ends the session.
pub(super) fn quit(output: &mut Vec<u8>) {
    text_command(output, QUIT, "");
}

/// Executes the prepared statement that the server calls `id`.
///
/// Types have to be sent once for each statement; the server keeps them for later executions.
#[inline]
pub(super) fn execute(output: &mut Vec<u8>, id: u32, parameters: &[i64], with_types: bool) {
    begin(output);
    output.push(EXECUTE);
    output.extend_from_slice(&id.to_le_bytes());
    // No cursor; the number of iterations is always 1.
    output.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !parameters.is_empty() {
        // A bit for each parameter that is null: none is.
        output.resize(output.len() + parameters.len().div_ceil(8), 0);
        output.push(with_types.into());
        if with_types {
            parameters.iter().for_each(|_| output.extend_from_slice(&SIGNED_LONGLONG));
        }
        parameters.iter().for_each(|parameter| output.extend_from_slice(&parameter.to_le_bytes()));
    }
    end(output, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions() {
        let mut output = Vec::new();
        execute(&mut output, 3, &[], true);
        assert_eq!(output, [10, 0, 0, 0, 0x17, 3, 0, 0, 0, 0, 1, 0, 0, 0]);
        execute(&mut output, 3, &[-2], true);
        let body = [0x17, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 254, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(output, [&[22, 0, 0, 0], &body[..]].concat());
        execute(&mut output, 3, &[1; 9], false);
        assert_eq!(output.len(), 4 + 10 + 2 + 1 + 9 * 8);
    }

    #[test]
    fn text() {
        let mut output = Vec::new();
        query(&mut output, "do 1");
        assert_eq!(output, b"\x05\0\0\0\x03do 1");
        quit(&mut output);
        assert_eq!(output, b"\x01\0\0\0\x01");
    }
}
