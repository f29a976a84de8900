//! Stores that become one.

use basecase_model::{CandidateName, Cell, Trial, TrialStatus};

use super::sample;
use crate::{Added, Problem, Store};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// A store with a trial of each of these rounds, measured by an experiment.
    fn store(&self, name: &str, experiment: &str, rounds: &[u32]) -> Store {
        let mut store = self.empty(name);
        store.save_experiment(&sample::experiment(experiment)).unwrap();
        for round in rounds {
            let cell = cell();
            let trial = Trial { measured_by: experiment.into(), ..sample::trial(&cell, *round) };
            store.save_trial(experiment, &cell, &trial).unwrap();
        }
        store
    }

    /// A store with rounds 0 and 1, and one with round 2 and another result of round 1.
    fn contradicting(&self) -> (Store, Store) {
        let (ours, mut theirs) = (self.store("ours", "e", &[0, 1]), self.store("theirs", "e", &[2]));
        let later = Trial { started_at: "2027-01-01T00:00:00Z".into(), ..sample::trial(&cell(), 1) };
        theirs.save_trial("e", &cell(), &later).unwrap();
        (ours, theirs)
    }

    fn empty(&self, name: &str) -> Store {
        Store::create_or_open(&self.0.path().join(name)).unwrap()
    }
}

fn cell() -> Cell {
    sample::cell("l.i0")
}

/// All rows of all tables, as text.
fn content(store: &Store) -> Vec<String> {
    let connection = store.connection();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut statement = connection.prepare(names).unwrap();
    let tables: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let width = statement.column_count();
        let mut found = statement.query([]).unwrap();
        let mut of_table = Vec::new();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<String> =
                (0..width).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            of_table.push(format!("{table}: {}", values.join(", ")));
        }
        of_table.sort();
        rows.extend(of_table);
    }
    rows
}

#[test]
fn the_order_and_the_number_of_merges_change_nothing() {
    let place = Place::new();
    let parts =
        [place.store("a", "e", &[0, 3]), place.store("b", "e", &[1]), place.store("c", "another", &[2, 4])];
    let merged = |name: &str, order: &[usize]| {
        let mut all = place.empty(name);
        let added: Vec<Added> = order.iter().map(|part| all.merge(&parts[*part]).unwrap()).collect();
        (content(&all), added, all)
    };
    let (content_abc, added, all) = merged("abc", &[0, 1, 2]);
    let of = |experiments, trials| Added { experiments, trials, counts: 0 };
    assert_eq!(added, [of(1, 2), of(0, 1), of(1, 2)]);
    let (content_cba, ..) = merged("cba", &[2, 1, 0]);
    let (content_twice, again, _) = merged("twice", &[1, 0, 2, 0, 1]);
    assert_eq!(content_abc, content_cba);
    assert_eq!(content_abc, content_twice);
    assert_eq!(again[3..], [Added::default(); 2]);
    let rounds: Vec<u32> = all.trials("e").unwrap().iter().map(|trial| trial.place.round).collect();
    assert_eq!(rounds, [0, 1, 2, 3, 4], "in the order of their times, of all experiments that have the cell");
    assert!(all.verify().unwrap().is_empty(), "{:?}", all.verify());
}

#[test]
fn a_round_that_both_measured_is_refused_and_nothing_changes() {
    let place = Place::new();
    let (mut ours, theirs) = place.contradicting();
    let before = content(&ours);
    let error = ours.merge(&theirs).unwrap_err();
    let Problem::Contradiction { what, .. } = &error.problem else { panic!("{error}") };
    assert_eq!(what, "pg176.x10a on l.i0, round 2");
    assert!(error.to_string().contains("hint: "), "{error}");
    assert_eq!(content(&ours), before);
}

#[test]
fn more_stores_than_are_merged_together_hold_the_same_in_any_order() {
    let place = Place::new();
    let parts: Vec<Store> =
        (0..19).map(|round| place.store(&format!("part-{round}"), "e", &[round])).collect();
    let merged = |name: &str, parts: &[&Store]| {
        let mut all = place.empty(name);
        let added = all.merge_all(parts.iter().copied()).unwrap();
        assert!(added.len() == 19 && added.iter().all(|added| added.trials == 1), "{added:?}");
        content(&all)
    };
    let forwards: Vec<&Store> = parts.iter().collect();
    let backwards: Vec<&Store> = parts.iter().rev().collect();
    assert_eq!(merged("forwards", &forwards), merged("backwards", &backwards));
}

/// Brings a store with the sample's trials back to version 10, which had a row for each slice and each number.
fn back_to_version_10(store: &Store) {
    let of_sample = "1, 5, 120000, 30012.5, 300, 9995.8, 20, 20000.5, -2000.5, 0.0, 1.75";
    let back = format!(
        "CREATE TABLE slice (trial, number, pass, position, opened_us, length_us, operations, rate, warm_up_operations, server_cpu_us,
             others_cpu_us, steal_us, canary_ns);
         INSERT INTO slice SELECT trial, 0, {of_sample} FROM slices;
         CREATE TABLE numbers AS SELECT * FROM measure;
         DROP VIEW measure; DROP TABLE measures; DROP TABLE slices;
         ALTER TABLE numbers RENAME TO measure; PRAGMA user_version = 10;"
    );
    store.connection().execute_batch(&back).unwrap();
}

#[test]
fn stores_of_an_older_version_are_merged_as_those_of_this_one() {
    let place = Place::new();
    let parts: Vec<Store> =
        (0..3).map(|round| place.store(&format!("part-{round}"), "e", &[round])).collect();
    let mut all = place.empty("all");
    all.merge_all(&parts).unwrap();
    parts.iter().for_each(back_to_version_10);
    drop(parts);
    let path = |round: u32| place.0.path().join(format!("part-{round}"));
    let older: Vec<Store> = (0..3).map(|round| Store::open_read_only(&path(round)).unwrap()).collect();
    let mut of_older = place.empty("of-older");
    of_older.merge_all(&older).unwrap();
    assert_eq!(content(&of_older), content(&all));
    assert_eq!(of_older.trials("e").unwrap()[0].slices.len(), 1);
    let mut files = std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(files.all(|name| !name.to_string_lossy().contains("merged")), "copies are left");
}

#[test]
fn what_was_added_before_a_contradiction_stays_and_nothing_after_it_is_added() {
    let place = Place::new();
    let (mut ours, theirs) = place.contradicting();
    let (before, after) = (place.store("before", "e", &[3]), place.store("after", "e", &[4]));
    let error = ours.merge_all([&before, &theirs, &after]).unwrap_err();
    assert!(
        matches!(&error.problem, Problem::Contradiction { other, .. } if other.ends_with("theirs")),
        "{error}"
    );
    let rounds = |store: &Store| -> Vec<u32> {
        store.trials("e").unwrap().iter().map(|trial| trial.place.round).collect()
    };
    assert_eq!(rounds(&ours), [0, 1, 3]);
    assert_eq!(ours.merge_all([&after]).unwrap()[0].trials, 1, "nothing stayed attached");
}

#[test]
fn another_result_of_one_trial_is_refused() {
    let place = Place::new();
    for change in [
        "UPDATE trial SET seconds = seconds + 1",
        "UPDATE measures SET counters = '{}'",
        "DELETE FROM role; UPDATE trial SET seconds = seconds",
    ] {
        let (mut ours, theirs) = (place.store("ours", "e", &[0]), place.store("theirs", "e", &[0]));
        assert_eq!(ours.merge(&theirs).unwrap(), Added::default());
        // What is missing from ours is another result too.
        let changed = if change.starts_with("DELETE") { &ours } else { &theirs };
        changed.connection().execute_batch(change).unwrap();
        assert!(
            matches!(ours.merge(&theirs).unwrap_err().problem, Problem::Contradiction { .. }),
            "{change}"
        );
        for name in ["ours", "theirs"] {
            std::fs::remove_file(place.0.path().join(name)).unwrap();
        }
    }
}

#[test]
fn a_failure_does_not_contradict_a_result() {
    let place = Place::new();
    let mut ours = place.store("ours", "e", &[0]);
    let mut theirs = place.store("theirs", "e", &[]);
    let failed = TrialStatus::Failed { reason: "no".into(), log_tail: String::new() };
    let trial =
        Trial { status: failed, started_at: "2026-01-01T00:00:00Z".into(), ..sample::trial(&cell(), 0) };
    theirs.save_trial("e", &cell(), &trial).unwrap();
    theirs.save_cells("e", &[(CandidateName("pg176.x10a".into()), sample::cell("qr100"))]).unwrap();
    assert_eq!(ours.merge(&theirs).unwrap().trials, 1);
    assert_eq!(ours.trials("e").unwrap().len(), 2);
}
