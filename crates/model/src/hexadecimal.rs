//! Bytes as digits.

/// Bytes in hexadecimal digits, two for each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hexadecimal(&[0, 10, 255]), "000aff");
    }
}
