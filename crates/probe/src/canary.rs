//! How fast the processor is right now, whatever its frequency is called.

use std::hint::black_box;
use std::time::Instant;

/// Iterations of one reading: 5 ms on a current processor.
const ITERATIONS: u32 = 3_000_000;

/// The time of one iteration of a fixed loop of integer arithmetic on the calling thread, in nanoseconds, over some 5 ms. It
/// grows when the processor's frequency falls or others use it too. Readings on different processors are not comparable.
pub fn canary_ns() -> f64 {
    let started = Instant::now();
    let mut state = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..ITERATIONS {
        // Marsaglia, Xorshift RNGs (2003): each step needs the one before.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    started.elapsed().as_secs_f64() * 1e9 / f64::from(ITERATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_is_executed() {
        // Six dependent operations take at least two cycles at 10 GHz.
        let fastest = (0..5).map(|_| canary_ns()).fold(f64::MAX, f64::min);
        assert!((0.2..1e4).contains(&fastest), "{fastest}");
    }
}
