//! When a round may begin.

use std::time::{Duration, Instant};

use basecase_workload::Pacing;

/// How much of its second a burst may take before its lateness is accepted and the schedule moves.
const BURST_TOLERANCE: Duration = Duration::from_millis(950);
/// The most lost time that even pacing makes up.
const EVEN_CATCH_UP: Duration = Duration::from_secs(1);

/// Says when each round was meant to begin, and when the next may begin.
///
/// *Meant* is the schedule of the rate that the step must sustain; it never moves. *May* follows the reference's rule that lost time is not
/// made up by exceeding the rate.
#[derive(Debug)]
pub(crate) struct Pacer {
    pacing: Pacing,
    start: Instant,
    round: u64,
    anchor: Instant,
}

impl Pacer {
    pub(crate) fn new(pacing: Pacing, start: Instant) -> Self {
        Pacer { pacing, start, round: 0, anchor: start }
    }

    /// When the current round was meant to begin; `None` without a rate.
    pub(crate) fn intended(&self) -> Option<Instant> {
        let offset = match self.pacing {
            Pacing::Closed => return None,
            Pacing::Bursts { rounds_per_second } => {
                Duration::from_secs(self.round.div_ceil(u64::from(rounds_per_second.max(1))))
            }
            Pacing::Even { rounds_per_second } => {
                Duration::from_secs_f64(self.round as f64 / f64::from(rounds_per_second.max(1)))
            }
        };
        Some(self.start + offset)
    }

    /// Postpones all further rounds, and their intended times, by the time that the group's clock stood still.
    pub(crate) fn put_off(&mut self, pause: Duration) {
        self.start += pause;
        self.anchor += pause;
    }

    /// Ends a round at `now`, and returns the instant to wait for, if any.
    pub(crate) fn end_round(&mut self, now: Instant) -> Option<Instant> {
        let ended = self.round;
        self.round += 1;
        match self.pacing {
            Pacing::Closed => None,
            Pacing::Bursts { rounds_per_second } => {
                if !ended.is_multiple_of(u64::from(rounds_per_second.max(1))) {
                    return None;
                }
                if now.saturating_duration_since(self.anchor) < BURST_TOLERANCE {
                    self.anchor += Duration::from_secs(1);
                    Some(self.anchor)
                } else {
                    self.anchor = now;
                    None
                }
            }
            Pacing::Even { rounds_per_second } => {
                self.anchor += Duration::from_secs(1) / rounds_per_second.max(1);
                if now.saturating_duration_since(self.anchor) > EVEN_CATCH_UP {
                    self.anchor = now - EVEN_CATCH_UP;
                }
                (self.anchor > now).then_some(self.anchor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Start times of rounds in milliseconds, when round n takes `cost_ms(n)`.
    fn starts(pacing: Pacing, rounds: u64, cost_ms: impl Fn(u64) -> u32) -> Vec<u64> {
        let start = Instant::now();
        let mut pacer = Pacer::new(pacing, start);
        let mut now = start;
        (0..rounds)
            .map(|round| {
                let began = now.duration_since(start).as_millis() as u64;
                now += MS * cost_ms(round);
                if let Some(until) = pacer.end_round(now) {
                    now = now.max(until);
                }
                began
            })
            .collect()
    }

    #[test]
    fn bursts_of_the_reference() {
        let pacing = Pacing::Bursts { rounds_per_second: 2 };
        assert_eq!(starts(pacing, 8, |_| 1), [0, 1000, 1001, 2000, 2001, 3000, 3001, 4000]);
    }

    #[test]
    fn lost_time_is_not_made_up() {
        let pacing = Pacing::Bursts { rounds_per_second: 2 };
        // Round 2 takes 3 s: its burst ends at 4.001 s and the next begins at once; from then on that burst's second counts.
        let slow = |round| if round == 2 { 3_000 } else { 1 };
        assert_eq!(starts(pacing, 8, slow), [0, 1000, 1001, 4001, 4002, 5001, 5002, 6001]);
    }

    #[test]
    fn even_rounds_catch_up_at_most_a_second() {
        let pacing = Pacing::Even { rounds_per_second: 4 };
        assert_eq!(starts(pacing, 4, |_| 1), [0, 250, 500, 750]);
        let slow = |round| if round == 0 { 3_000 } else { 0 };
        // After 3 s, one second's rounds are made up at once; earlier ones are lost.
        assert_eq!(starts(pacing, 7, slow), [0, 3000, 3000, 3000, 3000, 3000, 3250]);
    }

    #[test]
    fn rounds_keep_their_distance_when_the_clock_stood_still() {
        let start = Instant::now();
        let mut pacer = Pacer::new(Pacing::Bursts { rounds_per_second: 1 }, start);
        assert_eq!(pacer.end_round(start), Some(start + 1000 * MS));
        pacer.put_off(400 * MS);
        assert_eq!(pacer.intended(), Some(start + 1400 * MS));
        assert_eq!(pacer.end_round(start + 1401 * MS), Some(start + 2400 * MS));
    }

    #[test]
    fn the_meant_schedule_never_moves() {
        let start = Instant::now();
        let mut pacer = Pacer::new(Pacing::Bursts { rounds_per_second: 2 }, start);
        let mut meant = Vec::new();
        for _ in 0..6 {
            meant.push(pacer.intended().unwrap().duration_since(start).as_secs());
            pacer.end_round(start + Duration::from_secs(100));
        }
        assert_eq!(meant, [0, 1, 1, 2, 2, 3]);
        assert_eq!(Pacer::new(Pacing::Closed, start).intended(), None);
    }
}
