//! What the fuzz targets of `fuzz/` do with one input, so that a test can do the same with every input of their corpus.
//!
//! Each function takes an input in its own form, a file's text or a server's bytes, goes as deep as it leads, and panics where
//! something is wrong: a refusal without place or hint, a check that passed and did not hold, a password in a text. It returns the
//! marks that it came by.
#![expect(clippy::expect_used, clippy::panic, reason = "what is wrong is told by panicking")]

mod candidate;
mod config;
mod experiment;
mod store;
mod wire;
mod workload;

use std::collections::BTreeSet;

pub use candidate::candidate;
pub use config::config;
pub use experiment::experiment;
pub use store::{sample_store, store};
pub use wire::{mysql, postgres};
pub use workload::workload;

/// How deep an input came: stages by their names, and refusals by their texts without what differs between inputs.
pub type Marks = BTreeSet<String>;

/// What is done with one input.
pub type Entry = fn(&[u8]) -> Marks;

/// Every target by its name, which is also that of its folder in the corpus.
pub const TARGETS: [(&str, Entry); 7] = [
    ("workload", workload),
    ("experiment", experiment),
    ("config", config),
    ("candidate", candidate),
    ("store", store),
    ("postgres", postgres),
    ("mysql", mysql),
];

/// The part of a password that generators put into every URL.
pub const SECRET: &str = "Zq7x";

/// The first line of a refusal without names, numbers and quoted text, so that refusals of one check are the same.
pub(crate) fn shape(refusal: &str) -> String {
    let line = refusal.lines().next().unwrap_or_default();
    let mut shape = String::new();
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '`' | '"' => {
                let mut is_escaped = false;
                for inner in rest.by_ref() {
                    if inner == next && !is_escaped {
                        break;
                    }
                    is_escaped = inner == '\\' && !is_escaped;
                }
                shape.push('…');
            }
            digit if digit.is_ascii_digit() => {
                while rest.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
                shape.push('#');
            }
            other => shape.push(other),
        }
    }
    shape
}

/// Checks a refusal: it says what to do, and repeats no password of `input`.
pub(crate) fn check_refusal(refusal: &str, input: &str) {
    let (_, hint) = refusal.split_once("\nhint: ").unwrap_or_else(|| panic!("no hint: {refusal}"));
    assert!(!hint.trim().is_empty(), "an empty hint: {refusal}");
    // Elsewhere it is a text like others, which may be repeated.
    let is_in_urls_alone = input.contains(SECRET)
        && input
            .split(['"', '\'', '\n', '\r'])
            .all(|word| word.split_once(SECRET).is_none_or(|(before, _)| before.contains("://")));
    assert!(!is_in_urls_alone || !refusal.contains(SECRET), "a part of a URL is repeated: {refusal}");
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn refusals_of_one_check_have_one_shape() {
        assert_eq!(
            shape("a.toml, line 3, column 17: unknown `x`\nhint: z"),
            "a.toml, line #, column #: unknown …"
        );
        assert_eq!(shape("size is \"a\\\"b\" of 3.5 MB"), "size is … of # MB");
    }
}
