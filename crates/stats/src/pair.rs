//! Two trials of one step that were measured together, and what their round says.

use std::collections::BTreeMap;

use basecase_model::{Experiment, OperationClass, SessionRecord, Slice, StepFacts, Trial, names};

use crate::Round;
use crate::judgement::JudgedMetric;
use crate::round_conditions::RoundConditions;
use crate::sample::mean;
use crate::sessions::SessionPair;
use crate::signed_rank::{median, walsh_averages};

/// Slices from this length on are far apart, so disturbances hit one candidate more than another. They hit shorter slices alike.
const LONG_US: f64 = 0.9e6;
/// How many processors others may use during a long slice.
pub const NOISY_CORES: f64 = 0.3;
/// From this many turns of a candidate on, the typical difference is computed.
const TURNS: usize = 12;
/// The share of all processors' time that the hypervisor may give to others during a long slice.
pub const NOISY_STEAL: f64 = 0.05;
/// How much longer than usual the canary before a pass of long slices may take.
pub const NOISY_CANARY: f64 = 1.10;

/// The trials of the base case and of a contender in one round.
#[derive(Debug, Clone)]
pub(crate) struct Pair<'a> {
    step: &'a StepFacts,
    pub(crate) base: &'a Trial,
    pub(crate) contender: &'a Trial,
    conditions: RoundConditions,
    /// Of each pass, in their order, how many slices the base case has for each of the contender: one, or two when several contenders are
    /// compared with it. `None` for any other number.
    shares: Vec<(u32, Option<usize>)>,
    /// Passes that do not count, in their order.
    left_out: Vec<u32>,
}

impl<'a> Pair<'a> {
    /// All pairs of a step and a contender, in the order in which they were measured, which is that of the trials. Only trials that were
    /// measured together are compared.
    ///
    /// Passes of long slices that others disturbed do not count. A pass is left out as a whole and for both sides, judging by the host
    /// alone and up to the end of its round. If that would be more than half of a round, all of it counts. So later rounds never change
    /// earlier ones, and always follow them.
    pub(crate) fn all(
        experiment: &'a Experiment,
        trials: &'a [Trial],
        step: &'a StepFacts,
        contender: usize,
    ) -> Vec<Pair<'a>> {
        let name = |candidate: usize| experiment.candidates.get(candidate).map(|facts| facts.name.0.as_str());
        let Some((base, contender)) = name(0).zip(name(contender)) else { return Vec::new() };
        let mut pairs = Pair::among(trials, step, [base, contender], experiment.host.cores);
        let bases: Vec<&Trial> = pairs.iter().map(|pair| pair.base).collect();
        let conditions = RoundConditions::of_all(experiment, &bases);
        pairs.iter_mut().zip(conditions).for_each(|(pair, conditions)| pair.conditions = conditions);
        pairs
    }

    /// The same for two candidates by name, on a host with `cores` processors.
    pub(crate) fn among(
        trials: &'a [Trial],
        step: &'a StepFacts,
        [base, contender]: [&str; 2],
        cores: u32,
    ) -> Vec<Pair<'a>> {
        let trials_by_round = |name: &str| {
            let is_own =
                |trial: &Trial| trial.is_complete() && trial.step == step.name && trial.candidate == name;
            let all = trials.iter().enumerate().filter(|(_, trial)| is_own(trial));
            all.map(|(index, trial)| (trial.round(), (index, trial))).collect::<BTreeMap<_, _>>()
        };
        let (bases, contenders) = (trials_by_round(base), trials_by_round(contender));
        let together = |(place, (index, base)): (_, (usize, &'a Trial))| {
            let (other, contender) = *contenders.get(&place)?;
            Some((index.max(other), base, contender))
        };
        let mut measured: Vec<_> = bases.into_iter().filter_map(together).collect();
        measured.sort_unstable_by_key(|(index, ..)| *index);
        let mut canaries_ns = Vec::new();
        let pair = |(_, base, contender): (usize, &'a Trial, &'a Trial)| {
            let slices = || base.slices.iter().chain(&contender.slices);
            canaries_ns.extend(slices().filter_map(|slice| slice.canary_ns));
            let is_needed = slices().any(is_long);
            let canary_ns = is_needed.then(|| usual_canary_ns(&mut canaries_ns)).flatten();
            let left_out = disturbed(base, contender, Usual { cores: f64::from(cores.max(1)), canary_ns });
            let mut pair = Pair { left_out, ..Pair::whole(step, base, contender) };
            pair.keep_half();
            pair.leave_out_uneven();
            pair
        };
        measured.into_iter().map(pair).collect()
    }

    /// Lets all passes count if more than half of them were disturbed.
    fn keep_half(&mut self) {
        if self.left_out.is_empty() {
            return;
        }
        let passes = distinct(self.base.slices.iter().map(|slice| slice.pass));
        if 2 * self.left_out.len() > passes.len() {
            self.left_out.clear();
        }
    }

    /// A pair of all passes, disturbed or not.
    pub(crate) fn whole(step: &'a StepFacts, base: &'a Trial, contender: &'a Trial) -> Pair<'a> {
        let (conditions, left_out) = (RoundConditions::default(), Vec::new());
        Pair { step, base, contender, conditions, shares: shares(base, contender), left_out }
    }

    /// Leaves out passes in which one side has more slices, because it took longer to finish its step.
    fn leave_out_uneven(&mut self) {
        let uneven = self.shares.iter().filter(|(_, share)| share.is_none()).map(|(pass, _)| *pass);
        self.left_out = distinct(self.left_out.iter().copied().chain(uneven));
    }

    /// Means of the base case's slices, one for each slice of the contender.
    fn shared(&self, base: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let ways = base.chunk_by(|one, next| one.0 == next.0).flat_map(|of_pass| {
            let share = of_pass.first().and_then(|(pass, _)| *of(&self.shares, *pass)?).unwrap_or(1);
            of_pass.chunks(share)
        });
        let mean_of_way = |way: &[(u32, f64)]| match way {
            [] => None,
            [alone] => Some(*alone),
            [(pass, _), ..] => Some((*pass, mean(&way.iter().map(|value| value.1).collect::<Vec<f64>>()))),
        };
        ways.filter_map(mean_of_way).collect()
    }

    /// Its round and the experiment that measured it.
    pub(crate) fn place(&self) -> (u32, &'a str) {
        self.base.round()
    }

    /// The round's data; `None` if the round does not count.
    pub(crate) fn round(&self, metric: JudgedMetric) -> Option<Round> {
        Some(Round { conditions: self.conditions, ..self.effects(metric)? })
    }

    /// The effects of the round.
    fn effects(&self, metric: JudgedMetric) -> Option<Round> {
        if self.keep_rate() != (true, true) {
            return None;
        }
        if self.counting(self.base).count() == 0 || self.has_pause() {
            let effect = whole(self.step, self.contender, metric)? - whole(self.step, self.base, metric)?;
            return Some(Round::from(effect));
        }
        let base = self.shared(&self.values(self.base, metric)?);
        let contender = self.values(self.contender, metric)?;
        let passes = Self::differences_of(&base, &contender).into_iter().map(|(_, effect)| effect).collect();
        let all = |values: &[(u32, f64)]| values.iter().map(|value| value.1).collect::<Vec<f64>>();
        Round::of_turns(all(&base), all(&contender), passes)
    }

    /// The difference in each pass that counts; `None` if one has no rate.
    pub(crate) fn differences(&self, metric: JudgedMetric) -> Option<Vec<(u32, f64)>> {
        let base = self.shared(&self.values(self.base, metric)?);
        Some(Self::differences_of(&base, &self.values(self.contender, metric)?))
    }

    /// The difference of the means of each pass that both have.
    fn differences_of(base: &[(u32, f64)], contender: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let (base, contender) = (means_of_passes(base), means_of_passes(contender));
        let effect_of = |(pass, base): (u32, f64)| Some((pass, of(&contender, pass)? - base));
        base.into_iter().filter_map(effect_of).collect()
    }

    /// The sessions of both sides that ran in turns; none if the round does not count. `start` is its number among those that do.
    pub(crate) fn sessions(&self, start: usize) -> Vec<SessionPair<'a>> {
        let (base, contender): (&'a Trial, &'a Trial) = (self.base, self.contender);
        let matched = |own: &'a SessionRecord| {
            let other = contender.sessions.iter().find(|other| other.number == own.number)?;
            Some(SessionPair { start, records: [own, other], effect: self.session_effect(own, other)? })
        };
        let counts = self.keep_rate() == (true, true);
        base.sessions.iter().filter(|_| counts).filter_map(matched).collect()
    }

    /// The typical difference in ln throughput between a session of the contender and one of the base case, over the slices that count;
    /// `None` if one has none, or did nothing in one.
    fn session_effect(&self, base: &SessionRecord, contender: &SessionRecord) -> Option<f64> {
        let of_session = |trial: &'a Trial, session: &SessionRecord| {
            let own = self.counting(trial).filter(|slice| session.has_pass(slice.pass));
            own.map(|slice| Some((slice.pass, logarithm(slice.rate)?))).collect::<Option<Vec<_>>>()
        };
        let values = |slices: Vec<(u32, f64)>| slices.into_iter().map(|slice| slice.1).collect::<Vec<f64>>();
        let base = values(self.shared(&of_session(self.base, base)?));
        let contender = values(of_session(self.contender, contender)?);
        let difference = mean_of(&contender)? - mean_of(&base)?;
        if base.len() != contender.len() {
            return Some(difference);
        }
        let differences: Vec<f64> =
            contender.iter().zip(&base).map(|(contender, base)| contender - base).collect();
        Some(median(&mut walsh_averages(&differences)))
    }

    /// Whether the background writers of base case and contender kept their rate, if the step has any: over the whole round, as in a single
    /// run.
    pub(crate) fn keep_rate(&self) -> (bool, bool) {
        (keeps_rate(self.step, self.base), keeps_rate(self.step, self.contender))
    }

    /// Logarithms of the slices that count, with their passes; larger is better.
    fn values(&self, trial: &Trial, metric: JudgedMetric) -> Option<Vec<(u32, f64)>> {
        let value = |slice: &Slice| match metric {
            JudgedMetric::Throughput => logarithm(slice.rate),
            JudgedMetric::ServerCpu => {
                slice.server_cpu_us_per_operation().and_then(|cost| logarithm(1.0 / cost))
            }
        };
        self.counting(trial).map(|slice| Some((slice.pass, value(slice)?))).collect()
    }

    /// The slices of a trial that count.
    fn counting(&self, trial: &'a Trial) -> impl Iterator<Item = &'a Slice> {
        trial.slices.iter().filter(|slice| self.left_out.binary_search(&slice.pass).is_err())
    }

    /// Whether nothing at all was done in a slice that counts: it has no rate.
    fn has_pause(&self) -> bool {
        [self.base, self.contender]
            .into_iter()
            .flat_map(|trial| self.counting(trial))
            .any(|slice| slice.rate == 0.0)
    }
}

impl Round {
    /// From the ln throughput of both sides' turns, in order of time, and the effects of passes; `None` if a side has no turn.
    pub(crate) fn of_turns(base: Vec<f64>, contender: Vec<f64>, passes: Vec<f64>) -> Option<Round> {
        let difference = mean_of(&contender)? - mean_of(&base)?;
        let effect = typical_difference(&base, &contender).unwrap_or(difference);
        Some(Round { effect, stalls: difference - effect, passes, base, contender, ..Round::default() })
    }
}

/// What a pass has; both are in the order of passes.
fn of<T>(passes: &[(u32, T)], pass: u32) -> Option<&T> {
    passes.binary_search_by_key(&pass, |(pass, _)| *pass).ok().map(|place| &passes[place].1)
}

/// See [`Pair::shares`].
fn shares(base: &Trial, contender: &Trial) -> Vec<(u32, Option<usize>)> {
    let bases = base.slices.iter().map(|slice| (slice.pass, true));
    let contenders = contender.slices.iter().map(|slice| (slice.pass, false));
    let mut slices: Vec<(u32, bool)> = bases.chain(contenders).collect();
    // Slices are in the order of time on both sides, which this sort makes use of.
    slices.sort();
    let share = |of_pass: &[(u32, bool)]| {
        let contenders = of_pass.partition_point(|(_, is_base)| !is_base);
        match (of_pass.len() - contenders, contenders) {
            (base, contender) if base == contender => Some(1),
            (4, 2) => Some(2),
            _ => None,
        }
    };
    slices.chunk_by(|one, next| one.0 == next.0).map(|of_pass| (of_pass[0].0, share(of_pass))).collect()
}

/// The mean of the values of each pass, in the order of passes.
fn means_of_passes(values: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let mut values = values.to_vec();
    values.sort_by_key(|(pass, _)| *pass);
    let mean = |of_pass: &[(u32, f64)]| {
        let sum = of_pass.iter().fold(0.0, |sum, (_, value)| sum + value);
        (of_pass[0].0, sum / of_pass.len() as f64)
    };
    values.chunk_by(|one, next| one.0 == next.0).map(mean).collect()
}

/// The passes in which others disturbed a slice, or in which the client was not running although it was due, in their order.
fn disturbed(base: &Trial, contender: &Trial, usual: Usual) -> Vec<u32> {
    let slices = base.slices.iter().chain(&contender.slices);
    let by_others = slices.filter(|slice| is_disturbed(slice, usual)).map(|slice| slice.pass);
    let gauges = base.gauges.iter().chain(contender.gauges.iter());
    let stopped = gauges.filter_map(|(name, _)| name.strip_prefix(names::CLIENT_STOPPED_PASS)?.parse().ok());
    distinct(by_others.chain(stopped))
}

/// Each of these passes once, in their order.
fn distinct(passes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut passes: Vec<u32> = passes.collect();
    passes.sort_unstable();
    passes.dedup();
    passes
}

/// The state of the machine when it is left alone.
#[derive(Debug, Clone, Copy)]
struct Usual {
    cores: f64,
    canary_ns: Option<f64>,
}

/// The usual [`Slice::canary_ns`]: the median; `None` without values. The values are reordered.
pub fn usual_canary_ns(canaries_ns: &mut [f64]) -> Option<f64> {
    (!canaries_ns.is_empty()).then(|| median(canaries_ns))
}

fn is_long(slice: &Slice) -> bool {
    slice.length_us >= LONG_US
}

/// Whether others used too much of the machine during a slice, or the processor was too slow before it, so that its pass does not count.
fn is_disturbed(slice: &Slice, usual: Usual) -> bool {
    let is_more =
        |time_us: Option<f64>, cores: f64| time_us.is_some_and(|time_us| time_us > cores * slice.length_us);
    is_long(slice)
        && (is_more(slice.others_cpu_us, NOISY_CORES)
            || is_more(slice.steal_us, NOISY_STEAL * usual.cores)
            || slice.canary_ns.zip(usual.canary_ns).is_some_and(|(now, usual)| now > NOISY_CANARY * usual))
}

/// The typical difference between the turns of both sides, each compared with the turn of the same pass and direction: the Hodges-Lehmann
/// estimate, the median of the averages of all pairs. On a shared machine, a turn of either side is now and then slower by a third, and
/// means would include that. `None` if there are too few turns.
fn typical_difference(base: &[f64], contender: &[f64]) -> Option<f64> {
    let is_enough = base.len() == contender.len() && base.len() >= TURNS;
    let differences: Vec<f64> =
        contender.iter().zip(base).map(|(contender, base)| contender - base).collect();
    is_enough.then(|| median(&mut walsh_averages(&differences)))
}

/// The logarithm of a whole trial's result; larger is better.
fn whole(step: &StepFacts, trial: &Trial, metric: JudgedMetric) -> Option<f64> {
    match metric {
        JudgedMetric::Throughput => logarithm(trial.headline(step)?),
        JudgedMetric::ServerCpu => {
            let operations = step.headline_items.unwrap_or_else(|| trial.items(step.headline.class()));
            logarithm(operations as f64 / trial.counters.get(names::SERVER_CPU_US)?)
        }
    }
}

/// Whether background writers kept their rate, if the step has any.
fn keeps_rate(step: &StepFacts, trial: &Trial) -> bool {
    step.keeps_rate(trial.items(OperationClass::Insert) as f64 / trial.seconds).unwrap_or(true)
}

fn logarithm(value: f64) -> Option<f64> {
    Some(value.ln()).filter(|logarithm| logarithm.is_finite())
}

fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| mean(values))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use basecase_model::{Place, RoleRecord};

    use super::*;

    pub(crate) static STEP: StepFacts = StepFacts::EMPTY;

    /// A trial of three passes with one slice each at these rates; during the first, others used `others_cores` processors.
    fn trial(rates: [f64; 3], length_us: f64, others_cores: f64) -> Trial {
        let slice = |(pass, rate): (u32, f64)| Slice {
            pass,
            rate,
            length_us,
            others_cpu_us: Some(if pass == 0 { others_cores * length_us } else { 0.0 }),
            ..Slice::default()
        };
        let slices = (0..).zip(rates).map(slice).collect();
        Trial {
            slices,
            ..Trial::empty(String::new(), "", "", Place { round: 0, pass: 0, position: 0 }, String::new())
        }
    }

    const USUAL: Usual = Usual { cores: 2.0, canary_ns: Some(1.8) };

    pub(crate) fn pair<'a>(base: &'a Trial, contender: &'a Trial) -> Pair<'a> {
        Pair { left_out: disturbed(base, contender, USUAL), ..Pair::whole(&STEP, base, contender) }
    }

    #[test]
    fn a_pass_that_others_disturbed_does_not_count_for_either() {
        let base = trial([100.0, 100.0, 100.0], 1e6, 0.0);
        let hit = trial([50.0, 110.0, 110.0], 1e6, 0.4);
        let round = pair(&base, &hit).round(JudgedMetric::Throughput).unwrap();
        assert!((round.effect - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!((round.passes.len(), round.base.len(), round.contender.len()), (2, 2, 2));
        for counts in [trial([50.0, 110.0, 110.0], 1e6, 0.2), trial([50.0, 110.0, 110.0], 3e4, 2.0)] {
            assert_eq!(pair(&base, &counts).round(JudgedMetric::Throughput).unwrap().passes.len(), 3);
        }
        for (canary_ns, left) in [(1.9, 3), (2.0, 2)] {
            let mut slowed = base.clone();
            slowed.slices[1].canary_ns = Some(canary_ns);
            assert_eq!(pair(&base, &slowed).round(JudgedMetric::Throughput).unwrap().passes.len(), left);
        }
    }

    #[test]
    fn defect_18_a_pass_in_which_the_client_was_stopped_does_not_count_for_either() {
        let base = trial([100.0; 3], 3e4, 0.0);
        let mut contender = trial([110.0, 1.0, 110.0], 3e4, 0.0);
        contender.gauges.set(&format!("{}1", names::CLIENT_STOPPED_PASS), 5e6);
        for pair in [pair(&base, &contender), pair(&contender, &base)] {
            assert_eq!(pair.left_out, [1]);
            let round = pair.round(JudgedMetric::Throughput).unwrap();
            assert!((round.effect.abs() - 1.1_f64.ln()).abs() < 1e-12 && round.passes.len() == 2);
        }
    }

    #[test]
    fn only_passes_count_that_both_have_as_a_whole() {
        let (base, mut longer) = (trial([100.0; 3], 3e4, 0.0), trial([110.0; 3], 3e4, 0.0));
        longer.slices.push(Slice { pass: 2, rate: 1.0, ..longer.slices[2] });
        longer.slices.push(Slice { pass: 3, rate: 1.0, ..longer.slices[2] });
        let mut pair = pair(&base, &longer);
        pair.leave_out_uneven();
        assert_eq!(pair.left_out, [2, 3]);
        let round = pair.round(JudgedMetric::Throughput).unwrap();
        assert!((round.effect - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!(round.passes.len(), 2);
    }

    #[test]
    fn two_slices_of_the_base_case_count_as_one() {
        let with_slices = |rates: &[(u32, f64)]| Trial {
            slices: rates
                .iter()
                .map(|(pass, rate)| Slice { pass: *pass, rate: *rate, ..Slice::default() })
                .collect(),
            ..trial([0.0; 3], 3e4, 0.0)
        };
        let base = with_slices(&[(0, 100.0), (0, 121.0), (0, 90.0), (0, 90.0), (1, 100.0), (1, 100.0)]);
        let contender = with_slices(&[(0, 110.0), (0, 90.0), (1, 110.0)]);
        let mut pair = pair(&base, &contender);
        pair.leave_out_uneven();
        let round = pair.round(JudgedMetric::Throughput).unwrap();
        assert_eq!(pair.left_out, [1], "of two against one, one took longer");
        assert_eq!((round.base.len(), round.contender.len(), round.passes.len()), (2, 2, 1));
        assert!(round.effect.abs() < 1e-12 && round.passes[0].abs() < 1e-12, "{round:?}");
    }

    #[test]
    fn a_slice_in_which_nothing_was_done_lets_the_whole_count() {
        let role = |items| RoleRecord {
            items,
            ended_us: 1_000_000,
            ..RoleRecord::idle(1, "client", OperationClass::Query, 1000)
        };
        let mut base = trial([100.0, 110.0, 100.0], 3e4, 0.0);
        let mut contender = trial([100.0, 0.0, 100.0], 3e4, 0.0);
        (base.roles, contender.roles) = (vec![role(300)], vec![role(200)]);
        let round = pair(&base, &contender).round(JudgedMetric::Throughput).unwrap();
        assert!((round.effect - (2.0_f64 / 3.0).ln()).abs() < 1e-9, "{}", round.effect);
        assert!(round.passes.is_empty());
    }

    #[test]
    fn what_hits_a_turn_by_chance_is_not_typical() {
        // 3 % slower throughout, and a third slower now and then in a turn of either side.
        let rate = |turn: u32, factor: f64, hit: u32| if turn % 8 == hit { 0.67 * factor } else { factor };
        let side =
            |factor: f64, hit: u32| (0..48).map(|turn| rate(turn, factor, hit).ln()).collect::<Vec<f64>>();
        let noise: Vec<f64> = (0..48).map(|turn| 0.002 * f64::from(turn % 5)).collect();
        let base: Vec<f64> = side(1.0, 3).iter().zip(&noise).map(|(value, noise)| value + noise).collect();
        let effect = typical_difference(&base, &side(0.97, 6)).unwrap() + mean(&noise);
        assert!((effect - 0.97_f64.ln()).abs() < 0.004, "{effect}");
        assert_eq!(typical_difference(&base[..11], &base[..11]), None);
        assert_eq!(typical_difference(&base, &base[1..]), None);
    }

    proptest! {
        #[test]
        fn defect_12_later_rounds_change_nothing_of_what_was_seen(
            rounds in prop::collection::vec((prop::array::uniform3(90.0..110.0f64), 0.0..0.7f64, 1.5..2.2f64), 2..9),
            first in 1..8usize,
        ) {
            // Rounds of another experiment may have the same numbers as earlier ones.
            let of_round = |(number, (rates, others_cores, canary_ns)): (usize, ([f64; 3], f64, f64))| {
                let round = (40 - number) as u32 % 7;
                let experiment = if number % 2 == 0 { "b" } else { "a" };
                ["base", "contender"].map(|name| {
                    let mut trial = trial(rates, 1e6, if name == "base" { others_cores } else { 0.0 });
                    (trial.candidate, trial.measured_by) = (name.to_owned(), experiment.to_owned());
                    trial.place.round = round;
                    trial.slices.iter_mut().zip([1.0, 1.2, 0.9]).for_each(|(slice, by)| slice.canary_ns = Some(canary_ns * by));
                    trial.slices.iter_mut().for_each(|slice| slice.rate += f64::from(u8::from(name == "base")) * slice.canary_ns.unwrap_or(0.0));
                    trial
                })
            };
            let trials: Vec<Trial> = rounds.iter().copied().enumerate().flat_map(of_round).collect();
            let effects = |trials: &[Trial]| -> Vec<f64> {
                let pairs = Pair::among(trials, &STEP, ["base", "contender"], 2);
                pairs.iter().map(|pair| pair.round(JudgedMetric::Throughput).unwrap().effect).collect()
            };
            let all = effects(&trials);
            let first = first.min(rounds.len());
            prop_assert_eq!(&all[..first], effects(&trials[..2 * first]));
            prop_assert_eq!(all.len(), rounds.len());
        }
    }

    #[test]
    fn all_passes_count_where_most_were_disturbed() {
        let base = trial([100.0; 3], 1e6, 0.0);
        let contender = trial([50.0, 110.0, 110.0], 1e6, 0.4);
        let mut pair = pair(&base, &contender);
        pair.keep_half();
        assert_eq!(pair.left_out.len(), 1);
        pair.left_out = vec![0, 1];
        pair.keep_half();
        assert!(pair.left_out.is_empty());
    }
}
