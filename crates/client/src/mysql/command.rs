//! Commands to the server.

use basecase_model::{Operation, Parameter};

use super::packet::{begin, end};

// <https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html>
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// The type of a parameter that is sent as a signed 8-byte little-endian integer: `MYSQL_TYPE_LONGLONG` without flags.
const SIGNED_LONGLONG: [u8; 2] = [0x08, 0x00];
/// The type of a parameter that is sent as text with its length: `MYSQL_TYPE_VAR_STRING`.
const VAR_STRING: [u8; 2] = [0xfd, 0x00];

/// Writes a command with text, which may be empty, to `output`.
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

/// Prepares a statement.
pub(super) fn prepare(output: &mut Vec<u8>, sql: &str) {
    text_command(output, PREPARE, sql);
}

/// Ends the session.
pub(super) fn quit(output: &mut Vec<u8>) {
    text_command(output, QUIT, "");
}

/// Executes the prepared statement that the server calls `id`.
///
/// Types must be sent once for each statement; the server keeps them for later executions.
#[inline]
pub(super) fn execute(output: &mut Vec<u8>, id: u32, operation: &Operation, with_types: bool) {
    let parameters = &operation.parameters;
    begin(output);
    output.push(EXECUTE);
    output.extend_from_slice(&id.to_le_bytes());
    // No cursor; the number of iterations is always 1.
    output.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !parameters.is_empty() {
        // One bit for each parameter marks nulls; there are none.
        output.resize(output.len() + parameters.len().div_ceil(8), 0);
        output.push(with_types.into());
        if with_types {
            parameters.iter().for_each(|parameter| {
                output.extend_from_slice(match parameter {
                    Parameter::Integer(_) => &SIGNED_LONGLONG,
                    Parameter::Text { .. } => &VAR_STRING,
                });
            });
        }
        for parameter in parameters {
            match parameter {
                Parameter::Integer(integer) => output.extend_from_slice(&integer.to_le_bytes()),
                Parameter::Text { .. } => push_text(output, operation.text_of(*parameter).as_bytes()),
            }
        }
    }
    end(output, 0);
}

/// Writes a length-encoded string: the length, then the bytes.
#[inline]
fn push_text(output: &mut Vec<u8>, text: &[u8]) {
    let length = text.len() as u64;
    let [first, second, third, ..] = length.to_le_bytes();
    match length {
        0..=250 => output.push(first),
        251..=0xffff => output.extend_from_slice(&[0xfc, first, second]),
        0x1_0000..=0xff_ffff => output.extend_from_slice(&[0xfd, first, second, third]),
        _ => {
            output.push(0xfe);
            output.extend_from_slice(&length.to_le_bytes());
        }
    }
    output.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(output: &mut Vec<u8>, id: u32, parameters: &[i64], with_types: bool) {
        let parameters = parameters.iter().copied().map(Parameter::from).collect();
        super::execute(output, id, &Operation { parameters, ..Operation::default() }, with_types);
    }

    #[test]
    fn texts_have_their_length_in_front() {
        let mut operation = Operation { text: "ab".into(), ..Operation::default() };
        operation.parameters = vec![Parameter::Text { start: 0, end: 2 }, Parameter::Integer(7)];
        let mut output = Vec::new();
        super::execute(&mut output, 3, &operation, true);
        let body =
            [0x17, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0xfd, 0, 8, 0, 2, b'a', b'b', 7, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(output, [&[27, 0, 0, 0], &body[..]].concat());
        for (length, head) in [
            (250, &[250][..]),
            (251, &[0xfc, 251, 0]),
            (65_535, &[0xfc, 255, 255]),
            (65_536, &[0xfd, 0, 0, 1]),
        ] {
            let mut output = Vec::new();
            push_text(&mut output, &vec![b'x'; length]);
            assert!(output.starts_with(head) && output.len() == head.len() + length, "{length}");
        }
    }

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
