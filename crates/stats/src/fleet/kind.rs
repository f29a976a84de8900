//! The effect for a kind of machine, of which the nodes are some: random effects.

use super::KindEffect;
use super::node_means::NodeMeans;
use crate::boundary::halved;
use crate::discovery::adjusted;
use crate::distribution::{chi_squared_quantile, chi_squared_tail, normal_tail, t_critical, t_p_value};
use crate::interval::Interval;
use crate::judge::Judge;
use crate::sample::SMALLEST_SD;
use crate::verdict::Verdict;

/// From so many nodes with two rounds on, something is said of their kind.
const NODES: usize = 5;

/// How often the interval around a solution is halved.
const HALVINGS: u32 = 50;

/// How many values of the variance within nodes a prediction considers.
const WITHIN: usize = 9;
/// How many values of ω² a prediction considers besides 0.
const BETWEEN: i32 = 40;
/// The factor from one value of ω² to the next: they span four powers of ten.
const STEP: f64 = 1.25;

/// Of each comparison, by its node means, the group over which ω² is pooled, and the margin.
pub(super) fn of_family(
    judge: &Judge,
    family: &[Option<NodeMeans>],
    groups: &[usize],
    margins: &[f64],
) -> Vec<Option<KindEffect>> {
    let known = |means: &&NodeMeans| means.repeated() >= NODES;
    let known: Vec<Option<&NodeMeans>> = family.iter().map(|means| means.as_ref().filter(known)).collect();
    let alpha = judge.plan().alpha;
    let members = |group: usize| -> Vec<&NodeMeans> {
        known.iter().zip(groups).filter(|(_, own)| **own == group).filter_map(|(means, _)| *means).collect()
    };
    let of_kind = |(means, group): (&Option<&NodeMeans>, &usize)| {
        let (means, members) = ((*means)?, members(*group));
        let between = between_variance(&members);
        let (estimate, error) = estimate(means, between);
        let p = t_p_value(estimate / error, means.between());
        let half_width = t_critical(alpha, means.between()) * error;
        let effect = KindEffect {
            verdict: Verdict::NotEnoughData,
            estimate,
            interval: Interval::around(estimate, half_width),
            omega: between.sqrt(),
            prediction: Interval::around(estimate, prediction_half_width(means, &members, alpha)),
        };
        Some((effect, p))
    };
    let effects: Vec<Option<(KindEffect, f64)>> = known.iter().zip(groups).map(of_kind).collect();
    let p_values: Vec<f64> = effects.iter().flatten().map(|(_, p)| *p).collect();
    let mut adjusted = adjusted(&p_values, judge.plan().dependence).into_iter();
    let verdict = |(effect, margin): (Option<(KindEffect, f64)>, &f64)| {
        let (effect, _) = effect?;
        let is_discovery = adjusted.next().is_some_and(|p| judge.is_discovery(p));
        Some(KindEffect { verdict: Verdict::of(effect.interval, *margin, is_discovery).0, ..effect })
    };
    effects.into_iter().zip(margins).map(verdict).collect()
}

/// ω², pooled over comparisons: the value at which Q over all of them is as large as its degrees of freedom, or 0 (Paule & Mandel 1982).
pub(super) fn between_variance(members: &[&NodeMeans]) -> f64 {
    let excess = |between: f64| mean_q(members, between, 1.0) - 1.0;
    if excess(0.0) <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, SMALLEST_SD.powi(2));
    while excess(high) > 0.0 {
        (low, high) = (high, 4.0 * high);
    }
    let [low, high] = halved(excess, [low, high], HALVINGS);
    0.5 * (low + high)
}

/// Q by its degrees of freedom, over several comparisons.
fn mean_q(members: &[&NodeMeans], between: f64, times: f64) -> f64 {
    let q: f64 = members.iter().map(|means| means.mean(between, times).q).sum();
    q / members.iter().map(|means| means.between()).sum::<f64>()
}

/// δ and its standard error by the scatter of the nodes themselves (Hartung & Knapp 2001; Sidik & Jonkman 2002). It holds for Student's t,
/// whatever the variances of nodes are, where these are alike; and they are, since they are pooled. Raising it to the usual standard error
/// where that is larger (Röver, Knapp & Friede 2015) is therefore not necessary.
fn estimate(means: &NodeMeans, between: f64) -> (f64, f64) {
    let mean = means.mean(between, 1.0);
    let error = (mean.q / means.between() / mean.weight).sqrt();
    (mean.effect, error.max(SMALLEST_SD / (means.nodes.len() as f64).sqrt()))
}

/// Half-width of the prediction interval: what it leaves out, averaged over the confidence distribution of ω² that Q gives, is `alpha`
/// (Nagashima, Noma & Furukawa 2019). An estimate of ω² by itself would be 0 too often. The variance within nodes has its own distribution.
/// Comparisons of one group may differ alike from node to node, so all of them together tell of ω² as much as one of them has nodes.
fn prediction_half_width(means: &NodeMeans, members: &[&NodeMeans], alpha: f64) -> f64 {
    let freedom = means.between();
    let scale = between_variance(members).max(1.0 / means.mean(0.0, 1.0).weight);
    let mut chances: Vec<(f64, f64)> = Vec::new();
    for place in 0..WITHIN {
        let share = (place as f64 + 0.5) / WITHIN as f64;
        let times = means.freedom / chi_squared_quantile(share, means.freedom);
        // The probability that ω² is at most so large.
        let up_to = |between: f64| chi_squared_tail(freedom * mean_q(members, between, times), freedom);
        let deviation = |between: f64| (between + 1.0 / means.mean(between, times).weight).sqrt();
        let (mut before, mut passed) = (0.0, up_to(0.0));
        chances.push((passed, deviation(0.0)));
        for step in -BETWEEN / 2..BETWEEN / 2 {
            let between = scale * STEP.powi(step);
            let now = up_to(between).max(passed);
            chances.push((now - passed, deviation(0.5 * (before + between))));
            (before, passed) = (between, now);
        }
        chances.push((1.0 - passed, deviation(before)));
    }
    let left_out = |half_width: f64| -> f64 {
        let tails =
            chances.iter().map(|(chance, deviation)| chance * 2.0 * normal_tail(half_width / deviation));
        tails.sum::<f64>() / WITHIN as f64
    };
    let widest = chances.iter().map(|(_, deviation)| *deviation).fold(0.0, f64::max);
    let [_, high] = halved(|half_width| left_out(half_width) - alpha, [0.0, 10.0 * widest], HALVINGS);
    high
}
