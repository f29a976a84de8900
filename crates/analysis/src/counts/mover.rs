//! A function that accounts for a part of a difference in work.

use super::function::FunctionWork;

/// A function, or several that are one piece of code in both builds, whose own instructions changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Mover<'a> {
    /// The function; of several, the one that the contender executes, or else the largest.
    pub function: FunctionWork<'a>,
    /// Functions that are put together with it, because one took the place of the others.
    pub merged: Vec<FunctionWork<'a>>,
    /// What became of it.
    pub kind: MoverKind,
}

/// What became of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoverKind {
    /// Both execute it.
    Changed,
    /// Only the contender executes it.
    Came,
    /// Only the base case executes it.
    Went,
    /// It has another name in the base case.
    Renamed,
    /// The contender has other functions of the base case inlined in it.
    Inlined,
    /// What the base case has inlined in it are functions of their own in the contender.
    Outlined,
}

impl MoverKind {
    /// The identifier in files.
    pub fn as_str(self) -> &'static str {
        match self {
            MoverKind::Changed => "changed",
            MoverKind::Came => "came",
            MoverKind::Went => "went",
            MoverKind::Renamed => "renamed",
            MoverKind::Inlined => "inlined",
            MoverKind::Outlined => "outlined",
        }
    }
}

impl<'a> Mover<'a> {
    /// A function by itself.
    pub(super) fn alone(function: FunctionWork<'a>) -> Self {
        let kind = match &function {
            one if one.came() => MoverKind::Came,
            one if one.went() => MoverKind::Went,
            _ => MoverKind::Changed,
        };
        Mover { function, merged: Vec::new(), kind }
    }

    /// The function and those that are put together with it.
    pub fn functions(&self) -> impl Iterator<Item = &FunctionWork<'a>> {
        std::iter::once(&self.function).chain(&self.merged)
    }

    /// Instructions per operation of the base case.
    pub fn base(&self) -> f64 {
        self.functions().map(|function| function.base.exclusive).sum()
    }

    /// Instructions per operation of the contender.
    pub fn contender(&self) -> f64 {
        self.functions().map(|function| function.contender.exclusive).sum()
    }

    /// By how much they changed, luck apart.
    pub fn change(&self) -> f64 {
        self.functions().map(FunctionWork::change).sum()
    }
}
