//! Checks of what was done against what the server says.

use basecase_model::{Check, Measures};

/// How many times something must have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    least: u64,
    is_exact: bool,
}

impl Count {
    pub(crate) fn exactly(count: u64) -> Self {
        Count { least: count, is_exact: true }
    }

    /// Exactly this many times, or at least this many if failed and retried statements count as well.
    pub(crate) fn of(count: u64, is_exact: bool) -> Self {
        Count { least: count, is_exact }
    }

    /// Compares it with what was counted.
    pub(crate) fn check(self, name: impl Into<String>, actual: u64) -> Check {
        if self.is_exact {
            return Check::equal(name, &self.least, &actual);
        }
        Check {
            name: name.into(),
            expected: format!("{} or more", self.least),
            actual: actual.to_string(),
            passed: actual >= self.least,
        }
    }
}

/// What a server counted over a step.
#[derive(Debug, Clone, Copy)]
pub struct ServerCounts<'a> {
    /// What was counted.
    pub measures: &'a Measures,
    /// Whether it may have lost some, so that lower counts are accepted.
    pub may_lack_some: bool,
}

impl ServerCounts<'_> {
    /// Compares them with what is expected, as far as the server has them.
    pub(crate) fn check(self, expected: impl IntoIterator<Item = (&'static str, Count)>) -> Vec<Check> {
        let check = |(name, count): (&'static str, Count)| {
            let actual = self.measures.get(name)? as u64;
            let check = count.check(name, actual);
            Some(if self.may_lack_some && actual < count.least {
                Check {
                    expected: format!("{} or fewer, if some were lost", count.least),
                    passed: true,
                    ..check
                }
            } else {
                check
            })
        };
        expected.into_iter().filter_map(check).collect()
    }
}

/// The checks that did not pass, in one line each.
pub(crate) fn failures(checks: &[Check]) -> Vec<String> {
    checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| format!("{}: expected {}, found {}", check.name, check.expected, check.actual))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use basecase_model::names;

    #[test]
    fn counters_that_the_server_lacks_are_not_compared() {
        let expected = || [(names::SERVER_CONNECTIONS, Count::exactly(0))];
        let failures_of = |measures: &Measures| {
            failures(&ServerCounts { measures, may_lack_some: false }.check(expected()))
        };
        assert!(failures_of(&Measures::new()).is_empty());
        let mut server = Measures::new();
        server.set(names::SERVER_CONNECTIONS, 5.0);
        assert_eq!(failures_of(&server), ["server.connections: expected 0, found 5"]);
    }

    #[test]
    fn of_counts_that_may_be_lost_only_too_many_are_wrong() {
        let mut measures = Measures::new();
        measures.set(names::SERVER_ROWS_INSERTED, 1900.0);
        let check = |expected, may_lack_some| {
            let counts = ServerCounts { measures: &measures, may_lack_some };
            counts.check([(names::SERVER_ROWS_INSERTED, Count::exactly(expected))]).remove(0)
        };
        assert_eq!([check(2000, false).passed, check(2000, true).passed], [false, true]);
        assert_eq!(check(2000, true).expected, "2000 or fewer, if some were lost");
        assert!(!check(1800, true).passed && check(1900, true) == check(1900, false));
    }

    #[test]
    fn repetitions_may_add_to_a_count() {
        assert!(Count::of(5, false).check("x", 6).passed);
        assert_eq!(failures(&[Count::of(5, false).check("x", 4)]), ["x: expected 5 or more, found 4"]);
    }
}
