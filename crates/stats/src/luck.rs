//! Where the scatter of a step comes from: passes within a session, sessions of a start, starts from one load, and loads.

use std::collections::BTreeMap;

use basecase_model::{Experiment, StepFacts, Trial, names};

use crate::judgement::JudgedMetric;
use crate::pair::Pair;
use crate::sample::{Sample, mean};

/// The difference of two candidates in one pass, and where it stands. In logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedPass {
    /// The round for which the data was loaded.
    pub(crate) image: u32,
    /// The round, which has one start of each candidate.
    pub(crate) start: u32,
    /// The session within the round.
    pub(crate) session: u32,
    pub(crate) difference: f64,
}

/// The standard deviation that one kind of luck adds to the difference of two candidates, each of which draws its own; and of how many draws
/// that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LuckComponent {
    /// In logarithms, about the share of the throughput; 0 if what it contains explains all of it.
    pub sd: f64,
    /// Draws.
    pub draws: usize,
    /// Degrees of freedom. With fewer than four the standard deviation is little more than a guess.
    pub freedom: usize,
}

/// The components of the variance of a step, by nested means (Kalibera & Jones 2013, section 6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Luck {
    /// Of single passes.
    pub pass: LuckComponent,
    /// Of sessions; `None` if no start had two.
    pub session: Option<LuckComponent>,
    /// Of starts, with the pages of the program, its directory and its environment; `None` if no load had two.
    pub start: Option<LuckComponent>,
    /// Of loads, with their statistics; `None` if there was one.
    pub image: Option<LuckComponent>,
}

/// Means of groups, and how uncertain each is.
struct Level {
    /// Means by the group above.
    means: BTreeMap<Vec<u32>, Vec<(Vec<u32>, f64)>>,
    /// The variance of a mean.
    uncertainty: f64,
}

impl Luck {
    /// Of a step and a contender, over all rounds of an experiment; `None` if no two passes were comparable.
    pub fn of(experiment: &Experiment, trials: &[Trial], step: &StepFacts, contender: usize) -> Option<Luck> {
        let pairs = Pair::all(experiment, trials, step, contender);
        let placed = pairs.iter().flat_map(|pair| {
            let (round, _) = pair.place();
            let image = pair.base.gauges.get(names::IMAGE_ROUND).map_or(0, |round| round as u32);
            let session = |pass: u32| {
                let own = pair.base.sessions.iter().find(|session| session.has_pass(pass));
                own.map_or(0, |session| session.number)
            };
            let differences = pair.differences(JudgedMetric::Throughput).unwrap_or_default();
            let placed = differences.into_iter().map(move |(pass, difference)| PlacedPass {
                image,
                start: round,
                session: session(pass),
                difference,
            });
            placed.collect::<Vec<_>>()
        });
        Luck::of_passes(&placed.collect::<Vec<_>>())
    }

    fn of_passes(passes: &[PlacedPass]) -> Option<Luck> {
        let mut groups: BTreeMap<Vec<u32>, Vec<(Vec<u32>, f64)>> = BTreeMap::new();
        for PlacedPass { image, start, session, difference } in passes {
            let place = vec![*image, *start, *session];
            groups.entry(place.clone()).or_default().push((place, *difference));
        }
        let mut level = Level { means: groups, uncertainty: 0.0 };
        let pass = level.component()?;
        level = level.above();
        let session = level.component();
        level = level.above();
        let start = level.component();
        level = level.above();
        Some(Luck { pass, session, start, image: level.component() })
    }
}

impl Level {
    /// The variance of means within their groups, pooled; `None` if no group has two.
    fn scatter(&self) -> Option<(f64, usize)> {
        let samples = self
            .means
            .values()
            .filter_map(|group| Sample::of(&group.iter().map(|(_, mean)| *mean).collect::<Vec<f64>>()));
        let (squares, freedom) = samples.fold((0.0, 0.0), |(squares, freedom), sample| {
            (squares + sample.variance() * sample.freedom(), freedom + sample.freedom())
        });
        (freedom > 0.0).then(|| (squares / freedom, freedom as usize))
    }

    fn component(&self) -> Option<LuckComponent> {
        let (variance, freedom) = self.scatter()?;
        let draws = self.means.values().map(Vec::len).sum();
        Some(LuckComponent { sd: (variance - self.uncertainty).max(0.0).sqrt(), draws, freedom })
    }

    /// The means of these groups, in groups of their own.
    fn above(&self) -> Level {
        let variance = self.scatter().map_or(self.uncertainty, |(variance, _)| variance);
        let mut means: BTreeMap<Vec<u32>, Vec<(Vec<u32>, f64)>> = BTreeMap::new();
        let mut inverses = Vec::new();
        for (place, group) in &self.means {
            let parent = place.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default();
            let values: Vec<f64> = group.iter().map(|(_, mean)| *mean).collect();
            inverses.push(1.0 / values.len() as f64);
            means.entry(parent.clone()).or_default().push((parent, mean(&values)));
        }
        Level { means, uncertainty: variance * mean(&inverses) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Passes of so many loads, with two starts each, of five sessions each, of five passes each, whose kinds of luck scatter like this.
    fn drawn(images: u32, sds: [f64; 4]) -> Vec<PlacedPass> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        // The sum of twelve uniform numbers has a variance of one.
        let mut normal = |sd: f64| -> f64 {
            let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum();
            sd * (sum - 6.0)
        };
        let mut passes = Vec::new();
        for image in 0..images {
            let of_image = normal(sds[0]);
            for start in 0..2 {
                let of_start = of_image + normal(sds[1]);
                for session in 0..5 {
                    let of_session = of_start + normal(sds[2]);
                    for _ in 0..5 {
                        let difference = of_session + normal(sds[3]);
                        passes.push(PlacedPass { image, start: 2 * image + start, session, difference });
                    }
                }
            }
        }
        passes
    }

    #[test]
    fn each_kind_of_luck_is_found_with_its_size() {
        for sds in [[0.02, 0.01, 0.03, 0.01], [0.0, 0.02, 0.0, 0.03], [0.03, 0.0, 0.0, 0.01]] {
            let luck = Luck::of_passes(&drawn(400, sds)).unwrap();
            let found =
                [luck.image, luck.start, luck.session, Some(luck.pass)].map(|found| found.unwrap().sd);
            for (found, sd) in found.iter().zip(sds) {
                // The variance of a component is known to a share of that of what it contains.
                let error = (found * found - sd * sd).abs();
                assert!(
                    error < 0.1 * sds.iter().map(|sd| sd * sd).sum::<f64>(),
                    "{found} for {sd} of {sds:?}"
                );
            }
        }
    }

    #[test]
    fn what_was_drawn_once_has_no_component() {
        let one = drawn(1, [0.0, 0.0, 0.0, 0.01]);
        let luck = Luck::of_passes(&one).unwrap();
        assert_eq!((luck.image, luck.start.map(|start| start.draws)), (None, Some(2)));
        assert_eq!(luck.pass.draws, 50);
        let of_one_session = Luck::of_passes(&one[..5]).unwrap();
        assert_eq!((of_one_session.session, of_one_session.start), (None, None));
        assert_eq!(Luck::of_passes(&one[..1]), None);
        assert_eq!(Luck::of_passes(&[]), None);
    }
}
