//! A factor that shortens every fixed duration.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// How much shorter than usual warm-ups, slices, the work of a round, pauses and polls are. Tests of the order of things need not wait
/// for them. Trials measured like this are marked, are never used beside ordinary ones, and get no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    divisor: NonZeroU32,
}

impl Timing {
    /// Durations as they are: results say something about servers.
    pub const ORDINARY: Timing = Timing { divisor: NonZeroU32::MIN };

    /// The mark of what is measured like this, `1/50`; `None` of what is ordinary.
    pub fn mark(self) -> Option<String> {
        (self != Timing::ORDINARY).then(|| format!("1/{}", self.divisor))
    }

    /// The shortened duration.
    pub fn of(self, usual: Duration) -> Duration {
        usual / self.divisor.get()
    }
}

impl Default for Timing {
    fn default() -> Self {
        Timing::ORDINARY
    }
}

impl FromStr for Timing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let divisor = text.strip_prefix("1/").and_then(|divisor| divisor.parse().ok());
        let divisor = divisor.filter(|divisor: &NonZeroU32| divisor.get() <= 1000);
        divisor.map(|divisor| Timing { divisor }).ok_or_else(|| "it is 1/1 to 1/1000, e.g. 1/50".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_ordinary_has_a_mark() {
        assert_eq!(Timing::default().mark(), None);
        assert_eq!("1/1".parse(), Ok(Timing::ORDINARY));
        let short: Timing = "1/50".parse().unwrap();
        assert_eq!(short.mark().as_deref(), Some("1/50"));
        assert_eq!(short.of(Duration::from_secs(1)), Duration::from_millis(20));
        for wrong in ["50", "1/0", "1/1001", "2/50", "1/-1", ""] {
            assert!(wrong.parse::<Timing>().is_err(), "{wrong}");
        }
    }
}
