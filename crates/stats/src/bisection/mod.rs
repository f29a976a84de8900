//! Finds the versions with which changes began, without measuring all of them.

mod evidence;
mod split;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::work::WorkError;

pub use evidence::BisectionEvidence;

use evidence::{Ends, Half, Shift};
use split::Splits;

/// Largest margin of a middle version, as a share: half of the logarithm of 2.25.
const LARGEST_MARGIN: f64 = 0.5;
/// Smallest margin of a middle version.
const SMALLEST_MARGIN: f64 = 0.001;

/// A search among versions 0, 1 … for all changes that add up to the difference of first and last.
///
/// A version within an interval whose ends differ is compared with them, and each half whose ends differ is searched further. Changes that
/// cancel within a half stay unseen, and so do those below the smallest change that matters.
///
/// Versions that cannot be built or measured are skipped. The next one is chosen by what it probably tells, so that a broken range is
/// closed in on from both sides by halves. At most 2·log₂ n versions are tried on the way to one change.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    versions: usize,
    preferred: Vec<bool>,
    is_even_if_equal: bool,
    /// How many versions are sampled evenly whatever differs; 0 for a search that follows differences alone.
    samples: usize,
    /// The effect of the last version relative to the first, as a logarithm; `None` until it is known.
    whole: Option<f64>,
    /// The smallest change that is searched, as a logarithm.
    detect: f64,
    /// What is still searched, in the order of versions.
    open: Vec<Span>,
    changes: Vec<BisectedChange>,
    skipped: BTreeSet<usize>,
    end: Option<BisectionEnd>,
}

/// What to measure next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BisectionProbe {
    /// First and last: is there a change at all?
    Ends,
    /// A version within an interval, together with the ends of it.
    Middle {
        /// The first version of the interval.
        before: usize,
        /// The version to tell of.
        version: usize,
        /// The last version of the interval.
        since: usize,
        /// Half of the interval's change, as a share: 0.02 is 2 %.
        margin: f64,
    },
}

/// A change that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectedChange {
    /// The last version known to be without it.
    pub before: usize,
    /// The first version known to have it.
    pub since: usize,
    /// The effect of `since` relative to `before`, as a logarithm; `None` if it is not known.
    pub effect: Option<f64>,
    /// How well its place is known.
    pub kind: ChangeKind,
}

/// How well the place of a change is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Both versions are neighbours: it began with the second.
    Began,
    /// It lies anywhere between both: the versions tried there cannot be built or measured, or the limit of tries is reached.
    Unbuilt,
    /// It lies anywhere between both: this version could not be put on a side.
    Undecided(usize),
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectionEnd {
    /// The last version is not different from the first.
    Unchanged,
    /// It is undecided whether the last version differs from the first; more rounds may tell.
    Open,
    /// This end, the first version or the last, cannot be built or measured.
    NoEnd(usize),
    /// All was searched: [`Bisection::changes`] has what was found. There may be none where first and last are equal.
    Found,
}

/// An interval of versions that is still searched.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    before: usize,
    since: usize,
    /// What `since` differs from `before` by.
    shift: Shift,
    aim: Aim,
    /// How many versions were tried, for good or not, on the way to this interval and within it.
    tries: usize,
    /// How often the whole range was halved to come to it.
    depth: u32,
}

/// Why an interval is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Its ends differ.
    Change,
    /// Its ends are equal. It is halved at most this many times more.
    Samples(u32),
}

impl Span {
    fn contains(&self, version: usize) -> bool {
        self.before < version && version < self.since
    }

    /// Larger for what is searched first: the largest change, and of intervals without one the widest.
    fn urgency(&self) -> (f64, usize) {
        let size = if self.aim == Aim::Change { self.shift.estimate.abs() } else { 0.0 };
        (size, self.since - self.before)
    }

    /// The change within this interval, if its ends differ.
    fn change(&self, kind: ChangeKind) -> Option<BisectedChange> {
        let change = BisectedChange {
            before: self.before,
            since: self.since,
            effect: Some(self.shift.estimate),
            kind,
        };
        (self.aim == Aim::Change).then_some(change)
    }
}

impl Bisection {
    /// A search among `versions` versions; `None` for fewer than two. Of two, the ends are compared.
    pub fn new(versions: usize) -> Option<Self> {
        let last = versions.checked_sub(1).filter(|last| *last > 0)?;
        let aim = Aim::Samples(0);
        let whole = Span { before: 0, since: last, shift: Shift::default(), aim, tries: 0, depth: 0 };
        Some(Bisection {
            versions,
            preferred: Vec::new(),
            is_even_if_equal: false,
            samples: 0,
            whole: None,
            detect: 0.0,
            open: vec![whole],
            changes: Vec::new(),
            skipped: BTreeSet::new(),
            end: None,
        })
    }

    /// Prefers the versions with `true`, which are likelier to be there and to build: tags, and what is built already. They are taken
    /// where they divide an interval nearly as well as its middle, which is within the middle third.
    #[must_use]
    pub fn preferring(self, preferred: Vec<bool>) -> Self {
        Bisection { preferred, ..self }
    }

    /// Goes on where first and last are equal: about log₂ n versions are sampled evenly, and what differs between them is searched.
    #[must_use]
    pub fn even_if_equal(self) -> Self {
        Bisection { is_even_if_equal: true, ..self }
    }

    /// Samples so many versions evenly, and searches between neighbours that differ: changes that cancel each other are seen if a sample lies
    /// between them.
    #[must_use]
    pub fn sampling(self, versions: usize) -> Self {
        Bisection { samples: versions, is_even_if_equal: true, ..self }
    }

    /// What to measure next; `None` when the search has ended.
    pub fn probe(&self) -> Option<BisectionProbe> {
        if self.end.is_some() {
            return None;
        }
        if self.whole.is_none() {
            return Some(BisectionProbe::Ends);
        }
        let (span, version) = self.present()?;
        let margin = match span.aim {
            Aim::Change => span.shift.estimate.abs() / 2.0,
            Aim::Samples(_) => self.detect,
        };
        let margin = margin.exp_m1().clamp(SMALLEST_MARGIN, LARGEST_MARGIN);
        Some(BisectionProbe::Middle { before: span.before, version, since: span.since, margin })
    }

    /// Versions that are likely to be probed after the present probe, to be built ahead: the middles of both halves, or the middle of all
    /// while the ends are probed.
    pub fn ahead(&self) -> Vec<usize> {
        let Some((span, version)) = self.present() else { return Vec::new() };
        if self.whole.is_none() {
            return vec![version];
        }
        if span.tries + 1 >= self.most_tries() {
            return Vec::new();
        }
        let halves = [(span.before, version), (version, span.since)];
        halves.into_iter().filter_map(|(before, since)| self.splits().best(before, since)).collect()
    }

    /// Learns what was found about the version that [`Bisection::probe`] named; `None` if nothing was. A version that cannot be had at all
    /// is told by [`Bisection::skip`].
    ///
    /// # Errors
    /// If counts cannot be judged. Then nothing was learnt.
    pub fn learn(&mut self, evidence: Option<BisectionEvidence<'_>>) -> Result<(), WorkError> {
        if self.end.is_some() {
            return Ok(());
        }
        if self.whole.is_none() {
            let ends = evidence.map(|evidence| evidence.ends(self.versions - 1)).transpose()?;
            self.learn_ends(ends.unwrap_or(Ends::Undecided));
        } else if let Some((span, version)) = self.present() {
            let halves = evidence.map(|evidence| evidence.halves(&span, version, self.detect)).transpose()?;
            self.open.retain(|open| open.before != span.before);
            self.divide(span, version, halves.flatten());
        }
        self.settle();
        Ok(())
    }

    /// Takes in that a version cannot be built or measured: the probe's, or another that was built ahead or is known to be broken. Only the
    /// probe's counts as a try. Without one of the ends nothing can be searched.
    pub fn skip(&mut self, version: usize) {
        if self.end.is_some() || version >= self.versions {
            return;
        }
        if version == 0 || version + 1 == self.versions {
            self.end = Some(BisectionEnd::NoEnd(version));
            return;
        }
        let is_probed = self.whole.is_some() && self.present().is_some_and(|(_, probed)| probed == version);
        // An end of an interval was measured before. If it can be no more, the interval is known no better.
        let ends_with = |span: &Span| span.before == version || span.since == version;
        for span in self.open.extract_if(.., |span| ends_with(span)) {
            self.changes.extend(span.change(ChangeKind::Unbuilt));
        }
        if let Some(span) = self.open.iter_mut().find(|span| span.contains(version))
            && self.skipped.insert(version)
            && is_probed
        {
            span.tries += 1;
            if let Aim::Samples(levels) = &mut span.aim {
                *levels = levels.saturating_sub(1);
            }
        }
        self.settle();
    }

    /// The changes found so far, in the order of versions.
    pub fn changes(&self) -> &[BisectedChange] {
        &self.changes
    }

    /// The versions that could not be built or measured.
    pub fn skipped(&self) -> &BTreeSet<usize> {
        &self.skipped
    }

    /// The intervals that are still searched, first and last version of each, in the order of versions; none until first and last are
    /// compared.
    pub fn open(&self) -> Vec<(usize, usize)> {
        let is_searched = self.whole.is_some() && self.end.is_none();
        self.open.iter().filter(|_| is_searched).map(|span| (span.before, span.since)).collect()
    }

    /// How the search ended; `None` while there is something to measure.
    pub fn end(&self) -> Option<BisectionEnd> {
        self.end
    }

    /// The effect of the last version relative to the first, as a logarithm; `None` while it is undecided whether they differ.
    pub fn whole(&self) -> Option<f64> {
        self.whole
    }

    /// How many versions are tried at most on the way to one change: 2·log₂ n.
    fn most_tries(&self) -> usize {
        self.versions.saturating_mul(self.versions).ilog2() as usize
    }

    fn splits(&self) -> Splits<'_> {
        Splits { versions: self.versions, preferred: &self.preferred, skipped: &self.skipped }
    }

    /// The interval that is searched now, and the version that divides it.
    fn present(&self) -> Option<(Span, usize)> {
        let by_urgency = |one: &&Span, other: &&Span| {
            let ((size, width), (other_size, other_width)) = (one.urgency(), other.urgency());
            size.total_cmp(&other_size).then(width.cmp(&other_width))
        };
        // Of equal ones the last is taken, so that it is the first of the versions.
        let span = self.open.iter().rev().max_by(by_urgency)?;
        Some((*span, self.splits().best(span.before, span.since)?))
    }

    fn learn_ends(&mut self, ends: Ends) {
        let (shift, detect, aim) = match ends {
            Ends::Undecided => {
                self.end = Some(BisectionEnd::Open);
                return;
            }
            Ends::Differ { shift, detect } => (shift, detect, Aim::Change),
            Ends::Same { shift, detect } => (shift, detect, Aim::Samples(self.levels())),
        };
        self.whole = Some(shift.estimate);
        self.detect = detect;
        if aim == Aim::Samples(0) {
            self.end = Some(BisectionEnd::Unchanged);
        }
        for span in &mut self.open {
            (span.shift, span.aim) = (shift, aim);
        }
    }

    /// How often a range is halved although its ends are equal: as often as was asked for, otherwise twice at least, and as long as about
    /// log₂ n versions are sampled.
    fn levels(&self) -> u32 {
        match (self.samples, self.is_even_if_equal && self.versions > 2) {
            (_, false) => 0,
            (0, true) => (self.versions.ilog2() + 1).ilog2().max(2),
            (samples, true) => samples.saturating_add(1).next_power_of_two().ilog2(),
        }
    }

    /// Replaces an interval by its halves; `None` if the version could not be put on a side.
    fn divide(&mut self, span: Span, version: usize, halves: Option<[Half; 2]>) {
        let Some(halves) = halves else {
            self.changes.extend(span.change(ChangeKind::Undecided(version)));
            return;
        };
        for ((before, since), half) in [(span.before, version), (version, span.since)].into_iter().zip(halves)
        {
            let part = Span { before, since, tries: span.tries + 1, depth: span.depth + 1, ..span };
            let samples = self.levels().saturating_sub(part.depth);
            match (half, span.aim) {
                (Half::Differs(shift), _) => self.open.push(Span { shift, aim: Aim::Change, ..part }),
                (Half::Undecided(shift), _) => {
                    let part = Span { shift, aim: Aim::Change, ..part };
                    self.changes.extend(part.change(ChangeKind::Undecided(version)));
                }
                (Half::Same(shift), Aim::Samples(levels)) => {
                    self.open.push(Span { shift, aim: Aim::Samples(levels.saturating_sub(1)), ..part });
                }
                (Half::Same(shift), Aim::Change) if self.samples > 0 && samples > 0 => {
                    self.open.push(Span { shift, aim: Aim::Samples(samples), ..part });
                }
                (Half::Same(_), Aim::Change) => {}
            }
        }
    }

    /// Closes the intervals that cannot be divided any more.
    fn settle(&mut self) {
        if self.whole.is_none() || self.end.is_some() {
            return;
        }
        let most_tries = self.most_tries();
        for span in std::mem::take(&mut self.open) {
            if span.since == span.before + 1 {
                self.changes.extend(span.change(ChangeKind::Began));
            } else if span.tries >= most_tries || self.splits().are_exhausted(span.before, span.since) {
                self.changes.extend(span.change(ChangeKind::Unbuilt));
            } else if span.aim != Aim::Samples(0) {
                self.open.push(span);
            }
        }
        self.open.sort_by_key(|span| span.before);
        self.changes.sort_by_key(|change| change.before);
        if self.open.is_empty() {
            self.end = Some(BisectionEnd::Found);
        }
    }
}
