//! The noise of single runs, as far as experiments in rounds of the same store tell.

use basecase_model::{CandidateFacts, Dbms, Engine, Experiment, StepFacts};
use basecase_stats::RunNoise;

use crate::Stored;
use crate::results::{Measured, Results};

/// By name of the step and kind of server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownNoise(Vec<(String, Server, Known)>);

/// What is known about a step on a kind of server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// How much runs scatter.
    pub noise: RunNoise,
    /// The number of rounds that tell it.
    pub rounds: usize,
}

/// A kind of server: a dbms, and its engine if it has several.
pub type Server = (Dbms, Option<Engine>);

/// The kind of a candidate.
pub fn server(candidate: &CandidateFacts) -> Server {
    (candidate.build.dbms, candidate.engine)
}

impl KnownNoise {
    /// What is known about the steps of an experiment, from those of `others` that tell it.
    pub fn of(experiment: &Experiment, others: &[Stored]) -> KnownNoise {
        let alike: Vec<&Stored> =
            others.iter().filter(|(other, _)| KnownNoise::is_told_by(experiment, other)).collect();
        let mut servers: Vec<Server> = experiment.candidates.iter().map(server).collect();
        servers.sort_unstable();
        servers.dedup();
        let known = |step: &StepFacts, server: Server| {
            let runs: Vec<_> = alike.iter().map(|stored| runs(stored, step, server)).collect();
            let rounds = |servers: &Vec<Vec<f64>>| servers.iter().map(Vec::len).max().unwrap_or(0);
            let rounds = runs.iter().map(rounds).sum();
            Some((step.name.clone(), server, Known { noise: RunNoise::of_runs(&runs)?, rounds }))
        };
        let of_step = |step| servers.iter().filter_map(move |server| known(step, *server));
        KnownNoise(experiment.steps.iter().filter(|step| step.is_compared()).flat_map(of_step).collect())
    }

    /// Whether rounds of one experiment tell how much single runs of another scatter: on the same host, with the same workload, sizes and
    /// placement, whatever the length of steps and the seed. Each round has fresh starts, as a single run does.
    pub fn is_told_by(experiment: &Experiment, other: &Experiment) -> bool {
        let sizes = |experiment: &Experiment| -> Vec<(String, String)> {
            let is_size = |(name, _): &&(String, String)| {
                !name.contains("seconds") && !["list", "seed"].contains(&name.as_str())
            };
            experiment.parameters.iter().filter(is_size).cloned().collect()
        };
        experiment.schedule.is_none()
            && other.schedule.is_some()
            && experiment.kept_apart_by(other).is_empty()
            && other.workload == experiment.workload
            && sizes(other) == sizes(experiment)
    }

    fn get(&self, step: &str, server: Server) -> Option<Known> {
        let known = self.0.iter().find(|(name, kind, _)| name == step && *kind == server);
        known.map(|(_, _, known)| *known)
    }
}

/// ln throughput of the rounds of each candidate of that kind.
fn runs((other, trials): &Stored, step: &StepFacts, kind: Server) -> Vec<Vec<f64>> {
    let own = trials.iter().filter(|trial| trial.is_complete() && trial.measured_by == other.id);
    let own: Vec<_> = own.filter(|trial| trial.step == step.name && trial.profiles.is_empty()).collect();
    let logarithms = |candidate: &CandidateFacts| {
        let own = own.iter().filter(|trial| trial.candidate == candidate.name.0);
        let rate = |trial| Measured { trial, rounds: 1, step, cores: other.host.cores }.headline();
        own.filter_map(|trial| rate(*trial)).map(f64::ln).filter(|value| value.is_finite()).collect()
    };
    other.candidates.iter().filter(|candidate| server(candidate) == kind).map(logarithms).collect()
}

impl Results<'_> {
    /// Whether anything is known about some step.
    pub fn knows_noise(&self) -> bool {
        self.known_noise.is_some_and(|known| !known.0.is_empty())
    }

    /// The noise of the difference between a contender's single run and the base case's, and the number of rounds of the less known of the
    /// two.
    pub fn difference_noise(&self, step: usize, candidate: usize) -> Option<Known> {
        let known = self.known_noise?;
        let (name, candidates) = (&self.experiment.steps.get(step)?.name, &self.experiment.candidates);
        let known_of = |candidate: usize| known.get(name, server(candidates.get(candidate)?));
        let (base, contender) = (known_of(0)?, known_of(candidate)?);
        Some(Known {
            noise: RunNoise::between(base.noise, contender.noise),
            rounds: base.rounds.min(contender.rounds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_is_not_alike_tells_nothing() {
        let ((experiment, _), mut others) = fixture::single_run_beside_rounds();
        let known = |others: &[Stored]| KnownNoise::of(&experiment, others).0.len();
        assert_eq!(known(&others), 2, "two steps");
        assert_eq!(known(&others[1..]), 0, "of another size");
        others[0].1.iter_mut().for_each(|trial| trial.measured_by = "elsewhere".into());
        assert_eq!(known(&others), 0, "measured by another, which tells it");
        let in_rounds = fixture::history(&[0.0, 0.0], 8, 0.002, 7);
        assert_eq!(KnownNoise::of(&in_rounds.0, &others).0.len(), 0, "rounds have intervals of their own");
    }
}
