//! Which functions account for a difference in work.

use super::cell::{CellCount, mean};
use super::function::{FunctionSide, FunctionWork, functions};
use super::merging::merged;
use super::mover::{Mover, MoverKind};

/// The least change of a mover, as a share of the base case's instructions.
pub const SHOWN_SHARE: f64 = 0.001;
/// The least change of a mover that is most of the whole change, for which a partner is sought, and the least luck that is told, as a share
/// of the base case's instructions.
const LEAST_SHARE: f64 = 0.0005;

/// Shares are told if the whole is at least this part of the largest mover: of what cancels out they would say nothing. A mover of this part
/// of the whole is most of it.
const TELLING_PART: f64 = 0.5;

/// The functions that account for a contender's difference on a step.
pub struct Causes<'a> {
    /// Instructions per operation of the base case.
    pub base: f64,
    /// The contender's.
    pub contender: f64,
    /// Functions that changed by more than [`SHOWN_SHARE`], or by less if that is most of a small change, the largest change first.
    pub movers: Vec<Mover<'a>>,
    /// Functions that only changed their name or were inlined.
    pub unmoved: Vec<Mover<'a>>,
    /// What varies between sessions of one candidate, the largest first.
    pub luck: Vec<Luck<'a>>,
    /// The part of the whole change that is such luck.
    pub by_chance: f64,
    /// Objects without symbols, whose functions have no names.
    pub without_symbols: Vec<&'a str>,
}

/// A function whose instructions differ between sessions of one candidate: no version is to blame.
#[derive(Debug, Clone, PartialEq)]
pub struct Luck<'a> {
    /// Its name.
    pub function: &'a str,
    /// The file name of its program or library.
    pub object: &'a str,
    /// Whether it varies on the base case; otherwise on the contender.
    pub is_of_base: bool,
    /// By how much sessions differ at most, in instructions per operation.
    pub range: f64,
}

impl<'a> Causes<'a> {
    /// `None` if the functions of one side are not known.
    pub(crate) fn of(base: &CellCount<'a>, contender: &CellCount<'a>) -> Option<Self> {
        let knows = |cell: &CellCount<'_>| cell.starts.iter().any(|start| !start.functions.is_empty());
        if !(knows(base) && knows(contender)) {
            return None;
        }
        let all = functions(base, contender);
        let whole = mean(&base.windows())?;
        let mut without_symbols: Vec<&str> =
            all.iter().filter(|function| function.is_without_symbols()).map(|one| one.object).collect();
        without_symbols.sort_unstable();
        without_symbols.dedup();
        let luck = luck(&all, LEAST_SHARE * whole);
        let by_chance = all.iter().map(FunctionWork::by_chance).sum();
        let mut movers = merged(all, LEAST_SHARE * whole);
        movers.sort_by(|one, other| other.change().abs().total_cmp(&one.change().abs()));
        let (base, contender) = (whole, mean(&contender.windows())?);
        let is_merged = |mover: &Mover<'_>| {
            matches!(mover.kind, MoverKind::Renamed | MoverKind::Inlined | MoverKind::Outlined)
        };
        let is_large = |mover: &Mover<'_>| {
            let change = mover.change().abs();
            let is_most = change >= TELLING_PART * (contender - base).abs() && !is_merged(mover);
            change >= SHOWN_SHARE * base || is_most && change >= LEAST_SHARE * base
        };
        let (movers, small): (Vec<_>, Vec<_>) = movers.into_iter().partition(is_large);
        Some(Causes {
            base,
            contender,
            movers,
            unmoved: small.into_iter().filter(is_merged).collect(),
            luck,
            by_chance,
            without_symbols,
        })
    }

    /// By how much the work changed, in instructions per operation.
    pub fn change(&self) -> f64 {
        self.contender - self.base
    }

    /// A mover's part of the whole change, luck apart; `None` where the whole is too small to be divided.
    pub fn share(&self, mover: &Mover<'_>) -> Option<f64> {
        let change = self.change() - self.by_chance;
        let largest = self.movers.first().map_or(0.0, |mover| mover.change().abs());
        let is_telling = change.abs() >= SHOWN_SHARE * self.base && change.abs() >= TELLING_PART * largest;
        is_telling.then(|| mover.change() / change)
    }

    /// The function that accounts for most of the change, in its direction.
    pub fn largest(&self) -> Option<&Mover<'a>> {
        self.movers.iter().find(|mover| mover.change() * self.change() > 0.0)
    }
}

/// Functions that differ by at least `least` between sessions of one candidate.
fn luck<'a>(functions: &[FunctionWork<'a>], least: f64) -> Vec<Luck<'a>> {
    let of_side = |function: &FunctionWork<'a>, side: &FunctionSide<'_>, is_of_base| {
        let FunctionWork { name, object, .. } = *function;
        let range = side.range();
        (range >= least).then_some(Luck { function: name, object, is_of_base, range })
    };
    let both = |function: &FunctionWork<'a>| {
        [of_side(function, &function.base, true), of_side(function, &function.contender, false)]
    };
    let mut luck: Vec<Luck<'a>> = functions.iter().flat_map(both).flatten().collect();
    luck.sort_by(|one, other| {
        other
            .range
            .total_cmp(&one.range)
            .then_with(|| (one.function, one.object).cmp(&(other.function, other.object)))
    });
    luck
}

#[cfg(test)]
mod tests;
