//! Whether the effects on nodes differ.

use super::Heterogeneity;
use super::kind::between_variance;
use super::node_means::NodeMeans;
use crate::discovery::adjusted;
use crate::distribution::{f_tail, t_p_value};
use crate::judge::Judge;

/// From so many nodes with two rounds on, nodes are compared.
const NODES: usize = 2;

/// Of each comparison, by its node means. Cochran's Q over its degrees of freedom has an F distribution, since the variance within nodes is
/// estimated from few rounds; χ² would reject too often (Hartung, Argaç & Makambi 2002, "Small sample properties of tests on homogeneity in
/// one-way Anova and meta-analysis"). `stands_out` is a place among the means.
pub(super) fn of_family(judge: &Judge, family: &[Option<NodeMeans>]) -> Vec<Option<Heterogeneity>> {
    let known = |means: &&NodeMeans| means.repeated() >= NODES;
    let tested: Vec<Option<&NodeMeans>> = family.iter().map(|means| means.as_ref().filter(known)).collect();
    let statistic = |means: &NodeMeans| {
        let (q, freedom) = (means.mean(0.0, 1.0).q, means.between());
        (q, freedom, f_tail(q / freedom, freedom, means.freedom))
    };
    let statistics: Vec<_> = tested.iter().flatten().map(|means| statistic(means)).collect();
    let p_values: Vec<f64> = statistics.iter().map(|(.., p)| *p).collect();
    let mut found = statistics.into_iter().zip(adjusted(&p_values, judge.plan().dependence));
    let heterogeneity = |means: Option<&NodeMeans>| {
        let means = means?;
        let ((q, freedom, p), adjusted_p) = found.next()?;
        let hosts_differ = judge.is_discovery(adjusted_p);
        let stands_out = if hosts_differ { stands_out(means, judge.plan().alpha) } else { None };
        Some(Heterogeneity { q, freedom, p, adjusted_p, hosts_differ, stands_out })
    };
    tested.into_iter().map(heterogeneity).collect()
}

/// The place of the node whose deleted residual is largest, if it is significant among so many (Bonferroni). The others' scatter between each
/// other is in its standard error, so that none stands out where all differ (Viechtbauer & Cheung 2010).
fn stands_out(means: &NodeMeans, alpha: f64) -> Option<usize> {
    let nodes = means.nodes.len();
    if nodes < 3 {
        return None;
    }
    let residual = |place: usize| {
        let (node, others) = (means.nodes[place], means.without(place));
        let between = between_variance(&[&others]);
        let mean = others.mean(between, 1.0);
        (node.effect - mean.effect).abs() / (node.variance + between + 1.0 / mean.weight).sqrt()
    };
    let residuals = (0..nodes).map(|place| (place, residual(place)));
    let (place, largest) = residuals.max_by(|(_, left), (_, right)| left.total_cmp(right))?;
    (t_p_value(largest, means.freedom) * nodes as f64 <= alpha).then_some(place)
}
