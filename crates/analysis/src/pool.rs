//! Pools all rounds of a step on a candidate into one trial.

use basecase_model::{
    Aside, Experiment, Measures, Observation, RoleRecord, Sample, Series, StatementRecord, Trial,
};

use crate::results::newest;

/// A step on a candidate, and how many rounds it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Pooled<'a> {
    /// All rounds as one trial: amounts and times are sums, levels are means, series, slices and plans come from one round.
    pub trial: Trial,
    /// The rounds in their order; empty for a single trial.
    pub rounds: Vec<&'a Trial>,
}

impl Pooled<'_> {
    /// Number of trials it is made of.
    pub fn count(&self) -> usize {
        self.rounds.len().max(1)
    }
}

/// Every step on every candidate that has a trial. A failed trial stands only if no round is complete.
pub(crate) fn pooled<'a>(experiment: &Experiment, trials: &'a [Trial]) -> Vec<Pooled<'a>> {
    let mut all = Vec::new();
    for step in &experiment.steps {
        let of_step: Vec<&Trial> = trials.iter().filter(|trial| trial.step == step.name).collect();
        for candidate in &experiment.candidates {
            let own = || of_step.iter().copied().filter(|trial| trial.candidate == candidate.name.0);
            let rounds = rounds(own().filter(|trial| counts(experiment, &of_step, trial)));
            // A trial that was measured alone, such as a load, serves any experiment.
            let alone = own().filter(|trial| trial.measured_by == experiment.id || trial.slices.is_empty());
            all.extend(
                pool(rounds).or_else(|| Some(Pooled { trial: newest(alone)?.clone(), rounds: Vec::new() })),
            );
        }
    }
    all
}

/// Whether a trial belongs to the rounds of this experiment: it measured them itself, or they include two of its candidates. Trials that
/// another experiment measured together were not measured together with the candidates here.
fn counts(experiment: &Experiment, of_step: &[&Trial], trial: &Trial) -> bool {
    let is_beside = |other: &&Trial| {
        other.is_complete() && other.candidate != trial.candidate && other.round() == trial.round()
    };
    trial.is_complete() && (trial.measured_by == experiment.id || of_step.iter().any(is_beside))
}

/// The trials in round order, one per round. Profiled ones count only if there is no other.
fn rounds<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<&'a Trial> {
    let mut rounds: Vec<&Trial> = trials.collect();
    if rounds.iter().any(|trial| trial.observation != Observation::Profiled) {
        rounds.retain(|trial| trial.observation != Observation::Profiled);
    }
    rounds.sort_by_key(|trial| (*trial).round());
    // If a round was measured twice, the later trial counts; the sort is stable.
    rounds.reverse();
    rounds.dedup_by_key(|trial| (*trial).round());
    rounds.reverse();
    rounds
}

/// All rounds as one trial; `None` of none.
fn pool(rounds: Vec<&Trial>) -> Option<Pooled<'_>> {
    let (latest, earlier) = rounds.split_last()?;
    let mut trial = (*latest).clone();
    if !earlier.is_empty() {
        trial.roles.iter_mut().for_each(cut_series);
        for round in earlier {
            add(&mut trial, round);
        }
        trial.counters = sums(&rounds);
        trial.gauges = means(&rounds);
        trial.warnings = warnings(&rounds);
    }
    let with_plans = rounds.iter().rev().find(|round| !round.plans.is_empty());
    trial.plans = with_plans.map(|round| round.plans.clone()).unwrap_or_default();
    Some(Pooled { trial, rounds })
}

fn add(trial: &mut Trial, round: &Trial) {
    trial.seconds += round.seconds;
    for role in &round.roles {
        let same = |known: &&mut RoleRecord| {
            (known.client, &known.role, known.class) == (role.client, &role.role, role.class)
        };
        match trial.roles.iter_mut().find(same) {
            Some(known) => add_role(known, role),
            None => trial.roles.push(RoleRecord { series: Series::default(), ..role.clone() }),
        }
    }
    for record in &round.statements {
        let same = |known: &&mut StatementRecord| known.name == record.name;
        match trial.statements.iter_mut().find(same) {
            Some(known) => {
                known.window.add(&record.window);
                known.warm_up.add(&record.warm_up);
            }
            None => trial.statements.push(record.clone()),
        }
    }
}

fn add_role(role: &mut RoleRecord, round: &RoleRecord) {
    role.statements += round.statements;
    role.items += round.items;
    role.events += round.events;
    role.affected += round.affected;
    role.fetched += round.fetched;
    role.retries += round.retries;
    role.mismatches += round.mismatches;
    // As if the rounds had run one after the other.
    role.ended_us += round.ended_us.saturating_sub(round.started_us);
    role.client_cpu_us += round.client_cpu_us;
    role.server_cpu_us = role.server_cpu_us.zip(round.server_cpu_us).map(|(sum, more)| sum + more);
    role.service.add(&round.service);
    if let Some(response) = &round.response {
        role.response.get_or_insert_default().add(response);
    }
    for aside in &round.asides {
        match role.asides.iter_mut().find(|known| known.name == aside.name) {
            Some(Aside { count, total_us, max_us, .. }) => {
                *count += aside.count;
                *total_us += aside.total_us;
                *max_us = (*max_us).max(aside.max_us);
            }
            None => role.asides.push(aside.clone()),
        }
    }
}

/// Keeps only whole intervals of a round's series, because its end is unknown once its time is added to others'.
fn cut_series(role: &mut RoleRecord) {
    if role.series.samples.is_empty() {
        return;
    }
    let whole = role.ended_us / 1_000 / u64::from(role.series.interval_ms.max(1));
    role.series.samples.resize(whole as usize, Sample::default());
}

/// Prefixes of counters that a round either has or could not read. Other counters are not stored if they did not move.
const ALWAYS_STORED: [&str; 4] = ["host.", "device.", "client.", "server."];

/// Each counter summed over all rounds; a counter that some round lacks is unknown for all.
fn sums(rounds: &[&Trial]) -> Measures {
    let mut sums = Measures::new();
    for (name, _) in rounds.iter().flat_map(|round| round.counters.iter()) {
        if sums.get(name).is_some() {
            continue;
        }
        let known: Vec<f64> = rounds.iter().filter_map(|round| round.counters.get(name)).collect();
        let is_zero_when_absent = !ALWAYS_STORED.iter().any(|prefix| name.starts_with(prefix));
        if is_zero_when_absent || known.len() == rounds.len() {
            sums.set(name, known.iter().sum());
        }
    }
    sums
}

/// Each level, averaged over the rounds that have it.
fn means(rounds: &[&Trial]) -> Measures {
    let mut means = Measures::new();
    for (name, _) in rounds.iter().flat_map(|round| round.gauges.iter()) {
        let known: Vec<f64> = rounds.iter().filter_map(|round| round.gauges.get(name)).collect();
        means.set(name, known.iter().sum::<f64>() / known.len() as f64);
    }
    means
}

/// Each warning once, with the number of rounds that have it.
fn warnings(rounds: &[&Trial]) -> Vec<String> {
    let mut texts: Vec<&String> = Vec::new();
    for text in rounds.iter().flat_map(|round| &round.warnings) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let told = |text: &String| {
        let count = rounds.iter().filter(|round| round.warnings.contains(text)).count();
        format!("{text}; in {count} of {} rounds", rounds.len())
    };
    texts.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use basecase_model::{OperationClass, TrialStatus, names};

    use super::*;
    use crate::fixture;

    /// The pooled trial of a step on a candidate, by numbers.
    fn of<'a>(experiment: &Experiment, trials: &'a [Trial], step: usize, candidate: usize) -> Pooled<'a> {
        let (step, candidate) = (&experiment.steps[step].name, &experiment.candidates[candidate].name.0);
        let is_of = |found: &Pooled<'_>| found.trial.step == *step && found.trial.candidate == *candidate;
        pooled(experiment, trials).into_iter().find(is_of).unwrap()
    }

    #[test]
    fn amounts_and_times_add_up_and_levels_are_means() {
        let (experiment, trials) = fixture::in_rounds();
        let Pooled { trial, rounds } = of(&experiment, &trials, 1, 0);
        let is_round = |one: &&Trial| one.step == trial.step && one.candidate == trial.candidate;
        let all: Vec<&Trial> = trials.iter().filter(is_round).collect();
        let sum = |of: fn(&Trial) -> f64| all.iter().map(|one| of(one)).sum::<f64>();
        let pairs: [(f64, f64); 5] = [
            (trial.seconds, sum(|one| one.seconds)),
            (trial.items(OperationClass::Query) as f64, sum(|one| one.items(OperationClass::Query) as f64)),
            (trial.roles[1].service.count() as f64, sum(|one| one.roles[1].service.count() as f64)),
            (trial.roles[1].ended_us as f64, sum(|one| one.roles[1].ended_us as f64)),
            (
                trial.counters.get(names::SERVER_CPU_US).unwrap(),
                sum(|one| one.counters.get(names::SERVER_CPU_US).unwrap()),
            ),
        ];
        assert_eq!((rounds.len(), all.len()), (5, 5));
        assert_eq!(rounds, all);
        pairs.iter().for_each(|(pooled, summed)| assert!((pooled - summed).abs() < 1e-6 * summed));
        let level = sum(|one| one.gauges.get(names::ROUND_SECONDS).unwrap()) / 5.0;
        assert!((trial.gauges.get(names::ROUND_SECONDS).unwrap() - level).abs() < 1e-9);
        assert_eq!(trial.plans, all[0].plans, "only the first round has plans");
        assert!(!trial.plans.is_empty());
        assert_eq!(trial.warnings, ["client was the limit; in 2 of 5 rounds"]);
    }

    #[test]
    fn rounds_of_another_experiment_count_where_they_hold_two_candidates_of_this_one() {
        let (experiment, mut trials) = fixture::in_rounds();
        let elsewhere = |trial: &Trial| Trial { measured_by: "elsewhere".into(), ..trial.clone() };
        let is_shared = |trial: &&Trial| trial.step == experiment.steps[1].name && trial.place.round == 0;
        let shared: Vec<Trial> = trials.iter().filter(is_shared).map(elsewhere).collect();
        assert_eq!(pooled(&experiment, &shared[..1]), [], "its contender is not of this experiment");
        trials.extend(shared[..1].iter().cloned());
        assert_eq!(of(&experiment, &trials, 1, 0).count(), 5);
        trials.extend(shared[1..2].iter().cloned());
        let rounds = [0, 1, 2].map(|candidate| of(&experiment, &trials, 1, candidate).count());
        assert_eq!(rounds, [6, 6, 5]);
    }

    #[test]
    fn a_failed_round_stands_only_where_there_is_no_other() {
        let (experiment, mut trials) = fixture::in_rounds();
        let fail = |trial: &mut Trial| {
            trial.status = TrialStatus::Failed { reason: "gone".into(), log_tail: String::new() };
        };
        let name = experiment.steps[1].name.clone();
        trials.iter_mut().filter(|trial| trial.step == name && trial.place.round > 2).for_each(fail);
        assert_eq!(of(&experiment, &trials, 1, 0).count(), 3);
        trials.iter_mut().filter(|trial| trial.step == name).for_each(fail);
        assert!(!of(&experiment, &trials, 1, 0).trial.is_complete());
    }

    #[test]
    fn what_a_round_could_not_tell_is_not_known_of_all() {
        let round = |counters: &[(&str, f64)]| {
            let mut trial = fixture::empty_trial();
            counters.iter().for_each(|(name, value)| trial.counters.set(name, *value));
            trial
        };
        let (first, second) = (round(&[("host.forks", 1.0), ("mysql.sorts", 2.0)]), round(&[]));
        let sums = sums(&[&first, &second]);
        assert_eq!((sums.get("host.forks"), sums.get("mysql.sorts")), (None, Some(2.0)));
    }
}
