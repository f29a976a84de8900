//! Recompiles the crate when a recipe or a config changes: both are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../recipes");
    println!("cargo::rerun-if-changed=../../configs");
}
