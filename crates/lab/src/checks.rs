//! Comparisons of what was done with what the server says.

use basecase_model::{Check, Measures};

/// How often something must have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    least: u64,
    is_exact: bool,
}

impl Count {
    pub(crate) fn exactly(count: u64) -> Self {
        Count { least: count, is_exact: true }
    }

    /// Exactly so often, or at least so often where what failed and was done again counts as well.
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

/// Compares the server's counters with what is expected of them, as far as the server has them.
pub(crate) fn of_server(
    server: &Measures,
    expected: impl IntoIterator<Item = (&'static str, Count)>,
) -> Vec<Check> {
    let check = |(name, count): (&'static str, Count)| Some(count.check(name, server.get(name)? as u64));
    expected.into_iter().filter_map(check).collect()
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
        assert!(of_server(&Measures::new(), expected()).is_empty());
        let mut server = Measures::new();
        server.set(names::SERVER_CONNECTIONS, 5.0);
        assert_eq!(failures(&of_server(&server, expected())), ["server.connections: expected 0, found 5"]);
    }

    #[test]
    fn repetitions_may_add_to_a_count() {
        assert!(Count::of(5, false).check("x", 6).passed);
        assert_eq!(failures(&[Count::of(5, false).check("x", 4)]), ["x: expected 5 or more, found 4"]);
    }
}
