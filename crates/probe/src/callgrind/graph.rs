//! Who called whom, as callgrind tells it: each clone and each level of recursion by itself.

use std::collections::HashMap;
use std::path::Path;

use super::name::plain;
use super::{CountedCall, CountedFunction, NO_SYMBOLS};

/// What valgrind calls an object or a file that it does not know.
const UNKNOWN: &str = "???";

/// Functions and calls of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CallGraph {
    places: HashMap<FunctionKey, u32>,
    pub(super) functions: Vec<Function>,
    calls: HashMap<(u32, u32), Calls>,
    /// The calls once more, in an order that is the same for the same file.
    pub(super) edges: Vec<Edge>,
    objects: Vec<String>,
    files: Vec<String>,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FunctionKey {
    object: Option<u32>,
    file: Option<u32>,
    name: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    key: FunctionKey,
    /// Its own instructions.
    pub(super) own: u64,
    /// The first line that is told; 0 if unknown. Blocks of code are told in the order of their addresses, so it is where the function
    /// begins. The smallest line may be of a function of the same file that was inlined.
    line: u32,
    /// Whether it stands for calls of a function within itself.
    is_recursion: bool,
    /// The merged function that it belongs to.
    group: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Calls {
    count: u64,
    instructions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) caller: usize,
    pub(super) callee: usize,
    pub(super) calls: u64,
    pub(super) instructions: u64,
}

impl CallGraph {
    /// The place of a function, which is new if it was not told before.
    pub(super) fn function(&mut self, object: Option<u32>, file: Option<u32>, name: u32) -> u32 {
        let key = FunctionKey { object, file, name };
        // There are no more than names, of which there are fewer than 2³², by files; a file on disk has fewer lines.
        let next = self.functions.len() as u32;
        *self.places.entry(key).or_insert_with(|| {
            self.functions.push(Function { key, own: 0, line: 0, is_recursion: false, group: 0 });
            next
        })
    }

    pub(super) fn is_of_file(&self, function: u32, file: u32) -> bool {
        self.functions[function as usize].key.file == Some(file)
    }

    pub(super) fn add_own(&mut self, function: u32, instructions: u64, line: u32) {
        let function = &mut self.functions[function as usize];
        function.own = function.own.saturating_add(instructions);
        if function.line == 0 {
            function.line = line;
        }
    }

    pub(super) fn add_call(&mut self, caller: u32, callee: u32, count: u64, instructions: u64) {
        let calls = self.calls.entry((caller, callee)).or_default();
        calls.count = calls.count.saturating_add(count);
        calls.instructions = calls.instructions.saturating_add(instructions);
    }

    /// Names everything, once all of the file is read, and puts together what is one function.
    pub(super) fn name(&mut self, objects: Vec<String>, files: Vec<String>, names: Vec<String>) {
        (self.objects, self.files, self.names) = (objects, files, names);
        self.places = HashMap::new();
        let calls = std::mem::take(&mut self.calls);
        self.edges = calls
            .into_iter()
            .map(|((caller, callee), calls)| Edge {
                caller: caller as usize,
                callee: callee as usize,
                calls: calls.count,
                instructions: calls.instructions,
            })
            .collect();
        self.edges.sort_unstable_by_key(|edge| (edge.caller, edge.callee));
        self.group();
    }

    /// A clone belongs to the function of its name in its object. There may be several of that name, in different files; then it is
    /// that of its own file.
    fn group(&mut self) {
        let mut groups: HashMap<(Option<u32>, String, Option<u32>), u32> = HashMap::new();
        let mut files: HashMap<(Option<u32>, String), Vec<Option<u32>>> = HashMap::new();
        for clones in [false, true] {
            for function in &mut self.functions {
                let FunctionKey { object, file, name } = function.key;
                let written = &self.names[name as usize];
                let (name, is_recursion) = plain(written);
                let is_clone = written.split('\'').next() != Some(name);
                if is_clone != clones {
                    continue;
                }
                function.is_recursion = is_recursion;
                let known = files.entry((object, name.to_owned())).or_default();
                let file = match known.as_slice() {
                    _ if name == NO_SYMBOLS => None,
                    [only] if is_clone => *only,
                    _ => file,
                };
                if !known.contains(&file) {
                    known.push(file);
                }
                let next = groups.len() as u32;
                function.group = *groups.entry((object, name.to_owned(), file)).or_insert(next);
            }
        }
    }

    /// All instructions.
    pub(super) fn instructions(&self) -> u64 {
        self.functions.iter().fold(0, |sum, function| sum.saturating_add(function.own))
    }

    /// Which functions have a name that means one of those.
    pub(super) fn functions_named(&self, is_it: impl Fn(&str) -> bool) -> Vec<bool> {
        let named: Vec<bool> = self.names.iter().map(|name| is_it(plain(name).0)).collect();
        self.functions.iter().map(|function| named[function.key.name as usize]).collect()
    }

    /// Which functions are in an object.
    pub(super) fn functions_in(&self, object: &Path) -> Vec<bool> {
        let inside: Vec<bool> = self.objects.iter().map(|name| Path::new(name) == object).collect();
        let is_inside = |function: &Function| function.key.object.is_some_and(|at| inside[at as usize]);
        self.functions.iter().map(is_inside).collect()
    }

    /// Functions as people know them, those with the most own instructions first, and the calls between them.
    pub(super) fn merged(&self) -> (Vec<CountedFunction>, Vec<CountedCall>) {
        self.merged_by(&vec![1.0; self.functions.len()], &vec![1.0; self.edges.len()])
    }

    /// The same of a part: how much of each function and of each call belongs to it.
    pub(super) fn merged_by(
        &self,
        shares: &[f64],
        edge_shares: &[f64],
    ) -> (Vec<CountedFunction>, Vec<CountedCall>) {
        let mut merged = self.groups();
        for (function, share) in self.functions.iter().zip(shares) {
            let group = &mut merged[function.group as usize];
            let own = shared(function.own, *share);
            group.exclusive = group.exclusive.saturating_add(own);
            if !function.is_recursion {
                group.inclusive = group.inclusive.saturating_add(own);
            }
        }
        let mut calls: HashMap<(u32, u32), Calls> = HashMap::new();
        for (edge, share) in self.edges.iter().zip(edge_shares) {
            let (caller, callee) = (&self.functions[edge.caller], &self.functions[edge.callee]);
            let (from, to) = (caller.group, callee.group);
            let (count, instructions) = (shared(edge.calls, *share), shared(edge.instructions, *share));
            let of_caller = shared(edge.instructions, shares[edge.caller]);
            if !caller.is_recursion {
                let inclusive = &mut merged[from as usize].inclusive;
                *inclusive = inclusive.saturating_add(of_caller);
            }
            if from != to {
                let called = &mut merged[to as usize].calls;
                *called = called.saturating_add(count);
                let between = calls.entry((from, to)).or_default();
                between.count = between.count.saturating_add(count);
                if !callee.is_recursion {
                    between.instructions = between.instructions.saturating_add(instructions);
                }
            } else if !callee.is_recursion {
                // A clone within its function: part of what the function counts already.
                let inclusive = &mut merged[to as usize].inclusive;
                *inclusive = inclusive.saturating_sub(of_caller);
            }
        }
        self.enclose_unnamed(&mut merged, shares, edge_shares);
        in_order(merged, calls)
    }

    /// Functions without symbols call each other all the time: what their object counts with what they called has its calls from one to
    /// another only once.
    fn enclose_unnamed(&self, merged: &mut [CountedFunction], shares: &[f64], edge_shares: &[f64]) {
        let unnamed = merged.iter_mut().enumerate().filter(|(_, function)| function.name == NO_SYMBOLS);
        for (group, function) in unnamed {
            let is_member = |function: &Function| function.group as usize == group;
            let members: Vec<bool> = self.functions.iter().map(is_member).collect();
            function.inclusive = self.enclosed(&members, shares, edge_shares);
        }
    }

    /// The merged functions without counts.
    fn groups(&self) -> Vec<CountedFunction> {
        let count = self.functions.iter().map(|function| function.group as usize + 1).max().unwrap_or(0);
        let mut merged: Vec<Option<CountedFunction>> = vec![None; count];
        for function in &self.functions {
            let FunctionKey { object, file, name: full } = function.key;
            let told = |names: &[String], at: Option<u32>| at.map(|at| names[at as usize].clone());
            let (name, _) = plain(&self.names[full as usize]);
            let group = merged[function.group as usize].get_or_insert_with(|| CountedFunction {
                name: name.to_owned(),
                object: told(&self.objects, object).unwrap_or_else(|| UNKNOWN.to_owned()),
                file: told(&self.files, file).filter(|file| file != UNKNOWN && name != NO_SYMBOLS),
                line: None,
                exclusive: 0,
                inclusive: 0,
                calls: 0,
            });
            let line = Some(function.line).filter(|line| *line > 0 && group.file.is_some());
            // A clone or a deeper level of a recursion begins elsewhere.
            let is_whole = self.names[full as usize] == name;
            group.line = if is_whole { line.or(group.line) } else { group.line.or(line) };
        }
        merged.into_iter().flatten().collect()
    }
}

/// Sorts functions by what they executed themselves, and leaves out those with nothing at all.
fn in_order(
    functions: Vec<CountedFunction>,
    calls: HashMap<(u32, u32), Calls>,
) -> (Vec<CountedFunction>, Vec<CountedCall>) {
    let is_any =
        |function: &CountedFunction| (function.exclusive, function.inclusive, function.calls) != (0, 0, 0);
    let mut order: Vec<(usize, CountedFunction)> =
        functions.into_iter().enumerate().filter(|(_, function)| is_any(function)).collect();
    order.sort_by(|(_, left), (_, right)| {
        let key = |function: &CountedFunction| {
            (std::cmp::Reverse(function.exclusive), std::cmp::Reverse(function.inclusive))
        };
        let names = |one: &CountedFunction| (one.name.clone(), one.object.clone(), one.file.clone());
        key(left).cmp(&key(right)).then_with(|| names(left).cmp(&names(right)))
    });
    let places: HashMap<usize, usize> =
        order.iter().enumerate().map(|(place, (group, _))| (*group, place)).collect();
    let mut between: Vec<CountedCall> = calls
        .into_iter()
        .filter_map(|((caller, callee), calls)| {
            Some(CountedCall {
                caller: *places.get(&(caller as usize))?,
                callee: *places.get(&(callee as usize))?,
                calls: calls.count,
                instructions: calls.instructions,
            })
        })
        .filter(|call| (call.calls, call.instructions) != (0, 0))
        .collect();
    between.sort_unstable_by_key(|call| (call.caller, call.callee));
    (order.into_iter().map(|(_, function)| function).collect(), between)
}

/// A share of a count, rounded.
pub(super) fn shared(count: u64, share: f64) -> u64 {
    if share >= 1.0 { count } else { (count as f64 * share).round() as u64 }
}
