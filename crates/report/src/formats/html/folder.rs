//! The folder of a report: writes its files, and removes those of an earlier report.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use basecase_model::{hexadecimal, printable};
use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The list of a report's own files with their checksums, in the format of `sha256sum`.
const LIST: &str = "assets/files.sha256";

/// A folder into which a report is being written.
pub(super) struct Folder<'a> {
    path: &'a Path,
    /// Names of the files so far, relative to the folder, with their checksums.
    written: BTreeMap<String, String>,
}

impl<'a> Folder<'a> {
    /// The folder, which need not exist yet.
    pub(super) fn new(path: &'a Path) -> Self {
        Folder { path, written: BTreeMap::new() }
    }

    /// The same, unless it holds files and none of them is ours.
    ///
    /// # Errors
    /// When it does, or cannot be read or made.
    pub(super) fn of_our_own(path: &'a Path) -> Result<Self, Error> {
        let mut folder = Folder::new(path);
        if folder.file(LIST).is_file() {
            return Ok(folder);
        }
        let is_empty = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(source) if source.kind() == io::ErrorKind::NotFound => true,
            Err(source) => return Err(Error::CreateDirectory { path: path.to_owned(), source }),
        };
        if !is_empty {
            return Err(Error::OthersFolder(path.to_owned()));
        }
        // A folder whose pages were not finished is known by it.
        folder.write_asset(LIST, "")?;
        folder.written.clear();
        Ok(folder)
    }

    /// Path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a page or a picture. HTML escaping is already done; this escapes control characters.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&mut self, name: &str, content: &str) -> Result<(), Error> {
        self.write_asset(name, &printable(content))
    }

    /// Writes a file that comes with basecase. One that is there already and has this content is left as it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write_asset(&mut self, name: &str, content: &str) -> Result<(), Error> {
        let path = self.file(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|source| Error::CreateDirectory { path: parent.to_owned(), source })?;
        }
        if fs::read(&path).is_ok_and(|known| known == content.as_bytes()) {
            self.written.insert(name.to_owned(), checksum(content.as_bytes()));
            return Ok(());
        }
        fs::write(&path, content).map_err(|source| Error::WriteFile { path, source })?;
        self.written.insert(name.to_owned(), checksum(content.as_bytes()));
        Ok(())
    }

    /// Removes files of an earlier report that this one does not have. A file that changed since then is somebody else's and stays.
    ///
    /// # Errors
    /// When the list of this report's files cannot be written.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let earlier = fs::read_to_string(self.file(LIST)).unwrap_or_default();
        for (sum, name) in earlier.lines().filter_map(|line| line.split_once("  ")) {
            let path = self.file(name);
            let is_stale = is_within(name) && !self.written.contains_key(name);
            // No report writes links.
            let is_file = || fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            if is_stale && is_file() && fs::read(&path).is_ok_and(|content| checksum(&content) == sum) {
                // A leftover file does no harm.
                let _ = fs::remove_file(&path);
            }
        }
        let list: String = self.written.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        self.write_asset(LIST, &list)
    }
}

/// Whether a name stays in the folder.
fn is_within(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn checksum(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// Longest name of a page, without its extension: file systems allow 255 bytes, and pictures add to it.
const LONGEST: usize = 120;

/// A file name of letters that are safe in every file system and link. Different names give different file names, even on file systems
/// that ignore case.
pub(crate) fn file_name(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'=' => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("~{byte:02x}")),
        }
    }
    if safe.len() > LONGEST {
        let sum = checksum(name.as_bytes());
        safe.truncate(LONGEST - 34);
        // Escapes never produce this.
        safe.push_str("~~");
        safe.push_str(&sum[..32]);
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn defect_20_names_of_files_are_different_safe_and_short() {
        assert_eq!(file_name("point-query_range=100"), "point-query_range=100");
        assert_ne!(file_name("a=1"), file_name("a_1"));
        assert_eq!(file_name("../A b"), "..~2f~41~20b");
        let long = "x".repeat(400);
        assert_eq!(file_name(&long).len(), LONGEST);
        assert_ne!(file_name(&long), file_name(&format!("{long}y")));
    }

    proptest! {
        #[test]
        fn defect_20_no_two_names_share_a_file(one in "[a-b=_~/A-B]{0,3}", other in "[a-b=_~/A-B]{0,3}") {
            prop_assert_eq!(one == other, file_name(&one).to_lowercase() == file_name(&other).to_lowercase());
        }
    }

    #[test]
    fn a_file_with_the_same_content_is_not_written_again() {
        let place = tempfile::tempdir().unwrap();
        let write = |pages: &[(&str, &str)]| {
            let mut folder = Folder::of_our_own(place.path()).unwrap();
            pages.iter().try_for_each(|(name, content)| folder.write(name, content)).unwrap();
            folder.finish().unwrap();
        };
        let old = std::time::SystemTime::UNIX_EPOCH;
        write(&[("index.html", "1"), ("history-a.html", "a"), ("history-b.html", "b")]);
        for name in ["index.html", "history-a.html"] {
            fs::File::open(place.path().join(name)).unwrap().set_modified(old).unwrap();
        }
        write(&[("index.html", "2"), ("history-a.html", "a")]);
        let modified = |name: &str| fs::metadata(place.path().join(name)).unwrap().modified().unwrap();
        assert!(modified("index.html") > old && modified("history-a.html") == old);
        assert!(!place.path().join("history-b.html").exists(), "a step that is no longer there");
    }

    #[test]
    fn a_folder_of_others_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let claimed = |name: &str| Folder::of_our_own(&place.path().join(name)).map(|_| ());
        claimed("new/deep").unwrap();
        claimed("new/deep").unwrap();
        fs::create_dir(place.path().join("empty")).unwrap();
        claimed("empty").unwrap();
        fs::create_dir(place.path().join("photos")).unwrap();
        fs::write(place.path().join("photos/1.jpeg"), "").unwrap();
        let refusal = claimed("photos").unwrap_err().to_string();
        assert!(refusal.contains("photos holds") && refusal.contains("\nhint: "), "{refusal}");
        assert_eq!(fs::read_dir(place.path().join("photos")).unwrap().count(), 1, "nothing is added");
        assert!(claimed("photos/1.jpeg").unwrap_err().to_string().contains("hint: "));
    }

    #[test]
    fn defect_20_files_of_an_earlier_report_go_and_files_of_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let report = |names: &[&str]| {
            let mut folder = Folder::new(place.path());
            names.iter().try_for_each(|name| folder.write(name, name)).unwrap();
            folder.finish().unwrap();
        };
        report(&["index.html", "step-a.html", "step-b.html", "step-c.html", "flame/step-a.svg"]);
        fs::write(path("step-b.html"), "notes of a user").unwrap();
        fs::write(path("step-z.html"), "of a user as well").unwrap();
        fs::remove_file(path("step-c.html")).unwrap();
        std::os::unix::fs::symlink(path("step-z.html"), path("step-c.html")).unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), "x").unwrap();
        let forged = format!("{}  {}\n", checksum(b"x"), outside.path().display());
        let list = fs::read_to_string(path(LIST)).unwrap();
        fs::write(path(LIST), list + &forged + &forged.replace("  /", "  ../../../../../")).unwrap();

        report(&["index.html"]);
        let is_there = |name: &str| fs::symlink_metadata(path(name)).is_ok();
        assert!(is_there("index.html") && !is_there("step-a.html") && !is_there("flame/step-a.svg"));
        assert_eq!(fs::read_to_string(path("step-b.html")).unwrap(), "notes of a user");
        assert!(is_there("step-z.html") && is_there("step-c.html") && outside.path().exists());
    }
}
