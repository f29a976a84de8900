//! How far single runs can be trusted, judging by rounds of the same step.

use crate::distribution::{normal_tail, t_critical};
use crate::interval::Interval;
use crate::sample::Sample;

/// From this many degrees of freedom on, a standard deviation is trusted.
const LEAST_FREEDOM: f64 = 4.0;

/// How much runs of one server scatter when it is restarted for each, or how much differences of two such runs scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunNoise {
    /// Standard deviation of ln throughput.
    pub sd: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

impl RunNoise {
    /// From the ln throughput of the runs of servers, by experiment and server, pooled over all of them. Servers of one experiment run at
    /// the same times under the same conditions, so together they add no more degrees of freedom than one of them. `None` below four
    /// degrees of freedom, which five runs have.
    pub fn of_runs(experiments: &[Vec<Vec<f64>>]) -> Option<RunNoise> {
        let samples =
            |servers: &Vec<Vec<f64>>| servers.iter().filter_map(|runs| Sample::of(runs)).collect::<Vec<_>>();
        let experiments: Vec<Vec<Sample>> = experiments.iter().map(samples).collect();
        let longest = |samples: &Vec<Sample>| samples.iter().map(Sample::freedom).fold(0.0, f64::max);
        let freedom: f64 = experiments.iter().map(longest).sum();
        let weights: f64 = experiments.iter().flatten().map(Sample::freedom).sum();
        let squares: f64 =
            experiments.iter().flatten().map(|sample| sample.variance() * sample.freedom()).sum();
        (freedom >= LEAST_FREEDOM).then(|| RunNoise { sd: (squares / weights).sqrt(), freedom })
    }

    /// The noise of the difference between single runs of two servers. It is known only as well as the less known of the two; both may be
    /// the same.
    pub fn between(one: RunNoise, other: RunNoise) -> RunNoise {
        RunNoise { sd: one.sd.hypot(other.sd), freedom: one.freedom.min(other.freedom) }
    }

    /// The interval of a difference between two single runs, at 95 %.
    pub fn interval(&self, difference: f64) -> Interval {
        let half = t_critical(0.05, self.freedom) * self.sd;
        Interval { lower: difference - half, upper: difference + half }
    }

    /// The probability that single runs of two identical servers differ by less than `lower`, which is below 0, or by more than `upper`.
    pub fn chance_outside(&self, lower: f64, upper: f64) -> f64 {
        normal_tail(-lower / self.sd) + normal_tail(upper / self.sd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulation::{Noise, Simulation};

    /// Two servers of an experiment with this many runs, which share a noise of 2 % and have a noise of their own of 0.5 %.
    fn experiment(simulation: &mut Simulation, runs: usize) -> Vec<Vec<f64>> {
        let met = simulation.effects(Noise::Gaussian, runs);
        let mut server = || -> Vec<f64> {
            let own = simulation.effects(Noise::Gaussian, runs);
            own.iter().zip(&met).map(|(own, met)| 0.005 * own + 0.02 * met).collect()
        };
        vec![server(), server()]
    }

    #[test]
    fn intervals_of_single_runs_hold_and_identical_servers_are_marked_as_often_as_told() {
        let (mut held, mut marked, mut told) = (0, 0, 0.0);
        const SERIES: usize = 4000;
        for index in 0..SERIES {
            let mut simulation = Simulation::new("single runs", index);
            let measured = [experiment(&mut simulation, 6), experiment(&mut simulation, 5)];
            let noise = RunNoise::of_runs(&measured).unwrap();
            let runs = &experiment(&mut simulation, 2)[0];
            let difference = runs[1] - runs[0];
            let between = RunNoise::between(noise, noise);
            held += usize::from(between.interval(difference).contains(0.0));
            marked += usize::from(!(-0.05..=0.05).contains(&difference));
            told += between.chance_outside(-0.05, 0.05);
        }
        let share = |count: usize| count as f64 / SERIES as f64;
        println!("held {:.3}, marked {:.3}, told {:.3}", share(held), share(marked), told / SERIES as f64);
        assert!((0.94..=0.97).contains(&share(held)), "{held}");
        assert!((share(marked) - told / SERIES as f64).abs() < 0.02, "{marked} {told}");
    }

    #[test]
    fn few_runs_tell_nothing() {
        assert_eq!(RunNoise::of_runs(&[vec![vec![0.1, 0.2, 0.3, 0.2]]]), None);
        assert_eq!(RunNoise::of_runs(&[vec![vec![0.1], vec![0.2]]]), None);
        let at_once = vec![vec![0.1, 0.3], vec![], vec![5.1, 5.3, 5.1, 5.3]];
        assert_eq!(
            RunNoise::of_runs(std::slice::from_ref(&at_once)),
            None,
            "three degrees of freedom, and not four"
        );
        let noise = RunNoise::of_runs(&[at_once, vec![vec![0.1, 0.3]]]).unwrap();
        assert_eq!(noise.freedom, 4.0);
        assert!((noise.sd * noise.sd - (0.02 + 0.04 + 0.02) / 5.0).abs() < 1e-12, "{noise:?}");
    }

    #[test]
    fn a_side_with_more_noise_counts_for_more() {
        let (calm, wild) = (RunNoise { sd: 0.01, freedom: 50.0 }, RunNoise { sd: 0.1, freedom: 4.0 });
        let between = RunNoise::between(calm, wild);
        assert!((between.sd - 0.0101f64.sqrt()).abs() < 1e-12);
        assert_eq!(between.freedom, 4.0);
    }
}
