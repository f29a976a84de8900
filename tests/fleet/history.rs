//! The course of a range of commits, which two nodes of a real Slurm compile and count.

use basecase_tests::has_valgrind;
use basecase_tests::running::{HARDLY_SETTLES, ONE_LOAD};
use basecase_tests::sqlite_repository::{QUERY, Repository, flags};
use serde_json::Value;

use crate::cluster::Cluster;

/// Turns of a loop for each row, commit by commit. The fifth does not compile: the end that both pieces have.
const TURNS: [u32; 9] = [0, 0, 0, 60, 60, 60, 60, 20, 20];
const BROKEN: usize = 4;

#[test]
fn nodes_search_pieces_of_a_range_whose_common_end_does_not_compile() {
    if !has_valgrind() {
        println!("skipped: valgrind is not installed (apt-get install valgrind)");
        return;
    }
    let Some(cluster) = Cluster::start(2) else { return };
    let repository = Repository::new(cluster.sandbox());
    let commit = |(number, turns): (usize, &u32)| {
        let error = if number == BROKEN { "#error not yet" } else { "" };
        repository.commit(&format!("Commit {number}"), *turns, error)
    };
    let commits: Vec<String> = TURNS.iter().enumerate().map(commit).collect();
    // Nodes search the range as it was when they were submitted.
    let range = format!("{}..main", commits[0]);
    let flags = flags(cluster.sandbox());
    let order =
        ["history", "git:r", &range, "--build-flags", &flags, "--counts", "--counts-engine", "callgrind"];
    let fleet = ["--builds", "2", "--store", "fleet.sqlite", "--json", "--fleet", "slurm", "--nodes"];
    let words = |nodes| [&order[..], &QUERY, &HARDLY_SETTLES, &ONE_LOAD, &fleet, &[nodes]].concat();
    let output = cluster.basecase(&words("2")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", cluster.logs());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();

    let candidates = found["candidates"].as_array().unwrap();
    let reading = |number: usize| candidates[number]["reading"].as_str().unwrap();
    assert_eq!(candidates.len(), TURNS.len(), "{found:#}");
    for number in [3, 7] {
        assert_eq!(reading(number), "a change begins", "{found:#}");
    }
    assert!(reading(BROKEN).starts_with("skipped"), "{found:#}");
    for number in [2, 5, 6, 8] {
        assert_eq!(reading(number), "measured", "{found:#}");
    }

    // Another piece for each node would leave gaps.
    let refused = cluster.basecase(&words("3")).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("no more can join\nhint: "), "{said}");
}
