//! A limit on the memory of servers, as a user gives it.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// A limit on the memory of each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum MemoryRequest {
    /// This many bytes.
    Limit(MemorySize),
    /// What the published server had, times the size of the database here divided by the published size.
    Auto,
}

/// An amount of memory in bytes, a whole number of MiB above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct MemorySize(u64);

const MIB: u64 = 1 << 20;

impl MemorySize {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// `share` (above 0) of it, in whole MiB.
    pub(crate) fn times(self, share: f64) -> MemorySize {
        let mib = (self.0 as f64 * share / MIB as f64).floor();
        MemorySize((mib as u64).max(1).saturating_mul(MIB))
    }

    /// That many bytes, in whole MiB, rounded up.
    pub(crate) fn of_bytes(bytes: u64) -> MemorySize {
        MemorySize(bytes.div_ceil(MIB).max(1).saturating_mul(MIB))
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} MiB", self.0 / MIB)
    }
}

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is no size: write one in MiB or GiB, such as 400M or 1.5G");
        let text = text.trim();
        let digits = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
        let factor = match text[digits..].to_ascii_lowercase().as_str() {
            "m" | "mb" | "mib" => MIB,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return Err(wanted()),
        };
        let number: f64 = text[..digits].trim().replace('_', "").parse().map_err(|_| wanted())?;
        let mib = number * (factor / MIB) as f64;
        // 2^44 MiB are more than any machine has, and fit.
        if !(1.0..=f64::from(1 << 24) * f64::from(1 << 20)).contains(&mib) {
            return Err(wanted());
        }
        Ok(MemorySize((mib as u64) * MIB))
    }
}

impl TryFrom<String> for MemorySize {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for MemoryRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(MemoryRequest::Auto);
        }
        text.parse().map(MemoryRequest::Limit).map_err(|wanted: String| format!("{wanted}, or auto"))
    }
}

impl TryFrom<String> for MemoryRequest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_and_whole_mib() {
        let bytes = |text: &str| text.parse::<MemorySize>().map(MemorySize::bytes).ok();
        assert_eq!(bytes("400M"), Some(400 << 20));
        assert_eq!(["400MiB", "400 MB", "400m"].map(bytes), [Some(400 << 20); 3]);
        assert_eq!(bytes("1.5G"), Some(1536 << 20));
        assert_eq!(bytes("0.3333G"), Some(341 << 20));
        assert_eq!(["400", "0M", "-1G", "a", "", "1e30G", "NaNG", "400K", "auto"].map(bytes), [None; 9]);
        assert_eq!("400M".parse::<MemorySize>().unwrap().to_string(), "400 MiB");
    }

    #[test]
    fn auto_is_a_share_of_what_was_published() {
        let published: MemorySize = "32G".parse().unwrap();
        assert_eq!(published.times(0.01).to_string(), "327 MiB");
        assert_eq!(published.times(1e-9).to_string(), "1 MiB");
        assert_eq!("auto".parse(), Ok(MemoryRequest::Auto));
        let refused = "some".parse::<MemoryRequest>().unwrap_err();
        assert!(refused.contains("400M") && refused.ends_with("or auto"), "{refused}");
    }
}
