//! Values from a server's text.

use basecase_model::Value;

/// The integer in the text of a column, or else the text.
pub(crate) fn value_of(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    match text.parse() {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Text(text.into_owned()),
    }
}

/// The integer in the text of a column, if it is one.
#[inline]
pub(crate) fn integer_of(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
