//! How much work an operation is, in words.

use std::collections::BTreeSet;

use basecase_analysis::{
    Causes, CellCount, Counts, Effect, FunctionWork, Luck, Mover, MoverKind, Results, TimeChange, Work,
    WorkSummary, percent, percent_of_logarithm, without_parameters,
};
use basecase_model::{CandidateFacts, CountEngine, OperationClass};
use basecase_stats::{Agreement, Qualifier, Verdict, WorkVerdict};

use super::{EffectWords as _, first, grouped, margin};

/// What valgrind calls the file of code that belongs to none it knows.
const UNKNOWN_OBJECT: &str = "???";
/// Most functions named as merged with another.
const MERGED: usize = 3;
/// Most functions whose luck is told.
const LUCK: usize = 3;
/// Most warnings' places named.
const PLACES: usize = 3;

/// A number of instructions, e.g. `319,414`; below a hundred with a decimal.
pub(crate) fn instructions(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.abs() {
        size if size < 99.95 && (size - size.round()).abs() >= 0.05 => format!("{sign}{size:.1}"),
        size => format!("{sign}{}", grouped(size.round() as u64)),
    }
}

/// The same with its sign, e.g. `+6,741`.
pub(crate) fn instructions_changed(value: f64) -> String {
    let text = instructions(value);
    if value > 0.0 { format!("+{text}") } else { text }
}

/// What a share is of a whole, e.g. `112 %`.
pub(crate) fn share(share: Option<f64>) -> String {
    share.map(|share| format!("{:.0} %", 100.0 * share)).unwrap_or_default()
}

/// What one operation is, e.g. `query`.
pub(crate) fn operation_of(counts: &Counts<'_>, step: usize) -> &'static str {
    operation_word(counts.cell(step, 0).and_then(CellCount::operation))
}

/// What one operation of a class is, e.g. `query`.
pub(crate) fn operation_word(operation: Option<OperationClass>) -> &'static str {
    match operation {
        Some(OperationClass::Insert) => "inserted row",
        Some(OperationClass::Delete) => "deleted row",
        Some(OperationClass::Query) => "query",
        Some(OperationClass::Build) | None => "operation",
    }
}

/// A ratio of work in per cent, e.g. `+1.92`.
pub(crate) fn work_percent(effect: &Effect) -> String {
    super::percent_text(effect.ratio, 2)
}

/// Half the width of its interval in points, e.g. `±0.02`.
pub(crate) fn work_error(effect: &Effect) -> String {
    effect.half_interval(2).unwrap_or_else(|| super::UNKNOWN.to_owned())
}

/// What is decided about work, e.g. `7.5 % more work`, or `0.37 % more work, at least 0.20 %`; of no change only the words.
pub(crate) fn work_words(work: &Work) -> String {
    let size = percent(work.effect().ratio).abs();
    match work.verdict() {
        WorkVerdict::MoreWork | WorkVerdict::LessWork => {
            let least = match work.decision.qualifier {
                Some(Qualifier::AtLeast(least)) => {
                    format!(", at least {}", rounded(percent_of_logarithm(least)))
                }
                _ => String::new(),
            };
            format!("{} {}{least}", rounded(size), work.verdict().as_str())
        }
        WorkVerdict::SameWork | WorkVerdict::NotEnoughData => work.verdict().as_str().to_owned(),
    }
}

/// A size in per cent with two digits that tell, e.g. `7.5 %` or `0.63 %`.
fn rounded(size: f64) -> String {
    if size < 0.995 { format!("{size:.2} %") } else { format!("{size:.1} %") }
}

/// The answer in a sentence for each contender.
pub(crate) fn answers(results: &Results<'_>) -> Vec<String> {
    let base = results.experiment.candidates.first().map_or("", |facts| facts.name.0.as_str());
    let line = |(candidate, facts): (usize, &CandidateFacts)| {
        Some(format!("{base} → {}: {}", facts.name, work_answer(results, candidate)?))
    };
    results.candidates().skip(1).filter_map(line).collect()
}

/// The answer on a contender; `None` if nothing of it was counted.
pub(crate) fn work_answer(results: &Results<'_>, candidate: usize) -> Option<String> {
    let counts = results.counts?;
    let summary = counts.summary(candidate);
    (summary != WorkSummary::default()).then(|| answer(results, counts, candidate, summary))
}

/// E.g. `3 of 32 steps need more work, most range 1.9 % (pg_checksum_page); 5 need less, …; 24 the same`.
fn answer(results: &Results<'_>, counts: &Counts<'_>, candidate: usize, summary: WorkSummary) -> String {
    let WorkSummary { more, less, same, open, failed } = summary;
    let most = |verdict| {
        let changes = counts.changes();
        let work = changes.iter().find(|work| work.candidate == candidate && work.verdict() == verdict)?;
        let label = &results.experiment.steps.get(work.step)?.label;
        let causes = counts.causes(work.step, candidate);
        let function = causes.as_ref().and_then(Causes::largest).map(|mover| brief_name(&mover.function));
        let function = function.map(|name| format!(" ({name})")).unwrap_or_default();
        Some(format!(", most {label} {}{function}", rounded(percent(work.effect().ratio).abs())))
    };
    let named = |count: usize, verb: &str, verdict| {
        (count > 0).then(|| format!("{count} {verb}{}", most(verdict).unwrap_or_default()))
    };
    let of_all = |count: usize| {
        let all = summary.judged();
        let (steps, verb) =
            (if all == 1 { "step" } else { "steps" }, if count == 1 { "needs" } else { "need" });
        format!("of {all} {steps} {verb}")
    };
    let parts = [
        named(more, &format!("{} more work", of_all(more)), WorkVerdict::MoreWork),
        named(
            less,
            &if more > 0 { "less".to_owned() } else { format!("{} less work", of_all(less)) },
            WorkVerdict::LessWork,
        ),
        (same > 0).then(|| {
            if more + less > 0 {
                format!("{same} the same")
            } else {
                format!("{same} {} the same work", of_all(same))
            }
        }),
        (open > 0).then(|| format!("{open} without enough data")),
        (failed > 0).then(|| format!("{failed} could not be counted")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// How a step's work and its times agree, e.g. `7.5 % more work; 6.1 % slower (5.2–7.0 %), so the work explains it`; `None` without both.
pub(crate) fn agreement(results: &Results<'_>, step: usize, candidate: usize) -> Option<String> {
    let work = results.work(step, candidate)?;
    let TimeChange { effect, verdict } = results.time_change(step, candidate)?;
    let Some(agreement) = results.agreement(step, candidate) else {
        return Some(format!(
            "{}; {} in single runs, which carry no verdict",
            work_words(work),
            single(&effect)
        ));
    };
    let (time, conclusion) = match agreement {
        Agreement::WorkExplains => (effect.difference(), ", so the work explains it"),
        Agreement::WorkExplainsPart => (effect.difference(), ", so the work explains a part of it"),
        Agreement::SameWorkSlower | Agreement::SameWorkFaster | Agreement::LessWorkSlower => {
            (effect.difference(), ": waiting, caches or the kernel (see costs)")
        }
        Agreement::MoreWorkFaster => {
            (effect.difference(), " all the same: waiting, caches or the kernel (see costs)")
        }
        Agreement::MoreWorkNotSlower | Agreement::LessWorkNotFaster => {
            ("no change in time".to_owned(), ": kernel and client have their part of it")
        }
        Agreement::BothSame => ("no change in time".to_owned(), ""),
        Agreement::MoreWorkTimeOpen | Agreement::LessWorkTimeOpen => {
            ("not enough data on time".to_owned(), "")
        }
        Agreement::Open => (format!("{} in time", verdict.map(Verdict::as_str).unwrap_or_default()), ""),
    };
    Some(format!("{}; {time}{conclusion}", work_words(work)))
}

fn single(effect: &Effect) -> String {
    let word = if effect.ratio < 1.0 { "slower" } else { "faster" };
    format!("{:.1} % {word}", percent(effect.ratio).abs())
}

/// Where a function is, e.g. `checksum_impl.h:187`.
pub(crate) fn place(function: &FunctionWork<'_>) -> String {
    let file = function.file.map(|file| file.rsplit('/').next().unwrap_or(file));
    match (file, function.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => String::new(),
    }
}

/// A function's name; of an object without symbols, the object's.
pub(crate) fn function_name(function: &FunctionWork<'_>) -> String {
    match function.object {
        UNKNOWN_OBJECT if function.is_without_symbols() => "code of no known file".to_owned(),
        object if function.is_without_symbols() => format!("all of {object}"),
        _ => function.name.to_owned(),
    }
}

/// The same in a sentence that has other things to tell: a name of C++ without its parameters.
pub(crate) fn brief_name(function: &FunctionWork<'_>) -> String {
    if function.is_without_symbols() {
        function_name(function)
    } else {
        without_parameters(function.name).to_owned()
    }
}

/// What became of a function, e.g. `new`, or `with fetch_att inlined`; empty if it only changed.
pub(crate) fn what_became(mover: &Mover<'_>) -> String {
    let merged: Vec<String> = mover.merged.iter().map(function_name).collect();
    let merged = first(&merged, MERGED);
    match mover.kind {
        MoverKind::Changed => String::new(),
        MoverKind::Came => "new".to_owned(),
        MoverKind::Went => "gone".to_owned(),
        MoverKind::Renamed => format!("was {merged}"),
        MoverKind::Inlined => format!("{merged} inlined"),
        MoverKind::Outlined => format!("{merged} no longer inlined"),
    }
}

/// A mover as part of a sentence, e.g. `pg_checksum_page 0 → 6,741 (new, checksum_impl.h:187), 112 % of the change`.
pub(crate) fn mover_sentence(causes: &Causes<'_>, mover: &Mover<'_>) -> String {
    let asides: Vec<String> =
        [what_became(mover), place(&mover.function)].into_iter().filter(|aside| !aside.is_empty()).collect();
    let asides = if asides.is_empty() { String::new() } else { format!(" ({})", asides.join(", ")) };
    let share = match share(causes.share(mover)) {
        text if text.is_empty() => text,
        text => format!(", {text} of the change"),
    };
    format!(
        "{} {} → {}{asides}{share}",
        function_name(&mover.function),
        instructions(mover.base()),
        instructions(mover.contender())
    )
}

/// The function that accounts for most of a change, e.g. `pg_checksum_page +6,741`; `None` if there is none of its direction.
pub(crate) fn largest_mover(causes: &Causes<'_>) -> Option<String> {
    causes.largest().map(mover_change)
}

/// A function with the change of its own instructions, e.g. `pg_checksum_page +6,741`.
pub(crate) fn mover_change(mover: &Mover<'_>) -> String {
    format!("{} {}", function_name(&mover.function), instructions_changed(mover.change()))
}

/// The functions that are counted as one with others; `None` if none is.
pub(crate) fn merged_note(causes: &Causes<'_>) -> Option<String> {
    let is_merged = |mover: &&Mover<'_>| !mover.merged.is_empty();
    let merged: Vec<String> = causes.movers.iter().filter(is_merged).map(as_one).collect();
    (!merged.is_empty()).then(|| format!("Counted as one: {}.", first(&merged, MERGED)))
}

/// What else there is to say of a step's functions: luck, other names, objects without symbols.
pub(crate) fn cause_notes(results: &Results<'_>, causes: &Causes<'_>, candidate: usize) -> Vec<String> {
    let name = |number: usize| results.experiment.candidates.get(number).map_or("", |facts| &facts.name.0);
    let luck = |luck: &Luck<'_>| {
        let of = if luck.is_of_base { 0 } else { candidate };
        format!("{} by {} on {}", luck.function, instructions(luck.range), name(of))
    };
    let mut notes = Vec::new();
    notes.extend(merged_note(causes));
    if !causes.luck.is_empty() {
        let named: Vec<String> = causes.luck.iter().map(luck).collect();
        notes.push(format!(
            "Luck, not the version: between sessions of one candidate differ {}.",
            first(&named, LUCK)
        ));
    }
    if !causes.unmoved.is_empty() {
        let named: Vec<String> = causes.unmoved.iter().map(as_one).collect();
        notes.push(format!("Only moved, with about the same work: {}.", first(&named, MERGED)));
    }
    notes
}

/// What varies between sessions of one candidate, a line for each step, the largest first.
pub(crate) fn luck_lines(results: &Results<'_>, counts: &Counts<'_>) -> Vec<String> {
    let line = |(step, candidate, luck): (usize, usize, Luck<'_>)| {
        let whole = counts.instructions(step, candidate).unwrap_or(f64::NAN);
        let range = instructions(luck.range);
        let place = cell_name(results, (step, candidate));
        format!("{} by {range} ({:.2} %), {place}", luck.function, 100.0 * luck.range / whole)
    };
    counts.luck().into_iter().map(line).collect()
}

/// A function and what is put together with it, e.g. `deform (fetch_att inlined)`.
fn as_one(mover: &Mover<'_>) -> String {
    format!("{} ({})", function_name(&mover.function), what_became(mover))
}

/// What counted, how often, how well it repeats, and what is not in it.
pub(crate) fn how_counted(results: &Results<'_>, counts: &Counts<'_>) -> String {
    let cells = || {
        counts
            .steps()
            .flat_map(|step| results.candidates().filter_map(move |(one, _)| counts.cell(step, one)))
    };
    let counted = || cells().filter(|cell| !cell.starts.is_empty());
    let levels = |values: Vec<usize>| match (values.iter().min(), values.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "0".to_owned(),
    };
    let starts = levels(counted().map(|cell| cell.starts.len()).collect());
    let windows = levels(counted().map(|cell| cell.windows().len()).collect());
    let spreads = counts.spreads();
    let spread = match (spreads.get(spreads.len() / 2), spreads.last()) {
        (Some(median), Some(most)) => format!(
            " Windows of one candidate scatter by {:.3} % at the median step and {:.3} % at most (standard deviation).",
            100.0 * median,
            100.0 * most
        ),
        _ => String::new(),
    };
    let versions = if counts.engine_versions.is_empty() {
        "unknown".to_owned()
    } else {
        counts.engine_versions.join(", ")
    };
    let left_out = match counts.left_out {
        0 => String::new(),
        count => format!(" Left out: {count} counts of another engine, which are never compared with these."),
    };
    let nodes = nodes_left_out(counts.nodes_left_out).map(|text| format!(" {text}")).unwrap_or_default();
    let nameless: Vec<&str> =
        counts.without_symbols().into_iter().filter(|object| *object != UNKNOWN_OBJECT).collect();
    let nameless = match first(&nameless, PLACES) {
        names if names.is_empty() => names,
        names => format!(" Without symbols, so without names of functions: {names}."),
    };
    let refusal = counts
        .refusal
        .as_ref()
        .map(|refusal| format!(" They cannot be judged: {refusal}"))
        .unwrap_or_default();
    format!(
        "Instructions in user mode of the session's process or thread, counted by {} ({versions}): {windows} {} in {starts} {} of \
         each server, each the difference between a longer and a shorter session. A change below {} does not matter.{spread} Not \
         counted: {}.{nameless}{left_out}{nodes}{refusal}",
        counts.engine,
        if windows == "1" { "window" } else { "windows" },
        if starts == "1" { "start" } else { "starts" },
        margin(counts.margin),
        not_counted(counts.engine)
    )
}

fn not_counted(engine: CountEngine) -> &'static str {
    match engine {
        CountEngine::Callgrind => {
            "time, the kernel, storage, caches, waiting and other sessions, and other processes of the server. Libraries \
             cannot use AVX-512 meanwhile"
        }
        CountEngine::Hardware => {
            "time, the kernel, storage, caches, waiting and other sessions, and other processes of the server"
        }
    }
}

/// Which nodes' counts are not among those that are told; `None` if all are.
pub fn nodes_left_out(nodes: &BTreeSet<u32>) -> Option<String> {
    let names: Vec<String> = nodes.iter().map(u32::to_string).collect();
    let (nodes, machines) = match names.len() {
        0 => return None,
        1 => ("node", "whose machine is"),
        _ => ("nodes", "whose machines are"),
    };
    let names = names.join(", ");
    Some(format!("Left out: the counts of {nodes} {names}, {machines} of another kind."))
}

/// Why cells could not be counted, one line each.
pub(crate) fn count_failures(results: &Results<'_>, counts: &Counts<'_>) -> Vec<String> {
    let line = |((step, candidate), reason): ((usize, usize), &str)| {
        format!("{}: {reason}", cell_name(results, (step, candidate)))
    };
    counts.failures().into_iter().map(line).collect()
}

/// The warnings of counts with where they hold.
pub(crate) fn count_warnings(results: &Results<'_>, counts: &Counts<'_>) -> Vec<String> {
    let line = |(text, places): (&str, Vec<(usize, usize)>)| {
        let places: Vec<String> = places.into_iter().map(|place| cell_name(results, place)).collect();
        format!("{text} ({})", first(&places, PLACES))
    };
    counts.warnings().into_iter().map(line).collect()
}

fn cell_name(results: &Results<'_>, (step, candidate): (usize, usize)) -> String {
    let step = results.experiment.steps.get(step).map_or("", |facts| &facts.label);
    let candidate = results.experiment.candidates.get(candidate).map_or("", |facts| &facts.name.0);
    format!("{candidate} on {step}")
}
