//! The course of a range of commits that several machines compile and count. Each node searches a piece of the range, whose ends it shares with
//! its neighbours; the coordinator puts together what all of them counted, and compiles nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result};
use basecase_analysis::{Bisected, BisectedCounts, CellCount, Counted, Found};
use basecase_builds::{Attempt, default_home};
use basecase_fleet::{FleetFolder, read_skipped, write_skipped};
use basecase_lab::{CommitRange, Node, Request, Search, SearchOptions, attempt};
use basecase_model::Experiment;

use super::{Probes, conclude, note_skipped, options, prepares, tell, uncounted};
use crate::Outcome;
use crate::arguments::{Bisect, PlaceArguments};
use crate::commands::fleet::{self, Watched};
use crate::commands::store::counts_of_fleet;
use crate::node;
use crate::output;
use crate::reporter::Reporter;

/// What several machines count of a range.
pub(super) struct SharedHistory<'a> {
    pub(super) arguments: &'a Bisect,
    pub(super) range: &'a CommitRange,
    /// Of all commits of the range.
    pub(super) request: Request,
    /// How many commits are counted at least, over all nodes.
    pub(super) samples: usize,
    pub(super) reporter: &'a Reporter,
}

impl SharedHistory<'_> {
    /// As one of the nodes, or as their coordinator.
    pub(super) fn run(self) -> Result<Outcome> {
        match self.places().fleet.node {
            Some(node) => self.search_piece(node),
            None => self.coordinate(),
        }
    }

    fn places(&self) -> &PlaceArguments {
        &self.arguments.compare.places
    }

    /// Searches the piece of one node, and delivers what it counted and what it skipped.
    fn search_piece(&self, node: Node) -> Result<Outcome> {
        let places = self.places();
        let (piece, mut skipped) = self.with_ends(node.piece(self.range.commits.len()))?;
        let outcome = if piece.len() < 2 {
            self.reporter.note("other nodes count all there is, and nothing is left for this one");
            Outcome::Done
        } else {
            let mut request = self.request.clone();
            // The fleet is that of the whole range.
            request.on_node(node);
            request.candidates = self.request.candidates[piece.clone()].to_vec();
            let range = self.range.piece(piece);
            request.name = Request::named_after(&request.candidates);
            let samples = Some(self.samples.div_ceil(node.of as usize));
            let options = SearchOptions { samples, ..options(Some(&range), &self.arguments.commits) };
            let mut search = Search::new(request, self.arguments.step.as_deref(), options)?;
            let mut probes = Probes::default();
            let ended = probes.find(&mut search, places, self.reporter)?;
            let reasons = search.skipped().iter();
            skipped.extend(
                reasons.map(|(number, reason)| (range.commits[*number].hash.clone(), reason.clone())),
            );
            match ended {
                Some(ended) => ended,
                None => conclude(&search, Some(&range), &probes, BTreeMap::new(), places, self.reporter)?,
            }
        };
        if let Some(folder) = &places.fleet.deliver {
            write_skipped(folder, &skipped).context("cannot tell the coordinator what is skipped")?;
        }
        node::deliver(&places.fleet, &places.store)?;
        Ok(outcome)
    }

    /// A piece without the commits at its ends that do not compile, and why each of them does not, by its hash. A neighbour has the same end, and
    /// moves it the other way.
    fn with_ends(&self, mut piece: Range<usize>) -> Result<(Range<usize>, BTreeMap<String, String>)> {
        let home = default_home()?;
        let mut skipped = BTreeMap::new();
        let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
        let mut observer = self.reporter.observer();
        let mut is_broken = |number: usize| -> Result<bool> {
            if self.range.broken.contains(&number) {
                return Ok(true);
            }
            let candidate = &self.request.candidates[number];
            let tried = attempt(candidate, &home, &mut |words| observer.notice(prepares(words)))?;
            let Some(Attempt::Broken(reason)) = tried else { return Ok(false) };
            note_skipped(&candidate.to_string(), &reason, self.reporter);
            skipped.insert(self.range.commits[number].hash.clone(), reason);
            Ok(true)
        };
        while piece.len() >= 2 && is_broken(piece.start)? {
            piece.start += 1;
        }
        while piece.len() >= 2 && is_broken(piece.end - 1)? {
            piece.end -= 1;
        }
        Ok((piece, skipped))
    }

    /// Runs the nodes through a scheduler, or comes back to them, and puts together what they counted.
    fn coordinate(&self) -> Result<Outcome> {
        let places = self.places();
        let options = SearchOptions {
            // All that were counted, whatever differs.
            samples: Some(self.range.commits.len()),
            ..options(Some(self.range), &self.arguments.commits)
        };
        // Before anything is submitted, since the step may not be there.
        let search = Search::new(self.request.clone(), self.arguments.step.as_deref(), options)?;
        let Watched { store, fleet, outcome } =
            fleet::watch(&self.request, self.command_of_nodes(), places, self.reporter)?;
        let Some((experiment, counted)) = counts_of_fleet(&store, &fleet)? else {
            output::print("No node has delivered anything yet.\n")?;
            return Ok(outcome);
        };
        if let Some(text) = basecase_report::nodes_left_out(&counted.nodes_left_out) {
            self.reporter.note(&text);
        }
        self.tell(search, &experiment, &counted)?;
        Ok(outcome)
    }

    /// The command of each node, with the range as it is now: a branch may go on before the last of them starts.
    fn command_of_nodes(&self) -> Vec<String> {
        let [first, .., last] = &self.range.commits[..] else { return fleet::of_nodes() };
        let range = format!("{}..{}", first.hash, last.hash);
        let words = fleet::of_nodes().into_iter();
        words.map(|word| if word == self.range.text { range.clone() } else { word }).collect()
    }

    /// Searches once more among the commits that were counted, and tells what it finds.
    fn tell(&self, mut search: Search, experiment: &Experiment, counted: &Counted) -> Result<()> {
        let places = self.places();
        let number = |text: &str| self.range.commits.iter().position(|commit| text.contains(&commit.hash));
        let candidates = experiment.candidates.iter();
        // A commit that is no longer in the range has a number that no candidate has.
        let numbers: Vec<usize> =
            candidates.map(|facts| number(&facts.build.artifact).unwrap_or(usize::MAX)).collect();
        let mut found = BisectedCounts::new(self.range.commits.len(), places.counts_detect.ln_1p());
        found.add(search.step(), &numbers, experiment, counted);
        let folder = FleetFolder::beside(&places.store);
        for node in 1..=folder.submission()?.map_or(0, |submission| submission.nodes) {
            for (hash, reason) in read_skipped(&folder.node(node)) {
                if let Some(number) = number(&hash) {
                    search.skip(number, reason);
                }
            }
        }
        for candidate in 0..self.range.commits.len() {
            match found.cell(candidate).map(CellCount::failure) {
                Some(None) => {}
                Some(Some(failure)) => search.skip(candidate, uncounted(failure)),
                None => search.leave_out(candidate),
            }
        }
        while search.probe().is_some() {
            search.learn_counts(&found.course(), found.margin())?;
        }
        let made = numbers.iter().filter(|number| **number != usize::MAX).count();
        let bisected = Bisected {
            candidates: search.candidates(),
            commits: Some(&self.range.commits),
            label: search.label(),
            found: Found::Work(found),
            bisection: search.bisection(),
            skipped: search.skipped(),
            builds: Some((made, search.skipped().len())),
            confirmations: BTreeMap::new(),
            experiment: Some(experiment),
        };
        tell(&bisected, (experiment, &[]), counted, places, self.reporter)
    }
}
