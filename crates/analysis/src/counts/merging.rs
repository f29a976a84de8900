//! Puts functions together that are one piece of code in both builds: renamed ones, and inlined ones with their callers.

use std::collections::{BTreeSet, HashMap};

use super::function::{FunctionWork, without_parameters};
use super::mover::{Mover, MoverKind};

/// The least letters of a name for a longer one that begins with it to be kin, e.g. `ExecScan` and `ExecScanFetch`.
const KIN_LETTERS: usize = 5;
/// How often an operation must call two functions without a likeness for equal numbers to tell anything: much is called once an operation.
const TELLING_CALLS: f64 = 1.5;
/// A source file with more than this share of all functions says nothing of them, as `sqlite3.c`, which is all of SQLite.
const TELLING_FILE: f64 = 0.25;
/// Two functions of one caller without a likeness in name are one if their numbers differ by no more than this share.
const SAME: f64 = 0.02;
/// The same for functions of one source file, or with names alike.
const ALIKE: f64 = 0.25;
/// The least similarity of two names that are alike, 0 to 1.
const ALIKE_NAMES: f64 = 0.85;
/// The least part of an inlined function's instructions that its caller must have taken over.
const TAKEN_OVER: f64 = 0.5;
/// The same for a caller that is called as often: the callee was a part of it, and inlining saves something.
const TAKEN_OVER_BY_ITS_OWN: f64 = 0.2;
/// The most of all inlined functions' instructions by which the caller's inclusive count may have changed.
const CALLER_KEPT: f64 = 0.25;

/// The functions as movers. `least` is the smallest number of instructions for which a partner is sought.
pub(super) fn merged<'a>(mut functions: Vec<FunctionWork<'a>>, least: f64) -> Vec<Mover<'a>> {
    let files = Files::of(&functions);
    // So that the result does not depend on the order of a hash map.
    functions.sort_by(|one, other| {
        let size = |function: &FunctionWork<'_>| function.change().abs();
        size(other)
            .total_cmp(&size(one))
            .then_with(|| (one.name, one.object).cmp(&(other.name, other.object)))
    });
    let is_large = |function: &FunctionWork<'_>| function.change().abs() >= least;
    let (came, rest): (Vec<_>, Vec<_>) =
        functions.into_iter().partition(|function| is_large(function) && function.came());
    let (went, stayed): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|function| is_large(function) && function.went());
    let (renamed, came, went) = renamed(came, went, &files);
    let mut movers: Vec<Mover<'a>> = stayed.into_iter().map(Mover::alone).collect();
    let went = into_callers(went, &mut movers, MoverKind::Inlined, &files);
    let came = into_callers(came, &mut movers, MoverKind::Outlined, &files);
    movers.extend(renamed);
    movers.extend(went.into_iter().chain(came).map(Mover::alone));
    movers
}

type Functions<'a> = Vec<FunctionWork<'a>>;

/// Pairs of functions of which one went and one came with about the same numbers; and those without a partner.
fn renamed<'a>(
    came: Functions<'a>,
    mut went: Functions<'a>,
    files: &Files<'a>,
) -> (Vec<Mover<'a>>, Functions<'a>, Functions<'a>) {
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for function in came {
        let candidates = went.iter().enumerate().filter(|(_, old)| is_renamed(old, &function, files));
        let distance = |old: &FunctionWork<'_>| (old.base.exclusive - function.contender.exclusive).abs();
        match candidates.min_by(|(_, one), (_, other)| distance(one).total_cmp(&distance(other))) {
            Some((place, _)) => {
                let merged = vec![went.remove(place)];
                pairs.push(Mover { function, merged, kind: MoverKind::Renamed });
            }
            None => alone.push(function),
        }
    }
    (pairs, alone, went)
}

/// Whether `new` is what `old` was: called as often, and of the same name but for its parameters; or called by the same function where that
/// is known, and with the same work below it.
fn is_renamed(old: &FunctionWork<'_>, new: &FunctionWork<'_>, files: &Files<'_>) -> bool {
    let (before, after) = (&old.base, &new.contender);
    if !is_near(before.calls, after.calls, SAME) {
        return false;
    }
    let names = [old.name, new.name].map(without_parameters);
    if names[0] == names[1] && !old.is_without_symbols() {
        return true;
    }
    let is_alike = files.is_telling(old, new) || strsim::jaro(names[0], names[1]) >= ALIKE_NAMES;
    let is_called_alike = if before.callers.is_empty() || after.callers.is_empty() {
        is_alike
    } else {
        (is_alike || before.calls > TELLING_CALLS)
            && before.callers.iter().any(|caller| {
                after.callers.iter().any(|other| without_parameters(caller) == without_parameters(other))
            })
    };
    let nearness = if is_alike { ALIKE } else { SAME };
    is_called_alike
        && is_near(before.exclusive, after.exclusive, nearness)
        && is_near(before.inclusive, after.inclusive, nearness)
}

/// The source files that hold too many functions to say anything of them.
struct Files<'a>(BTreeSet<&'a str>);

impl<'a> Files<'a> {
    fn of(functions: &[FunctionWork<'a>]) -> Self {
        let mut sizes: HashMap<&str, usize> = HashMap::new();
        for file in functions.iter().filter_map(|function| function.file) {
            *sizes.entry(base_name(file)).or_default() += 1;
        }
        let most = TELLING_FILE * functions.len() as f64;
        Files(sizes.into_iter().filter(|(_, size)| *size as f64 > most).map(|(file, _)| file).collect())
    }

    /// Whether two functions are of one source file, and that says something.
    fn is_telling(&self, one: &FunctionWork<'_>, other: &FunctionWork<'_>) -> bool {
        let names = one.file.map(base_name).zip(other.file.map(base_name));
        names.is_some_and(|(one, other)| one == other && !self.0.contains(one))
    }

    /// Whether two functions are of one source file, or the name of one is the beginning of the other's.
    fn is_kin(&self, one: &FunctionWork<'_>, other: &FunctionWork<'_>) -> bool {
        let begins = |short: &str, long: &str| short.len() >= KIN_LETTERS && long.starts_with(short);
        self.is_telling(one, other) || begins(one.name, other.name) || begins(other.name, one.name)
    }
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs())
}

/// The file's name without its folders, which differ between builds.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Puts functions that only one side executes to the caller that has their work on the other side; returns those without such a caller.
fn into_callers<'a>(
    mut only: Functions<'a>,
    movers: &mut [Mover<'a>],
    kind: MoverKind,
    files: &Files<'a>,
) -> Functions<'a> {
    // Again, because what is inlined in an inlined function has its caller only then.
    loop {
        let before = only.len();
        only = only.into_iter().filter_map(|function| into_caller(function, movers, kind, files)).collect();
        if only.len() == before {
            return only;
        }
    }
}

/// Puts a function to its caller; returns it if it has none.
fn into_caller<'a>(
    function: FunctionWork<'a>,
    movers: &mut [Mover<'a>],
    kind: MoverKind,
    files: &Files<'a>,
) -> Option<FunctionWork<'a>> {
    let caller = movers
        .iter_mut()
        .filter(|mover| mover.kind == MoverKind::Changed || mover.kind == kind)
        .filter(|mover| is_caller(mover, &function, kind, files))
        // The nearest one: callers of callers execute more.
        .min_by(|one, other| one.function.base.inclusive.total_cmp(&other.function.base.inclusive));
    let Some(mover) = caller else { return Some(function) };
    mover.kind = kind;
    mover.merged.push(function);
    None
}

/// Whether a function is called by the caller, its work is the caller's own on the other side, and what the caller executes in all stayed
/// the same.
fn is_caller(mover: &Mover<'_>, function: &FunctionWork<'_>, kind: MoverKind, files: &Files<'_>) -> bool {
    let size = function.change().abs();
    let taken_over = size + mover.merged.iter().map(|merged| merged.change().abs()).sum::<f64>();
    let (with, grown) = match kind {
        MoverKind::Inlined => ((&mover.function.base, &function.base), mover.change()),
        _ => ((&mover.function.contender, &function.contender), -mover.change()),
    };
    let (caller, callee) = with;
    let calls_it = if callee.callers.is_empty() {
        // Stores of earlier versions do not tell who calls whom.
        files.is_kin(&mover.function, function)
    } else {
        mover.functions().any(|one| callee.callers.contains(one.name))
    };
    let is_its_own = is_near(caller.calls, callee.calls, SAME);
    let least = if is_its_own { TAKEN_OVER_BY_ITS_OWN } else { TAKEN_OVER };
    calls_it
        && grown >= least * size
        && caller.inclusive >= callee.inclusive
        && mover.function.inclusive_change().abs() <= CALLER_KEPT * taken_over
}
