//! Versions of a dbms.

use std::fmt;
use std::str::FromStr;

use crate::candidate::Dbms;

/// The release stage of a version, in Postgres's terms. A pre-release sorts before its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    Devel,
    Alpha(u32),
    Beta(u32),
    Candidate(u32),
    Released,
}

/// A version such as `17.11`, `9.6.24` or `19rc1`, ordered by its numbers, then by its release stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    numbers: Vec<u32>,
    stage: Stage,
}

impl Version {
    /// The branch that a version belongs to, which is all its numbers but the last: `17` for `17.11`, `9.6` for `9.6.24`,
    /// `10.11` for `10.11.18`, `19` for `19rc1`.
    pub fn major(&self) -> Version {
        let length = match (self.stage, self.numbers.len()) {
            (Stage::Released, length @ 2..) => length - 1,
            (_, length) => length,
        };
        Version { numbers: self.numbers.iter().copied().take(length).collect(), stage: Stage::Released }
    }

    /// The first number.
    pub fn first(&self) -> u32 {
        self.numbers.first().copied().unwrap_or(0)
    }

    /// Whether `self` has these numbers or later ones: `8.0.16` is at least `[8, 0]`.
    pub fn is_at_least(&self, numbers: &[u32]) -> bool {
        self.numbers.as_slice() >= numbers
    }

    /// Whether `self` belongs to the branch `major`.
    pub fn is_of(&self, major: &Version) -> bool {
        self.numbers.starts_with(&major.numbers)
    }

    /// The digits in published row names, whose rule differs by dbms: `176` for Postgres 17.6 and `9624` for 9.6.24; `5651`
    /// for MySQL 5.6.51, and from 8.4 on two digits for the patch, `8406` for 8.4.6; two digits for each number of MariaDB,
    /// `100434` for 10.4.34, and for all but the first of SQLite, `34500` for 3.45.0. A pre-release keeps its suffix: `19rc1`.
    pub fn digits(&self, dbms: Dbms) -> String {
        let digits = match (dbms, self.numbers.as_slice()) {
            (Dbms::Postgres, [major, minor, patch]) => format!("{major}{minor}{patch:02}"),
            (Dbms::Mysql, [major, minor, patch]) if (*major, *minor) >= (8, 4) => {
                format!("{major}{minor}{patch:02}")
            }
            (Dbms::Sqlite, [major, rest @ ..]) => {
                rest.iter().fold(major.to_string(), |digits, number| format!("{digits}{number:02}"))
            }
            (Dbms::Mariadb, numbers) => numbers.iter().map(|number| format!("{number:02}")).collect(),
            (Dbms::Postgres | Dbms::Mysql | Dbms::Sqlite, numbers) => {
                numbers.iter().map(u32::to_string).collect()
            }
        };
        digits + &self.stage.to_string()
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Devel => formatter.write_str("devel"),
            Stage::Alpha(number) => write!(formatter, "alpha{number}"),
            Stage::Beta(number) => write!(formatter, "beta{number}"),
            Stage::Candidate(number) => write!(formatter, "rc{number}"),
            Stage::Released => Ok(()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        write!(formatter, "{}{}", numbers.join("."), self.stage)
    }
}

impl FromStr for Stage {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbered = |word: &str| text.strip_prefix(word).and_then(number);
        match text {
            "" => Ok(Stage::Released),
            "devel" => Ok(Stage::Devel),
            _ => (numbered("alpha").map(Stage::Alpha))
                .or_else(|| numbered("beta").map(Stage::Beta))
                .or_else(|| numbered("rc").map(Stage::Candidate))
                .ok_or(()),
        }
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (numbers, stage) = text.split_at(end);
        let numbers = numbers.split('.').map(number).collect::<Option<Vec<u32>>>().ok_or(())?;
        Ok(Version { numbers, stage: stage.parse()? })
    }
}

/// Parsing as `u32` directly would accept a sign.
fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The version at the start of `word`: `10.11.18` in `10.11.18-MariaDB-0+deb12u1`. The suffix of a Postgres pre-release is
/// part of it: `19rc1`.
pub fn release_number(word: &str) -> Option<Version> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    word.parse().or_else(|()| word[..end].parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version("17.9") < version("17.11"));
        assert!(version("9.6.24") < version("10.0"));
        assert!(version("5.7.22") < version("8.0.4"));
        assert!(version("8.0.16").is_at_least(&[8, 0]) && version("8.0.16").is_at_least(&[8, 0, 16]));
        assert!(!version("8.0.15").is_at_least(&[8, 0, 16]));
    }

    #[test]
    fn what_is_not_released_comes_before_its_release() {
        let texts = ["18.6", "19devel", "19alpha1", "19beta1", "19beta2", "19rc1", "19.0", "20devel"];
        let versions: Vec<Version> = texts.iter().map(|text| version(text)).collect();
        assert!(versions.is_sorted_by(|left, right| left < right), "{versions:?}");
        assert_eq!(version("19rc1").major(), version("19"));
        assert_eq!(version("19rc1").to_string(), "19rc1");
    }

    #[test]
    fn digits_are_those_of_published_row_names() {
        use Dbms::{Mariadb, Mysql, Postgres};
        let cases = [
            (Postgres, "17.5", "175"),
            (Postgres, "14.10", "1410"),
            (Postgres, "9.0.23", "9023"),
            (Postgres, "9.6.4", "9604"),
            (Postgres, "17rc1", "17rc1"),
            (Mysql, "5.6.51", "5651"),
            (Mysql, "5.5.9", "559"),
            (Mysql, "8.0.37", "8037"),
            (Mysql, "8.4.6", "8406"),
            (Mysql, "9.4.0", "9400"),
            (Mysql, "9.7.4", "9704"),
            (Mariadb, "10.4.34", "100434"),
            (Mariadb, "12.2.2", "120202"),
        ];
        for (dbms, text, expected) in cases {
            assert_eq!(version(text).digits(dbms), expected, "{dbms} {text}");
        }
    }

    #[test]
    fn branches_of_all_numberings() {
        for (text, branch) in [("9.6.24", "9.6"), ("17.11", "17"), ("10.11.18", "10.11"), ("8.0.31", "8.0")] {
            assert_eq!(version(text).major().to_string(), branch);
            assert!(version(text).is_of(&version(branch)));
        }
        assert_eq!(version("17").major(), version("17"));
        assert!(!version("17.11").is_of(&version("1")));
    }

    #[test]
    fn other_text_is_no_version() {
        for text in ["", "17.", "+17", "17gamma1", "17rc", "17rc+1", "rc1", "latest", "1..2", "17.11-1"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_reading_panic_and_versions_print_as_they_were_read(text in "[0-9a-z.~+-]{0,12}") {
            if let Ok(version) = text.parse::<Version>() {
                proptest::prop_assert_eq!(version.to_string().parse::<Version>(), Ok(version));
            }
        }
    }
}
