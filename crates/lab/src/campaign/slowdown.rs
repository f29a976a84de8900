//! What is planted in the servers of a calibration.

use std::str::FromStr;

use basecase_server::Plant;

use crate::request::read_change;

/// A slowdown, written as `3%`, `3%:every=100` or `10%:starts=0.3`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// How much longer statements take on average where it is planted: 0.03 is 3 %.
    pub size: f64,
    /// After each Nth message only, N times as long: as slow on average, and less even.
    pub every: u32,
    /// The share of starts of the server in which it is there, above 0 and at most 1.
    pub starts: f64,
}

impl Slowdown {
    /// Of a step whose statements take so long, where a turn of the planted loop takes `spin_us`.
    pub(crate) fn plant(&self, statement_us: f64, spin_us: f64) -> Plant {
        let spins = (self.size * statement_us / spin_us).round().max(1.0) as u32;
        Plant { spins, every: self.every, starts: self.starts }
    }

    /// What is put behind the names of candidates that have it.
    pub(crate) fn tag(&self) -> String {
        // As it was written: 0.07 × 100 is not 7 in binary.
        let percent = (self.size * 1e6).round() / 1e4;
        let every = if self.every > 1 { format!("_every{}", self.every) } else { String::new() };
        let starts = if self.starts < 1.0 { format!("_starts{}", self.starts) } else { String::new() };
        format!("_{percent}pc{every}{starts}")
    }
}

impl FromStr for Slowdown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let size = read_change(parts.next().unwrap_or_default())?;
        let mut slowdown = Slowdown { size, every: 1, starts: 1.0 };
        for part in parts {
            let read = match part.split_once('=') {
                Some(("every", every)) => {
                    every.parse().ok().filter(|every| *every > 0).map(|every| slowdown.every = every)
                }
                Some(("starts", starts)) => starts
                    .parse()
                    .ok()
                    .filter(|starts| *starts > 0.0 && *starts <= 1.0)
                    .map(|starts| slowdown.starts = starts),
                _ => None,
            };
            read.ok_or_else(|| {
                format!(
                    "{part:?} is not a form of slowdown; write 3%, 3%:every=100 for one message in a hundred, or 10%:starts=0.3 for three \
                     starts in ten"
                )
            })?;
        }
        Ok(slowdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdowns_are_read_as_they_are_written() {
        for (text, size, every, starts, tag) in [
            ("3%", 0.03, 1, 1.0, "_3pc"),
            ("7%", 0.07, 1, 1.0, "_7pc"),
            ("0.5%", 0.005, 1, 1.0, "_0.5pc"),
            ("3%:every=100", 0.03, 100, 1.0, "_3pc_every100"),
            ("10%:starts=0.3", 0.1, 1, 0.3, "_10pc_starts0.3"),
            ("2%:every=5:starts=0.5", 0.02, 5, 0.5, "_2pc_every5_starts0.5"),
        ] {
            let slowdown = Slowdown { size, every, starts };
            assert_eq!(text.parse(), Ok(slowdown));
            assert_eq!(slowdown.tag(), tag);
        }
        for wrong in ["3", "3%:", "3%:every=0", "3%:every=x", "3%:starts=0", "3%:starts=1.1", "3%:often"] {
            assert!(wrong.parse::<Slowdown>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn spins_last_as_long_as_the_size_says() {
        let slowdown: Slowdown = "2%:every=100".parse().unwrap();
        let planted = slowdown.plant(50.0, 0.001);
        assert_eq!(planted, Plant { spins: 1_000, every: 100, starts: 1.0 });
        assert_eq!(slowdown.plant(50.0, 1e9).spins, 1, "something is planted in any case");
    }
}
