//! Chooses the trial that represents each candidate and step.

use std::collections::HashMap;

use basecase_model::{
    CandidateFacts, Experiment, Headline, Observation, OperationClass, Profile, StepFacts, Trial,
};
use basecase_stats::{Judge, JudgedMetric, Round, RoundConditions, RoundEffect};

use crate::counts::{Counts, ends};
use crate::effect::Effect;
use crate::known_noise::KnownNoise;
use crate::pool::Pooled;
use crate::rounds::Rounds;

/// An experiment with the chosen trial of each candidate and step.
pub struct Results<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// All its trials.
    pub trials: &'a [Trial],
    /// What is known about its rounds, if it is in rounds.
    pub rounds: Option<&'a Rounds<'a>>,
    // One row per step, one entry per candidate.
    chosen: Vec<Vec<Option<Chosen<'a>>>>,
    // The newest complete trials with a profile, by step and candidate.
    profiled: HashMap<(&'a str, &'a str), &'a Trial>,
    /// What is known about the noise of single runs.
    pub known_noise: Option<&'a KnownNoise>,
    /// How much work an operation is, if that was counted.
    pub counts: Option<&'a Counts<'a>>,
}

/// A trial that represents a candidate and step.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    trial: &'a Trial,
    /// Number of rounds it is made of.
    rounds: usize,
}

/// A complete trial, with what is needed to interpret it.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Number of rounds it is made of.
    pub rounds: usize,
    /// Its step.
    pub step: &'a StepFacts,
    /// Processors of the host it ran on.
    pub cores: u32,
}

impl<'a> Results<'a> {
    /// The results of an experiment; if it is in rounds, with all its rounds pooled.
    pub fn of(experiment: &'a Experiment, trials: &'a [Trial], rounds: Option<&'a Rounds<'a>>) -> Self {
        match rounds {
            None => Results::new(experiment, trials),
            Some(rounds) => {
                let chosen = |pooled: &'a Pooled<'a>| Chosen { trial: &pooled.trial, rounds: pooled.count() };
                let chosen = rounds.pooled.iter().map(chosen).collect();
                Results { rounds: Some(rounds), ..Results::choosing(experiment, trials, chosen) }
            }
        }
    }

    /// Chooses the newest complete trial of each candidate and step, or else its newest failed one. A profiled trial counts only if there
    /// is no other, because profiling costs time.
    pub fn new(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        Results::choosing(
            experiment,
            trials,
            trials.iter().map(|trial| Chosen { trial, rounds: 1 }).collect(),
        )
    }

    fn choosing(experiment: &'a Experiment, trials: &'a [Trial], all: Vec<Chosen<'a>>) -> Self {
        let mut of_places: HashMap<(&str, &str), Vec<Chosen<'a>>> = HashMap::new();
        for one in &all {
            of_places.entry((&one.trial.step, &one.trial.candidate)).or_default().push(*one);
        }
        let row = |step: &'a StepFacts| {
            let newest_of = |candidate: &CandidateFacts| {
                let own = of_places.get(&(step.name.as_str(), candidate.name.0.as_str()))?;
                own.iter().copied().max_by_key(|one| rank(one.trial))
            };
            experiment.candidates.iter().map(newest_of).collect()
        };
        let has_profile = |trial: &&Trial| trial.is_complete() && !trial.profiles.is_empty();
        let profiled = all
            .iter()
            .map(|one| one.trial)
            .filter(has_profile)
            .map(|trial| ((trial.step.as_str(), trial.candidate.as_str()), trial))
            .collect();
        let chosen = experiment.steps.iter().map(row).collect();
        Results { experiment, trials, rounds: None, chosen, profiled, known_noise: None, counts: None }
    }

    /// Adds what is known about the noise of single runs.
    pub fn knowing(self, noise: &'a KnownNoise) -> Self {
        Results { known_noise: Some(noise), ..self }
    }

    /// Adds how much work an operation is. Without any trial there are then no rounds that could be judged.
    pub fn counting(self, counts: Option<&'a Counts<'a>>) -> Self {
        let rounds = self.rounds.filter(|_| counts.is_none() || !self.trials.is_empty());
        Results { counts, rounds, ..self }
    }

    /// The steps with their numbers.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &'a StepFacts)> + use<'a> {
        self.experiment.steps.iter().enumerate()
    }

    /// The steps that are not only preparation, with their numbers.
    pub fn compared_steps(&self) -> impl Iterator<Item = (usize, &'a StepFacts)> + use<'a> {
        self.steps().filter(|(_, step)| step.is_compared())
    }

    /// The number of the step of that name.
    pub fn step_named(&self, name: &str) -> Option<usize> {
        self.experiment.steps.iter().position(|step| step.name == name)
    }

    /// The candidates with their numbers; 0 is the base case.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, &'a CandidateFacts)> + use<'a> {
        self.experiment.candidates.iter().enumerate()
    }

    /// The chosen trial, complete or failed; `None` if there is none yet.
    pub fn trial(&self, step: usize, candidate: usize) -> Option<&'a Trial> {
        self.chosen(step, candidate).map(|chosen| chosen.trial)
    }

    fn chosen(&self, step: usize, candidate: usize) -> Option<Chosen<'a>> {
        self.chosen.get(step)?.get(candidate).copied().flatten()
    }

    /// The chosen trial, if it is complete.
    pub fn measured(&self, step: usize, candidate: usize) -> Option<Measured<'a>> {
        let Chosen { trial, rounds } =
            self.chosen(step, candidate).filter(|chosen| chosen.trial.is_complete())?;
        let step = self.experiment.steps.get(step)?;
        Some(Measured { trial, rounds, step, cores: self.experiment.host.cores })
    }

    /// The newest complete trial of a cell that has a profile.
    pub fn profiled(&self, step: usize, candidate: usize) -> Option<Measured<'a>> {
        let step = self.experiment.steps.get(step)?;
        let name = &self.experiment.candidates.get(candidate)?.name;
        let trial = self.profiled.get(&(step.name.as_str(), name.0.as_str())).copied()?;
        Some(Measured { trial, rounds: 1, step, cores: self.experiment.host.cores })
    }

    /// The profiles of a step, from the trial with the newest one.
    pub fn profiles(&self, step: usize, candidate: usize) -> &'a [Profile] {
        self.profiled(step, candidate).map_or(&[], |measured| &measured.trial.profiles)
    }

    /// The headline value; `None` for a failed or missing trial.
    pub fn headline(&self, step: usize, candidate: usize) -> Option<f64> {
        self.measured(step, candidate)?.headline()
    }

    /// The headline values of the slowest and of the fastest round; `None` of fewer than two.
    pub fn headline_range(&self, step: usize, candidate: usize) -> Option<[f64; 2]> {
        let measured = self.measured(step, candidate)?;
        let rounds = self.rounds?.rounds_of(&measured.trial.step, &measured.trial.candidate);
        let of_round = |trial: &&Trial| Measured { trial, rounds: 1, ..measured }.headline();
        let values: Vec<f64> = rounds.iter().filter_map(of_round).collect();
        ends(&values)
    }

    /// The throughput of a candidate in each round of a step that counts; none of single runs.
    pub(crate) fn round_effects(&self, step: usize, candidate: usize) -> &'a [RoundEffect] {
        self.rounds.map_or(&[], |rounds| rounds.judgement.round_effects(step, candidate))
    }

    /// How many slices all rounds of a step on a candidate have.
    pub fn slice_count(&self, step: usize, candidate: usize) -> usize {
        let Some((rounds, measured)) = self.rounds.zip(self.measured(step, candidate)) else { return 0 };
        let trial = measured.trial;
        rounds.rounds_of(&trial.step, &trial.candidate).iter().map(|round| round.slices.len()).sum()
    }

    /// The headline value relative to the base case's, in rounds the mean ratio of a round; `None` if either is missing or the base case's
    /// is 0.
    pub fn relative(&self, step: usize, candidate: usize) -> Option<f64> {
        let judged = self.judged_effect(JudgedMetric::Throughput, step, candidate).map(|effect| effect.ratio);
        judged.or_else(|| quotient(self.headline(step, candidate)?, self.headline(step, 0)?))
    }

    /// The same with its interval: in rounds if it is known, for single runs if something is known about their noise.
    pub fn relative_effect(&self, step: usize, candidate: usize) -> Option<Effect> {
        if candidate == 0 {
            return None;
        }
        if self.rounds.is_none() {
            let noise = self.difference_noise(step, candidate)?.noise;
            return Some(Effect::of_single_runs(self.relative(step, candidate)?, noise));
        }
        let judged = self.judged_effect(JudgedMetric::Throughput, step, candidate);
        judged.or_else(|| Some(Effect { ratio: self.relative(step, candidate)?, interval: None }))
    }

    /// The judged effect of a contender; `None` without a decision.
    pub fn judged_effect(&self, metric: JudgedMetric, step: usize, candidate: usize) -> Option<Effect> {
        Effect::of_decision(metric, self.rounds?.judgement.decision(metric, step, candidate)?)
    }

    /// The rounds of a step that a contender shares with the base case; `None` if there are no rounds.
    pub fn paired(&self, step: usize, candidate: usize) -> Option<Paired<'a>> {
        let rounds = self.rounds.filter(|_| candidate > 0)?;
        let step = self.experiment.steps.get(step)?;
        let name = |candidate: usize| Some(self.experiment.candidates.get(candidate)?.name.0.as_str());
        let pairs: Vec<_> = rounds.pairs(&step.name, name(0)?, name(candidate)?).collect();
        let bases: Vec<&Trial> = pairs.iter().map(|(base, _)| *base).collect();
        let conditions = RoundConditions::of_all(self.experiment, &bases);
        let cores = self.experiment.host.cores;
        let measured = |trial| Measured { trial, rounds: 1, step, cores };
        let pairs = pairs.into_iter().map(|(base, contender)| (measured(base), measured(contender)));
        Some(Paired { judge: rounds.judgement.judge()?, pairs: pairs.collect(), conditions })
    }

    /// Whether background writers missed their rate, so that the step's headline says nothing.
    pub fn missed_sla(&self, step: usize, candidate: usize) -> bool {
        self.measured(step, candidate).and_then(|measured| measured.sla()).is_some_and(|sla| !sla.met)
    }
}

/// The rounds of a step that a contender shares with the base case.
pub struct Paired<'a> {
    judge: &'a Judge,
    pairs: Vec<(Measured<'a>, Measured<'a>)>,
    conditions: Vec<RoundConditions>,
}

impl Paired<'_> {
    /// Any number of the contender relative to the base case's, round by round, with its interval; `None` if a round has no such ratio.
    pub fn effect(&self, of: &dyn Fn(&Measured<'_>) -> Option<f64>) -> Option<Effect> {
        let [effect] = self.effects(&|measured| [of(measured)]);
        effect
    }

    /// The same for several numbers that are computed together.
    pub fn effects<const COUNT: usize>(
        &self,
        of: &dyn Fn(&Measured<'_>) -> [Option<f64>; COUNT],
    ) -> [Option<Effect>; COUNT] {
        let values: Vec<_> = self.pairs.iter().map(|(base, contender)| (of(base), of(contender))).collect();
        std::array::from_fn(|number| {
            let rounds = values.iter().zip(&self.conditions).map(|((base, contender), conditions)| {
                let effect = (contender[number]? / base[number]?).ln();
                Some(Round { conditions: *conditions, ..Round::from(effect) })
            });
            let rounds: Option<Vec<Round>> = rounds.collect();
            self.judge.estimate(rounds?).map(Effect::of_estimate)
        })
    }
}

impl Measured<'_> {
    /// `ips`: rows inserted, or indexed, per second of the step.
    pub fn inserts_per_second(&self) -> Option<f64> {
        match (self.step.headline, self.step.headline_items) {
            (Headline::Indexed, Some(items)) => self.trial.per_second_of_step(items * self.rounds as u64),
            _ => self.trial.per_second(OperationClass::Insert),
        }
    }

    /// `qps`: queries per second of the query roles' own windows.
    pub fn queries_per_second(&self) -> f64 {
        self.trial.per_second(OperationClass::Query).unwrap_or(0.0)
    }

    /// The number that tables show and compare.
    pub fn headline(&self) -> Option<f64> {
        match self.step.headline {
            Headline::Inserts | Headline::Indexed => self.inserts_per_second(),
            Headline::Queries => Some(self.queries_per_second()),
        }
    }

    /// The class whose operations the headline counts.
    pub fn headline_class(&self) -> OperationClass {
        self.step.headline.class()
    }

    /// Whether the background writers kept their rate; `None` if the step has none.
    pub fn sla(&self) -> Option<crate::sla::Sla> {
        crate::sla::Sla::judge(self.step, self.inserts_per_second()?)
    }
}

/// The trial that represents all of one candidate and step.
pub(crate) fn newest<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<&'a Trial> {
    trials.max_by_key(|trial| rank(trial))
}

/// Of several trials the one with the highest rank is chosen; among equals, the last.
fn rank(trial: &Trial) -> (bool, bool) {
    (trial.is_complete(), trial.observation != Observation::Profiled)
}

/// `dividend / divisor`, or `None` if that is not finite.
pub fn quotient(dividend: f64, divisor: f64) -> Option<f64> {
    Some(dividend / divisor).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use basecase_model::{Place, TrialStatus};

    use super::*;
    use crate::fixture;

    #[test]
    fn slices_of_all_rounds_are_counted() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let (step, candidate) = (&experiment.steps[1].name, &experiment.candidates[0].name.0);
        let own = trials.iter().filter(|trial| trial.step == *step && trial.candidate == *candidate);
        let slices: usize = own.map(|trial| trial.slices.len()).sum();
        assert!(slices > 0);
        assert_eq!(results.slice_count(1, 0), slices);
    }

    #[test]
    fn the_newest_complete_trial_counts_else_the_newest_failed_one() {
        let (experiment, trials) = fixture::sample();
        let complete = trials.iter().find(|trial| trial.is_complete()).unwrap().clone();
        let failed = Trial {
            status: TrialStatus::Failed { reason: "first".into(), log_tail: String::new() },
            ..complete.clone()
        };
        let newer = Trial {
            status: TrialStatus::Failed { reason: "second".into(), log_tail: String::new() },
            ..complete.clone()
        };
        let faster = Trial { seconds: complete.seconds / 2.0, ..complete.clone() };
        let chosen = |trials: &[Trial]| Results::new(&experiment, trials).trial(0, 0).cloned();
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[failed.clone(), newer.clone()]), Some(newer.clone()));
        assert_eq!(chosen(&[failed, complete.clone(), newer]), Some(complete.clone()));
        assert_eq!(chosen(&[complete, faster.clone()]), Some(faster));
    }

    #[test]
    fn rates_of_rounds_are_those_of_all_their_time() {
        let (mut experiment, trials) = fixture::sample();
        experiment.schedule = fixture::in_rounds().0.schedule;
        let round = |round: u32| {
            let measured = |trial: &Trial| {
                let place = Place { round, ..trial.place };
                let measured_by = experiment.id.clone();
                Trial { seconds: trial.seconds * f64::from(1 + round), place, measured_by, ..trial.clone() }
            };
            trials.iter().map(measured).collect::<Vec<Trial>>()
        };
        let both = [round(0), round(1)].concat();
        let rounds = Rounds::of(&experiment, &both);
        let (one, all) =
            (Results::new(&experiment, &trials), Results::of(&experiment, &both, rounds.as_ref()));
        // The second round takes twice the time for as many rows, also if the step states their number.
        for step in 0..4 {
            let ratio = all.headline(step, 0).unwrap() / one.headline(step, 0).unwrap();
            assert!((ratio - 2.0 / 3.0).abs() < 1e-9, "{}: {ratio}", experiment.steps[step].name);
        }
        assert_eq!(all.relative_effect(0, 0), None, "the base case is no contender");
        assert!((all.relative(0, 1).unwrap() - one.relative(0, 1).unwrap()).abs() < 1e-9);
        assert_eq!(all.relative_effect(0, 1).unwrap().interval, None, "two rounds have no interval");
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        assert_eq!(quotient(1.0, 0.0), None);
        assert_eq!(quotient(0.0, 0.0), None);
        assert_eq!(quotient(3.0, 2.0), Some(1.5));
    }
}
