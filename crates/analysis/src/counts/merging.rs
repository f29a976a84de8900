//! Puts functions together that are one piece of code in both builds: renamed ones, and inlined ones with their callers.

use super::function::FunctionWork;
use super::mover::{Mover, MoverKind};

/// Functions whose names begin with as many equal letters are kin, e.g. `ExecScan` and `ExecScanFetch`.
const KIN_LETTERS: usize = 5;
/// How often an operation must call a function for its caller to be found by numbers alone.
const TELLING_CALLS: f64 = 1.5;
/// Two functions without a likeness in name are one if their numbers differ by no more than this share.
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
    let (renamed, came, went) = renamed(came, went);
    let mut movers: Vec<Mover<'a>> = stayed.into_iter().map(Mover::alone).collect();
    let went = into_callers(went, &mut movers, MoverKind::Inlined);
    let came = into_callers(came, &mut movers, MoverKind::Outlined);
    movers.extend(renamed);
    movers.extend(went.into_iter().chain(came).map(Mover::alone));
    movers
}

type Functions<'a> = Vec<FunctionWork<'a>>;

/// Pairs of functions of which one went and one came with about the same numbers; and those without a partner.
fn renamed<'a>(
    came: Functions<'a>,
    mut went: Functions<'a>,
) -> (Vec<Mover<'a>>, Functions<'a>, Functions<'a>) {
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for function in came {
        let candidates = went.iter().enumerate().filter(|(_, old)| is_renamed(old, &function));
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

/// Whether `new` is what `old` was: called as often, and with the same work below it.
fn is_renamed(old: &FunctionWork<'_>, new: &FunctionWork<'_>) -> bool {
    let (before, after) = (&old.base, &new.contender);
    let is_alike = is_of_one_file(old, new) || strsim::jaro_winkler(old.name, new.name) >= ALIKE_NAMES;
    let nearness = if is_alike { ALIKE } else { SAME };
    is_near(before.calls, after.calls, SAME)
        && is_near(before.exclusive, after.exclusive, nearness)
        && is_near(before.inclusive, after.inclusive, nearness)
}

/// Whether two functions are of one source file, or their names begin alike.
fn is_kin(one: &FunctionWork<'_>, other: &FunctionWork<'_>) -> bool {
    let equal = one.name.bytes().zip(other.name.bytes()).take_while(|(one, other)| one == other).count();
    is_of_one_file(one, other) || equal >= KIN_LETTERS
}

fn is_of_one_file(one: &FunctionWork<'_>, other: &FunctionWork<'_>) -> bool {
    one.file.zip(other.file).is_some_and(|(one, other)| base_name(one) == base_name(other))
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs())
}

/// The file's name without its folders, which differ between builds.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Puts functions that only one side executes to the caller that has their work on the other side; returns those without such a caller.
fn into_callers<'a>(only: Functions<'a>, movers: &mut [Mover<'a>], kind: MoverKind) -> Functions<'a> {
    let mut alone = Vec::new();
    for function in only {
        let caller = movers
            .iter_mut()
            .filter(|mover| mover.kind == MoverKind::Changed || mover.kind == kind)
            .filter(|mover| is_caller(mover, &function, kind))
            // The nearest one: callers of callers execute more.
            .min_by(|one, other| one.function.base.inclusive.total_cmp(&other.function.base.inclusive));
        match caller {
            Some(mover) => {
                mover.kind = kind;
                mover.merged.push(function);
            }
            None => alone.push(function),
        }
    }
    alone
}

/// Whether a function's work is the caller's own on the other side, and what the caller executes in all stayed the same.
fn is_caller(mover: &Mover<'_>, function: &FunctionWork<'_>, kind: MoverKind) -> bool {
    let size = function.change().abs();
    let taken_over = size + mover.merged.iter().map(|merged| merged.change().abs()).sum::<f64>();
    let (with, grown) = match kind {
        MoverKind::Inlined => ((&mover.function.base, &function.base), mover.change()),
        _ => ((&mover.function.contender, &function.contender), -mover.change()),
    };
    let (caller, callee) = with;
    let is_kin = is_kin(&mover.function, function);
    let is_its_own = is_kin && is_near(caller.calls, callee.calls, SAME);
    let least = if is_its_own { TAKEN_OVER_BY_ITS_OWN } else { TAKEN_OVER };
    // What is called once an operation is a part of anything that is.
    let is_telling = is_kin || callee.calls > TELLING_CALLS;
    is_telling
        && grown >= least * size
        && caller.inclusive >= callee.inclusive
        && mover.function.inclusive_change().abs() <= CALLER_KEPT * taken_over
}
