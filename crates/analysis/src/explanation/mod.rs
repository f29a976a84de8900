//! Where the time went: what moved together with the speed of a step, candidate against base case.

mod absence;
mod choice;
mod cost;
mod counter;
mod function;
mod hardware;
mod plan;
mod setting;
mod setting_topic;

use basecase_model::{CandidateFacts, Profile};
use basecase_stats::Sessions;

pub use self::absence::Absent;
pub use self::choice::{CellNumbers, cells, changed};
pub use self::cost::{Cost, CostKind, MeasuredPrice, Specificity, operation};
pub use self::counter::{MOVED, MovedCounter};
pub use self::function::FunctionShares;
pub use self::hardware::{Hardware, HardwareAbsence, HardwareCount, hardware_absence};
pub use self::plan::{PlanChange, PlannedStatement};
pub use self::setting::SettingChange;
pub use self::setting_topic::SettingTopic;

pub(crate) use self::choice::known_steps;
use self::cost::{costs, processor_us, taken_per_operation_us};
use crate::effect::Effect;
use crate::judged::Judged;
use crate::results::{Measured, Paired, Results, quotient};

/// Changes of the ratio below this count as none; a logarithm.
const LEAST_CHANGE: f64 = 0.02;
/// A cost is a cause if it grew by this much more than the time per operation, because things done by the clock grow with that time.
const BEYOND_TIME: f64 = 1.15;
/// What settings that affect plans have to do with.
pub const PLANNING: &[SettingTopic] = &[SettingTopic::Planner];
/// The least share for a cost to be a cause.
const CAUSE_SHARE: f64 = 0.15;

/// What moved with a step's speed.
pub struct Explanation<'a> {
    /// The base case.
    pub base: Measured<'a>,
    /// The candidate.
    pub candidate: Measured<'a>,
    /// The decision on it, in rounds.
    pub judged: Option<Judged<'a>>,
    /// Its rounds.
    pub paired: Option<Paired<'a>>,
    /// The base case's name.
    pub base_name: &'a str,
    /// The candidate's name.
    pub candidate_name: &'a str,
    /// What is not known about base case and candidate.
    pub absent: [Vec<Absent>; 2],
    /// The costs of an operation, the largest shares of the change first.
    pub costs: Vec<Cost>,
    /// Statements that are executed differently.
    pub plans: Vec<PlanChange<'a>>,
    /// With which kinds of plans prepared statements were executed, where a server told.
    pub planned: Vec<PlannedStatement<'a>>,
    /// Settings that differ, those of both servers first.
    pub settings: Vec<SettingChange>,
    /// What the sessions of its rounds tell, where they were told apart.
    pub sessions: Option<&'a Sessions>,
    /// Hardware counters, if there are any.
    pub hardware: Option<Hardware<'a>>,
    /// Profiles of one kind, of base case and candidate.
    profiles: Vec<(&'a Profile, &'a Profile)>,
}

/// Something that moved in line with the change.
pub enum Cause<'e> {
    /// Statements are executed differently.
    Plans,
    /// An operation costs more or less of something.
    Cost(&'e Cost),
}

/// What other work on the host took from the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    /// CPU that it took from an operation of the base case, µs.
    pub base_us: f64,
    /// The same of the candidate.
    pub candidate_us: f64,
    /// The candidate's speed divided by the base case's.
    pub ratio: f64,
    /// What that would roughly be without it.
    pub undisturbed_ratio: f64,
}

/// A number of the candidate divided by the base case's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CostRatio {
    /// Of single runs. Infinite where only the candidate has some.
    Single(f64),
    /// The mean ratio of a round.
    Rounds(Effect),
    /// Of all rounds together, because some round has no such ratio.
    AllRounds(f64),
}

impl CostRatio {
    /// In rounds, the mean ratio with its interval, if all rounds have a ratio; otherwise `ratio`.
    pub(crate) fn of(
        ratio: f64,
        paired: Option<&Paired<'_>>,
        of: &dyn Fn(&Measured<'_>) -> Option<f64>,
    ) -> CostRatio {
        match paired.map(|paired| paired.effect(of)) {
            None => CostRatio::Single(ratio),
            Some(Some(effect)) => CostRatio::Rounds(effect),
            Some(None) => CostRatio::AllRounds(ratio),
        }
    }
}

/// Time on processors that an operation takes, without what others took, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationTime {
    /// Of the base case.
    pub base_us: f64,
    /// Of the candidate.
    pub candidate_us: f64,
    /// The candidate's divided by the base case's.
    pub ratio: CostRatio,
}

impl<'a> Explanation<'a> {
    /// For a candidate on a step; `None` if either trial is missing or the candidate is the base case.
    pub fn of(results: &Results<'a>, step: usize, number: usize) -> Option<Self> {
        let facts = |number: usize| results.experiment.candidates.get(number);
        let (base_facts, candidate_facts) = (facts(0)?, facts(number).filter(|_| number > 0)?);
        let (base, candidate) = (results.measured(step, 0)?, results.measured(step, number)?);
        let profiles = function::pairs(results.profiles(step, 0), results.profiles(step, number));
        let sessions = results.sessions(step, number);
        Some(Explanation {
            hardware: Hardware::of(results, step, number),
            judged: results.judged(step, number),
            paired: results.paired(step, number),
            ..Explanation::with((base_facts, base), (candidate_facts, candidate), sessions, profiles)
        })
    }

    /// What moved between two trials, without what is known of their rounds.
    fn with(
        (base_facts, base): (&'a CandidateFacts, Measured<'a>),
        (candidate_facts, candidate): (&'a CandidateFacts, Measured<'a>),
        sessions: Option<&'a Sessions>,
        profiles: Vec<(&'a Profile, &'a Profile)>,
    ) -> Self {
        // Each dbms describes plans in its own words.
        let is_one_dbms = base_facts.build.dbms == candidate_facts.build.dbms;
        Explanation {
            costs: sorted(costs(&base, &candidate, sessions)),
            plans: if is_one_dbms { plan::changes(base.trial, candidate.trial) } else { Vec::new() },
            planned: plan::planned(base.trial, candidate.trial),
            settings: setting::changes(base_facts, candidate_facts),
            sessions,
            hardware: None,
            profiles,
            absent: [
                absence::absent(base_facts, base.trial),
                absence::absent(candidate_facts, candidate.trial),
            ],
            base,
            candidate,
            judged: None,
            paired: None,
            base_name: &base_facts.name.0,
            candidate_name: &candidate_facts.name.0,
        }
    }

    /// For two versions of one step, each given as a number of the step and of the candidate in an experiment. They need not have been
    /// measured together, so there are neither decisions nor rounds. `None` if one of them is missing.
    pub fn between(
        before: (&Results<'a>, usize, usize),
        after: (&Results<'a>, usize, usize),
    ) -> Option<Self> {
        let facts =
            |(results, _, number): (&Results<'a>, usize, usize)| results.experiment.candidates.get(number);
        let measured = |(results, step, number): (&Results<'a>, usize, usize)| results.measured(step, number);
        let profiles = |(results, step, number): (&Results<'a>, usize, usize)| results.profiles(step, number);
        let (base_facts, candidate_facts) = (facts(before)?, facts(after)?);
        let (base, candidate) = (measured(before)?, measured(after)?);
        Some(Explanation::with(
            (base_facts, base),
            (candidate_facts, candidate),
            None,
            function::pairs(profiles(before), profiles(after)),
        ))
    }

    /// Headline value of the candidate divided by the base case's.
    pub fn quotient(&self) -> Option<f64> {
        quotient(self.candidate.headline()?, self.base.headline()?)
    }

    /// What moved in line with the change, the likeliest cause first.
    pub fn causes(&self) -> Vec<Cause<'_>> {
        let slower = self.slower();
        let mut found: Vec<&Cost> = self
            .costs
            .iter()
            .filter(|cost| is_cause(cost, slower, self.is_changed()) || cost.is_conspicuous())
            .collect();
        // Causes that name something done come before the times in which they end, and causes that a config explains before others; within
        // each the order by share stays.
        found.sort_by_key(|cost| (cost.kind.specificity, self.touching(cost.kind.topics).is_empty()));
        let has_other_plans =
            !self.plans.is_empty() || self.planned.iter().any(PlannedStatement::has_other_kind);
        let plans = has_other_plans.then_some(Cause::Plans);
        plans.into_iter().chain(found.into_iter().map(Cause::Cost)).collect()
    }

    /// Whether there is a change to account for: in rounds a decided one, otherwise one that is not negligible.
    pub fn is_changed(&self) -> bool {
        match &self.judged {
            Some(judged) => judged.throughput.verdict.is_change(),
            None => self.slower().ln().abs() > LEAST_CHANGE,
        }
    }

    /// How many times as long an operation takes, without what others on the host took from it.
    fn slower(&self) -> f64 {
        let times = processor_us(&self.candidate).zip(processor_us(&self.base));
        times.and_then(|(after, before)| quotient(after, before)).unwrap_or(1.0)
    }

    /// What other work on the host did to the comparison, if it changes it noticeably.
    pub fn disturbance(&self) -> Option<Disturbance> {
        let disturbance = Disturbance {
            base_us: taken_per_operation_us(&self.base)?,
            candidate_us: taken_per_operation_us(&self.candidate)?,
            ratio: self.quotient()?,
            undisturbed_ratio: 1.0 / self.slower(),
        };
        let Disturbance { ratio, undisturbed_ratio, .. } = disturbance;
        ((ratio / undisturbed_ratio).ln().abs() > LEAST_CHANGE).then_some(disturbance)
    }

    /// The settings that a config makes differ, can act, and have to do with one of these topics, in the order of the topics. Defaults that
    /// differ are not among them: every version has many, and that one differs is no sign that it did anything.
    pub fn touching(&self, topics: &[SettingTopic]) -> Vec<&SettingChange> {
        self.of_topics(topics, false)
    }

    /// Defaults of the candidate that differ and have to do with a cause: candidates to try, of which nothing more is known.
    pub fn to_try(&self) -> Vec<&SettingChange> {
        let topics = self.causes().into_iter().flat_map(|cause| match cause {
            Cause::Plans => PLANNING,
            Cause::Cost(cost) => cost.kind.topics,
        });
        let mut found = self.of_topics(&topics.copied().collect::<Vec<_>>(), true);
        // What only the base case has cannot be set.
        found.retain(|change| change.candidate.is_some());
        found
    }

    fn of_topics(&self, topics: &[SettingTopic], is_default: bool) -> Vec<&SettingChange> {
        let mut found: Vec<&SettingChange> = Vec::new();
        for topic in topics {
            let of_topic = self
                .settings
                .iter()
                .filter(|change| change.is_default == is_default && change.touches(&[*topic]));
            for change in of_topic {
                if !found.contains(&change) {
                    found.push(change);
                }
            }
        }
        found
    }

    /// A cost of the candidate divided by the base case's.
    pub fn cost_ratio(&self, cost: &Cost) -> CostRatio {
        CostRatio::of(cost.ratio(), self.paired.as_ref(), &|measured| cost.kind.per_operation(measured))
    }

    /// How long an operation takes; `None` if it is not known for both.
    pub fn operation_time(&self) -> Option<OperationTime> {
        let (base_us, candidate_us) = (processor_us(&self.base)?, processor_us(&self.candidate)?);
        let ratio = CostRatio::of(candidate_us / base_us, self.paired.as_ref(), &processor_us);
        Some(OperationTime { base_us, candidate_us, ratio })
    }

    /// The server's own counters that moved, the largest moves first.
    pub fn counters(&self) -> Vec<MovedCounter<'a>> {
        counter::moved(&self.base, &self.candidate, self.paired.as_ref())
    }

    /// Functions whose share of the time moved, by each kind of profile.
    pub fn functions(&self) -> Vec<FunctionShares> {
        self.profiles.iter().map(|(base, candidate)| FunctionShares::of(base, candidate)).collect()
    }
}

/// Whether a cost moved in line with the change and far enough for it; `slower` is how many times as long an operation takes.
fn is_cause(cost: &Cost, slower: f64, is_changed: bool) -> bool {
    // Inverted if needed, so that a ratio above 1 is in line with the change.
    let (turned, time) =
        if slower > 1.0 { (cost.ratio(), slower) } else { (1.0 / cost.ratio(), 1.0 / slower) };
    let least = if cost.is_count() { time * BEYOND_TIME } else { 1.02 };
    is_changed && cost.share.is_some_and(|share| share >= CAUSE_SHARE) && turned > least
}

/// The largest shares first; costs without a share follow, by how far they moved.
fn sorted(mut costs: Vec<Cost>) -> Vec<Cost> {
    let weight = |cost: &Cost| match cost.share {
        Some(share) => (1, share),
        None => (0, cost.ratio().ln().abs()),
    };
    costs.retain(|cost| cost.base != 0.0 || cost.candidate != 0.0);
    costs.sort_by(|left, right| {
        let (left, right) = (weight(left), weight(right));
        right.0.cmp(&left.0).then(right.1.total_cmp(&left.1))
    });
    costs
}

#[cfg(test)]
mod tests {
    use basecase_model::{Experiment, Trial, names};

    use super::*;
    use crate::fixture;
    use crate::rounds::Rounds;

    /// Asks about the last of three candidates on the last step.
    fn asked<T>(experiment: &Experiment, trials: &[Trial], of: impl Fn(&Explanation<'_>) -> T) -> T {
        let rounds = Rounds::of(experiment, trials);
        let results = Results::of(experiment, trials, rounds.as_ref());
        of(&Explanation::of(&results, experiment.steps.len() - 1, 2).unwrap())
    }

    fn cost<'e>(explanation: &'e Explanation<'_>, name: &str) -> Option<&'e Cost> {
        explanation.costs.iter().find(|cost| cost.kind.name == name)
    }

    #[test]
    fn a_fault_costs_what_sessions_say_that_it_does() {
        let (experiment, mut trials) = fixture::in_two_modes();
        let (price, time_us, share, interval) = asked(&experiment, &trials, |explanation| {
            let time = explanation.operation_time().unwrap();
            let faults = cost(explanation, "page faults").unwrap();
            assert!(!faults.is_about);
            let time_us = (time.base_us * time.candidate_us).sqrt();
            (faults.price.unwrap(), time_us, faults.share.unwrap(), faults.share_interval.unwrap())
        });
        let planted_us = time_us * 0.08 / 19.0;
        let [low, high] = price.interval_us;
        assert!(low < planted_us && planted_us < high, "{low} {planted_us} {high}");
        assert_eq!(price.sessions, 90);
        assert!(interval[0] < share && share < interval[1] && share > 0.7, "{share} {interval:?}");
        // Without sessions the usual price stands.
        trials.iter_mut().for_each(|trial| trial.sessions.clear());
        asked(&experiment, &trials, |explanation| {
            let faults = cost(explanation, "page faults").unwrap();
            assert_eq!((faults.price, faults.share_interval, faults.is_about), (None, None, true));
        });
    }

    #[test]
    fn sessions_that_scatter_too_much_tell_no_price() {
        let (experiment, mut trials) = fixture::in_two_modes();
        // Some sessions of each candidate take three times as long, whatever their faults.
        for (number, trial) in trials.iter_mut().enumerate() {
            let is_slow = |pass: u32| (pass as usize / 2 + number).is_multiple_of(3);
            let slices = trial.slices.iter_mut().filter(|slice| is_slow(slice.pass));
            slices.for_each(|slice| slice.rate /= 3.0);
        }
        asked(&experiment, &trials, |explanation| {
            assert_eq!(cost(explanation, "page faults").unwrap().price, None);
        });
    }

    #[test]
    fn user_and_kernel_are_told_apart_where_ticks_suffice() {
        let (experiment, mut trials) = fixture::in_two_modes();
        let known = |trials: &[Trial]| {
            asked(&experiment, trials, |explanation| {
                ["CPU time of the server", "server CPU, user", "server CPU, kernel"]
                    .map(|name| cost(explanation, name).is_some())
            })
        };
        assert_eq!(known(&trials), [false, true, true]);
        trials.iter_mut().for_each(|trial| trial.counters.set(names::SERVER_CPU_SYSTEM_US, 20_000.0));
        assert_eq!(known(&trials), [true, false, false], "ten rounds of two ticks");
    }

    #[test]
    fn a_wait_that_only_the_candidate_has_is_a_cause() {
        let (experiment, mut trials) = fixture::sample();
        let step = experiment.steps.iter().position(|step| step.name == "qp1000").unwrap();
        for trial in trials.iter_mut().filter(|trial| trial.step == "qp1000") {
            trial.counters.set(names::SESSION_LOOKS, 100.0);
            if trial.candidate == experiment.candidates[2].name.0 {
                let waited = format!("{}waiting_for_handler_commit_us", names::SESSION_PREFIX);
                trial.counters.set(&waited, trial.seconds * 5e5);
                trial.roles.iter_mut().for_each(|role| role.items /= 2);
            }
        }
        let results = Results::new(&experiment, &trials);
        let explanation = Explanation::of(&results, step, 2).unwrap();
        let waiting = cost(&explanation, "waiting for commits and the log").unwrap();
        assert_eq!((waiting.base, waiting.ratio()), (0.0, f64::INFINITY));
        let is_waiting =
            |cause: &Cause<'_>| matches!(cause, Cause::Cost(cost) if cost.kind.name == waiting.kind.name);
        assert!(explanation.causes().iter().any(is_waiting));
    }

    #[test]
    fn a_default_that_differs_is_no_cause_and_one_without_a_topic_is_not_tried() {
        let (mut experiment, mut trials) = fixture::sample();
        let running = |facts: &mut basecase_model::CandidateFacts, pairs: &[(&str, &str)]| {
            facts.config.settings = vec![("huge_pages".into(), "x".into())];
            facts.running =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        };
        let of_base = [("huge_pages", "on"), ("jit", "off"), ("max_connections", "100")];
        running(&mut experiment.candidates[0], &of_base);
        let of_candidate = [
            ("huge_pages", "off"),
            ("jit", "on"),
            ("max_connections", "200"),
            ("debug_logical_replication_streaming", "buffered"),
        ];
        running(&mut experiment.candidates[2], &of_candidate);
        let step = experiment.steps.iter().position(|step| step.name == "qp1000").unwrap();
        for trial in trials.iter_mut().filter(|trial| trial.step == "qp1000") {
            let slower = if trial.candidate == experiment.candidates[2].name.0 { 2.0 } else { 1.0 };
            trial.counters.set(names::SERVER_CPU_US, slower * trial.seconds * 5e5);
        }
        let results = Results::new(&experiment, &trials);
        let explanation = Explanation::of(&results, step, 2).unwrap();
        let named = |changes: Vec<&SettingChange>| {
            changes.into_iter().map(|change| change.name.clone()).collect::<Vec<_>>()
        };
        let causes = explanation.causes();
        let is_cpu = |cause: &Cause<'_>| matches!(cause, Cause::Cost(cost) if cost.kind.name == "CPU time of the server");
        assert!(causes.iter().any(is_cpu), "the cost that moved");
        let of_causes = causes.iter().map(|cause| match cause {
            Cause::Plans => PLANNING,
            Cause::Cost(cost) => cost.kind.topics,
        });
        let touching: Vec<String> =
            of_causes.flat_map(|topics| named(explanation.touching(topics))).collect();
        assert!(touching.iter().all(|name| name == "huge_pages"), "{touching:?}");
        assert!(!touching.is_empty(), "a config sets it");
        assert_eq!(named(explanation.to_try()), ["jit"]);
    }
}
