//! What every format shows.

use std::fs;
use std::path::Path;

use basecase_tests::Sandbox;
use insta::assert_snapshot;
use sha2::{Digest, Sha256};

use crate::{STORE, each};

/// What the program prints, which must succeed.
fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.output(arguments);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaints}");
    String::from_utf8(output.stdout).unwrap()
}

/// The hash and the name of every file below a folder.
fn hashes(folder: &Path, below: &str) -> Vec<String> {
    let mut hashes = Vec::new();
    for entry in fs::read_dir(folder.join(below)).unwrap().map(Result::unwrap) {
        let name = Path::new(below).join(entry.file_name());
        if entry.path().is_dir() {
            hashes.extend(self::hashes(folder, name.to_str().unwrap()));
        } else {
            let digest = Sha256::digest(fs::read(entry.path()).unwrap());
            let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            hashes.push(format!("{} {digest}\n", name.display()));
        }
    }
    hashes.sort();
    hashes
}

#[test]
fn reports_show_what_they_showed() {
    each(|golden| {
        let (sandbox, _) = golden.unpack();
        let snapshot = |kind: &str, text: String| {
            insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
                assert_snapshot!(format!("{}_{kind}", golden.name), text);
            });
        };
        assert_eq!(printed(&sandbox, &["store", "verify", STORE]).lines().count(), 1, "{}", golden.name);
        for format in ["text", "md", "blog", "csv", "json"] {
            snapshot(format, printed(&sandbox, &["report", STORE, "--format", format, "--full"]));
        }
        printed(&sandbox, &["report", STORE, "--out", "pages"]);
        snapshot("pages", hashes(&sandbox.path().join("pages"), "").concat());
        snapshot("store", printed(&sandbox, &["store", "show", STORE]));
        snapshot("explain", printed(&sandbox, &["explain", STORE, golden.explained]));
        snapshot("history", printed(&sandbox, &["history", STORE]));
        snapshot("history_json", printed(&sandbox, &["history", STORE, "--json"]));
    });
}
