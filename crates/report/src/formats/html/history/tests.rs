//! Histories of invented nights as pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use basecase_analysis::{Counted, JudgedExperiment, Stored, fixture};

use crate::write_history;

/// Writes the history of nights and returns the path of its first page.
fn written(nights: Vec<(Stored, Counted)>, wanted: Option<&str>, place: &Path) -> String {
    let mut nights: Vec<JudgedExperiment> = nights.into_iter().map(JudgedExperiment::from).collect();
    let chosen = nights.pop().unwrap();
    let (_, page) = write_history(&chosen, Some(&nights), wanted, place).unwrap();
    fs::read_to_string(page).unwrap()
}

fn files(place: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(place).unwrap().map(Result::unwrap);
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn the_front_page_ranks_the_changes_of_all_steps() {
    let place = tempfile::tempdir().unwrap();
    let front = written(fixture::nights(40, 6), None, place.path());
    insta::assert_snapshot!(front.replace("><", ">\n<"));
    assert!(!front.contains("<script") && !front.contains("http"), "it works offline and without scripts");
    let names = files(place.path());
    let linked = |name: &&String| name.starts_with("history-") && front.contains(&format!("href=\"{name}\""));
    assert_eq!((names.len(), names.iter().filter(linked).count()), (8, 6), "{names:?}");
}

#[test]
fn a_page_of_a_step_has_its_levels_and_the_causes_of_its_changes() {
    let place = tempfile::tempdir().unwrap();
    written(fixture::nights(40, 6), None, place.path());
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    let counted = read("history-point-query.pre_range=100.html");
    // 39 builds and the base case, in time and in work.
    assert_eq!(counted.matches("<circle").count(), 2 * 40);
    assert_eq!(counted.matches("<rect class=\"change loss\"").count(), 2, "one change, in both charts");
    assert!(counted.contains("Functions whose work changed from dev.z12a 2025-07-24 to dev.z12a 2025-07-25"));
    assert!(counted.contains("hash_search_with_hash_value"), "{counted}");
    let timed = read("history-scan.warmpre_range=100.html");
    assert_eq!(timed.matches("<rect class=\"change loss\"").count(), 2, "two changes");
    assert!(timed.contains("more page faults per query") && timed.contains("id=\"change-2\""), "{timed}");
    let same = read("history-point-query.warm_range=100.html");
    assert!(same.contains("No change was found over 40 versions.") && !same.contains("#changes"));
}

#[test]
fn pages_of_many_nights_stay_small_and_name_few_of_them() {
    let place = tempfile::tempdir().unwrap();
    written(fixture::nights(150, 4), None, place.path());
    let page = fs::read_to_string(place.path().join("history-point-query.pre_range=100.html")).unwrap();
    let (charts, _) = page.split_once("id=\"changes\"").unwrap();
    assert!(charts.len() < 30_000, "{} bytes", charts.len());
    assert_eq!((charts.matches("<circle").count(), charts.matches("class=\"dots\"").count()), (0, 2));
    assert!((4..=20).contains(&charts.matches(">2025-").count()), "{charts}");
}

#[test]
fn pages_of_steps_that_are_gone_are_removed_and_files_of_others_stay() {
    let place = tempfile::tempdir().unwrap();
    written(fixture::nights(8, 4), None, place.path());
    fs::write(place.path().join("notes.txt"), "of a user").unwrap();
    written(fixture::nights(8, 4), Some("scan.warmpre_range=100"), place.path());
    let expected = ["assets", "history-scan.warmpre_range=100.html", "index.html", "notes.txt"];
    assert_eq!(files(place.path()), expected.map(str::to_owned).into());
}

#[test]
fn a_folder_of_others_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("index.html"), "of a user").unwrap();
    let night = JudgedExperiment::from(fixture::nights(1, 4).remove(0));
    let refusal = write_history(&night, None, None, place.path()).err().unwrap().to_string();
    assert!(refusal.contains("\nhint: name a new or empty directory"), "{refusal}");
    assert_eq!(fs::read_to_string(place.path().join("index.html")).unwrap(), "of a user");
}

#[test]
fn what_was_counted_alone_and_single_runs_have_pages() {
    let place = tempfile::tempdir().unwrap();
    let (experiment, counted) = fixture::counted();
    let counted = JudgedExperiment::of((experiment, Vec::new())).counting(counted);
    let (_, page) = write_history(&counted, None, None, &place.path().join("counts")).unwrap();
    let front = fs::read_to_string(page).unwrap();
    assert!(front.contains("more work (") && !front.contains(">speed<"), "{front}");
    let levels: Vec<f64> = (0..20).map(|number| if number < 12 { 0.0 } else { -0.1 }).collect();
    let (mut experiment, trials) = fixture::history(&levels, 1, 0.0005, 5);
    experiment.schedule = None;
    let single = JudgedExperiment::of((experiment, trials));
    let singles = place.path().join("singles");
    let (_, page) = write_history(&single, None, Some("l.i0"), &singles).unwrap();
    let front = fs::read_to_string(page).unwrap();
    assert!(front.contains("Single runs carry no verdict") && front.contains("since pg1812.x10a"), "{front}");
}
