//! Pins the sources that decide how a step is measured, so that whoever changes them decides on `PROTOCOL_REVISION`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use basecase_model::PROTOCOL_REVISION;
use basecase_tests::workspace;
use sha2::{Digest, Sha256};

/// Files and folders, with all below them.
const MEASURING: &[&str] = &[
    "crates/client/src",
    "crates/load/src",
    "crates/probe/src/clock.rs",
    "crates/probe/src/device.rs",
    "crates/probe/src/process.rs",
    "crates/probe/src/processor.rs",
    "crates/probe/src/watch.rs",
    "crates/workload/src",
    "workloads",
];

/// Where the hash is kept.
const PINNED: &str = "tests/protocol_revision.txt";
/// Set to write the present hash.
const ACCEPT: &str = "BASECASE_ACCEPT_PROTOCOL";

fn collect(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), found));
    } else {
        assert!(path.is_file(), "{} is gone; correct the list in this test", path.display());
        found.push(path.to_path_buf());
    }
}

/// The code without comments, blanks and tests, none of which measures anything.
fn essence(source: &str) -> String {
    let mut essence = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // rustfmt closes an item at the indentation at which it began.
            let end = line.replace("#[cfg(test)]", "}");
            lines.by_ref().find(|line| *line == end || line.ends_with(';') && !line.starts_with(' '));
            continue;
        }
        // `//` within a string has an odd number of quotes before it.
        let comment = line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count() % 2 == 0);
        let code = comment.map_or(line, |(at, _)| &line[..at]);
        essence.extend(code.split_whitespace());
    }
    essence
}

fn hash() -> String {
    let mut files = Vec::new();
    MEASURING.iter().for_each(|path| collect(&workspace().join(path), &mut files));
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.strip_prefix(workspace()).unwrap().to_str().unwrap());
        hasher.update("\n");
        hasher.update(essence(&fs::read_to_string(&file).unwrap()));
        hasher.update("\n");
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_change_of_the_measuring_code_is_a_decision() {
    let present = format!("protocol revision {PROTOCOL_REVISION}\nsha256 {}\n", hash());
    let path = workspace().join(PINNED);
    if std::env::var_os(ACCEPT).is_some_and(|value| value == "1") {
        fs::write(&path, present).unwrap();
        return;
    }
    let pinned = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        pinned == present,
        "The code that measures a step differs from what {PINNED} pins.\n\
         Did the way a step is measured change, so that a number may differ from one measured before?\n\
         - yes: raise PROTOCOL_REVISION in crates/model/src/cell.rs. Stored results keep their cells, and no \
         result of the new way shares one with them.\n\
         - no (moved, renamed, made clearer): leave PROTOCOL_REVISION as it is.\n\
         Then write the new hash: {ACCEPT}=1 cargo test -p basecase-tests --test protocol_revision\n\
         \n\
         pinned:\n{pinned}\npresent:\n{present}"
    );
}

#[test]
fn comments_blanks_and_tests_do_not_count() {
    let bare = "fn f() -> &'static str {\n\"postgres://x\"\n}\nfn g() {}\n";
    let dressed = "//! About.\n\n/// Says.\nfn f() -> &'static str {\n    \"postgres://x\" // where\n}\n\
        #[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\n#[cfg(test)]\nmod more;\nfn g() {}\n";
    assert_eq!(essence(bare), essence(dressed));
    assert_ne!(essence(bare), essence(&bare.replace("//x", "//y")));
}
