//! The tutorial can be followed.

use std::fs;
use std::path::Path;
use std::process::Command;

use basecase_tests::Sandbox;

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|said| said.status.success())
}

/// The commands of the tutorial in their order. Budgets are cut short: what is tested is that each command does its work, and not what it
/// finds.
#[test]
fn the_tutorial_can_be_followed() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tutorial.md")).unwrap();
    let commands: Vec<Vec<String>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("    basecase "))
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect();
    assert!(commands.len() >= 5, "{commands:?}");
    let sandbox = Sandbox::new();
    for words in commands {
        let short = |word: &String| if word == "2m" { "20s".to_owned() } else { word.clone() };
        let words: Vec<String> = words.iter().map(short).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words[0] == "bisect" && !has_valgrind() {
            println!("skipped: valgrind is not installed (apt-get install valgrind)");
            continue;
        }
        let output = sandbox.output(&words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", sandbox.transcript(&output));
        assert!(!output.stdout.is_empty(), "{words:?} said nothing");
    }
}
