//! When events that arrive at a given rate are meant to begin.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use basecase_workload::{Stream, stream};

/// Longer than any step, so an event after it never begins.
const LONGEST_PAUSE: Duration = Duration::from_secs(1 << 32);

/// Hands out the instants at which events are meant to begin: at random, independent of each other and of how long events take, so that the
/// gaps between them are exponentially distributed. An event that finds every role busy waits, and its waiting time counts.
pub(crate) struct Arrivals {
    mean_pause_s: f64,
    next: Mutex<(Instant, Stream)>,
}

impl Arrivals {
    /// Arrivals from `start` on.
    pub(crate) fn new(events_per_second: f64, start: Instant) -> Self {
        Arrivals {
            mean_pause_s: 1.0 / events_per_second,
            next: Mutex::new((start, stream(0, "arrivals", 0, ""))),
        }
    }

    /// When the next event is meant to begin.
    pub(crate) fn next(&self) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (instant, stream) = &mut *next;
        // 53 random bits in (0, 1]: 0 has no logarithm.
        let uniform = ((stream.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let pause = Duration::try_from_secs_f64(-uniform.ln() * self.mean_pause_s).unwrap_or(LONGEST_PAUSE);
        *instant += pause.min(LONGEST_PAUSE);
        *instant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_17_no_rate_is_too_small_or_too_large() {
        let start = Instant::now();
        for rate in [1e-20, 1e-300, 0.0, f64::INFINITY, f64::NAN] {
            let arrivals = Arrivals::new(rate, start);
            assert!(arrivals.next() >= start && arrivals.next() >= start, "{rate}");
        }
    }

    #[test]
    fn pauses_are_exponential() {
        let start = Instant::now();
        let arrivals = Arrivals::new(1000.0, start);
        let mut last = start;
        let pauses: Vec<f64> = (0..100_000)
            .map(|_| {
                let next = arrivals.next();
                (next - std::mem::replace(&mut last, next)).as_secs_f64() * 1000.0
            })
            .collect();
        let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
        let variance = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / pauses.len() as f64;
        // Both are 1; their standard errors are 0.003 and 0.009.
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
