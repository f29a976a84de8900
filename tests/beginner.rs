//! The tutorial can be followed.

use basecase_tests::running::ONE_LOAD;
use basecase_tests::{Sandbox, has_valgrind};

/// The commands of the tutorial in their order. Budgets are cut short, and tables are loaded once: what is tested is that each command does
/// its work, and not what it finds.
#[test]
fn the_tutorial_can_be_followed() {
    let tutorial = include_str!("../docs/tutorial.md").replace("\\\n", "");
    let commands: Vec<Vec<&str>> = tutorial
        .lines()
        .filter_map(|line| line.strip_prefix("    basecase "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(commands.len() >= 5, "{commands:?}");
    let sandbox = Sandbox::new();
    for words in commands {
        // Other tests count the work of Postgres.
        let is_left_out = |word: &&str| words[0] == "compare" && *word == "--counts";
        let kept = words.iter().copied().filter(|word| !is_left_out(word));
        let shorter = |word| match word {
            "2m" => "5s",
            // Without optimisation it compiles in a tenth of the half minute that others take.
            "sqlite:3.45.0" => "sqlite:3.45.0:o0",
            _ => word,
        };
        let mut words: Vec<&str> = kept.map(shorter).collect();
        if words[0] == "bisect" {
            // One version between the first and the last is enough to search.
            words.retain(|word| !["sqlite:3.31.1", "sqlite:3.39.0"].contains(word));
            let get = sandbox.output(&["server", "get", "sqlite:3.45.0", "--from", "source", "--flags=-O0"]);
            assert!(get.status.success(), "{}", sandbox.transcript(&get));
        }
        if words == ["demo"] {
            words.extend(["--budget", "5s"]);
        }
        if words[0] == "compare" {
            words.extend(ONE_LOAD);
        }
        if words[0] == "bisect" && !has_valgrind() {
            println!("skipped: valgrind is not installed (apt-get install valgrind)");
            continue;
        }
        let output = sandbox.output(&words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", sandbox.transcript(&output));
        assert!(!output.stdout.is_empty(), "{words:?} said nothing");
    }
}
