#!/usr/bin/env python3
"""Whether `bisect` names the commit that made a step slower, in repositories in which one is planted.

Each search gets a repository of its own: 300 commits on SQLite's amalgamation that change comments, blanks, unrelated functions, tests
and documentation. A fifth does not compile, nor do 60 in a row. One commit plants a loop of 3 % of an operation in a function that each
statement calls; with --pairs a later one takes two thirds of it away; with --unchanged none does. An answer is right if it names the
narrowest range of commits that can be built, with the size that was planted. Ends with 1 where one is not.

usage: planted_commits.py BASECASE FOLDER [--source FOLDER_WITH_SQLITE3_C] [--searches 20] [--pairs 10] [--unchanged 25]
                          [--in-broken-range 5] [--times 5] [--commits 300] [--counts] [--seed 1] [-- WORDS FOR BISECT]
       planted_commits.py BASECASE FOLDER --check | --published | --postgres [--archive FILE]
       which goes on in FOLDER if it was stopped. --counts decides all but --times by counts.
       e.g. tools/planted_commits.py target/release/basecase /tmp/planted --searches 20 --counts
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import planted_check
from planted_judgement import tallied
from planted_loop import FLAGS, LEFT, SHARE, STEP, calibrated, compiled, turns_of, workload
from planted_work import FUNCTION, length
from postgres_repository import archive_of, versions, write_postgres
from sqlite_repository import COMMITS, newest_source, write_planted, write_published

SEARCH_LIMIT_S = 1800
TALLIED = ["searches", "exact", "range", "none", "wrong", "above_allowed_builds", "seconds"]


def planted_turns(kind, instructions):
    """Turns of the loop from each planted commit on."""
    if kind == "unchanged":
        return []
    return [turns_of(share, instructions) for share in ([SHARE, LEFT] if kind == "pair" else [SHARE])]


def searched(program, folder, hashes, arguments, by_counts, is_unchanged):
    """The answer of `bisect` as JSON, or what it said instead, and its seconds."""
    words = [program, "bisect", f"git:{folder / 'repository'}", f"{hashes[0]}..{hashes[-1]}", *workload(STEP)]
    words += ["--build-flags", FLAGS, "--json"]
    words += ["--counts"] if by_counts else []
    words += ["--even-if-equal"] if is_unchanged else []
    words += ["--store", folder / "store", "--data", folder / "data", "--out", folder / "report", *arguments.words]
    began = time.monotonic()
    with open(folder / "messages.txt", "w") as messages:
        # A group of its own: what it started ends with it.
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=messages, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=arguments.limit)
        except subprocess.TimeoutExpired:
            return {"error": f"no answer within {arguments.limit} s"}, time.monotonic() - began
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    seconds = time.monotonic() - began
    (folder / "answer.json").write_bytes(output)
    try:
        return json.loads(output), seconds
    except ValueError:
        last = (folder / "messages.txt").read_text(errors="replace").strip().splitlines()[-1:]
        return {"error": f"exit code {process.returncode}: {' '.join(last)}"}, seconds


def search(arguments, folder, name, kind, by_counts, instructions):
    """One search in its own folder; its row is kept there."""
    place = folder / name
    row_file = place / "row.json"
    if row_file.exists():
        return json.loads(row_file.read_text())
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    began, plan_file = time.monotonic(), place / "plan.json"
    if not plan_file.exists():
        turns = planted_turns(kind, instructions)
        plan = write_planted(place / "repository", arguments.source, f"{arguments.seed} {name}", turns, kind == "in-broken-range", arguments.commits)
        plan_file.write_text(json.dumps(plan))
    plan, wrote_s = json.loads(plan_file.read_text()), time.monotonic() - began
    answer, seconds = searched(arguments.basecase, place, plan["hashes"], arguments, by_counts, kind == "unchanged")
    words = tallied(plan, answer, instructions, by_counts)
    changes = answer.get("changes", [])
    row = {
        "name": name, "kind": kind, "by": "counts" if by_counts else "time", "places": plan["places"], "words": words,
        "is_right": all(word in ("exact", "range", "none") for word in words),
        "builds": answer.get("builds", {}).get("made"), "failed": answer.get("builds", {}).get("failed"),
        "allowed": math.floor(2 * math.log2(arguments.commits)) * max(1, len(plan["places"])),
        "is_function_named": [FUNCTION in [each["function"] for each in change.get("movers") or []] for change in changes],
        "ratios": [change["ratio"] for change in changes], "seconds": round(seconds, 1), "writing_seconds": round(wrote_s, 1),
    }
    shutil.rmtree(place / "data", ignore_errors=True)
    # Without an answer the search is begun again the next time.
    if "error" not in answer:
        row_file.write_text(json.dumps(row))
    return row


def print_row(row):
    sizes = ", ".join(f"{100 * (ratio - 1):+.2f} %" for ratio in row["ratios"]) or "–"
    places = ",".join(map(str, row["places"])) or "–"
    builds = "–" if row["builds"] is None else f"{row['builds']} ({row['failed']} failed) of {row['allowed']}"
    answer = f"{row['seconds']:7.1f} s  {'; '.join(row['words'])}"
    print(f"{row['name']:20} {row['by']:6} {places:9} {sizes:18} {builds:22} {answer}", flush=True)


def tally(rows):
    """Counts of the answers, for each kind of search and what decided it."""
    totals = {}
    for row in rows:
        total = totals.setdefault(f"{row['kind']} by {row['by']}", dict.fromkeys(TALLIED, 0))
        total["searches"] += 1
        total["seconds"] = round(total["seconds"] + row["seconds"], 1)
        total["above_allowed_builds"] += (row["builds"] or 0) > row["allowed"]
        if row["is_right"]:
            total["exact" if set(row["words"]) == {"exact"} else "none" if row["words"] == ["none"] else "range"] += 1
        else:
            total["wrong"] += 1
    return totals


def drawn_order(arguments):
    """Kind and number of each search, and whether counts decide it."""
    kinds = [("single", arguments.searches), ("pair", arguments.pairs)]
    kinds += [("in-broken-range", arguments.in_broken_range), ("unchanged", arguments.unchanged)]
    order = [(kind, number, arguments.counts) for kind, count in kinds for number in range(count)]
    return dict.fromkeys(order + [("single", number, False) for number in range(arguments.times)])


def search_all(arguments):
    folder, source, rows = arguments.folder, arguments.source, []
    base = (source / "sqlite3.c").read_bytes()
    instructions = calibrated(arguments.basecase, folder, "sqlite", lambda: compiled(folder / "calibration-build", base, source), STEP)
    turns = turns_of(SHARE, instructions)
    size = f"a loop of {turns} turns adds {length(turns)}: {100 * length(turns) / instructions:.3f} %"
    print(f"an operation of {STEP} takes {instructions:.0f} instructions; {size}", flush=True)
    print(f"{'search':20} {'by':6} {'planted':9} {'found':18} {'builds':22} {'':9}  answer", flush=True)
    for kind, number, by_counts in drawn_order(arguments):
        name = f"{kind}-{number}" + ("" if by_counts else "-time")
        rows.append(search(arguments, folder, name, kind, by_counts, instructions))
        print_row(rows[-1])
        report = {"seed": arguments.seed, "commits": arguments.commits, "instructions": instructions, "tally": tally(rows), "rows": rows}
        (folder / "tally.json").write_text(json.dumps(report, indent=1))
    for name, total in tally(rows).items():
        print(f"{name}: {total['searches']} searches, {total['exact']} named exactly, "
              f"{total['range']} as a range that holds it, {total['none']} without blame, "
              f"{total['wrong']} wrong; {total['above_allowed_builds']} with more than 2·log2(n) builds; {total['seconds']:.0f} s")
    return not all(row["is_right"] for row in rows)


def publish(arguments):
    history = write_published(arguments.folder / "published", arguments.basecase, arguments.folder / "home", arguments.seed)
    (arguments.folder / "published.json").write_text(json.dumps(history, indent=1))
    versions = history["versions"]
    ends = f"from {versions[0]['version']} to {versions[-1]['version']}"
    print(f"{len(history['hashes'])} commits, {len(versions)} versions {ends}; HEAD is {history['hashes'][-1]}")
    return False


def write_series(arguments):
    archive = arguments.archive or archive_of(arguments.basecase, arguments.folder / "home")
    candidate = arguments.counted_postgres
    instructions = calibrated(arguments.basecase, arguments.folder, candidate.replace(":", "-"), lambda: candidate, STEP)
    turns = turns_of(SHARE, instructions)
    history = write_postgres(arguments.folder / "postgres", archive, arguments.seed, turns)
    (arguments.folder / "postgres.json").write_text(json.dumps(history, indent=1))
    print(f"{archive.name}; an operation of {STEP} takes {instructions:.0f} instructions with {candidate}")
    print(f"a loop of {turns} turns adds {length(turns)} to each statement")
    for commit in history["commits"]:
        print(commit["hash"], commit["subject"], "(slow)" if commit["is_slow"] else "(does not compile)" if commit["is_broken"] else "")
    return False


def parsed():
    words = sys.argv[1:]
    here = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("basecase", type=lambda word: pathlib.Path(word).resolve())
    parser.add_argument("folder", type=lambda word: pathlib.Path(word).absolute())
    parser.add_argument("--source", type=pathlib.Path, help="folder with sqlite3.c and its headers [the newest version with a recipe]")
    for name in ["searches", "pairs", "unchanged", "in-broken-range", "times"]:
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--commits", type=int, default=COMMITS, help="length of the range [%(default)s]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=SEARCH_LIMIT_S, help="seconds for one search")
    for name in ["check", "published", "postgres"]:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--archive", type=pathlib.Path, help="source of Postgres [Debian's]")
    parser.add_argument("--counted-postgres", default=f"postgres:{versions()[0]}", help="build whose counts give the loop its length")
    arguments = parser.parse_args(words[:here])
    arguments.words = words[here + 1:]
    arguments.source = arguments.source.resolve() if arguments.source else None
    return arguments


def keep_settings(arguments):
    """Ends if the folder was begun with another seed or source: what is in it would not fit."""
    file, settings = arguments.folder / "settings.json", {"seed": arguments.seed, "source": str(arguments.source)}
    if file.exists() and json.loads(file.read_text()) != settings:
        sys.exit(f"{arguments.folder} was begun with {file.read_text()}\nhint: choose another folder, or the same seed and source")
    file.write_text(json.dumps(settings))


def main():
    arguments = parsed()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.source = arguments.source or newest_source(arguments.basecase, arguments.folder / "home", arguments.folder / "source")
    keep_settings(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if arguments.check:
        is_wrong = planted_check.check(arguments.basecase, arguments.folder, arguments.source, arguments.seed)
    elif arguments.published:
        is_wrong = publish(arguments)
    elif arguments.postgres:
        is_wrong = write_series(arguments)
    else:
        is_wrong = search_all(arguments)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
