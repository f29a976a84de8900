//! Recompiles the crate when a recipe changes: they are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../recipes");
}
