//! What the inputs of a folder come by, and the fewest of them that come by all of it.
//!
//! `marks TARGET FOLDER` prints the marks, each with how many inputs come by it. `marks TARGET FOLDER INTO` also copies, smallest first,
//! every input that adds a mark.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a tool for developers")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use basecase_corpus::TARGETS;

/// Letters of a mark that are part of a file's name.
const NAME_LETTERS: usize = 40;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [target, folder, into @ ..] = &words[..] else { panic!("marks TARGET FOLDER [INTO]") };
    let (_, entry) = TARGETS.iter().find(|(name, _)| name == target).unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort_by_key(|file| (fs::metadata(file).unwrap().len(), file.clone()));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let input = fs::read(&file).unwrap();
        let marks = entry(&input);
        let new = marks.iter().find(|mark| !counts.contains_key(*mark));
        if let (Some(new), [into, ..]) = (new, into) {
            fs::write(Path::new(into).join(name_of(new)), &input).unwrap();
        }
        marks.into_iter().for_each(|mark| *counts.entry(mark).or_default() += 1);
    }
    for (mark, count) in &counts {
        println!("{count:6} {mark}");
    }
    println!("{} marks", counts.len());
}

/// A file's name out of a mark.
fn name_of(mark: &str) -> String {
    let words = mark.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-").to_lowercase();
    name.chars().take(NAME_LETTERS).collect::<String>().trim_end_matches('-').to_owned()
}
