//! Values out of a server's text.

use basecase_model::Value;

/// The integer that the text of a column spells, or else the text.
pub(crate) fn value_of(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    match text.parse() {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Text(text.into_owned()),
    }
}

/// The integer that the text of a column spells, if it does.
#[inline]
pub(crate) fn integer_of(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
