//! Numbers of callgrind's lines, and positions that are told relative to the one before.

/// A number, decimal or with `0x`.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix(b"0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` alone would take a sign.
    digits.first().filter(|first| first.is_ascii_hexdigit())?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// A position: absolute, or relative to the one before as `+3`, `-2` or `*`.
pub(super) fn position(text: &[u8], before: u64) -> Option<u64> {
    match text.split_first()? {
        (b'*', []) => Some(before),
        (b'+', distance) => before.checked_add(number(distance)?),
        (b'-', distance) => before.checked_sub(number(distance)?),
        _ => number(text),
    }
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"0x1f"), Some(31));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "+1", "-1", "0x", "0x+1", "1f", "18446744073709551616", "\u{ff}"] {
            assert_eq!(number(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn positions_are_absolute_or_relative() {
        assert_eq!(position(b"7", 3), Some(7));
        assert_eq!(position(b"+0x10", 3), Some(19));
        assert_eq!(position(b"-3", 3), Some(0));
        assert_eq!(position(b"*", 3), Some(3));
        for wrong in ["-4", "+", "*1", "", "x"] {
            assert_eq!(position(wrong.as_bytes(), 3), None, "{wrong}");
        }
    }
}
