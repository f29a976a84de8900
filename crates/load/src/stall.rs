//! Which role has stalled and for how long, to explain why a step does not end.

use std::fmt;
use std::time::{Duration, Instant};

use crate::progress::{Progress, RoleProgress};

/// Shorter stalls are not reported: the work itself takes that long.
const LONG: Duration = Duration::from_secs(1);

/// A role that has completed nothing for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The client, counted from 1.
    pub client: u32,
    /// The role.
    pub role: &'static str,
    /// For how long.
    pub time: Duration,
}

impl fmt::Display for Stall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { client, role, time } = self;
        write!(formatter, "{role} of client {client} has finished nothing for {:.1} s", time.as_secs_f64())
    }
}

/// Since when each role has completed nothing.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// Each role's item count, and since when it has not changed.
    seen: Vec<(u64, Instant)>,
}

impl Stalls {
    /// Checks the roles' progress. The first call starts the clock.
    pub(crate) fn look(&mut self, progress: &Progress, now: Instant) {
        self.seen.resize(progress.roles.len(), (0, now));
        for ((items, since), role) in self.seen.iter_mut().zip(&progress.roles) {
            if *items != role.items() {
                (*items, *since) = (role.items(), now);
            }
        }
    }

    /// Restarts the clock: a group without a turn could not complete anything.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    /// The longest stall among roles that are not done; `None` if none is long.
    pub(crate) fn longest(
        &self,
        progress: &Progress,
        now: Instant,
        is_done: impl Fn(usize) -> bool,
    ) -> Option<Stall> {
        let stalls = self.seen.iter().zip(&progress.roles).enumerate();
        let (since, role): (Instant, &RoleProgress) = stalls
            .filter(|(number, _)| !is_done(*number))
            .map(|(_, ((_, since), role))| (*since, role))
            .min_by_key(|(since, _)| *since)?;
        let time = now.saturating_duration_since(since);
        (time >= LONG).then_some(Stall { client: role.client, role: role.role, time })
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::OperationClass;

    use super::*;

    #[test]
    fn the_role_that_has_waited_longest_is_told() {
        let role = |client| RoleProgress::new(client, "client", OperationClass::Query, None);
        let progress = Progress::new(vec![role(1), role(2), role(3)]);
        let (start, mut stalls) = (Instant::now(), Stalls::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        stalls.look(&progress, at(0));
        progress.roles[1].add(1, Duration::ZERO);
        stalls.look(&progress, at(4));
        let longest = |stalls: &Stalls, done: usize, now| {
            stalls.longest(&progress, now, |number| number < done).map(|stall| stall.to_string())
        };
        let told = |text: &str| Some(format!("client of client {text} s"));
        assert_eq!(longest(&stalls, 0, at(5)), told("1 has finished nothing for 5.0"));
        assert_eq!(longest(&stalls, 2, at(6)), told("3 has finished nothing for 6.0"));
        assert_eq!(longest(&stalls, 3, at(9)), None);
        stalls.forget();
        assert_eq!(longest(&stalls, 0, at(9)), None);
        stalls.look(&progress, at(9));
        assert_eq!(longest(&stalls, 0, start + Duration::from_millis(9_900)), None, "that is not long");
    }
}
