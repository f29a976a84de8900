//! Compact encoding of a chart's numbers, as `charts.js` reads them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Encodes differences between successive values, zig-zag coded, as little-endian base-128 numbers in base64.
pub(crate) fn packed<T: Copy>(values: &[T]) -> String
where
    i64: TryFrom<T>,
{
    let mut bytes = Vec::with_capacity(values.len() * 2);
    let mut before = 0_i64;
    for &value in values {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let difference = value - before;
        before = value;
        let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    STANDARD_NO_PAD.encode(bytes)
}

/// Decodes the values of [`packed`].
#[cfg(test)]
pub(crate) fn unpacked(text: &str) -> Vec<i64> {
    let (mut values, mut value, mut rest, mut shift) = (Vec::new(), 0_i64, 0_u64, 0);
    for byte in STANDARD_NO_PAD.decode(text).unwrap() {
        rest |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            value += (rest >> 1) as i64 ^ -((rest & 1) as i64);
            values.push(value);
            (rest, shift) = (0, 0);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_every_value() {
        let values = [0, 1, 0, 63, 64, 1_000_000, 999_999, 0, 5_000_000_000, -3];
        assert_eq!(unpacked(&packed(&values)), values);
        assert_eq!(packed::<u64>(&[]), "");
        assert_eq!(packed(&[100_u64; 5]).len(), 8, "a steady rate takes a byte per second");
    }
}
