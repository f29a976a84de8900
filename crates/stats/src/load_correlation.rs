//! How much rounds resemble each other that began with the same load of the data.

use std::collections::BTreeMap;

use crate::comparison::Comparison;
use crate::interim_data::effects;
use crate::layers::Layers;
use crate::sample::{SMALLEST_SD, Sample};

/// The share of the variance of rounds that rounds of one load have in common, 0 to 1: the intraclass correlation, pooled over comparisons,
/// since one has few loads. 0 where no comparison has two loads, one of them with two rounds.
pub(crate) fn load_correlation(family: &[Comparison]) -> f64 {
    let layers: Vec<Layers> = family.iter().filter_map(layers_of).collect();
    let weighted =
        |value: fn(&Layers) -> f64| layers.iter().map(|layers| layers.freedom * value(layers)).sum::<f64>();
    let (between, within, each) =
        (weighted(|layers| layers.between), weighted(|layers| layers.within), weighted(|layers| layers.each));
    let freedom = weighted(|_| 1.0);
    if freedom <= 0.0 {
        return 0.0;
    }
    let all = between + (each / freedom - 1.0) * within;
    if all > 0.0 { ((between - within) / all).clamp(0.0, 1.0) } else { 0.0 }
}

/// The rounds of a comparison by their loads, in units of their standard deviation.
fn layers_of(comparison: &Comparison) -> Option<Layers> {
    let effects = effects(&comparison.rounds, false);
    let sample = Sample::of(&effects).filter(|sample| sample.sd > SMALLEST_SD)?;
    let placed = comparison.rounds.iter().zip(&effects);
    let placed = placed
        .map(|(round, effect)| Some((round.conditions.load? as usize, (effect - sample.mean) / sample.sd)));
    Layers::of(&placed.collect::<Option<Vec<_>>>()?, 1)
}

/// How many times as large the variance of the mean of these rounds is as their own scatter says: as the design effect, and since rounds of
/// one load scatter less about their mean. `loads` are those of the rounds.
pub(crate) fn design_effect(loads: impl Iterator<Item = Option<u32>>, correlation: f64) -> f64 {
    let Some(loads) = loads.collect::<Option<Vec<u32>>>() else { return 1.0 };
    // Of rounds that all have one load nothing is known of others.
    if loads.windows(2).all(|pair| pair[0] == pair[1]) {
        return 1.0;
    }
    let shared = shared_variance(&loads, correlation);
    (1.0 + shared) / (1.0 - shared / (loads.len() - 1) as f64)
}

/// By how much the variance of the mean of rounds with these loads is larger than that of as many independent ones, relative to it (the
/// design effect less 1: Kish 1965, Survey Sampling, section 5.4).
pub(crate) fn shared_variance(loads: &[u32], correlation: f64) -> f64 {
    let mut sizes: BTreeMap<u32, f64> = BTreeMap::new();
    loads.iter().for_each(|load| *sizes.entry(*load).or_default() += 1.0);
    let mates = sizes.values().map(|size| size * size).sum::<f64>() / loads.len() as f64;
    (mates - 1.0) * correlation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Round;
    use crate::round_conditions::RoundConditions;
    use crate::tests::simulation::{Noise, Simulation};

    /// Rounds of which so many share a load, that scatter so far from load to load and from round to round.
    fn comparison(run: usize, each: u32, rounds: usize, [of_load, of_round]: [f64; 2]) -> Comparison {
        let mut simulation = Simulation::new("loads", run);
        let loads = simulation.effects(Noise::Gaussian, rounds);
        let own = simulation.effects(Noise::Gaussian, rounds);
        let round = |(index, own): (usize, f64)| {
            let load = index as u32 / each;
            let effect = of_load * loads[load as usize] + of_round * own;
            let conditions = RoundConditions { load: Some(load), ..RoundConditions::default() };
            Round { conditions, ..Round::from(effect) }
        };
        Comparison { rounds: own.into_iter().enumerate().map(round).collect(), margin: 0.02 }
    }

    #[test]
    fn many_steps_tell_what_one_cannot() {
        let family =
            |sds: [f64; 2]| -> Vec<Comparison> { (0..200).map(|run| comparison(run, 2, 6, sds)).collect() };
        let found = load_correlation(&family([0.01, 0.01]));
        assert!((0.4..0.6).contains(&found), "{found}");
        assert!(load_correlation(&family([0.0, 0.01])) < 0.1);
        assert!(load_correlation(&family([0.01, 0.0])) > 0.99);
        let own_loads: Vec<Comparison> = (0..20).map(|run| comparison(run, 1, 6, [0.01, 0.01])).collect();
        assert_eq!(load_correlation(&own_loads), 0.0, "each round has a load of its own");
        assert_eq!(load_correlation(&[Comparison::of_effects(&[0.1, 0.2], 0.02)]), 0.0);
    }

    #[test]
    fn rounds_of_one_load_are_worth_less() {
        let of = |loads: &[Option<u32>], correlation| design_effect(loads.iter().copied(), correlation);
        let pairs = [0, 0, 2, 2].map(Some);
        assert!(
            (of(&pairs, 1.0) - 3.0).abs() < 1e-12,
            "the scatter of two values, each of which is there twice"
        );
        assert!((of(&pairs, 0.5) - 1.8).abs() < 1e-12);
        assert_eq!(of(&[0, 1, 2].map(Some), 0.5), 1.0);
        assert_eq!(of(&[0, 0, 0].map(Some), 0.5), 1.0, "nothing is known of other loads");
        assert_eq!(of(&[Some(0), None], 0.5), 1.0);
    }
}
