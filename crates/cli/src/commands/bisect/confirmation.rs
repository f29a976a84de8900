//! Parent and child again, before anybody is blamed: in counts, in time, and with the commit taken back where the range ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use basecase_analysis::{BisectedCounts, Confirmation, ConfirmedTime, Probed, Reversal};
use basecase_builds::CommitRequest;
use basecase_lab::{CandidateSpec, CommitRange, Protocol, Request, Rounds, RunOptions, Search};
use basecase_repository::Change;

use super::super::perform::{Measured, measure_without_pages};
use crate::arguments::{Bisect, PlaceArguments};
use crate::reporter::{Part, Reporter};

/// How long the rounds of one change may take, unless the user says otherwise.
const BUDGET: Duration = Duration::from_secs(240);

/// What changes are confirmed with.
pub(super) struct Confirming<'a> {
    pub(super) arguments: &'a Bisect,
    pub(super) range: Option<&'a CommitRange>,
    pub(super) search: &'a Search,
    pub(super) reporter: &'a Reporter,
}

/// What was measured of a change.
pub(super) struct Confirmed {
    /// Its number.
    pub(super) change: usize,
    touches: Change,
    counts: Option<Measured>,
    times: Option<Measured>,
    /// `None` if it was not tried.
    reversal: Option<Taken>,
}

/// What became of taking the commit back.
enum Taken {
    /// It does not revert there alone.
    Impossible(String),
    Counted(Box<Measured>),
}

impl Confirming<'_> {
    /// Measures parent and child of each change whose commit is known; `None` if the user stopped it.
    pub(super) fn measure(&self) -> Result<Option<Vec<Confirmed>>> {
        let mut confirmed = Vec::new();
        for (number, before, since) in self.search.exact_changes() {
            let Some(one) = self.confirm(number, before, since)? else { continue };
            if one.is_interrupted() {
                self.reporter.interrupted();
                return Ok(None);
            }
            confirmed.push(one);
        }
        Ok(Some(confirmed))
    }

    fn confirm(&self, change: usize, before: usize, since: usize) -> Result<Option<Confirmed>> {
        let pair = self.search.request_of(&[before, since]);
        let [Some(parent), Some(child)] =
            [0, 1].map(|place| pair.candidates.get(place).and_then(CandidateSpec::commit))
        else {
            return Ok(None);
        };
        let touches = child.change(&parent.commit, &child.commit)?;
        let clean = anew(&pair);
        self.reporter.part(&Part::Confirmation { name: &clean.name, number: change + 1 });
        let by_work = self.search.is_by_work();
        let mut confirmed = Confirmed { change, touches, counts: None, times: None, reversal: None };
        if by_work {
            confirmed.counts = Some(self.counted(&clean)?);
            if !confirmed.is_interrupted() {
                confirmed.reversal = self.taken_back(&confirmed.touches, since)?;
            }
        }
        if !confirmed.is_interrupted() {
            confirmed.times = Some(self.timed(&clean)?);
        }
        Ok(Some(confirmed))
    }

    fn counted(&self, request: &Request) -> Result<Measured> {
        let steps = Some(BTreeSet::from([self.search.step().to_owned()]));
        let options = RunOptions { steps, ..RunOptions::default() };
        measure_without_pages(request, &self.arguments.compare.places, options, self.reporter)
    }

    /// In rounds, with the margin that the user gave.
    fn timed(&self, request: &Request) -> Result<Measured> {
        let budget = Some(self.arguments.compare.places.budget.unwrap_or(BUDGET));
        let protocol =
            Protocol::Rounds(Rounds { detect: self.arguments.compare.detect, ..Rounds::default() });
        let request = Request { protocol: protocol.with_budget(budget), ..request.clone() };
        let places = PlaceArguments { budget, counts: false, ..self.arguments.compare.places.clone() };
        let options = RunOptions { only_step: Some(self.search.step().to_owned()), ..RunOptions::default() };
        measure_without_pages(&request, &places, options, self.reporter)
    }

    /// The end of the range with the commit taken back, counted beside it. Without its last commit, a range ends with the one before.
    fn taken_back(&self, touches: &Change, since: usize) -> Result<Option<Taken>> {
        let Some(last) = self.range.map(|range| range.commits.len() - 1) else { return Ok(None) };
        if since == last {
            return Ok(None);
        }
        let end = self.search.request_of(&[last]);
        let Some(commit) = end.candidates.first().and_then(CandidateSpec::commit) else {
            return Ok(None);
        };
        let patch = self.patch(touches, since)?;
        let mut patches = commit.patches.clone();
        patches.push(patch);
        let reverted = CommitRequest { patches, text: format!("{}+revert", commit.text), ..commit.clone() };
        let home = basecase_builds::default_home()?;
        match basecase_builds::Library::open(&home)?.attempt(&reverted, &mut |_| ())? {
            basecase_builds::Attempt::Broken(reason) => {
                return Ok(Some(Taken::Impossible(reason.lines().next().unwrap_or_default().to_owned())));
            }
            basecase_builds::Attempt::Built { .. } => {}
        }
        let mut pair = end.clone();
        pair.candidates.extend(end.candidates.first().map(|spec| spec.of_commit(reverted)));
        pair.name = Request::named_after(&pair.candidates);
        Ok(Some(Taken::Counted(Box::new(self.counted(&pair)?))))
    }

    /// Writes the way back from a commit as a patch beside the store.
    fn patch(&self, touches: &Change, since: usize) -> Result<PathBuf> {
        let name =
            self.range.and_then(|range| range.commits.get(since)).map_or("commit", |commit| commit.short());
        let store = &self.arguments.compare.places.store;
        let file = store.with_file_name(format!("revert-{name}.patch"));
        fs::write(&file, &touches.reversal).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }
}

/// The same candidates, compiled anew.
fn anew(request: &Request) -> Request {
    let clean = |spec: &CandidateSpec| match spec.commit() {
        Some(commit) => spec.of_commit(CommitRequest { is_incremental: false, ..commit.clone() }),
        None => spec.clone(),
    };
    Request { candidates: request.candidates.iter().map(clean).collect(), ..request.clone() }
}

impl Confirmed {
    fn is_interrupted(&self) -> bool {
        let reverted = match &self.reversal {
            Some(Taken::Counted(measured)) => Some(&**measured),
            _ => None,
        };
        [self.counts.as_ref(), self.times.as_ref(), reverted]
            .into_iter()
            .flatten()
            .any(Measured::is_interrupted)
    }

    /// Whether parent and child differ in their work again; without counts, nothing contradicts.
    pub(super) fn repeats(&self, step: &str, places: &PlaceArguments) -> bool {
        let decision = |measured| counted(measured, step, places).decision(0, 1);
        self.counts.as_ref().and_then(decision).is_none_or(|decision| decision.verdict.is_change())
    }

    /// The same as findings.
    pub(super) fn told(&self, step: &str, places: &PlaceArguments) -> Confirmation<'_> {
        let work = self.counts.as_ref().map(|measured| counted(measured, step, places));
        let movers = work.as_ref().and_then(|work| work.causes(0, 1));
        let touched = movers
            .iter()
            .flat_map(|causes| causes.movers.iter().chain(&causes.unmoved))
            .map(|mover| &mover.function);
        let touched = touched.filter(|function| self.touches.touches(function.name, function.file));
        let touched = touched.map(|function| function.name.to_owned()).collect();
        let time = self.times.as_ref().and_then(|Measured { experiment, trials, .. }| {
            let Probed { decision, round_s, .. } = Probed::new(1, 0, step, experiment, trials)?;
            Some(ConfirmedTime { decision, round_s })
        });
        let reversal = self.reversal.as_ref().map(|reversal| match reversal {
            Taken::Impossible(reason) => Reversal::Impossible(reason.clone()),
            Taken::Counted(measured) => Reversal::Done { work: counted(measured, step, places).effect(0, 1) },
        });
        let files = self.touches.files.iter().map(|file| file.name.clone()).collect();
        Confirmation { files, touched, work, time, reversal }
    }
}

/// What the two candidates of an experiment counted.
fn counted<'a>(measured: &'a Measured, step: &str, places: &PlaceArguments) -> BisectedCounts<'a> {
    let mut counts = BisectedCounts::new(2, places.counts_detect.ln_1p());
    counts.add(step, &[0, 1], &measured.experiment, &measured.counted);
    counts
}
