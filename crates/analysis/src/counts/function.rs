//! One function's part of the work, of base case and contender.

use std::collections::{BTreeSet, HashMap};

use basecase_model::{FunctionCount, StepCount};

use super::cell::{CellCount, mean};

/// The name under which callgrind's reader has all functions of an object without symbols.
const NO_SYMBOLS: &str = "(no symbols)";
/// A function with less than this share of the other side's instructions is absent: what runs once a session leaves a little.
const ABSENT: f64 = 0.001;
/// An object of which more than this share is executed without names on one side, and less than half as much on the other, is one function on
/// both: what came by name there would seem to be new.
const NAMELESS: f64 = 1.0 / 3.0;

/// Whether this function stands for all of an object without symbols.
pub(super) fn is_without_symbols(name: &str, object: &str) -> bool {
    name == NO_SYMBOLS || name == object
}

/// A function's instructions per operation, by window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionSide<'a> {
    /// Its own instructions, window by window.
    pub windows: Vec<f64>,
    /// The median of them.
    pub exclusive: f64,
    /// The median with those of all that it called.
    pub inclusive: f64,
    /// The median number of its calls.
    pub calls: f64,
    /// The names of the functions that called it; empty if they are not known.
    pub callers: BTreeSet<&'a str>,
}

/// A function of base case or contender, or of both.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionWork<'a> {
    /// Its name.
    pub name: &'a str,
    /// The file name of its program or library.
    pub object: &'a str,
    /// Its source file, of the contender's build if that has it.
    pub file: Option<&'a str>,
    /// The first line of it that was executed.
    pub line: Option<u32>,
    /// On the base case.
    pub base: FunctionSide<'a>,
    /// On the contender.
    pub contender: FunctionSide<'a>,
}

impl<'a> FunctionSide<'a> {
    /// From the windows of all starts; what a window lacks is 0.
    fn of(samples: &Samples<'a>, windows: usize) -> Self {
        let padded = |values: &[f64]| {
            let mut values = values.to_vec();
            values.resize(windows, 0.0);
            values
        };
        let own = padded(&samples.exclusive);
        FunctionSide {
            exclusive: median(&own),
            inclusive: median(&padded(&samples.inclusive)),
            calls: median(&padded(&samples.calls)),
            callers: samples.callers.clone(),
            windows: own,
        }
    }

    /// By how much its windows differ at most.
    pub fn range(&self) -> f64 {
        let (least, most) = self.ends();
        most - least
    }

    /// The smallest and the largest window.
    pub(super) fn ends(&self) -> (f64, f64) {
        let least = self.windows.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.windows.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least <= most { (least, most) } else { (0.0, 0.0) }
    }

    /// The mean of its windows.
    pub(super) fn mean(&self) -> f64 {
        mean(&self.windows).unwrap_or(0.0)
    }
}

impl FunctionWork<'_> {
    /// By how much its own instructions changed, luck apart: 0 if the windows of both overlap.
    pub fn change(&self) -> f64 {
        let ((base_least, base_most), (least, most)) = (self.base.ends(), self.contender.ends());
        if base_most < least || most < base_least {
            self.contender.exclusive - self.base.exclusive
        } else {
            0.0
        }
    }

    /// The part of the difference of means that is luck.
    pub(super) fn by_chance(&self) -> f64 {
        self.contender.mean() - self.base.mean() - self.change()
    }

    /// By how much its instructions with those of all that it called changed.
    pub fn inclusive_change(&self) -> f64 {
        self.contender.inclusive - self.base.inclusive
    }

    /// Whether the base case does not execute it.
    pub fn came(&self) -> bool {
        self.contender.exclusive > 0.0 && self.base.exclusive < ABSENT * self.contender.exclusive
    }

    /// Whether the contender does not execute it.
    pub fn went(&self) -> bool {
        self.base.exclusive > 0.0 && self.contender.exclusive < ABSENT * self.base.exclusive
    }

    /// Whether it stands for all of an object without symbols.
    pub fn is_without_symbols(&self) -> bool {
        is_without_symbols(self.name, self.object)
    }
}

/// The functions of both sides, in no order.
pub(super) fn functions<'a>(base: &CellCount<'a>, contender: &CellCount<'a>) -> Vec<FunctionWork<'a>> {
    let without_names = without_names(&base.starts, &contender.starts);
    let [(of_base, base_windows), (of_contender, contender_windows)] =
        [&base.starts, &contender.starts].map(|starts| samples(starts, &without_names));
    let none = Samples::default();
    let work = |key: &Key<'a>| {
        let sides = [&of_base, &of_contender].map(|samples| samples.get(key));
        let own = sides[1].or(sides[0])?;
        let source = sides.into_iter().rev().flatten().find_map(|samples| samples.source);
        Some(FunctionWork {
            name: key.name,
            object: own.object,
            file: source.map(|(file, _)| file),
            line: source.and_then(|(_, line)| line),
            base: FunctionSide::of(sides[0].unwrap_or(&none), base_windows),
            contender: FunctionSide::of(sides[1].unwrap_or(&none), contender_windows),
        })
    };
    let only_contender = of_contender.keys().filter(|key| !of_base.contains_key(key));
    of_base.keys().chain(only_contender).filter_map(work).collect()
}

/// What makes two functions the same one in two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    name: &'a str,
    stem: &'a str,
}

#[derive(Default)]
struct Samples<'a> {
    object: &'a str,
    source: Option<(&'a str, Option<u32>)>,
    exclusive: Vec<f64>,
    inclusive: Vec<f64>,
    calls: Vec<f64>,
    callers: BTreeSet<&'a str>,
}

/// Objects, by stem, whose functions have names on one side and mostly none on the other.
fn without_names<'a>(base: &[&'a StepCount], contender: &[&'a StepCount]) -> BTreeSet<&'a str> {
    let [of_base, of_contender] = [base, contender].map(nameless_shares);
    let differs = |(stem, share): (&&'a str, &f64)| {
        let other = of_contender.get(stem)?;
        let (less, more) = (share.min(*other), share.max(*other));
        (more > NAMELESS && less < more / 2.0).then_some(*stem)
    };
    of_base.iter().filter_map(differs).collect()
}

/// Which share of the instructions in each object belongs to no named function.
fn nameless_shares<'a>(starts: &[&'a StepCount]) -> HashMap<&'a str, f64> {
    let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
    for function in starts.iter().flat_map(|start| &start.functions) {
        let own: f64 = function.exclusive.iter().filter(|own| own.is_finite()).sum();
        let (nameless, all) = sums.entry(stem(&function.object)).or_default();
        *all += own;
        if is_without_symbols(&function.name, &function.object) {
            *nameless += own;
        }
    }
    sums.into_iter().map(|(stem, (nameless, all))| (stem, nameless / all.max(f64::MIN_POSITIVE))).collect()
}

/// Every function's windows over all starts, and how many windows there are.
fn samples<'a>(
    starts: &[&'a StepCount],
    without_names: &BTreeSet<&str>,
) -> (HashMap<Key<'a>, Samples<'a>>, usize) {
    let mut all: HashMap<Key<'a>, Samples<'a>> = HashMap::new();
    let mut before = 0;
    for start in starts {
        for function in &start.functions {
            let stem = stem(&function.object);
            if without_names.contains(stem) {
                all.entry(Key { name: NO_SYMBOLS, stem }).or_default().add_nameless(function, before);
            } else {
                all.entry(Key { name: &function.name, stem }).or_default().add(function, before);
            }
        }
        before += start.windows.len();
    }
    (all, before)
}

impl<'a> Samples<'a> {
    /// Adds what one start says; there are `before` windows of earlier ones. Functions of one name add up, e.g. static ones.
    fn add(&mut self, function: &'a FunctionCount, before: usize) {
        self.object = &function.object;
        if let Some(file) = &function.file {
            self.source = Some((file, function.line));
        }
        self.callers.extend(function.callers.iter().map(String::as_str));
        add_windows(&mut self.exclusive, &function.exclusive, before);
        add_windows(&mut self.inclusive, &function.inclusive, before);
        add_windows(&mut self.calls, &function.calls, before);
    }

    /// The same of an object's functions, whose names do not count. They call each other, so that only their own instructions add up.
    fn add_nameless(&mut self, function: &'a FunctionCount, before: usize) {
        self.object = &function.object;
        add_windows(&mut self.exclusive, &function.exclusive, before);
        add_windows(&mut self.inclusive, &function.exclusive, before);
    }
}

/// Adds windows of one start to those of all; there are `before` of earlier ones.
fn add_windows(all: &mut Vec<f64>, own: &[f64], before: usize) {
    all.resize(all.len().max(before + own.len()), 0.0);
    for (place, value) in own.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        all[before + place] += value;
    }
}

/// A function's name without its parameters, whose types change with the versions of C++ programs: up to the last pair of parentheses.
pub fn without_parameters(name: &str) -> &str {
    let signature = name.strip_suffix(" const").unwrap_or(name);
    if !signature.ends_with(')') {
        return name;
    }
    let mut depth = 0;
    let opening = signature.char_indices().rev().find(|(_, character)| {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    match opening {
        Some((at, _)) if at > 0 => &signature[..at],
        _ => name,
    }
}

/// The name of an object without version and hash, e.g. `libicuuc` of `libicuuc-1f0a5bc2.so.63`. The loader of glibc had its version in its
/// name up to 2.33, `ld-2.31.so`, and the processor since, `ld-linux-x86-64.so.2`. MariaDB's server was called `mysqld` up to 10.4.
fn stem(object: &str) -> &str {
    if object == "mysqld" {
        return "mariadbd";
    }
    let name = object.split(".so").next().unwrap_or(object);
    if name.starts_with("ld-linux-") {
        return "ld";
    }
    let is_hash = |tail: &str| tail.len() >= 8 && tail.bytes().all(|digit| digit.is_ascii_hexdigit());
    let name = name.rsplit_once('-').filter(|(_, tail)| is_hash(tail)).map_or(name, |(head, _)| head);
    let bare =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-');
    if bare.is_empty() { name } else { bare }
}

/// The median; 0 of nothing.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
    f64::midpoint(at(last / 2), at(sorted.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_the_last_pair_of_parentheses() {
        let names = [
            ("pg_checksum_page", "pg_checksum_page"),
            ("row_sel(sel_node_t*, que_thr_t*)", "row_sel"),
            ("Item_func::val_int() const", "Item_func::val_int"),
            ("Less::operator()(int, void (*)(int))", "Less::operator()"),
            ("(anonymous namespace)::hash", "(anonymous namespace)::hash"),
            ("(no symbols)", "(no symbols)"),
            ("half)", "half)"),
        ];
        for (whole, brief) in names {
            assert_eq!(without_parameters(whole), brief);
        }
    }

    #[test]
    fn versions_of_a_library_are_one_object() {
        assert_eq!(stem("libicuuc-1f0a5bc2.so.63"), "libicuuc");
        assert_eq!(stem("libc.so.6"), "libc");
        assert_eq!(stem("libc-2.31.so"), "libc");
        assert_eq!(stem("mysqld"), stem("mariadbd"));
        assert_eq!((stem("ld-2.31.so"), stem("ld-linux-x86-64.so.2")), ("ld", "ld"));
        assert_eq!(stem("postgres"), "postgres");
        assert_eq!(stem("7.4"), "7.4");
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!([&[][..], &[3.0], &[1.0, 2.0], &[9.0, 1.0, 2.0]].map(median), [0.0, 3.0, 1.5, 2.0]);
    }
}
