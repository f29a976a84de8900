//! Recompiles the crate when a config changes: they are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../configs");
}
