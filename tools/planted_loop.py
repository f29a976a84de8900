"""The loop that is planted into SQLite, the size it has, and how libraries with it are compiled and counted."""
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import tomllib

from planted_work import HEAD, LOOPS, cells

TOOLS = pathlib.Path(__file__).resolve().parent
FLAGS, STEP, ROWS = "-O1", "range-covered-pk", 2000
# What is planted, and how much of an operation's instructions is left of it by the second change of a pair.
SHARE, LEFT = 0.03, 0.01
# How far a size by counts may be off, in points.
TOLERANCE = 0.2
COUNT_LIMIT_S = 580


def loop(turns):
    """What is planted: nothing without turns."""
    text, spoiled = LOOPS[platform.machine()]
    return f'\n__asm__ volatile("{text.format(turns=turns)}" ::: {spoiled});'.encode() if turns else b""


def loop_place(text):
    head = HEAD.encode()
    if text.count(head) != 1:
        sys.exit(f"the amalgamation has not {HEAD!r} once")
    return text.index(head) + len(head)


def workload(step):
    return ["--workload", "microbenchmarks", "--rows", str(ROWS), "--list", step]


def compiled(folder, text, headers):
    """SQLite as a library, as basecase's recipe compiles it; None if it does not compile."""
    path = folder / "lib" / "libsqlite3.so"
    if path.exists():
        return f"path:{path}"
    path.parent.mkdir(parents=True, exist_ok=True)
    (folder / "sqlite3.c").write_bytes(text)
    recipe = tomllib.loads((TOOLS.parent / "recipes" / "source" / "sqlite.toml").read_text())
    words = [word for each in recipe["argument"] for word in each["text"].split()]
    words = ["gcc", *words, *FLAGS.split(), "-w", f"-I{headers}", "-o", path, folder / "sqlite3.c", "-lpthread", "-ldl", "-lm"]
    is_compiled = subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0
    return f"path:{path}" if is_compiled else None


def counted(program, folder, candidates, step):
    """The counts of a step, in the order of the candidates."""
    folder.mkdir(parents=True, exist_ok=True)
    # The path of a server's socket must be short.
    with tempfile.TemporaryDirectory(prefix="pc-") as data:
        os.chmod(data, 0o755)
        places = ["--store", folder / "store", "--out", folder / "out", "--data", data]
        words = [program, "count", *candidates, *workload(step), *places, "--json"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=COUNT_LIMIT_S)
    if ran.returncode != 0:
        sys.exit(f"cannot count {', '.join(candidates)}: {ran.stderr[-2000:]}")
    counts = list(cells(json.loads(ran.stdout)).values())
    if len(counts) != 1:
        sys.exit(f"the counts of {step} are not those of one step: {ran.stdout[-2000:]}")
    return counts[0]


def calibrated(program, folder, name, candidate, step):
    """Instructions of an operation of a step without the loop, counted once."""
    file = folder / "calibration.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if name not in known:
        known[name] = counted(program, folder / f"calibration-{name}", [candidate()], step)[0]["instructions"]
        file.write_text(json.dumps(known))
    return known[name]


def turns_of(share, instructions):
    return round((share * instructions - 1) / 2)
