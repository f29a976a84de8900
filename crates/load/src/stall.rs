//! Which role has waited for how long, for whoever has to say why a step does not end.

use std::fmt;
use std::time::{Duration, Instant};

use crate::progress::{Progress, RoleProgress};

/// Shorter ones are told of nobody: it is the work itself that takes so long.
const LONG: Duration = Duration::from_secs(1);

/// A role that has finished nothing for a while.
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

/// Since when roles have finished nothing.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// Items of each role, and since when there are so many.
    seen: Vec<(u64, Instant)>,
}

impl Stalls {
    /// Looks how far the roles are. The first look begins the count.
    pub(crate) fn look(&mut self, progress: &Progress, now: Instant) {
        self.seen.resize(progress.roles.len(), (0, now));
        for ((items, since), role) in self.seen.iter_mut().zip(&progress.roles) {
            if *items != role.items() {
                (*items, *since) = (role.items(), now);
            }
        }
    }

    /// The count begins anew: whoever had no turn could not finish anything.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    /// The longest one of the roles that are not done; `None` where none is long.
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
