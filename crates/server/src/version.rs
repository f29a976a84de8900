//! Versions of a dbms.

use std::fmt;
use std::str::FromStr;

/// A version such as `17.11` or `9.6.24`, ordered by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Vec<u32>);

impl Version {
    /// The part that names a branch of development: `17` of `17.11`, `9.6` of `9.6.24`.
    pub fn major(&self) -> Version {
        let parts = if self.first() < 10 { 2 } else { 1 };
        Version(self.0.iter().copied().take(parts).collect())
    }

    /// The first number.
    pub fn first(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether `self` is the version of these numbers or a later one: `8.0.16` is at least `[8, 0]`.
    pub fn is_at_least(&self, numbers: &[u32]) -> bool {
        self.0.as_slice() >= numbers
    }

    /// Whether `self` belongs to the branch `major`.
    pub fn is_of(&self, major: &Version) -> bool {
        self.0.starts_with(&major.0)
    }

    /// The digits of published row names of Postgres: `176` of `17.6`, `9624` of `9.6.24`.
    pub fn digits(&self) -> String {
        match self.0.as_slice() {
            [major, minor, patch] => format!("{major}{minor}{patch:02}"),
            parts => parts.iter().map(u32::to_string).collect(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        formatter.write_str(&parts.join("."))
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split('.').map(|part| {
            // `u32` would take a sign.
            if part.bytes().all(|byte| byte.is_ascii_digit()) { part.parse::<u32>().ok() } else { None }
        });
        parts.collect::<Option<Vec<u32>>>().map(Version).ok_or(())
    }
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
        assert!(version("8.0.16").is_at_least(&[8, 0]) && version("8.0.16").is_at_least(&[8, 0, 16]));
        assert!(!version("8.0.15").is_at_least(&[8, 0, 16]));
    }

    #[test]
    fn digits_are_those_of_published_row_names() {
        assert_eq!(version("17.5").digits(), "175");
        assert_eq!(version("14.10").digits(), "1410");
        assert_eq!(version("9.0.23").digits(), "9023");
        assert_eq!(version("9.6.4").digits(), "9604");
    }

    #[test]
    fn major_of_old_and_new_numbering() {
        assert_eq!(version("9.6.24").major().to_string(), "9.6");
        assert_eq!(version("17.11").major().to_string(), "17");
        assert!(version("17.11").is_of(&version("17")));
        assert!(!version("17.11").is_of(&version("1")));
    }

    #[test]
    fn other_text_is_no_version() {
        for text in ["", "17.", "+17", "17beta1", "latest", "1..2"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
