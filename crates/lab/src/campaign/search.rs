//! With which of many candidates a step changed: what is measured to find out, one experiment after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use basecase_builds::{Attempt, Library};
use basecase_model::{Experiment, StepFacts, Trial};
use basecase_stats::{
    Bisection, BisectionEvidence, BisectionProbe, ChangeKind, JudgedMetric, Judgement, WorkCourse,
};

use super::BuildAhead;
use crate::request::{CandidateSpec, Protocol, Request, Rounds};

/// A search for the candidates with which a step changed, among those of a request in their order. It decides by work if the request is one
/// of counts, otherwise by throughput in rounds.
#[derive(Debug, Clone)]
pub struct Search {
    request: Request,
    step: String,
    label: String,
    bisection: Bisection,
    /// What became of candidates that were compiled.
    compiled: BTreeMap<usize, Compiled>,
    /// Why candidates were skipped.
    skipped: BTreeMap<usize, String>,
    keep_builds: Option<u64>,
    began: SystemTime,
}

/// What became of a candidate that was compiled.
#[derive(Debug, Clone)]
struct Compiled {
    /// Equal for builds whose code and data are equal.
    imprint: Option<String>,
    is_new: bool,
}

/// What is to be measured next.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The candidate that is asked about, by its number in the request. It is the second one here.
    pub candidate: usize,
    /// The candidate with which it is compared, the first one here.
    pub before: usize,
    /// The numbers that the candidates of the experiment have in the search.
    pub numbers: Vec<usize>,
    /// The experiment.
    pub request: Request,
    /// See [`crate::RunOptions::keeps_margins`].
    pub keeps_margins: bool,
}

/// What is known of candidates before a search.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// Those that are likelier to be there: `true` for tags. Empty if nothing is known.
    pub preferred: Vec<bool>,
    /// Those that are known not to compile.
    pub broken: BTreeSet<usize>,
    /// Whether to go on where first and last are equal.
    pub even_if_equal: bool,
    /// The most bytes that builds of commits may take together; `None` for no limit.
    pub keep_builds: Option<u64>,
    /// How many candidates are sampled evenly, whatever differs; `None` to follow differences alone.
    pub samples: Option<usize>,
}

/// How many builds a search needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildTally {
    /// Compiled for it. What was compiled ahead and not asked for is not among them.
    pub made: usize,
    /// Do not compile, or cannot be measured.
    pub failed: usize,
}

impl Search {
    /// Of the step with this name or label; without one, of the only step that the request compares.
    ///
    /// # Errors
    /// When there are too few candidates, or it is not clear which step is meant.
    pub fn new(request: Request, wanted: Option<&str>, options: SearchOptions) -> Result<Self> {
        let candidates = request.candidates.len();
        let has_commits = request.candidates.iter().any(CandidateSpec::is_commit);
        let bisection = Bisection::new(candidates).filter(|_| candidates > 2 || has_commits).with_context(|| {
            format!(
                "{candidates} candidates have none between them where a change could have begun\nhint: name three or more, the oldest first; two are for `basecase compare`",
            )
        })?;
        let bisection = bisection.preferring(options.preferred);
        let mut bisection = if options.even_if_equal { bisection.even_if_equal() } else { bisection };
        if let Some(samples) = options.samples {
            bisection = bisection.sampling(samples);
        }
        options.broken.iter().for_each(|number| bisection.skip(*number));
        let outlines = request.workload.outlines().into_iter().map(|outline| outline.facts);
        let steps: Vec<StepFacts> = outlines.filter(StepFacts::is_compared).collect();
        let known = || steps.iter().map(|step| step.label.as_str()).collect::<Vec<_>>().join(", ");
        let meant = match wanted {
            Some(wanted) => StepFacts::named(&steps, wanted),
            None => (0..steps.len()).collect(),
        };
        let (step, label) = match (&meant[..], wanted) {
            ([step], _) => (steps[*step].name.clone(), steps[*step].label.clone()),
            ([], Some(wanted)) => {
                bail!("the workload has no step {wanted}\nhint: --step names one of these: {}", known())
            }
            _ => bail!(
                "{} steps match, and a change is searched for in one step\nhint: --step names one of these: {}",
                meant.len(),
                known()
            ),
        };
        let known = || "it is known not to compile".to_owned();
        let skipped = options.broken.into_iter().map(|number| (number, known())).collect();
        Ok(Search {
            request,
            step,
            label,
            bisection,
            compiled: BTreeMap::new(),
            skipped,
            keep_builds: options.keep_builds,
            began: SystemTime::now(),
        })
    }

    /// What to measure next; `None` when the search has ended.
    pub fn probe(&self) -> Option<Probe> {
        let last = self.request.candidates.len() - 1;
        let (before, candidate, numbers, margin) = match self.bisection.probe()? {
            BisectionProbe::Ends => (0, last, vec![0, last], None),
            BisectionProbe::Middle { before, version, since, margin } => {
                (before, version, vec![before, version, since], Some(margin))
            }
        };
        let in_rounds = |asked: Rounds| Protocol::Rounds(Rounds { detect: margin.or(asked.detect), ..asked });
        let protocol = match &self.request.protocol {
            Protocol::Rounds(rounds) => in_rounds(rounds.clone()),
            Protocol::Classic => in_rounds(Rounds::default()),
            Protocol::Counts(engine) => Protocol::Counts(*engine),
        };
        // A search by work judges by its own margin, whatever was agreed for counts that are there already.
        let keeps_margins = margin.is_some() || self.is_by_work();
        let request = Request { protocol, ..self.request_of(&numbers) };
        Some(Probe { candidate, before, numbers, request, keeps_margins })
    }

    /// The request, of these candidates alone.
    pub fn request_of(&self, numbers: &[usize]) -> Request {
        let candidates = &self.request.candidates;
        let candidates: Vec<CandidateSpec> =
            numbers.iter().filter_map(|number| candidates.get(*number).cloned()).collect();
        Request { name: Request::named_after(&candidates), candidates, ..self.request.clone() }
    }

    /// Compiles what the experiment of a probe needs and is not there. Returns whether it can be measured; if not, the search has learnt
    /// that a candidate does not compile, and has another probe.
    ///
    /// # Errors
    /// If a build fails, and not for what it compiles, or if neither end of the search compiles.
    pub fn compile(
        &mut self,
        probe: &Probe,
        home: &Path,
        ahead: Option<&BuildAhead>,
        notify: &mut dyn FnMut(&str),
    ) -> Result<bool> {
        for number in &probe.numbers {
            if self.compiled.contains_key(number) {
                continue;
            }
            let Some(candidate) = self.request.candidates.get(*number).filter(|one| one.is_commit()) else {
                continue;
            };
            if let Some(most_bytes) = self.keep_builds {
                Library::open(home)?.trim(most_bytes, self.began);
            }
            let Some(attempt) = attempt(candidate, home, notify)? else { continue };
            match attempt {
                Attempt::Built { imprint, is_new } => {
                    let is_ahead = |ahead: &BuildAhead| {
                        candidate.commit().is_some_and(|commit| ahead.has_made(&commit.commit))
                    };
                    let is_new = is_new || ahead.is_some_and(is_ahead);
                    self.compiled.insert(*number, Compiled { imprint, is_new });
                }
                Attempt::Broken(reason) => {
                    let last = self.request.candidates.len() - 1;
                    if *number == 0 || *number == last {
                        bail!("{candidate} does not compile, and a search needs both of its ends\n{reason}");
                    }
                    self.skip(*number, reason);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Candidates that are likely to be probed next, whose builds are to be prepared meanwhile.
    pub fn ahead(&self) -> Vec<CandidateSpec> {
        let ahead = self.bisection.ahead().into_iter().filter(|number| !self.compiled.contains_key(number));
        ahead
            .filter_map(|number| {
                self.request.candidates.get(number).filter(|one| one.build().is_some()).cloned()
            })
            .collect()
    }

    /// A candidate whose build has the same code and data as that of `candidate`, among `others`. On a node each stands for itself: who merges
    /// what nodes counted knows nothing of their builds.
    pub fn twin(&self, candidate: usize, others: &BTreeSet<usize>) -> Option<usize> {
        if self.request.node.is_some() {
            return None;
        }
        let imprint = |number: &usize| self.compiled.get(number)?.imprint.as_deref();
        let own = imprint(&candidate)?;
        others.iter().find(|other| **other != candidate && imprint(other) == Some(own)).copied()
    }

    /// The changes whose candidates are known: the number of the change, the last candidate without it, and the first with it.
    pub fn exact_changes(&self) -> Vec<(usize, usize, usize)> {
        let changes = self.bisection.changes().iter().enumerate();
        let exact = changes.filter(|(_, change)| change.kind == ChangeKind::Began);
        exact.map(|(number, change)| (number, change.before, change.since)).collect()
    }

    /// How many candidates lie within what is still searched, and about how many of them will be measured.
    pub fn left(&self) -> (usize, usize) {
        let widths = self.bisection.open().into_iter().map(|(before, since)| since - before);
        widths.fold((0, 0), |(candidates, probes), width| {
            (candidates + width - 1, probes + width.next_power_of_two().ilog2() as usize)
        })
    }

    /// How many builds were needed so far.
    pub fn builds(&self) -> BuildTally {
        let made = self.compiled.values().filter(|compiled| compiled.is_new).count();
        BuildTally { made, failed: self.skipped.len() }
    }

    /// The candidate of the probe cannot be had, for this reason.
    pub fn skip(&mut self, candidate: usize, reason: String) {
        self.bisection.skip(candidate);
        self.skipped.insert(candidate, reason);
    }

    /// Nothing was counted of a candidate, whatever the reason.
    pub fn leave_out(&mut self, candidate: usize) {
        self.bisection.skip(candidate);
    }

    /// Why candidates were skipped.
    pub fn skipped(&self) -> &BTreeMap<usize, String> {
        &self.skipped
    }

    /// Whether it decides by work.
    pub fn is_by_work(&self) -> bool {
        self.request.protocol.is_counts()
    }

    /// Takes in what the rounds of [`Search::probe`] came to.
    ///
    /// # Errors
    /// When a trial holds impossible values.
    pub fn learn_rounds(&mut self, experiment: &Experiment, trials: &[Trial]) -> Result<()> {
        let judgement = Judgement::of(experiment, trials)?;
        let step = experiment.steps.iter().position(|step| step.name == self.step);
        let decision = step.and_then(|step| judgement.decision(JudgedMetric::Throughput, step, 1));
        self.bisection.learn(decision.map(BisectionEvidence::Throughput))?;
        Ok(())
    }

    /// Takes in what was counted of all candidates so far; `margin` is the smallest change from first to last that matters, as a logarithm.
    ///
    /// # Errors
    /// When counts hold impossible values.
    pub fn learn_counts(&mut self, course: &WorkCourse, margin: f64) -> Result<()> {
        self.bisection.learn(Some(BisectionEvidence::Work { course, margin }))?;
        Ok(())
    }

    /// Name of the step.
    pub fn step(&self) -> &str {
        &self.step
    }

    /// What the step is called in tables.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The candidates as the user wrote them.
    pub fn candidates(&self) -> Vec<String> {
        self.request.candidates.iter().map(ToString::to_string).collect()
    }

    /// How far it has come.
    pub fn bisection(&self) -> &Bisection {
        &self.bisection
    }
}

/// Compiles a candidate if it is a commit. That it does not compile is no error.
///
/// # Errors
/// If this is not for what it compiles: a full disk, a missing compiler.
pub fn attempt(
    candidate: &CandidateSpec,
    home: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<Option<Attempt>> {
    let Some(commit) = candidate.commit() else { return Ok(None) };
    Ok(Some(Library::open(home)?.attempt(commit, notify)?))
}

#[cfg(test)]
mod tests {
    use basecase_stats::{BisectionEnd, WorkKind, WorkWindow};

    use super::*;
    use crate::campaign::tests::request;
    use crate::request::CountsEngine;

    /// The smallest change that matters.
    const MARGIN: f64 = 0.005;

    /// A search of so many configs of SQLite, by work or by times.
    fn search(candidates: usize, protocol: Protocol) -> Search {
        let candidates = (0..candidates).map(|number| format!("sqlite@c{number}").parse().unwrap()).collect();
        let request = Request { protocol, ..request(candidates) };
        Search::new(request, None, SearchOptions::default()).unwrap()
    }

    /// What is counted of candidates that need so many instructions, as far as they were probed.
    struct FakeCounts<'a> {
        instructions: &'a [f64],
        course: WorkCourse,
    }

    impl FakeCounts<'_> {
        fn of(instructions: &[f64]) -> FakeCounts<'_> {
            let versions = vec![Vec::new(); instructions.len()];
            FakeCounts { instructions, course: WorkCourse { kind: WorkKind::Read, versions } }
        }

        fn count(&mut self, numbers: &[usize]) {
            for &number in numbers {
                let window = |place: u32| {
                    let luck = f64::from(place) * 1e-5;
                    WorkWindow { start: place / 2, instructions: self.instructions[number] * (1.0 + luck) }
                };
                self.course.versions[number] = (0..4).map(window).collect();
            }
        }
    }

    /// Probes until the search has ended: the numbers of the candidates of each probe, and the end.
    fn searched(instructions: &[f64]) -> (Vec<Vec<usize>>, Vec<usize>, Option<BisectionEnd>) {
        let mut search = search(instructions.len(), Protocol::Counts(CountsEngine::Auto));
        assert!(search.is_by_work());
        let mut counts = FakeCounts::of(instructions);
        let mut probes = Vec::new();
        while let Some(probe) = search.probe() {
            assert_eq!(probe.request.protocol, Protocol::Counts(CountsEngine::Auto));
            assert_eq!(probe.request.candidates.len(), probe.numbers.len());
            assert_eq!(probe.request.candidates[1], search.request.candidates[probe.candidate]);
            assert!(probe.keeps_margins, "it judges by its own margin");
            counts.count(&probe.numbers);
            search.learn_counts(&counts.course, MARGIN.ln_1p()).unwrap();
            probes.push(probe.numbers);
        }
        let began = search.exact_changes().into_iter().map(|(_, _, since)| since).collect();
        (probes, began, search.bisection().end())
    }

    #[test]
    fn a_search_by_work_ends_where_the_change_began() {
        let levels = [1_000.0, 1_000.0, 1_000.0, 1_020.0, 1_020.0];
        let probes = vec![vec![0, 4], vec![0, 2, 4], vec![2, 3, 4]];
        assert_eq!(searched(&levels), (probes, vec![3], Some(BisectionEnd::Found)));
    }

    #[test]
    fn a_search_by_work_ends_at_once_where_first_and_last_need_the_same() {
        assert_eq!(
            searched(&[1_000.0, 1_100.0, 1_001.0]),
            (vec![vec![0, 2]], Vec::new(), Some(BisectionEnd::Unchanged))
        );
    }

    #[test]
    fn a_search_by_work_finds_every_change() {
        let probes = vec![vec![0, 2], vec![0, 1, 2]];
        assert_eq!(searched(&[1_000.0, 1_010.0, 1_020.0]), (probes, vec![1, 2], Some(BisectionEnd::Found)));
    }

    #[test]
    fn counts_that_are_missing_or_impossible_decide_nothing() {
        let course =
            |windows: Vec<WorkWindow>| WorkCourse { kind: WorkKind::Read, versions: vec![windows; 3] };
        let mut open = search(3, Protocol::Counts(CountsEngine::Auto));
        open.learn_counts(&course(Vec::new()), MARGIN).unwrap();
        assert_eq!(open.bisection().end(), Some(BisectionEnd::Open));
        let mut refused = search(3, Protocol::Counts(CountsEngine::Auto));
        let impossible = course(vec![WorkWindow { start: 0, instructions: f64::NAN }; 4]);
        assert!(refused.learn_counts(&impossible, MARGIN).is_err());
        assert_eq!(refused.bisection().end(), None);
    }

    #[test]
    fn a_search_by_times_is_in_rounds() {
        let search = search(3, Protocol::Classic);
        let probe = search.probe().unwrap();
        assert!(!search.is_by_work() && !probe.keeps_margins);
        assert_eq!(probe.request.protocol, Protocol::Rounds(Rounds::default()));
    }
}
