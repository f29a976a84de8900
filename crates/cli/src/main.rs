//! The binary `basecase`.
fn main() {}
