//! From counts of sessions to windows: what the longer of two sessions did beyond the shorter one.

use std::collections::BTreeMap;
use std::path::Path;

use basecase_model::{CountWindow, FunctionCount};
use basecase_probe::{CallgrindProfile, CountedCall, CountedFunction, CountedPart};

/// Instructions per operation below which a function is left out.
const LEAST: f64 = 0.005;

/// What one session, or several of one step, did.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SessionCount {
    pub(super) operations: u64,
    pub(super) events: u64,
    pub(super) instructions: u64,
    functions: BTreeMap<(String, String), Function>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Function {
    file: Option<String>,
    line: Option<u32>,
    exclusive: u64,
    inclusive: u64,
    calls: u64,
    /// How often each function called it, by name.
    callers: BTreeMap<String, u64>,
}

impl Function {
    fn merge(&mut self, other: &Function) {
        self.file = self.file.take().or_else(|| other.file.clone());
        self.line = self.line.or(other.line);
        self.exclusive += other.exclusive;
        self.inclusive += other.inclusive;
        self.calls += other.calls;
        for (caller, calls) in &other.callers {
            *self.callers.entry(caller.clone()).or_default() += calls;
        }
    }
}

impl SessionCount {
    /// A session that has executed so many operations in so many events, of which nothing is counted yet.
    pub(super) fn of(operations: u64, events: u64) -> Self {
        SessionCount { operations, events, ..SessionCount::default() }
    }

    /// A session of which only the number of instructions is known.
    pub(super) fn of_instructions(instructions: u64) -> Self {
        SessionCount { instructions, ..SessionCount::default() }
    }

    /// Adds what another session did, without its operations.
    pub(super) fn merge(&mut self, other: &SessionCount) {
        self.instructions += other.instructions;
        for (key, function) in &other.functions {
            self.functions.entry(key.clone()).or_default().merge(function);
        }
    }

    /// Adds what one process or thread of the session did.
    pub(super) fn add(&mut self, profile: &CallgrindProfile) {
        self.instructions += profile.instructions;
        self.add_functions(&profile.functions, &profile.calls);
    }

    /// Adds what a part of a process or thread did.
    pub(super) fn add_part(&mut self, part: &CountedPart) {
        self.instructions += part.instructions;
        self.add_functions(&part.functions, &part.inner_calls);
    }

    /// Takes away what a part of a process did.
    pub(super) fn subtract_part(&mut self, part: &CountedPart) {
        self.instructions = self.instructions.saturating_sub(part.instructions);
        for function in &part.functions {
            if let Some(sum) = self.functions.get_mut(&key_of(function)) {
                sum.exclusive = sum.exclusive.saturating_sub(function.exclusive);
                sum.inclusive = sum.inclusive.saturating_sub(function.inclusive);
                sum.calls = sum.calls.saturating_sub(function.calls);
            }
        }
        for (caller, callee, calls) in named(&part.functions, &part.inner_calls) {
            let sum = self.functions.get_mut(&key_of(callee));
            if let Some(sum) = sum.and_then(|sum| sum.callers.get_mut(&caller.name)) {
                *sum = sum.saturating_sub(calls);
            }
        }
    }

    fn add_functions(&mut self, functions: &[CountedFunction], calls: &[CountedCall]) {
        for function in functions {
            self.functions.entry(key_of(function)).or_default().merge(&Function {
                file: function.file.clone(),
                line: function.line,
                exclusive: function.exclusive,
                inclusive: function.inclusive,
                calls: function.calls,
                callers: BTreeMap::new(),
            });
        }
        for (caller, callee, calls) in named(functions, calls) {
            let callers = &mut self.functions.entry(key_of(callee)).or_default().callers;
            *callers.entry(caller.name.clone()).or_default() += calls;
        }
    }
}

/// Calls as caller, callee and how often.
fn named<'a>(
    functions: &'a [CountedFunction],
    calls: &'a [CountedCall],
) -> impl Iterator<Item = (&'a CountedFunction, &'a CountedFunction, u64)> {
    calls
        .iter()
        .filter_map(|call| Some((functions.get(call.caller)?, functions.get(call.callee)?, call.calls)))
}

/// A function's name and the file name of its object.
fn key_of(function: &CountedFunction) -> (String, String) {
    let object = Path::new(&function.object).file_name().unwrap_or_default();
    (function.name.clone(), object.to_string_lossy().into_owned())
}

/// The windows between pairs of sessions, of which the second executed more, and what each function did in them. A pair of which the
/// second executed no more operations is `None`.
pub(super) fn windows(pairs: &[[SessionCount; 2]]) -> Option<(Vec<CountWindow>, Vec<FunctionCount>)> {
    let operations = |[shorter, longer]: &[SessionCount; 2]| {
        longer.operations.checked_sub(shorter.operations).filter(|operations| *operations > 0)
    };
    let mut windows = Vec::with_capacity(pairs.len());
    let mut functions: BTreeMap<&(String, String), FunctionCount> = BTreeMap::new();
    for (number, pair) in pairs.iter().enumerate() {
        let operations = operations(pair)?;
        let [shorter, longer] = pair;
        let instructions = longer.instructions as i64 - shorter.instructions as i64;
        let events = longer.events.saturating_sub(shorter.events);
        windows.push(CountWindow { operations, events, instructions });
        for (session, sign) in [(longer, 1.0), (shorter, -1.0)] {
            for (key, function) in &session.functions {
                let count = functions.entry(key).or_insert_with(|| FunctionCount {
                    name: key.0.clone(),
                    object: key.1.clone(),
                    file: function.file.clone(),
                    line: function.line,
                    exclusive: vec![0.0; pairs.len()],
                    inclusive: vec![0.0; pairs.len()],
                    calls: vec![0.0; pairs.len()],
                    callers: Vec::new(),
                });
                let per_operation = |sum: u64| sign * sum as f64 / operations as f64;
                count.exclusive[number] += per_operation(function.exclusive);
                count.inclusive[number] += per_operation(function.inclusive);
                count.calls[number] += per_operation(function.calls);
            }
        }
        for (key, function) in &longer.functions {
            let before = shorter.functions.get(key).map(|function| &function.callers);
            let is_of_window = |(caller, calls): &(&String, &u64)| {
                let before = before.and_then(|callers| callers.get(*caller)).copied().unwrap_or(0);
                calls.saturating_sub(before) as f64 >= LEAST * operations as f64
            };
            let callers = function.callers.iter().filter(is_of_window).map(|(caller, _)| caller.clone());
            if let Some(count) = functions.get_mut(key) {
                count.callers.extend(callers);
            }
        }
    }
    for function in functions.values_mut() {
        function.callers.sort_unstable();
        function.callers.dedup();
    }
    let counts = |values: &[f64]| values.iter().any(|value| value.abs() >= LEAST);
    let functions = functions.into_values().filter(|one| counts(&one.exclusive) || counts(&one.inclusive));
    Some((windows, functions.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(operations: u64, functions: &[(&str, u64)]) -> SessionCount {
        let mut session = SessionCount::of(operations, operations);
        for (name, exclusive) in functions {
            session.instructions += exclusive;
            let function =
                Function { exclusive: *exclusive, inclusive: *exclusive, calls: 1, ..Function::default() };
            session.functions.insert(((*name).to_owned(), "postgres".to_owned()), function);
        }
        session
    }

    #[test]
    fn what_both_sessions_did_is_in_no_window() {
        let pairs = [
            [
                session(10, &[("connect", 500), ("scan", 100)]),
                session(30, &[("connect", 500), ("scan", 300)]),
            ],
            [
                session(10, &[("connect", 500), ("scan", 100)]),
                session(30, &[("connect", 500), ("scan", 302), ("sort", 4)]),
            ],
        ];
        let (windows, functions) = windows(&pairs).unwrap();
        let per_operation: Vec<f64> = windows.iter().map(CountWindow::per_operation).collect();
        assert_eq!(per_operation, [10.0, 10.3]);
        let told: Vec<(&str, &[f64])> =
            functions.iter().map(|one| (one.name.as_str(), one.exclusive.as_slice())).collect();
        assert_eq!(told, [("scan", &[10.0, 10.1][..]), ("sort", &[0.0, 0.2][..])]);
    }

    #[test]
    fn callers_are_those_of_the_window() {
        let called = |connecting: u64, scanning: u64| {
            let mut session = session(scanning, &[("copy", 10 * (connecting + scanning))]);
            let callers = [("connect".to_owned(), connecting), ("scan".to_owned(), scanning)];
            session.functions.values_mut().for_each(|function| function.callers = callers.clone().into());
            session
        };
        let (_, functions) =
            windows(&[[called(90, 10), called(90, 30)], [called(91, 10), called(91, 30)]]).unwrap();
        assert_eq!(functions[0].callers, ["scan"]);
    }

    #[test]
    fn without_functions_there_are_windows_all_the_same() {
        let session = |operations, instructions| SessionCount {
            operations,
            events: operations,
            instructions,
            ..SessionCount::default()
        };
        let (windows, functions) = windows(&[[session(10, 1_500), session(30, 3_500)]]).unwrap();
        assert_eq!(windows, [CountWindow { operations: 20, events: 20, instructions: 2_000 }]);
        assert!(functions.is_empty());
    }

    #[test]
    fn sessions_of_the_same_length_make_no_window() {
        assert_eq!(windows(&[[session(10, &[]), session(10, &[])]]), None);
    }
}
