use basecase_model::{CountEngine, CountWindow, FunctionCount, OperationClass, StepCount};

use super::*;

/// Instructions of a function window by window, those below it as well, and its calls.
struct Given(&'static str, &'static [f64], f64, f64);

/// What was counted in one start, of functions in `server.c`.
fn start(functions: &[Given]) -> StepCount {
    let windows = functions.first().map_or(0, |function| function.1.len());
    let total = |window: usize| functions.iter().map(|function| function.1[window]).sum::<f64>();
    let window =
        |window| CountWindow { operations: 10, events: 10, instructions: (total(window) * 10.0) as i64 };
    let function = |Given(name, exclusive, below, calls): &Given| FunctionCount {
        name: (*name).into(),
        object: "server".into(),
        file: None,
        line: None,
        exclusive: exclusive.to_vec(),
        inclusive: exclusive.iter().map(|own| own + below).collect(),
        calls: vec![*calls; exclusive.len()],
        callers: Vec::new(),
    };
    StepCount {
        cell: "c".into(),
        step: "s".into(),
        candidate: "a".into(),
        start: 0,
        started_at: "2026-11-24T10:00:00Z".into(),
        engine: CountEngine::Callgrind,
        engine_version: "valgrind-3.19.0".into(),
        failure: None,
        operation: OperationClass::Query,
        windows: (0..windows).map(window).collect(),
        functions: functions.iter().map(function).collect(),
        warnings: Vec::new(),
    }
}

/// Kind, name, merged names and change of each mover, and the names of those that did not move.
type Found = (Vec<(MoverKind, String, Vec<String>, f64)>, Vec<String>);

fn found(base: &[Given], contender: &[Given]) -> (Found, Vec<(String, f64)>) {
    found_among(start(base), start(contender))
}

/// The same where it is known who calls whom: caller and function.
fn found_with(calls: &[(&str, &str)], base: &[Given], contender: &[Given]) -> Found {
    let with_callers = |functions: &[Given]| {
        let mut start = start(functions);
        for function in &mut start.functions {
            let callers = calls.iter().filter(|(_, callee)| *callee == function.name);
            function.callers = callers.map(|(caller, _)| (*caller).to_owned()).collect();
        }
        start
    };
    found_among(with_callers(base), with_callers(contender)).0
}

fn found_among(base: StepCount, contender: StepCount) -> (Found, Vec<(String, f64)>) {
    let (base, contender) = (CellCount::of(&[&base]), CellCount::of(&[&contender]));
    let causes = Causes::of(&base, &contender).unwrap();
    let names = |mover: &Mover<'_>| mover.merged.iter().map(|one| one.name.to_owned()).collect::<Vec<_>>();
    let mover =
        |mover: &Mover<'_>| (mover.kind, mover.function.name.to_owned(), names(mover), mover.change());
    let unmoved = causes.unmoved.iter().map(|mover| mover.function.name.to_owned()).collect();
    let luck = causes.luck.iter().map(|luck| (luck.function.to_owned(), luck.range)).collect();
    ((causes.movers.iter().map(mover).collect(), unmoved), luck)
}

#[test]
fn a_function_that_takes_another_parameter_is_the_same_function() {
    let base = [MAIN, Given("MYSQLparse(THD*)", &[8000.0; 4], 20_000.0, 1.0)];
    let contender =
        |calls| [MAIN, Given("MYSQLparse(THD*, Parse_tree_root**)", &[7000.0; 4], 60_000.0, calls)];
    // Whoever calls it has no name in the base case.
    let called =
        [("(no symbols)", "MYSQLparse(THD*)"), ("THD::sql_parser", "MYSQLparse(THD*, Parse_tree_root**)")];
    let (movers, _) = found_with(&called, &base, &contender(1.0));
    let merged = vec!["MYSQLparse(THD*)".to_owned()];
    assert_eq!(movers, [(MoverKind::Renamed, "MYSQLparse(THD*, Parse_tree_root**)".into(), merged, -1000.0)]);
    let (movers, _) = found_with(&called, &base, &contender(3.0));
    assert_eq!(movers.len(), 2, "called more often, it may be another one: {movers:?}");
}

#[test]
fn a_library_that_has_names_on_one_side_only_is_one_function() {
    let library = |name: &str, functions: &[Given]| {
        let mut start = start(functions);
        let of_library = start.functions.iter_mut().filter(|function| function.name != "main");
        of_library.for_each(|function| function.object = name.into());
        start
    };
    let old = [MAIN, Given("(no symbols)", &[16_000.0; 4], 0.0, 0.0), Given("free", &[6000.0; 4], 0.0, 9.0)];
    let new = |free: &'static [f64; 4]| {
        [
            MAIN,
            Given("memcmp", &[4000.0; 4], 0.0, 50.0),
            Given("malloc", &[12_000.0; 4], 0.0, 9.0),
            Given("free", free, 0.0, 9.0),
        ]
    };
    let found = |free| found_among(library("libc-2.31.so", &old), library("libc.so.6", &new(free))).0;
    let (movers, unmoved) = found(&[2000.0; 4]);
    assert_eq!(movers, [(MoverKind::Changed, "(no symbols)".into(), vec![], -4000.0)]);
    assert_eq!(unmoved, [""; 0]);
    assert_eq!(found(&[6000.0; 4]).0, [], "as much as before");
    // Where both have the same names, they tell more.
    let (movers, _) =
        found_among(library("libc-2.31.so", &new(&[6000.0; 4])), library("libc.so.6", &new(&[2000.0; 4]))).0;
    assert_eq!(movers, [(MoverKind::Changed, "free".into(), vec![], -4000.0)]);
}

const MAIN: Given = Given("main", &[100_000.0; 4], 0.0, 1.0);

#[test]
fn most_of_a_small_change_is_named() {
    let base = [Given("main", &[100_000.0; 2], 0.0, 1.0), Given("halt", &[100.0; 2], 0.0, 1.0)];
    let with = |halt: &'static [f64], step: &'static [f64]| {
        let (found, _) = found(
            &base,
            &[
                Given("main", &[100_000.0; 2], 0.0, 1.0),
                Given("halt", halt, 0.0, 1.0),
                Given("step", step, 0.0, 1.0),
            ],
        );
        found.0.into_iter().map(|(_, name, ..)| name).collect::<Vec<_>>()
    };
    assert_eq!(with(&[190.0; 2], &[0.0; 2]), ["halt"]);
    assert_eq!(with(&[130.0; 2], &[0.0; 2]), [""; 0], "too small");
    assert_eq!(with(&[190.0; 2], &[95_000.0; 2]), ["step"], "of a large change it is little");
}

#[test]
fn functions_come_and_go() {
    let (found, luck) = found(
        &[MAIN, Given("old", &[4_000.0; 4], 0.0, 3.0), Given("same", &[500.0; 4], 0.0, 1.0)],
        &[MAIN, Given("new", &[9_000.0; 4], 0.0, 7.0), Given("same", &[510.0; 4], 0.0, 1.0)],
    );
    let expected = [
        (MoverKind::Came, "new".to_owned(), vec![], 9_000.0),
        (MoverKind::Went, "old".to_owned(), vec![], -4_000.0),
    ];
    assert_eq!(found, (expected.to_vec(), vec![]));
    assert!(luck.is_empty());
}

#[test]
fn what_runs_once_a_session_has_still_gone() {
    let (found, _) =
        found(&[MAIN, Given("old", &[4_000.0; 4], 0.0, 3.0)], &[MAIN, Given("old", &[-0.2; 4], 0.0, 0.0)]);
    assert_eq!(found.0[0].0, MoverKind::Went);
}

#[test]
fn one_session_in_four_is_luck_and_no_version_is_blamed() {
    let lucky = &[420_114.0, 400_000.0, 400_000.0, 400_000.0];
    let (found, luck) =
        found(&[MAIN, Given("strcmp", &[400_000.0; 4], 0.0, 9.0)], &[MAIN, Given("strcmp", lucky, 0.0, 9.0)]);
    assert_eq!(found, (vec![], vec![]));
    assert_eq!(luck, [("strcmp".to_owned(), 20_114.0)]);
}

#[test]
fn a_change_beside_luck_is_told_without_it() {
    let lucky = &[425_000.0, 405_000.0, 405_000.0, 405_000.0];
    let (found, luck) =
        found(&[MAIN, Given("strcmp", &[400_000.0; 4], 0.0, 9.0)], &[MAIN, Given("strcmp", lucky, 0.0, 9.0)]);
    assert_eq!(found.0, [(MoverKind::Changed, "strcmp".to_owned(), vec![], 5_000.0)]);
    assert_eq!(luck, [("strcmp".to_owned(), 20_000.0)]);
}

#[test]
fn a_function_with_another_name_is_no_mover() {
    let old = || Given("ExecScanFetch", &[7_000.0; 4], 12_000.0, 100.0);
    let (grown, _) =
        found(&[MAIN, old()], &[MAIN, Given("ExecScanFetchNew", &[8_500.0; 4], 12_000.0, 100.0)]);
    let expected =
        (MoverKind::Renamed, "ExecScanFetchNew".to_owned(), vec!["ExecScanFetch".to_owned()], 1_500.0);
    assert_eq!(grown.0, [expected]);
    let (other, _) = found(&[MAIN, old()], &[MAIN, Given("ExecScanFetchNew", &[7_050.0; 4], 0.0, 6.0)]);
    assert_eq!(other.0.len(), 2, "called less often, and by itself");
    let typed = |name| Given(name, &[7_000.0; 4], 0.0, 100.0);
    let (same, _) = found(&[MAIN, typed("store(char*, unsigned)")], &[MAIN, typed("store(String const&)")]);
    assert_eq!(same, (vec![], vec!["store(String const&)".to_owned()]), "with other parameters");
    let (other, _) = found(&[MAIN, typed("JOIN::prepare()")], &[MAIN, typed("JOIN::flatten()")]);
    assert_eq!(other.0.len(), 2, "of one class");
}

#[test]
fn a_function_without_a_likeness_in_name_has_the_same_caller() {
    let base = [MAIN, Given("ExecScanFetch", &[7_000.0; 4], 12_000.0, 100.0)];
    let contender = [MAIN, Given("next", &[7_050.0; 4], 12_000.0, 100.0)];
    let found = |callers: &[&str]| {
        let calls: Vec<_> = callers.iter().copied().zip(["ExecScanFetch", "next"]).collect();
        found_with(&calls, &base, &contender)
    };
    assert_eq!(found(&["main", "main"]), (vec![], vec!["next".to_owned()]));
    assert_eq!(found(&["main", "sort"]).0.len(), 2);
    assert_eq!(found(&[]).0.len(), 2, "it is not known who calls them");
    let other = [MAIN, Given("next", &[7_250.0; 4], 12_000.0, 100.0)];
    let once = |name| [MAIN, Given(name, &[7_000.0; 4], 0.0, 1.0)];
    let calls = [("main", "find_item"), ("main", "copy_buffer")];
    let apart = found_with(&calls, &once("find_item"), &once("copy_buffer"));
    assert_eq!(apart.0.len(), 2, "much is called once an operation");
    assert_eq!(found_with(&[("main", "ExecScanFetch"), ("main", "next")], &base, &other).0.len(), 2);
}

#[test]
fn an_inlined_function_belongs_to_its_caller() {
    let caller = |own: &'static [f64], below| Given("deform", own, below, 100.0);
    let base = [MAIN, caller(&[20_000.0; 4], 6_000.0), Given("fetch", &[6_000.0; 4], 0.0, 400.0)];
    let calls = [("deform", "fetch")];
    let inlined = found_with(&calls, &base, &[MAIN, caller(&[25_900.0; 4], 0.0)]);
    assert_eq!(inlined, (vec![], vec!["deform".to_owned()]));
    let outlined = found_with(&calls, &[MAIN, caller(&[25_900.0; 4], 0.0)], &base);
    assert_eq!(outlined, (vec![], vec!["deform".to_owned()]));
    // The caller executes more in all, so it did not just take over the other's work.
    let apart = found_with(&calls, &base, &[MAIN, caller(&[35_000.0; 4], 0.0)]);
    assert_eq!(apart.0.len(), 2, "{apart:?}");
    // Numbers alone do not make a caller: they fit as well if another function calls it, or it is not known which.
    for calls in [&[("main", "fetch")][..], &[]] {
        let apart = found_with(calls, &base, &[MAIN, caller(&[25_900.0; 4], 0.0)]);
        assert_eq!(apart.0.len(), 2, "{apart:?}");
    }
}

#[test]
fn what_an_inlined_function_calls_may_be_inlined_with_it() {
    let base = [
        MAIN,
        Given("deform", &[20_000.0; 4], 8_000.0, 100.0),
        Given("fetch", &[2_000.0; 4], 6_000.0, 400.0),
        Given("align", &[6_000.0; 4], 0.0, 400.0),
    ];
    let calls = [("deform", "fetch"), ("fetch", "align")];
    let inlined = found_with(&calls, &base, &[MAIN, Given("deform", &[28_200.0; 4], 0.0, 100.0)]);
    let merged = vec!["fetch".to_owned(), "align".to_owned()];
    assert_eq!(inlined.0, [(MoverKind::Inlined, "deform".to_owned(), merged, 200.0)]);
}

#[test]
fn functions_of_one_large_file_that_do_not_call_each_other_are_not_one() {
    // As in SQLite 3.45.0 and 3.54.1, all of which is one file: one of these grew, the other went, and both run once a query.
    let in_one_file = |functions: &[Given]| {
        let mut start = start(functions);
        start.functions.iter_mut().for_each(|function| function.file = Some("sqlite3.c".into()));
        start
    };
    let bind = |own| Given("sqlite3_bind_int64", own, 120.0, 1.0);
    let step = Given("sqlite3_step", &[4_000.0; 4], 0.0, 1.0);
    let base = [step, bind(&[60.0; 4]), Given("sqlite3BtreeGetMeta", &[58.0; 4], 0.0, 1.0)];
    let contender = [Given("sqlite3_step", &[4_000.0; 4], 0.0, 1.0), bind(&[81.0; 4])];
    let (found, _) = found_among(in_one_file(&base), in_one_file(&contender));
    let names: Vec<_> =
        found.0.iter().map(|(kind, name, merged, _)| (*kind, name.as_str(), merged.len())).collect();
    assert_eq!(
        names,
        [(MoverKind::Went, "sqlite3BtreeGetMeta", 0), (MoverKind::Changed, "sqlite3_bind_int64", 0)]
    );
    // Nor did one take the place of another whose numbers are like its own only by chance.
    let base = [MAIN, Given("sqlite3BtreeGetMeta", &[400.0; 4], 0.0, 1.0)];
    let contender = [MAIN, Given("vdbeColumnFromOverflow", &[405.0; 4], 0.0, 1.0)];
    let (found, _) = found_among(in_one_file(&base), in_one_file(&contender));
    assert_eq!(found.0.len(), 2, "{found:?}");
}

#[test]
fn a_caller_may_take_over_several_and_save_something() {
    let base = [
        MAIN,
        Given("deform", &[20_000.0; 4], 8_000.0, 100.0),
        Given("fetch", &[6_000.0; 4], 0.0, 400.0),
        Given("align", &[2_000.0; 4], 0.0, 400.0),
    ];
    let calls = [("deform", "fetch"), ("deform", "align")];
    let inlined = found_with(&calls, &base, &[MAIN, Given("deform", &[27_400.0; 4], 0.0, 100.0)]);
    let merged = vec!["fetch".to_owned(), "align".to_owned()];
    assert_eq!(inlined.0, [(MoverKind::Inlined, "deform".to_owned(), merged, -600.0)]);
}

#[test]
fn inlining_may_save_most_of_a_function_that_its_caller_always_calls() {
    // As ExecScanFetch and ExecScan in Postgres 17.11 and 18.6.
    let scan = |own, below, calls| Given("ExecScan", own, below, calls);
    let fetch = || Given("ExecScanFetch", &[2_346.0; 4], 68_110.0, 102.0);
    let (before, after) = (&[2_958.0; 4], &[3_570.0; 4]);
    let (inlined, _) =
        found(&[MAIN, scan(before, 71_374.0, 102.0), fetch()], &[MAIN, scan(after, 70_190.0, 102.0)]);
    let merged = vec!["ExecScanFetch".to_owned()];
    assert_eq!(inlined.0, [(MoverKind::Inlined, "ExecScan".to_owned(), merged, -1_734.0)]);
    let (apart, _) =
        found(&[MAIN, scan(before, 71_374.0, 51.0), fetch()], &[MAIN, scan(after, 70_190.0, 51.0)]);
    assert_eq!(apart.0.len(), 2, "{apart:?}");
}

#[test]
fn functions_that_run_once_an_operation_are_no_parts_of_each_other() {
    let (found, _) = found(
        &[MAIN, Given("heap_search", &[5_000.0; 4], 40_000.0, 1.0)],
        &[
            MAIN,
            Given("heap_search", &[4_000.0; 4], 41_000.0, 1.0),
            Given("do_pruning", &[1_000.0; 4], 0.0, 1.0),
        ],
    );
    assert_eq!(found.0.len(), 2, "{found:?}");
}

#[test]
fn hardware_counters_know_no_functions() {
    let mut bare = start(&[MAIN]);
    bare.functions.clear();
    let cell = CellCount::of(&[&bare]);
    assert!(Causes::of(&cell, &cell).is_none());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// What a function executes on both sides, window by window.
    type Sides = (Vec<f64>, Vec<f64>);

    /// Any functions; some are only on one side.
    fn functions() -> impl Strategy<Value = Vec<Sides>> {
        let windows = || prop_oneof![Just(vec![0.0; 3]), prop::collection::vec(0.0..50_000.0f64, 3)];
        prop::collection::vec((windows(), windows()), 1..30)
    }

    proptest! {
        #[test]
        fn movers_and_luck_are_the_whole_change(functions in functions()) {
            let side = |of: &dyn Fn(&Sides) -> Vec<f64>| {
                let mut count = start(&[Given("main", &[100_000.0; 3], 0.0, 1.0)]);
                for (number, function) in functions.iter().enumerate() {
                    let exclusive = of(function);
                    count.functions.push(FunctionCount {
                        name: format!("f{number}"),
                        inclusive: exclusive.clone(),
                        calls: vec![1.0; 3],
                        exclusive,
                        ..count.functions[0].clone()
                    });
                }
                for (number, window) in count.windows.iter_mut().enumerate() {
                    let total: f64 = count.functions.iter().map(|function| function.exclusive[number]).sum();
                    window.instructions = (10.0 * total) as i64;
                }
                count
            };
            let (base, contender) = (side(&|one| one.0.clone()), side(&|one| one.1.clone()));
            let (base, contender) = (CellCount::of(&[&base]), CellCount::of(&[&contender]));
            let causes = Causes::of(&base, &contender).unwrap();
            let moved: f64 = causes.movers.iter().map(Mover::change).sum();
            // What is below the least change of a mover is left out.
            let left_out = SHOWN_SHARE * causes.base * functions.len() as f64 + 1.0;
            prop_assert!((moved + causes.by_chance - causes.change()).abs() <= left_out);
            for mover in &causes.movers {
                prop_assert!(mover.change().abs() >= LEAST_SHARE * causes.base);
            }
            let again = Causes::of(&base, &contender).unwrap();
            prop_assert_eq!(again.movers, causes.movers, "the order of a hash map does not matter");
        }
    }
}
