//! Small files, one that callgrind wrote, and damaged ones.

use std::io::Write;

use proptest::prelude::*;

use super::*;

/// A thread of a program in C with recursion of one function and of two, `-g -O1`, by callgrind 3.19. Two threads of the program had the
/// number 2, one after the other.
const THREAD: &str = include_str!("thread.out");

/// The extended example of the manual.
const MANUAL: &str = "# callgrind format\n\
    events: Instructions Ir\n\
    fl=(1) file1.c\nfn=(1) main\n16 1 20\n\
    cfn=(2) func1\ncalls=1 50\n16 1 400\n\
    cfi=(2) file2.c\ncfn=(3) func2\ncalls=3 20\n16 1 400\n\
    fn=(2)\n51 1 100\ncfi=(2)\ncfn=(3)\ncalls=2 20\n51 1 300\n\
    fl=(2)\nfn=(3)\n20 1 700\n";

fn read(text: &[u8]) -> Result<CallgrindProfile, CallgrindError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    CallgrindProfile::read(file.path())
}

fn counted(profile: &CallgrindProfile) -> Vec<(&str, u64, u64, u64)> {
    of(&profile.functions)
}

fn of(functions: &[CountedFunction]) -> Vec<(&str, u64, u64, u64)> {
    let one = |function: &'_ CountedFunction| (function.exclusive, function.inclusive, function.calls);
    functions
        .iter()
        .map(|function| {
            let (exclusive, inclusive, calls) = one(function);
            (function.name.as_str(), exclusive, inclusive, calls)
        })
        .collect()
}

fn problem(text: &str) -> String {
    let error = read(text.as_bytes()).unwrap_err().to_string();
    let (_, said) = error.split_once(": ").unwrap();
    let from = said.find(", line").or_else(|| said.find(": ")).unwrap();
    said[from..].trim_start_matches([',', ':', ' ']).to_owned()
}

#[test]
fn the_example_of_the_manual() {
    let profile = read(MANUAL.as_bytes()).unwrap();
    assert_eq!(profile.instructions, 820);
    assert_eq!(counted(&profile), [("func2", 700, 700, 5), ("func1", 100, 400, 1), ("main", 20, 820, 0)]);
    let func2 = &profile.functions[0];
    assert_eq!(
        (func2.file.as_deref(), func2.line, func2.object.as_str()),
        (Some("file2.c"), Some(20), "???")
    );
    let call = |caller, callee, calls, instructions| CountedCall { caller, callee, calls, instructions };
    assert_eq!(profile.calls, [call(1, 0, 2, 300), call(2, 0, 3, 400), call(2, 1, 1, 400)]);
}

#[test]
fn a_thread_as_callgrind_wrote_it() {
    let profile = read(THREAD.as_bytes()).unwrap();
    assert_eq!((profile.process, profile.thread, profile.part), (24029, Some(2), Some(1)));
    assert_eq!((profile.command.as_str(), profile.instructions), ("./recursion", 3994));
    // As `callgrind_annotate` and `callgrind_annotate --inclusive=yes` say, once levels of recursion are put together by hand.
    let seen = counted(&profile);
    for expected in [
        ("fib", 2343, 2343, 3),
        ("even", 852, 1008, 12),
        ("odd", 156, 795, 12),
        ("dispatch_command", 45, 3396, 3),
        ("start_thread", 231, 3980, 2),
        (NO_SYMBOLS, 4, 16, 4),
    ] {
        assert!(seen.contains(&expected), "{expected:?}");
    }
    assert_eq!(seen.iter().map(|function| function.1).sum::<u64>(), 3994);
    let fib = &profile.functions[0];
    assert_eq!((fib.line, fib.object.as_str()), (Some(12), "/home/user/recursion"));
}

#[test]
fn what_one_function_did_with_what_it_called() {
    let profile = read(THREAD.as_bytes()).unwrap();
    let part = profile.within_function(|name| name == "dispatch_command");
    assert_eq!((part.instructions, part.calls), (3396, 3));
    assert_eq!(
        of(&part.functions),
        [
            ("fib", 2343, 2343, 3),
            ("even", 852, 1008, 12),
            ("odd", 156, 795, 12),
            ("dispatch_command", 45, 3396, 3)
        ]
    );
    // Of two that call each other, what the outer one did counts once.
    let part = profile.within_function(|name| ["even", "odd"].contains(&name));
    assert_eq!((part.instructions, part.calls), (1008, 3));
    let nothing = profile.within_function(|_| false);
    assert_eq!((nothing.instructions, nothing.calls, nothing.functions), (0, 0, vec![]));
}

#[test]
fn what_one_library_did_with_what_it_called_elsewhere() {
    let text = "events: Ir\n\
        ob=(1) /bin/client\nfn=(1) main\n1 10\n\
        cob=(2) /lib/sqlite.so\ncfn=(2) step\ncalls=2 0\n1 600\n\
        cob=(3) /lib/libc.so\ncfn=(4) memcpy\ncalls=1 0\n1 40\n\
        ob=(2)\nfn=(2)\n1 100\n\
        cob=(3)\ncfn=(3) qsort\ncalls=2 0\n1 400\n\
        cob=(3)\ncfn=(4)\ncalls=5 0\n1 100\n\
        ob=(3)\nfn=(3)\n1 150\n\
        cob=(2)\ncfn=(5) compare\ncalls=9 0\n1 250\n\
        ob=(2)\nfn=(5)\n1 190\n\
        cob=(3)\ncfn=(4)\ncalls=9 0\n1 60\n\
        ob=(3)\nfn=(4)\n1 200\n";
    let profile = read(text.as_bytes()).unwrap();
    let part = profile.within_object(Path::new("/lib/sqlite.so"));
    // Both calls of `step`, with what `qsort` called back.
    assert_eq!((part.instructions, part.calls), (600, 2));
    assert_eq!(
        of(&part.functions),
        [("compare", 190, 250, 9), ("memcpy", 160, 160, 14), ("qsort", 150, 400, 2), ("step", 100, 600, 2)]
    );
    let name = |place: usize| part.functions[place].name.as_str();
    let calls: Vec<_> =
        part.inner_calls.iter().map(|call| (name(call.caller), name(call.callee), call.calls)).collect();
    assert_eq!(
        calls,
        [("compare", "memcpy", 9), ("qsort", "compare", 9), ("step", "memcpy", 5), ("step", "qsort", 2)]
    );
}

#[test]
fn clones_count_as_their_function_and_static_functions_of_one_name_do_not() {
    let text = "events: Ir\nob=(1) a\n\
        fl=(1) a.c\nfn=(1) f\n9 10\ncfn=(2) f.part.0\ncalls=3 12\n9 60\n\
        fn=(2)\n12 60\n\
        fl=(2) a.h\nfn=(3) f.cold\n2 5\n\
        fl=(3) b.c\nfn=(4) g\n7 1\n\
        fl=(4) c.c\nfn=(5) g\n7 2\n";
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(counted(&profile), [("f", 75, 75, 0), ("g", 2, 2, 0), ("g", 1, 1, 0)]);
    assert_eq!(profile.functions[0].line, Some(9));
    assert!(profile.calls.is_empty());
}

#[test]
fn inlined_code_counts_for_the_function_and_not_for_its_line() {
    let text = "positions: instr line\nevents: Dr Ir\nob=(1) a\nfl=(1) a.c\nfn=(1) f\n\
        0x10 40 1 10\n+4 * 1 2\nfi=(2) a.h\n+4 -37 0 5\njcnd=1/3 +4 +1\n* *\nfe=(1)\n+2 +36 0 7\njump=1 0x30 50\n* *\n\
        jfi=(3) b.h\njfn=(2) g\njump=1 0x90 1\n* *\n\
        cfi=(3)\ncfn=(2)\ncalls=1 0x90 1\n* * 3 30\n\
        fl=(3)\nfn=(2)\n0x90 1 3 30\ntotals: 9 54\n";
    let profile = read(text.as_bytes()).unwrap();
    assert_eq!(counted(&profile), [("g", 30, 30, 1), ("f", 24, 54, 0)]);
    assert_eq!(profile.functions[1].line, Some(40));
}

#[test]
fn parts_of_a_file_are_added() {
    let one = "part: 1\nthread: 4\nevents: Ir\nsummary: 9\nfl=(1) a.c\nfn=(1) f\n3 9\ntotals: 9\n";
    let other = "part: 2\nthread: 4\nevents: Dr Ir\nsummary: 1 2\nfl=(1) a.c\nfn=(1) f\n3 1 2\ntotals: 1 2\n";
    let profile = read(format!("pid: 7\n{one}\npid: 7\n{other}").as_bytes()).unwrap();
    assert_eq!((profile.process, profile.thread, profile.part), (7, Some(4), None));
    assert_eq!(counted(&profile), [("f", 11, 11, 0)]);
}

#[test]
fn damage_is_named_by_file_and_line() {
    let told = [
        ("", "it is empty\n"),
        ("hello: world\n", "it does not say which events it counts\n"),
        ("events: Dr\n", "line 1: its events are `Dr`, without Ir\n"),
        ("events: Ir\n3 9\n", "line 2: a count before the first `fn=`\n"),
        ("events: Ir\nfn=(1)\n", "line 2: (1) stands for a name that the file has not told\n"),
        ("events: Ir\nfn=f\n+1 x\n", "line 3: `+1 x` is no line of callgrind\n"),
        ("events: Ir\nfn=f\n-1 5\n", "line 3: `-1 5` is no line of callgrind\n"),
        ("events: Ir\nfn=f\nnonsense\n", "line 3: `nonsense` is no line of callgrind\n"),
        ("events: Ir\nfn=f\nzz=1\n", "line 3: `zz=1` is no line of callgrind\n"),
        ("events: Ir\nfn=f\ncalls=x 1\n", "line 3: `calls=x 1` is no line of callgrind\n"),
        ("events: Ir\nfn=f\ncalls=1 1\n1 1\n", "line 4: a count before the first `fn=`\n"),
        (
            "events: Ir\nsummary: 5\nfn=f\n1 5\n",
            "line 4: it ends before its totals, so callgrind did not finish it\n",
        ),
        (
            "events: Ir\nfn=f\n1 5\ntotals: 6\n",
            "line 4: its functions have 5 instructions together, but its totals say 6\n",
        ),
        ("positions: a b c d\n", "line 1: `a b c d` is no line of callgrind\n"),
    ];
    for (text, expected) in told {
        let said = problem(text);
        assert!(said.starts_with(expected), "{text:?}: {said}");
        assert!(said.contains("\nhint: "), "{said}");
    }
    let error = CallgrindProfile::read(Path::new("/no/such/file")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read what callgrind counted: /no/such/file: No such file"), "{error}");
}

#[test]
fn a_line_without_end_is_refused() {
    let mut text = b"events: Ir\nfn=".to_vec();
    text.resize(3 << 20, b'x');
    let error = read(&text).unwrap_err();
    assert!(
        matches!(error, CallgrindError { line: 2, problem: CallgrindProblem::TooLong { .. }, .. }),
        "{error}"
    );
}

#[test]
fn a_file_that_is_cut_anywhere_is_no_whole_file() {
    let totals = THREAD.find("totals:").unwrap();
    for end in (0..totals).step_by(7) {
        assert!(read(&THREAD.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

/// Lines of which files are made, right and wrong.
fn line() -> impl Strategy<Value = String> {
    let number = || prop_oneof![Just(0_u64), 1..9_u64, any::<u64>()];
    let kind = prop::sample::select(vec![
        "ob", "fl", "fi", "fe", "fn", "cob", "cfi", "cfl", "cfn", "jfi", "jfn", "xx",
    ]);
    let name = prop::sample::select(vec![
        "f", "f'2", "g", "0x12", "0x12'2", "f.part.0", "", "g@@V_1", "\u{fffd}", "'",
    ]);
    prop_oneof![
        4 => (kind, 0..4_u8, name).prop_map(|(kind, id, name)| format!("{kind}=({id}) {name}")),
        4 => (prop::sample::select(vec!["", "+", "-", "*"]), number(), number()).prop_map(|(sign, position, count)| {
            if sign == "*" { format!("* {count}") } else { format!("{sign}{position} {count}") }
        }),
        3 => (number(), number()).prop_map(|(calls, line)| format!("calls={calls} {line}")),
        1 => prop::sample::select(vec!["events: Ir", "positions: instr line", "summary: 3", "totals: 3", "thread: 1", "jump=1 2", "#", ""])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn whatever_is_read_adds_up(lines in prop::collection::vec(line(), 0..60)) {
        let head = "events: Ir\nob=(0) o\nfl=(0) a\nfn=(0) f\nfn=(1) g\nfn=(2) f'2\nfn=(3) 0x4\nob=(1) p\nob=(2) q\nob=(3) r\n";
        // Lines that are refused are left out, so that long files come about.
        let mut text = head.to_owned();
        for line in lines {
            let longer = format!("{text}{line}\n");
            if read(longer.as_bytes()).is_ok() {
                text = longer;
            }
        }
        let profile = read(text.as_bytes()).unwrap();
        let sum = |functions: &[CountedFunction]| {
            functions.iter().fold(0_u64, |sum, function| sum.saturating_add(function.exclusive))
        };
        prop_assert_eq!(sum(&profile.functions), profile.instructions);
        for call in &profile.calls {
            prop_assert!(call.caller < profile.functions.len() && call.callee < profile.functions.len());
        }
        for part in [profile.within_function(|name| name == "f"), profile.within_object(Path::new("p"))] {
            prop_assert!(sum(&part.functions) <= profile.instructions.saturating_add(profile.functions.len() as u64));
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(at in 0..THREAD.len(), bytes in prop::collection::vec(any::<u8>(), 0..12), removed in 0..40_usize) {
        let mut text = THREAD.as_bytes().to_vec();
        let end = (at + removed).min(text.len());
        text.splice(at..end, bytes);
        if let Ok(profile) = read(&text) {
            prop_assert_eq!(profile.functions.iter().map(|function| function.exclusive).sum::<u64>(), profile.instructions);
            profile.within_function(|name| name == "dispatch_command");
        }
    }
}
