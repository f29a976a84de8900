//! The plan of the house: who may import whom, how large a file may grow, and where `unsafe` may stand.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use basecase_tests::workspace;
use toml::{Table, Value};

/// The floor of each crate under `crates/`. A crate imports only crates of lower floors.
const FLOORS: &[(&str, u32)] = &[
    ("model", 0),
    ("stop", 0),
    ("workload", 1),
    ("client", 1),
    ("probe", 1),
    ("stats", 1),
    ("analysis", 2),
    ("process", 2),
    ("store", 2),
    ("fleet", 3),
    ("load", 3),
    ("repository", 3),
    ("builds", 4),
    ("report", 5),
    ("server", 5),
    ("doctor", 6),
    ("lab", 6),
    ("cli", 7),
];

/// Files with `unsafe` code; each block there says why it is sound.
const UNSAFE: &[&str] = &[
    "crates/client/src/sqlite/connection.rs",
    "crates/client/src/sqlite/forks.rs",
    "crates/client/src/sqlite/library.rs",
    "crates/probe/src/io_uring.rs",
    "crates/process/src/process.rs",
];

/// Crates in which folders import each other in a circle. None may be added.
const CIRCLES: &[&str] = &[];

/// Lines that no source file may have more of.
const LINES: usize = 600;

/// Lines that no crate may have more of under its `src`.
const CRATE_LINES: usize = 8000;

/// Larger crates. `docs/architecture.md` says why each is.
const LARGE_CRATES: &[&str] = &["analysis", "builds", "lab", "report", "stats", "workload"];

fn floor(room: &str) -> Option<u32> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

/// The names of the crates under `crates/`.
fn rooms() -> BTreeSet<String> {
    let folders = fs::read_dir(workspace().join("crates")).unwrap().map(Result::unwrap);
    let crates = folders.filter(|folder| folder.path().join("Cargo.toml").is_file());
    crates.map(|folder| folder.file_name().into_string().unwrap()).collect()
}

/// The packages in every table of dependencies, also of those for one platform, for build scripts and for tests.
fn dependencies(manifest: &Table, found: &mut BTreeSet<String>) {
    for (key, value) in manifest {
        let Value::Table(table) = value else { continue };
        if key.ends_with("dependencies") {
            let package = |(key, value): (&String, &Value)| {
                let renamed = value.get("package").and_then(Value::as_str);
                renamed.map_or_else(|| key.clone(), str::to_owned)
            };
            found.extend(table.iter().map(package));
        } else if key == "target" {
            table.values().filter_map(Value::as_table).for_each(|target| dependencies(target, found));
        }
    }
}

/// Every Rust file of the crates that is part of the program and not of its tests.
fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let is_test = matches!(path.file_stem().and_then(|stem| stem.to_str()), Some("tests"));
            if is_test {
                continue;
            } else if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for room in rooms() {
        walk(&workspace().join("crates").join(room), &mut found);
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap().display().to_string()
}

#[test]
fn every_crate_has_a_floor() {
    let planned: BTreeSet<String> = FLOORS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms(), planned, "left: the folders under crates/, right: the table of floors in this test");
}

/// What the crate of that name imports and may not.
fn wrong_imports(room: &str, manifest: &str) -> Vec<String> {
    let mut imported = BTreeSet::new();
    dependencies(&manifest.parse().unwrap(), &mut imported);
    let mut wrong = Vec::new();
    for other in imported.iter().filter_map(|name| name.strip_prefix("basecase-")) {
        let (here, there) = (floor(room), floor(other));
        if there.is_none() || there >= here {
            wrong.push(format!("{room} (floor {here:?}) imports {other} (floor {there:?})"));
        }
    }
    wrong
}

#[test]
fn a_crate_imports_only_crates_of_lower_floors() {
    let manifest = |room: &str| workspace().join("crates").join(room).join("Cargo.toml");
    let wrong: Vec<String> = rooms()
        .iter()
        .flat_map(|room| wrong_imports(room, &fs::read_to_string(manifest(room)).unwrap()))
        .collect();
    assert!(
        wrong.is_empty(),
        "{}\nmove what is shared to a lower floor: data moves one way",
        wrong.join("\n")
    );
}

#[test]
fn wrong_imports_are_found_wherever_they_stand() {
    let wrong = |manifest: &str| wrong_imports("store", manifest).len();
    assert_eq!(wrong("[dependencies]\nbasecase-model = { workspace = true }\nserde = \"1\""), 0);
    assert_eq!(wrong("[dependencies]\nbasecase-load = { workspace = true }"), 1);
    assert_eq!(wrong("[dependencies.basecase-report]\npath = \"../report\""), 1);
    assert_eq!(wrong("[dev-dependencies]\nlab = { package = \"basecase-lab\", path = \"../lab\" }"), 1);
    assert_eq!(wrong("[target.'cfg(unix)'.build-dependencies]\nbasecase-unplanned = \"1\""), 1);
}

#[test]
fn files_stay_small() {
    let mut large = Vec::new();
    for path in sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > LINES {
            large.push(format!("{}: {lines} lines", name(&path)));
        }
    }
    assert!(large.is_empty(), "{}\nsplit each by the nouns that it holds", large.join("\n"));
}

#[test]
fn crates_stay_small() {
    let lines = |room: &String| {
        let top = workspace().join("crates").join(room).join("src");
        let sources = sources().into_iter().filter(|path| path.starts_with(&top));
        sources.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum::<usize>()
    };
    let large: Vec<String> = rooms().into_iter().filter(|room| lines(room) > CRATE_LINES).collect();
    assert_eq!(
        large, LARGE_CRATES,
        "left: crates of more than {CRATE_LINES} lines, right: those that may be"
    );
}

#[test]
fn unsafe_code_stands_only_where_it_must() {
    let is_unsafe = |line: &str| {
        let code = line.trim_start();
        !code.starts_with("//")
            && ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "allow(unsafe_code"]
                .iter()
                .any(|form| code.contains(form))
    };
    let holds_unsafe = |path: &PathBuf| fs::read_to_string(path).unwrap().lines().any(is_unsafe);
    let found: Vec<String> =
        sources().iter().filter(|path| holds_unsafe(path)).map(|path| name(path)).collect();
    assert_eq!(found, UNSAFE, "left: files with unsafe code, right: those that may have it");
}

/// The part of a crate that a file under its `src` belongs to: a folder with the file of its name, or a file.
fn part(path: &Path) -> Option<String> {
    let below = path.iter().skip_while(|name| *name != "src").nth(1)?;
    Path::new(below).file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// The parts of its crate that a source names, outside of tests at its foot and of comments.
fn named_parts(source: &str, parts: &BTreeSet<String>) -> BTreeSet<String> {
    let code = source.lines().take_while(|line| line.trim_end() != "#[cfg(test)]");
    let code: String = code.filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let first = |path: &str| path.trim().split(is_end).next().unwrap_or("").to_owned();
    let named = |text: &str| match text.strip_prefix('{') {
        Some(list) => list.split(['}', ';']).next().unwrap_or("").split(',').map(first).collect(),
        None => vec![first(text)],
    };
    code.split("crate::").skip(1).flat_map(named).filter(|name| parts.contains(name)).collect()
}

/// The folders of a crate that come back to themselves by what they import, with the parts that they do so by.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>, folders: &BTreeSet<String>) -> Vec<String> {
    let reached = |from: &String| {
        let mut found = BTreeSet::new();
        let mut open: Vec<&String> = imports.get(from).into_iter().flatten().collect();
        while let Some(part) = open.pop() {
            if found.insert(part) {
                open.extend(imports.get(part).into_iter().flatten());
            }
        }
        found
    };
    let back = |folder: &&String| reached(folder).contains(folder);
    let by = |folder: &String| {
        let parts: Vec<&str> = reached(folder)
            .into_iter()
            .filter(|part| *part != folder && reached(part).contains(folder))
            .map(String::as_str)
            .collect();
        format!("{folder}, by {}", parts.join(", "))
    };
    folders.iter().filter(back).map(by).collect()
}

#[test]
fn folders_of_a_crate_import_each_other_in_no_circle() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for room in rooms() {
        let top = workspace().join("crates").join(&room).join("src");
        let sources: Vec<PathBuf> = sources().into_iter().filter(|path| path.starts_with(&top)).collect();
        let parts: BTreeSet<String> = sources.iter().filter_map(|path| part(path)).collect();
        let folders = parts.iter().filter(|part| top.join(part).is_dir()).cloned().collect();
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in &sources {
            let own = part(path).unwrap();
            let mut named = named_parts(&fs::read_to_string(path).unwrap(), &parts);
            named.remove(&own);
            imports.entry(own).or_default().extend(named);
        }
        let circles = circles(&imports, &folders);
        if !circles.is_empty() {
            found.insert(room, circles);
        }
    }
    let rooms: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(rooms, CIRCLES, "left: crates with circles, right: those that may have some yet\n{found:#?}");
}

#[test]
fn circles_are_found_however_long() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let parts = set(&["a", "b", "c"]);
    let code = "// crate::c\nuse crate::{X, a};\nfn f() { crate::b::g() }\n#[cfg(test)]\nuse crate::c;";
    assert_eq!(named_parts(code, &parts), set(&["a", "b"]));
    let imports = |pairs: &[(&str, &[&str])]| -> BTreeMap<String, BTreeSet<String>> {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), set(to))).collect()
    };
    let round = imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
    assert_eq!(circles(&round, &set(&["a"])), ["a, by b, c"]);
    // Files of one folder may know each other.
    assert!(circles(&round, &set(&[])).is_empty());
    assert!(circles(&imports(&[("a", &["b"]), ("b", &["c"])]), &parts).is_empty());
}
