//! How much work an operation is: instructions that were counted, candidate against base case, and the functions that account for a
//! difference.

mod cause;
mod cell;
mod function;
mod judgement;
mod merging;
mod mover;

use std::collections::{BTreeSet, HashMap};

use basecase_model::{CountEngine, Experiment, StepCount, StepFacts};
use basecase_stats::{WorkCourse, WorkError, WorkKind, WorkVerdict};

pub use self::cause::{Causes, Luck, SHOWN_SHARE};
pub use self::cell::CellCount;
pub(crate) use self::cell::ends;
use self::function::is_without_symbols;
pub use self::function::{FunctionSide, FunctionWork, without_parameters};
pub use self::judgement::Work;
pub use self::mover::{Mover, MoverKind};

/// The counts of an experiment as they are stored, and by what they are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// A step on a candidate in one start of its server each, in the order in which they were counted.
    pub starts: Vec<StepCount>,
    /// The smallest change of work that matters, as a logarithm.
    pub margin: f64,
    /// The nodes of a fleet, from 1, whose counts are not among these, because their machines are of another kind.
    pub nodes_left_out: BTreeSet<u32>,
}

impl Default for Counted {
    fn default() -> Self {
        Counted { starts: Vec::new(), margin: Counted::DETECT.ln_1p(), nodes_left_out: BTreeSet::new() }
    }
}

impl Counted {
    /// The smallest relative change of work that matters, unless the user or a stored experiment says otherwise.
    pub const DETECT: f64 = 0.005;

    /// What was counted for an experiment, with the margin that was agreed for it.
    pub fn of(experiment: &Experiment, starts: Vec<StepCount>) -> Self {
        Counted { starts, ..Counted::default() }.judged_by(experiment.work_margin)
    }

    /// The same with another smallest relative change that matters, if there is one.
    #[must_use]
    pub fn judged_by(self, detect: Option<f64>) -> Self {
        Counted { margin: detect.map_or(self.margin, f64::ln_1p), ..self }
    }
}

/// What the counts of an experiment say.
pub struct Counts<'a> {
    /// What counted.
    pub engine: CountEngine,
    /// Its versions, e.g. `valgrind-3.19.0`.
    pub engine_versions: Vec<&'a str>,
    /// The smallest change of work that matters, as a logarithm.
    pub margin: f64,
    /// How many counts of another engine are left out, because those of two engines are never compared.
    pub left_out: usize,
    /// The nodes of a fleet whose counts are left out, because their machines are of another kind.
    pub nodes_left_out: &'a BTreeSet<u32>,
    /// Why they cannot be judged.
    pub refusal: Option<WorkError>,
    // One row per step, one entry per candidate.
    cells: Vec<Vec<CellCount<'a>>>,
    works: Vec<Vec<Option<Work>>>,
}

/// How many steps of a contender need more or less work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkSummary {
    /// More work.
    pub more: usize,
    /// Less work.
    pub less: usize,
    /// The same work.
    pub same: usize,
    /// Not enough data.
    pub open: usize,
    /// Nothing could be counted.
    pub failed: usize,
}

impl WorkSummary {
    /// The steps that were judged.
    pub fn judged(&self) -> usize {
        self.more + self.less + self.same + self.open
    }
}

impl<'a> Counts<'a> {
    /// The findings; `None` if nothing was counted, not even in vain.
    pub fn of(experiment: &Experiment, counted: &'a Counted) -> Option<Self> {
        let newest = counted.starts.iter().rev();
        let engine = newest.clone().find(|start| start.is_complete()).or(newest.clone().next())?.engine;
        let own = || counted.starts.iter().filter(move |start| start.engine == engine);
        let mut of_places: HashMap<(&str, &str), Vec<&'a StepCount>> = HashMap::new();
        for start in own() {
            of_places.entry((&start.step, &start.candidate)).or_default().push(start);
        }
        let row = |step: &StepFacts| -> Vec<CellCount<'a>> {
            let candidates = experiment.candidates.iter();
            let starts = candidates.map(|facts| of_places.get(&(step.name.as_str(), facts.name.0.as_str())));
            starts.map(|starts| CellCount::of(starts.map_or(&[], Vec::as_slice))).collect()
        };
        let cells: Vec<Vec<CellCount<'a>>> = experiment.steps.iter().map(row).collect();
        let versions: BTreeSet<&str> =
            own().filter(|start| start.is_complete()).map(|start| start.engine_version.as_str()).collect();
        let judged = judgement::works(experiment, &cells, counted.margin);
        let (works, refusal) = match judged {
            Ok(works) => (works, None),
            Err(refusal) => (Vec::new(), Some(refusal)),
        };
        Some(Counts {
            engine,
            engine_versions: versions.into_iter().collect(),
            margin: counted.margin,
            left_out: counted.starts.len() - own().count(),
            nodes_left_out: &counted.nodes_left_out,
            refusal,
            works,
            cells,
        })
    }

    /// What was counted of a candidate on a step; `None` if nothing was tried.
    pub fn cell(&self, step: usize, candidate: usize) -> Option<&CellCount<'a>> {
        self.cells.get(step)?.get(candidate).filter(|cell| cell.was_tried())
    }

    /// Instructions per operation.
    pub fn instructions(&self, step: usize, candidate: usize) -> Option<f64> {
        self.cell(step, candidate)?.instructions()
    }

    /// The work of a contender compared with that of the base case; `None` unless both were counted.
    pub fn work(&self, step: usize, candidate: usize) -> Option<&Work> {
        self.works.get(step)?.get(candidate)?.as_ref()
    }

    /// All that was compared, in the order of steps and candidates.
    pub fn works(&self) -> impl Iterator<Item = &Work> {
        self.works.iter().flatten().flatten()
    }

    /// Decided changes of work: those to more work first, the largest first, then those to less.
    pub fn changes(&self) -> Vec<&Work> {
        let mut changes: Vec<&Work> = self.works().filter(|work| work.verdict().is_change()).collect();
        changes.sort_by(|one, other| {
            let is_less = |work: &Work| work.verdict() == WorkVerdict::LessWork;
            let size = |work: &Work| work.decision.effect.map_or(0.0, f64::abs);
            is_less(one).cmp(&is_less(other)).then(size(other).total_cmp(&size(one)))
        });
        changes
    }

    /// The steps of which anything was tried.
    pub fn steps(&self) -> impl Iterator<Item = usize> + '_ {
        let is_tried = |cells: &Vec<CellCount<'_>>| cells.iter().any(CellCount::was_tried);
        self.cells.iter().enumerate().filter(move |(_, cells)| is_tried(cells)).map(|(step, _)| step)
    }

    /// How many steps of a contender need more or less work.
    pub fn summary(&self, candidate: usize) -> WorkSummary {
        let mut summary = WorkSummary::default();
        for step in 0..self.cells.len() {
            let own = self.work(step, candidate).map(Work::verdict);
            let has_failed = || {
                let places = [candidate, 0].into_iter();
                places.filter_map(|candidate| self.cell(step, candidate)).any(|cell| cell.failure().is_some())
            };
            match own {
                Some(WorkVerdict::MoreWork) => summary.more += 1,
                Some(WorkVerdict::LessWork) => summary.less += 1,
                Some(WorkVerdict::SameWork) => summary.same += 1,
                Some(WorkVerdict::NotEnoughData) => summary.open += 1,
                None if has_failed() => summary.failed += 1,
                None => {}
            }
        }
        summary
    }

    /// The functions that account for a contender's difference on a step; `None` if the functions of one of the two are not known.
    pub fn causes(&self, step: usize, candidate: usize) -> Option<Causes<'a>> {
        self.causes_between(step, 0, candidate).filter(|_| candidate > 0)
    }

    /// The functions that account for the difference between two candidates on a step; `None` if those of one of them are not known.
    pub fn causes_between(&self, step: usize, before: usize, candidate: usize) -> Option<Causes<'a>> {
        Causes::of(self.cell(step, before)?, self.cell(step, candidate)?)
    }

    /// The windows of a step on all candidates, in their order.
    pub fn course(&self, step: usize, facts: &StepFacts) -> WorkCourse {
        let cells = self.cells.get(step).map_or(&[][..], Vec::as_slice);
        let versions = cells.iter().map(CellCount::work_windows).collect();
        WorkCourse { kind: WorkKind::of_step(facts.writes), versions }
    }

    /// What varies between sessions of one candidate by more than a little, as step, candidate and luck, the largest share of the step first.
    pub fn luck(&self) -> Vec<(usize, usize, Luck<'a>)> {
        let mut all: Vec<(f64, (usize, usize, Luck<'a>))> = Vec::new();
        for work in self.works() {
            let Some(causes) = self.causes(work.step, work.candidate) else { continue };
            for luck in causes.luck {
                let candidate = if luck.is_of_base { 0 } else { work.candidate };
                let told = (work.step, candidate, luck);
                if !all.iter().any(|(_, known)| *known == told) {
                    all.push((told.2.range / causes.base, told));
                }
            }
        }
        all.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        all.into_iter().map(|(_, told)| told).collect()
    }

    /// Objects without symbols, whose functions have no names.
    pub fn without_symbols(&self) -> BTreeSet<&'a str> {
        let starts = self.cells.iter().flatten().flat_map(|cell| &cell.starts);
        let functions = starts.flat_map(|start| &start.functions);
        let nameless = functions.filter(|function| is_without_symbols(&function.name, &function.object));
        nameless.map(|function| function.object.as_str()).collect()
    }

    /// Spreads of all cells that have one, from the smallest: the standard deviation of windows over their mean.
    pub fn spreads(&self) -> Vec<f64> {
        let mut spreads: Vec<f64> = self.cells.iter().flatten().filter_map(CellCount::spread).collect();
        spreads.sort_by(f64::total_cmp);
        spreads
    }

    /// Cells of which nothing could be counted, as step and candidate, each with the reason.
    pub fn failures(&self) -> Vec<((usize, usize), &'a str)> {
        let row = |(step, cells): (usize, &Vec<CellCount<'a>>)| -> Vec<((usize, usize), &'a str)> {
            let failure =
                |(candidate, cell): (usize, &CellCount<'a>)| Some(((step, candidate), cell.failure()?));
            cells.iter().enumerate().filter_map(failure).collect()
        };
        self.cells.iter().enumerate().flat_map(row).collect()
    }

    /// The warnings of all counts, each once, with the steps and candidates that have it.
    pub fn warnings(&self) -> Vec<(&'a str, Vec<(usize, usize)>)> {
        let mut warnings: Vec<(&'a str, Vec<(usize, usize)>)> = Vec::new();
        for (step, cells) in self.cells.iter().enumerate() {
            for (candidate, cell) in cells.iter().enumerate() {
                for text in cell.warnings() {
                    match warnings.iter_mut().find(|(known, _)| *known == text) {
                        Some((_, places)) => places.push((step, candidate)),
                        None => warnings.push((text, vec![(step, candidate)])),
                    }
                }
            }
        }
        warnings
    }
}
