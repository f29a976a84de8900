//! Names that SQL accepts without quotes.

/// The maximum length of a name: Postgres truncates longer ones.
pub const NAME_CHARACTERS: usize = 63;

/// The beginning of the comment that marks a table as one that basecase created and may drop.
pub const TABLE_MARK: &str = "basecase: ";

/// Whether `name` matches `[a-z_][a-z0-9_]{0,62}`: every dbms accepts it without quotes, whatever its settings for upper and lower case,
/// and inside quotes it cannot end them.
pub fn is_plain_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    name.len() <= NAME_CHARACTERS
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_01_only_plain_names_are_taken() {
        let longest = "a".repeat(NAME_CHARACTERS);
        for name in ["pi1", "sbtest1", "_", "k_1", &longest] {
            assert!(is_plain_name(name), "{name}");
        }
        let longer = format!("{longest}a");
        for name in [
            "",
            "1a",
            "victim.orders",
            "`orders`",
            "\"orders\"",
            "orders/**/",
            " orders",
            "Orders",
            "ö",
            &longer,
        ] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
