//! Simulated rounds, from a seed.

use crate::comparison::Round;
use crate::orders::{Orders, Stream};
use crate::sample::mean;

/// Kinds of noise, all with mean 0 and a scale of about 1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Noise {
    Gaussian,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// 15 % of rounds are five times noisier.
    Contaminated,
    /// Difference of two candidates whose starts are in a slow mode with a probability of 30 %.
    TwoModes,
    /// Each round correlates with the one before by this much.
    Correlated(f64),
}

/// Passes of a round.
const PASSES: usize = 12;

pub(crate) struct Simulation {
    stream: Stream,
}

impl Simulation {
    pub(crate) fn new(name: &str, index: usize) -> Self {
        Simulation { stream: Stream::new(20_260_101, "simulation", name, index) }
    }

    /// Uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.stream.below(1 << 52) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by the method of Box and Muller (1958).
    pub(crate) fn gaussian(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }

    /// A round as on a real machine, with all its disturbances: each start is lucky or unlucky by 1 %, the machine drifts by 3 % over the
    /// round, a slice resembles the one before, and one in twenty is a third slower.
    pub(crate) fn round(&mut self, orders: Orders, round: usize, effect: f64) -> Round {
        let luck = [0.01 * self.gaussian(), 0.01 * self.gaussian()];
        let drift = 0.03 * self.gaussian();
        let (mut slices, mut wave, mut passes) = ([Vec::new(), Vec::new()], 0.0, Vec::new());
        for pass in 0..PASSES {
            let order = orders.pass("pass", PASSES * round + pass, 2);
            for (place, side) in order.iter().enumerate() {
                wave = 0.7 * wave + 0.005 * self.gaussian();
                let outlier = if self.happens(0.05) { -0.4 * self.uniform() } else { 0.0 };
                let time = (4 * pass + place) as f64 / (4 * PASSES) as f64;
                let level = 10.0 + luck[*side] + drift * time + wave + outlier;
                slices[*side].push(level + if *side == 1 { effect } else { 0.0 });
            }
            let of_pass = |side: &Vec<f64>| mean(&side[2 * pass..]);
            passes.push(of_pass(&slices[1]) - of_pass(&slices[0]));
        }
        let [base, contender] = slices;
        Round::of_turns(base, contender, passes).unwrap()
    }

    /// A series of round effects.
    pub(crate) fn effects(&mut self, noise: Noise, rounds: usize) -> Vec<f64> {
        let mut before = self.gaussian();
        let mut one = || match noise {
            Noise::Gaussian => self.gaussian(),
            Noise::HeavyTails => {
                let squares: f64 = (0..3).map(|_| self.gaussian().powi(2)).sum();
                self.gaussian() / (squares / 3.0).sqrt()
            }
            // With a standard deviation of 1 over all rounds.
            Noise::Contaminated => {
                self.gaussian() / 4.6f64.sqrt() * if self.happens(0.15) { 5.0 } else { 1.0 }
            }
            Noise::TwoModes => {
                let slow = |happens: bool| if happens { 5.0 } else { 0.0 };
                slow(self.happens(0.3)) - slow(self.happens(0.3)) + self.gaussian()
            }
            Noise::Correlated(by) => {
                before = by * before + (1.0 - by * by).sqrt() * self.gaussian();
                before
            }
        };
        (0..rounds).map(|_| one()).collect()
    }
}
