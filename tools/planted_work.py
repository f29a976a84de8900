#!/usr/bin/env python3
"""Whether a loop of known length, planted into one function of SQLite, is found by counts: its size and its function.

Compiles SQLite from an amalgamation as it is, counts three steps, and compiles it three times more with a loop at the start of
sqlite3VdbeHalt, which each statement calls once. The loops are 0.1, 0.5 and 2 % of an operation of the first step, and other shares of
the other steps. Then all four are counted, and each change is held against the length of its loop. Ends with 1 where one was not found.

usage: planted_work.py BASECASE FOLDER_WITH_SQLITE3_C FOLDER [ROWS], which goes on in FOLDER if it was stopped
       e.g. target/release/basecase ~/.cargo/registry/src/*/libsqlite3-sys-0.40.0/sqlite3 /tmp/planted
"""
import json
import pathlib
import platform
import subprocess
import sys

FUNCTION = "sqlite3VdbeHalt"
HEAD = f"SQLITE_PRIVATE int {FUNCTION}(Vdbe *p){{"
STEPS = ["range-covered-pk", "read-only-sum", "update-index"]
SHARES = [0.001, 0.005, 0.02]
# The smallest change that the counts are to call one, and how far a size may be off, in points.
DETECT, TOLERANCE = 0.05, 0.05
LOOPS = {
    "x86_64": ("mov ${turns},%%ecx\\n1: dec %%ecx\\njnz 1b", '"ecx","cc"'),
    "aarch64": ("mov w9,#{turns}\\n1: subs w9,w9,#1\\nb.ne 1b", '"w9","cc"'),
}


def length(turns):
    """Instructions of a loop."""
    return 1 + 2 * turns


def library(source, folder, turns):
    """SQLite as a library, with a loop of so many turns if there are any."""
    path = folder / "libsqlite3.so"
    if path.exists():
        return f"path:{path}"
    text = (source / "sqlite3.c").read_text()
    if text.count(HEAD) != 1:
        sys.exit(f"{source}/sqlite3.c has not {HEAD!r} once")
    if turns:
        loop, spoiled = LOOPS[platform.machine()]
        text = text.replace(HEAD, f'{HEAD}\n__asm__ volatile("{loop.format(turns=turns)}" ::: {spoiled});')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sqlite3.c").write_text(text)
    # All alike: a call of one's own functions must not go by way of others.
    flags = "-O2 -g -w -shared -fPIC -Wl,-Bsymbolic -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_USE_URI"
    subprocess.run(["cc", *flags.split(), f"-I{source}", "-o", path, folder / "sqlite3.c", "-lm"], check=True)
    return f"path:{path}"


def counted(program, folder, candidates, rows):
    """The report of counts as JSON."""
    words = ["count", *candidates, "--workload", "microbenchmarks", "--list", ",".join(STEPS), "--tables", "1"]
    words += ["--rows", rows, "--counts-engine", "callgrind", "--counts-detect", f"{DETECT}%", "--json"]
    places = [word for name in ("store", "out", "data") for word in (f"--{name}", folder / name)]
    return json.loads(subprocess.run([program, *words, *places], check=True, stdout=subprocess.PIPE).stdout)


def cells(report):
    """The counts of each step, by its name, in the order of the candidates."""
    return {step["step"]: [cell["count"] for cell in step["cells"]] for step in report["steps"] if step["cells"][0].get("count")}


def main():
    program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).absolute()
    rows = sys.argv[4] if len(sys.argv) > 4 else "20000"
    base = library(source, folder / "base", 0)
    first = next(iter(cells(counted(program, folder, [base], rows)).values()))[0]["instructions"]
    turns = [round((share * first - 1) / 2) for share in SHARES]
    planted = [library(source, folder / f"turns-{each}", each) for each in turns]
    missed = 0
    print("step                          planted            found   apart  verdict     first function")
    for step, (before, *after) in cells(counted(program, folder, [base, *planted], rows)).items():
        for each, count in zip(turns, after):
            true, found = 100 * length(each) / before["instructions"], 100 * (count["ratio"] - 1)
            half = 50 * (count["interval"][1] - count["interval"][0])
            movers = count["causes"]["movers"] if count["causes"] else []
            name = movers[0]["function"] if movers else "–"
            is_found = count["verdict"] == "more_work" and name == FUNCTION and abs(found - true) < TOLERANCE
            # A loop below the smallest change is none.
            missed += not is_found and true > DETECT
            print(f"{step:26} {length(each):4} {true:7.3f} % {found:7.3f} ±{half:.3f} % {found - true:+7.3f}  {count['verdict']:11} {name}")
    print(f"{missed} missed")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
