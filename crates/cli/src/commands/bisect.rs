//! `bisect`: at which of many candidates or commits a step changed, without measuring them all.

mod confirmation;
mod shared_history;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use basecase_analysis::{Bisected, BisectedCounts, CellCount, Confirmation, Counted, Found, Probed};
use basecase_builds::default_home;
use basecase_lab::{
    BuildAhead, BuildTally, CandidateSpec, CommitRange, Probe, RangeOrder, Request, RunOptions, Search,
    SearchOptions,
};
use basecase_model::{Experiment, Trial};
use basecase_report::{Options, brief_reason, duration};

use self::confirmation::Confirming;
use self::shared_history::SharedHistory;
use super::count::request_of_counts;
use super::experiment::request;
use super::perform::{Measured, absolute, measure, report_options};
use super::{dry_run, fleet};
use crate::Outcome;
use crate::arguments::{Bisect, CommitArguments, CommitHistory, Compare, PlaceArguments};
use crate::output;
use crate::reporter::{Part, Reporter};
use crate::value::CandidateArgument;

/// A probe that was measured.
struct Done {
    candidate: usize,
    before: usize,
    /// The numbers of its candidates in the search.
    numbers: Vec<usize>,
    measured: Measured,
}

/// What was measured so far.
#[derive(Default)]
struct Probes {
    done: Vec<Done>,
    /// Candidates that were not measured, because another one's build is the same: that one.
    twins: BTreeMap<usize, usize>,
}

pub(crate) fn run(arguments: &Bisect, reporter: &Reporter) -> Result<Outcome> {
    search(arguments, None, reporter)
}

/// The same along a whole range of commits, whatever differs.
pub(crate) fn run_history(arguments: &CommitHistory, reporter: &Reporter) -> Result<Outcome> {
    search(&arguments.bisect, Some(usize::from(arguments.builds)), reporter)
}

fn search(arguments: &Bisect, samples: Option<usize>, reporter: &Reporter) -> Result<Outcome> {
    let places = &arguments.compare.places;
    let command = if samples.is_some() { "history" } else { "bisect" };
    dry_run::refuse(places, command)?;
    let (range, compare) = range(arguments)?;
    let shared = range.as_ref().zip(samples).filter(|_| places.counts && places.fleet.asked().is_some());
    if shared.is_none() {
        fleet::refuse(places, command)?;
    }
    let request = if places.counts {
        let hint = "leave it out, or search by times, without --counts";
        // What is confirmed in time has both.
        let times = if range.is_some() && !arguments.commits.no_confirmation {
            &["--detect", "--budget"][..]
        } else {
            &[]
        };
        request_of_counts(&compare, "basecase bisect --counts", hint, times)?
    } else {
        request(&compare)?
    };
    for note in range.iter().flat_map(|range| &range.notes) {
        reporter.note(note);
    }
    if let Some((range, samples)) = shared {
        return SharedHistory { arguments, range, request, samples, reporter }.run();
    }
    let options = SearchOptions { samples, ..options(range.as_ref(), &arguments.commits) };
    let mut search = Search::new(request, arguments.step.as_deref(), options)?;
    let mut probes = Probes::default();
    if let Some(ended) = probes.find(&mut search, places, reporter)? {
        return Ok(ended);
    }
    let confirming = Confirming { arguments, range: range.as_ref(), search: &search, reporter };
    let mut confirmed = Vec::new();
    if range.is_some() && !arguments.commits.no_confirmation && samples.is_none() {
        match confirming.measure()? {
            Some(all) => confirmed = all,
            None => return Ok(Outcome::CouldNotRun),
        }
    }
    let is_incremental = range.as_ref().is_some_and(CommitRange::is_incremental);
    if is_incremental && confirmed.iter().any(|one| !one.repeats(search.step(), places)) {
        reporter.note("compiled anew, a parent and its commit do not differ: what was compiled before is not trusted, and the search begins again with clean builds");
        let commits = CommitArguments { clean: true, ..arguments.commits.clone() };
        let anew = Bisect { commits, step: arguments.step.clone(), compare: arguments.compare.clone() };
        return self::search(&anew, samples, reporter);
    }
    let confirmations = confirmed.iter().map(|one| (one.change, one.told(search.step(), places))).collect();
    conclude(&search, range.as_ref(), &probes, confirmations, places, reporter)
}

/// The range of commits, if one is asked for, and the arguments with its commits as candidates.
fn range(arguments: &Bisect) -> Result<(Option<CommitRange>, Compare)> {
    let Bisect { commits, compare, .. } = arguments;
    let [CandidateArgument::Candidate(repository), CandidateArgument::Range(text)] = &compare.candidates[..]
    else {
        return Ok((None, compare.clone()));
    };
    let order = RangeOrder {
        paths: commits.paths.clone(),
        broken: commits.broken.clone(),
        fixes: commits.fixes.clone(),
        is_clean: commits.clean,
    };
    let range = CommitRange::find(repository, text, &order)?;
    let candidates =
        range.candidates.iter().cloned().map(Box::new).map(CandidateArgument::Candidate).collect();
    Ok((Some(range), Compare { candidates, ..compare.clone() }))
}

fn options(range: Option<&CommitRange>, arguments: &CommitArguments) -> SearchOptions {
    let of_range = range.map(|range| SearchOptions {
        preferred: range.commits.iter().map(|commit| !commit.tags.is_empty()).collect(),
        broken: range.broken.clone(),
        ..SearchOptions::default()
    });
    SearchOptions {
        even_if_equal: arguments.even_if_equal,
        keep_builds: Some(arguments.keep_builds.bytes()),
        ..of_range.unwrap_or_default()
    }
}

impl Probes {
    /// Searches. Returns the outcome if the user stopped it.
    fn find(
        &mut self,
        search: &mut Search,
        places: &PlaceArguments,
        reporter: &Reporter,
    ) -> Result<Option<Outcome>> {
        let home = default_home()?;
        let began = Instant::now();
        // Other work on the machine would be in times.
        let ahead = search.is_by_work().then(|| BuildAhead::new(home.clone()));
        while let Some(probe) = search.probe() {
            // Counts end by themselves; what was given is for the rounds of the confirmation.
            let budget = places.budget.filter(|_| !search.is_by_work());
            let time_left = budget.map(|budget| budget.saturating_sub(began.elapsed()));
            if !self.done.is_empty() && time_left == Some(Duration::ZERO) {
                break;
            }
            let number = self.done.len() + self.twins.len() + 1;
            let left = self.left(search, began.elapsed());
            reporter.part(&Part::Probe { name: &probe.request.name, number, left: left.as_deref() });
            let compiled = {
                let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
                let mut observer = reporter.observer();
                search.compile(&probe, &home, ahead.as_ref(), &mut |words| observer.notice(prepares(words)))
            };
            if basecase_stop::is_asked() {
                reporter.interrupted();
                return Ok(Some(Outcome::CouldNotRun));
            }
            if !compiled? {
                note_skipped_of(&probe, search, reporter);
                continue;
            }
            if let Some(ahead) = &ahead {
                order_next(search, ahead);
            }
            let candidate = probe.candidate;
            if let Some(twin) = self.twin(search, &probe) {
                self.twins.insert(candidate, twin);
            } else {
                let probe = self.without_twins(search, probe);
                let measured = self.measured(search, &probe, time_left, places, reporter)?;
                if measured.is_interrupted() {
                    return Ok(Some(measured.summarize(places, reporter)));
                }
                let Probe { before, numbers, .. } = probe;
                self.done.push(Done { candidate, before, numbers, measured });
            }
            self.teach(search, candidate, places)?;
        }
        if let Some(ahead) = ahead {
            ahead.finish();
        }
        Ok(None)
    }

    /// What is left of a search among commits or versions, in words.
    fn left(&self, search: &Search, passed: Duration) -> Option<String> {
        let (candidates, probes) = search.left();
        let seconds = passed.as_secs_f64() / self.done.len() as f64 * probes as f64;
        let time =
            if self.done.is_empty() { String::new() } else { format!(", about {}", duration(seconds)) };
        (candidates > 0)
            .then(|| format!("{candidates} left between them, about {probes} to be measured{time}"))
    }

    fn measured(
        &self,
        search: &Search,
        probe: &Probe,
        left: Option<Duration>,
        places: &PlaceArguments,
        reporter: &Reporter,
    ) -> Result<Measured> {
        let step = search.step().to_owned();
        let options = if search.is_by_work() {
            RunOptions { steps: Some(BTreeSet::from([step])), ..RunOptions::default() }
        } else {
            RunOptions { only_step: Some(step), keeps_margins: probe.keeps_margins, ..RunOptions::default() }
        };
        measure(&probe.request, &PlaceArguments { budget: left, ..places.clone() }, options, reporter)
    }

    /// A candidate that was counted, and has the same code and data as that of the probe.
    fn twin(&self, search: &Search, probe: &Probe) -> Option<usize> {
        let counted = self.done.iter().flat_map(|done| &done.numbers).copied().collect();
        search.twin(probe.candidate, &counted).filter(|_| search.is_by_work())
    }

    /// The same probe without candidates that have the code and data of others, which are counted already: those stand for them.
    fn without_twins(&self, search: &Search, probe: Probe) -> Probe {
        let counted = |number: &usize| *self.twins.get(number).unwrap_or(number);
        let mut numbers: Vec<usize> = probe.numbers.iter().map(counted).collect();
        numbers.dedup();
        if numbers == probe.numbers {
            return probe;
        }
        let protocol = probe.request.protocol.clone();
        Probe { request: Request { protocol, ..search.request_of(&numbers) }, numbers, ..probe }
    }

    /// Tells the search what the probe of a candidate came to.
    fn teach(&self, search: &mut Search, candidate: usize, places: &PlaceArguments) -> Result<()> {
        if search.is_by_work() {
            let counts = self.counted(search, places);
            let is_end = search.bisection().whole().is_none();
            let failure = counts.cell(candidate).and_then(CellCount::failure);
            if let Some(failure) = failure.filter(|_| !is_end) {
                search.skip(candidate, uncounted(failure));
                return Ok(());
            }
            return search.learn_counts(&counts.course(), counts.margin());
        }
        let Some(Done { measured, before, .. }) = self.done.last() else { return Ok(()) };
        let Measured { experiment, trials, .. } = measured;
        let is_end = search.bisection().whole().is_none();
        let failed = measured.outcome() != Outcome::Done;
        if failed && !is_end && Probed::new(candidate, *before, search.step(), experiment, trials).is_none() {
            search.skip(candidate, "its trials failed, so that it could not be measured".to_owned());
            return Ok(());
        }
        search.learn_rounds(&measured.experiment, &measured.trials)
    }

    /// What all probes counted.
    fn counted<'a>(&'a self, search: &Search, places: &PlaceArguments) -> BisectedCounts<'a> {
        let mut counts = BisectedCounts::new(search.candidates().len(), places.counts_detect.ln_1p());
        for Done { numbers, measured, .. } in &self.done {
            counts.add(search.step(), numbers, &measured.experiment, &measured.counted);
        }
        for (candidate, twin) in &self.twins {
            counts.share(*twin, *candidate);
        }
        counts
    }
}

/// Orders the builds that the search is likely to try next, so that they are compiled while a probe is counted.
fn order_next(search: &Search, ahead: &BuildAhead) {
    let mut next = search.ahead();
    if next.iter().any(CandidateSpec::is_incremental) {
        // They are compiled in one folder, one after the other.
        next.truncate(1);
    }
    ahead.order(&next);
}

/// Says which candidates of a probe are skipped.
fn note_skipped_of(probe: &Probe, search: &Search, reporter: &Reporter) {
    let skipped = search.skipped().iter().filter(|(number, _)| probe.numbers.contains(number));
    for (number, reason) in skipped {
        let name = search.candidates().swap_remove(*number);
        note_skipped(&name, reason, reporter);
    }
}

/// Says that a candidate is skipped.
fn note_skipped(name: &str, reason: &str, reporter: &Reporter) {
    reporter.note(&format!("{name} is skipped: {}", brief_reason(reason)));
}

/// Why a candidate is skipped of which nothing could be counted.
fn uncounted(failure: &str) -> String {
    format!("it could not be counted: {failure}")
}

/// What a build does, as an event.
fn prepares(words: &str) -> basecase_lab::Event<'_> {
    basecase_lab::Event::Phase { candidate: None, phase: basecase_lab::Phase::Prepare(words) }
}

/// Prints the answer, and writes its page, beside those of the last probe.
fn conclude(
    search: &Search,
    range: Option<&CommitRange>,
    probes: &Probes,
    confirmations: BTreeMap<usize, Confirmation<'_>>,
    places: &PlaceArguments,
    reporter: &Reporter,
) -> Result<Outcome> {
    let probed = |done: &Done| {
        let Measured { experiment, trials, .. } = &done.measured;
        Probed::new(done.candidate, done.before, search.step(), experiment, trials)
    };
    let found = if search.is_by_work() {
        Found::Work(probes.counted(search, places))
    } else {
        Found::Throughput(probes.done.iter().filter_map(probed).collect())
    };
    let BuildTally { made, failed } = search.builds();
    let bisected = Bisected {
        candidates: search.candidates(),
        commits: range.map(|range| &range.commits[..]),
        label: search.label(),
        found,
        bisection: search.bisection(),
        skipped: search.skipped(),
        builds: range.map(|_| (made, failed)),
        confirmations,
        experiment: probes.done.first().map(|done| &done.measured.experiment),
    };
    let Some(Done { measured: last, .. }) = probes.done.last() else {
        output::print_answer(basecase_report::bisection(&bisected), places.json)?;
        return Ok(Outcome::Done);
    };
    let told = tell(&bisected, (&last.experiment, &last.trials), &last.counted, places, reporter);
    let outcome = last.summarize(places, reporter);
    told?;
    Ok(probes.done.iter().fold(outcome, |worst, done| worst.max(done.measured.outcome())))
}

/// Prints the answer, and writes its page, beside those of an experiment with its trials and counts.
fn tell(
    bisected: &Bisected<'_>,
    experiment: (&Experiment, &[Trial]),
    counted: &Counted,
    places: &PlaceArguments,
    reporter: &Reporter,
) -> Result<()> {
    let printed = output::print_answer(basecase_report::bisection(bisected), places.json);
    let options = Options { counted: counted.clone(), ..report_options(places) };
    let page = basecase_report::write_bisection(bisected, experiment, &options, &places.out)?;
    reporter.page_written(&absolute(&page));
    printed
}
