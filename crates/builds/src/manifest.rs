//! The file in a build's folder that says what it was made from. It is written last: a folder without it is not a build.
//!
//! Its first line, a SHA-256, identifies the build. For a build from packages, whose versions change by themselves, lines of
//! a word and a value follow.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = ".basecase-artifact";

/// What a build was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// SHA-256 of the artifact, or of the server program if that came in packages.
    pub sha256: String,
    /// The packages.
    pub got: Option<GotPackages>,
}

/// The packages of a build, and what its server program reports of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GotPackages {
    /// The server's package, its version and suite.
    pub artifact: String,
    /// The folder that the programs must run in, because they name their loader by an absolute path.
    pub place: PathBuf,
    /// E.g. `gcc 14.2.0`.
    pub compiler: Option<String>,
    /// E.g. `-O2`.
    pub flags: Option<String>,
    /// Every package with its version.
    pub packages: Vec<String>,
}

impl Manifest {
    /// The manifest of the tree `folder`; `None` if the tree is incomplete or has been moved.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let manifest = Manifest::parse(&fs::read_to_string(folder.join(FILE)).ok()?)?;
        let is_in_place = manifest.got.as_ref().is_none_or(|got| got.place == folder);
        is_in_place.then_some(manifest)
    }

    /// Writes the manifest into the finished tree `folder`.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(FILE), self.to_text())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let sha256 = lines.next()?.to_owned();
        let mut got: Option<GotPackages> = None;
        for line in lines {
            let (word, value) = line.split_once(' ')?;
            let got = got.get_or_insert_default();
            let value = value.to_owned();
            match word {
                "artifact" => got.artifact = value,
                "place" => got.place = value.into(),
                "compiler" => got.compiler = Some(value),
                "flags" => got.flags = Some(value),
                "package" => got.packages.push(value),
                _ => return None,
            }
        }
        Some(Manifest { sha256, got })
    }

    fn to_text(&self) -> String {
        let mut lines = vec![self.sha256.clone()];
        if let Some(got) = &self.got {
            lines.push(format!("artifact {}", got.artifact));
            lines.push(format!("place {}", got.place.display()));
            lines.extend(got.compiler.iter().map(|text| format!("compiler {text}")));
            lines.extend(got.flags.iter().map(|text| format!("flags {text}")));
            lines.extend(got.packages.iter().map(|text| format!("package {text}")));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()), None);
        let mut manifest = Manifest { sha256: "ab".into(), got: None };
        assert_eq!(manifest.to_text(), "ab\n");
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()), Some(manifest.clone()));
        manifest.got = Some(GotPackages {
            artifact: "mysql-server-core 9.7.4-2 (sid)".into(),
            place: folder.path().into(),
            compiler: Some("gcc 16.2.0".into()),
            flags: None,
            packages: vec!["libc6 2.43-1".into(), "libaio1t64 0.3.113-10".into()],
        });
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()), Some(manifest.clone()));
        // Its programs name the loader at the old place.
        if let Some(got) = &mut manifest.got {
            got.place = "/elsewhere".into();
        }
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_reading_panic(text in "(\\PC|\n){0,60}") {
            let _ = Manifest::parse(&text);
        }
    }
}
