//! What is written for other programs, held against what these read: JSON Schemas, and Apache Otava itself.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that skips says why")]

mod exports;
mod forms;
mod golden_store;
mod otava;
mod schema;
