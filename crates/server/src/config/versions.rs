//! Version ranges in the headers of configs.

use std::str::FromStr;

use basecase_builds::Version;

/// From one version (included) to another (excluded).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    from: Option<Version>,
    before: Option<Version>,
}

impl Versions {
    /// Every version.
    pub(crate) fn all() -> Self {
        Versions::default()
    }

    /// Whether `version` is in the range.
    pub(crate) fn contains(&self, version: &Version) -> bool {
        // `19rc1` sorts before 19, but has the settings of 19.
        self.from.as_ref().is_none_or(|from| version >= from || version.is_of(from))
            && self.before.as_ref().is_none_or(|before| version < before && !version.is_of(before))
    }

    /// Whether any version is in both ranges.
    pub(crate) fn overlaps(&self, other: &Versions) -> bool {
        let begins_before = |one: &Versions, end: &Versions| match (&one.from, &end.before) {
            (Some(from), Some(before)) => from < before,
            _ => true,
        };
        begins_before(self, other) && begins_before(other, self)
    }
}

/// Reads `8.0..`, `..8.0.30`, `5.7..8.0` (from 5.7 on, before 8.0) or `all`.
impl FromStr for Versions {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "all" {
            return Ok(Versions::all());
        }
        let (from, before) = text.split_once("..").ok_or(())?;
        let read = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse::<Version>().map(Some),
        };
        let versions = Versions { from: read(from)?, before: read(before)? };
        match (&versions.from, &versions.before) {
            (None, None) => Err(()),
            (Some(from), Some(before)) if from >= before => Err(()),
            _ => Ok(versions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(text: &str) -> Versions {
        text.parse().unwrap()
    }

    #[test]
    fn ranges_include_their_beginning_and_not_their_end() {
        let contains = |range: &str, version: &str| versions(range).contains(&version.parse().unwrap());
        assert!(contains("5.7..8.0", "5.7.22") && contains("8.0.30..", "8.0.30") && contains("all", "1"));
        assert!(contains("19..", "19rc1") && !contains("..19", "19rc1"));
        assert!(!contains("5.7..8.0", "8.0.12") && !contains("..8.0.30", "8.0.30"));
        for text in ["", "..", "8.0", "8.0..8.0", "9..8", "a..b"] {
            assert!(text.parse::<Versions>().is_err(), "{text}");
        }
    }

    #[test]
    fn overlaps_are_seen_both_ways() {
        for (one, other, overlap) in [
            ("..8.0", "8.0..", false),
            ("..8.0.30", "8.0..", true),
            ("5.6..5.7", "5.7..8.0", false),
            ("all", "5.5..", true),
        ] {
            assert_eq!(versions(one).overlaps(&versions(other)), overlap, "{one} {other}");
            assert_eq!(versions(other).overlaps(&versions(one)), overlap, "{other} {one}");
        }
    }
}
