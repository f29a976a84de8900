//! How inputs change: half of the time as libFuzzer will, else by a grammar of their own form, so that what lies behind a parser is
//! reached. Inputs are the thing itself, a file's text or a server's bytes, and so is the corpus.

pub mod candidate;
pub mod config;
pub mod experiment;
pub mod frames;
pub mod lines;
pub mod mysql;
pub mod postgres;
pub mod store;
pub mod workload;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzzer_mutate;

/// A fuzz target: what is done with an input, and how inputs change by a grammar.
#[macro_export]
macro_rules! target {
    ($entry:ident, $mutate:expr, $grammar:expr) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| {
            basecase_corpus::$entry(input);
        });
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::change(data, size, max_size, seed, |input, choices| $mutate(input, choices, $grammar))
        });
    };
}

/// Changes the first `size` bytes of `data`, as libFuzzer's own mutator or as `by_grammar` does, and returns how many there are then.
pub fn change(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    by_grammar: impl FnOnce(&[u8], &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>>,
) -> usize {
    let bytes = random_bytes(seed);
    let mut choices = Unstructured::new(&bytes);
    if choices.ratio(2, 5).unwrap_or(true) {
        return fuzzer_mutate(data, size, max_size);
    }
    match by_grammar(&data[..size], &mut choices) {
        Ok(made) if !made.is_empty() && made.len() <= max_size.min(data.len()) => {
            data[..made.len()].copy_from_slice(&made);
            made.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
}

/// Bytes that make the choices of one change.
fn random_bytes(seed: u32) -> Vec<u8> {
    // SplitMix64.
    let mut state = u64::from(seed);
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    });
    words.take(1024).flat_map(u64::to_le_bytes).collect()
}

/// An integer at the edge of what something can hold, or a plain one.
pub fn integer(choices: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    const EDGES: [&str; 16] = [
        "0",
        "1",
        "-1",
        "2",
        "7",
        "10",
        "100",
        "255",
        "256",
        "65535",
        "65536",
        "2147483647",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
    ];
    Ok(match choices.int_in_range(0..=3)? {
        0 => (*choices.choose(&EDGES)?).to_owned(),
        1 => choices.int_in_range(0..=20)?.to_string(),
        2 => choices.int_in_range(0..=5000)?.to_string(),
        _ => choices.arbitrary::<i64>()?.to_string(),
    })
}

/// One of several texts, each as likely as another.
pub fn word<'a>(choices: &mut Unstructured<'_>, words: &[&'a str]) -> arbitrary::Result<&'a str> {
    choices.choose(words).copied()
}
