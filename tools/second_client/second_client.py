#!/usr/bin/env python3
"""Measures versions of Postgres against each other, by a client that shares no code with basecase. See README.md.

usage: second_client.py BUILD BUILD… [--statements distinct,sum] [--starts 12] [--sessions 3] [--minutes 20] [--seed 1] [--json FILE]
A BUILD is a folder with bin/postgres, or its bin folder; the first is the base.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import intervals
import results
from servers import Place, Server, Version
from sessions import STATEMENTS, Session, measure


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", type=pathlib.Path)
    every = list(STATEMENTS)
    parser.add_argument("--statements", type=lambda text: text.split(","), default=every, help="of " + ",".join(every))
    parser.add_argument("--starts", type=int, default=12, help="of each version, each with data loaded anew")
    parser.add_argument("--sessions", type=int, default=3, help="of each version and statement, in each start")
    parser.add_argument("--passes", type=int, default=16, help="slices of each session")
    parser.add_argument("--warm-up-passes", type=int, default=4)
    parser.add_argument("--slice-ms", type=int, default=60)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shared-buffers", default="256MB", help="of each server, as in postgresql.conf")
    parser.add_argument("--most-statements", type=int, default=30, help="unrelated statements before the measured one; from 0 to so many are drawn")
    parser.add_argument("--processor", help="of servers and clients: a number, drawn for each start, or any", default="drawn")
    parser.add_argument("--describe", action="store_true", help="ask for the columns at each execution, as libpq does")
    parser.add_argument("--minutes", type=float, default=60, help="begin no start and no session that would end later")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="/var/tmp", help="for data and sockets")
    parser.add_argument("--json", type=pathlib.Path, help="file for what was measured, written after each start")
    parser.add_argument("--read", type=pathlib.Path, help="tell the results in such a file; measure nothing")
    parser.add_argument("--self-test", action="store_true", help="check intervals and modes on simulated data; measure nothing")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.statements if name not in STATEMENTS]
    if unknown:
        parser.error("no statement %s\nhint: there are %s" % (unknown[0], ", ".join(every)))
    if not arguments.read and not arguments.self_test and len(arguments.builds) < 2:
        parser.error("a base and at least one other build are needed")
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error("there is no folder for %s\nhint: make it first" % arguments.json)
    if arguments.read and not arguments.read.is_file():
        parser.error("there is no file %s\nhint: give one that --json wrote" % arguments.read)
    if not shutil.which("gcc"):
        parser.error("there is no gcc\nhint: on Debian: apt-get install gcc libc6-dev")
    if min(arguments.starts, arguments.sessions, arguments.passes, arguments.slice_ms, arguments.rows - 999) < 1:
        parser.error("starts, sessions, passes and the length of slices begin at 1, rows at 1000")
    return arguments


class Run:
    """What was measured until now, and the time that is left."""

    def __init__(self, arguments, versions):
        self.arguments = arguments
        self.began = time.monotonic()
        self.labels = [version.label for version in versions]
        options = {key: str(value) if isinstance(value, pathlib.Path) else value for key, value in vars(arguments).items() if key != "builds"}
        self.stored = {
            "options": options,
            "versions": {version.label: {"build": str(version.home), "told": version.told} for version in versions},
            "starts": [],
        }

    def seconds_left(self):
        return self.arguments.minutes * 60 - (time.monotonic() - self.began)

    def keep(self, start):
        self.stored["starts"].append(start)
        self.stored["cells"] = results.cells_of(self.stored["starts"], self.labels, self.arguments.statements)
        if self.arguments.json:
            part = self.arguments.json.with_suffix(".part")
            part.write_text(json.dumps(self.stored))
            part.replace(self.arguments.json)


def draw_of(seed, *names):
    """A draw of its own for each purpose, which follows from the seed."""
    return random.Random(" ".join(map(str, (seed, *names))))


def processor_of(arguments, draw):
    available = sorted(os.sched_getaffinity(0))
    chosen = draw.choice(available)
    if arguments.processor == "any":
        return None
    return chosen if arguments.processor == "drawn" else int(arguments.processor)


def measure_start(run, place, versions, number):
    """Loads, starts, and measures sessions of all versions; what was measured before the time is up is kept."""
    arguments = run.arguments
    draw = draw_of(arguments.seed, "start", number)
    processor = processor_of(arguments, draw)
    start = {"start": number, "processor": processor, "padding": {}, "turns": []}
    servers, images = {}, []
    for version in draw.sample(versions, len(versions)):
        own = draw_of(arguments.seed, "load", number, version.label)
        images.append(version.load(number, arguments.rows, own.getrandbits(63)))
        start["padding"][version.label] = own.randrange(4096)
        servers[version.label] = version.start(images[-1], processor, start["padding"][version.label])
    length = 0.0
    for turn in range(arguments.sessions):
        for statement in draw.sample(arguments.statements, len(arguments.statements)):
            if run.seconds_left() < length:
                break
            began = time.monotonic()
            sessions = {}
            for version in draw.sample(versions, len(versions)):
                seed = draw_of(arguments.seed, "session", number, turn, statement, version.label).getrandbits(63)
                sessions[version.label] = Session(
                    place, servers[version.label], statement, arguments.rows, arguments.most_statements, seed, processor, arguments.describe
                )
            records = measure(sessions, draw, arguments.passes, arguments.warm_up_passes, arguments.slice_ms)
            start["turns"].append({"statement": statement, "turn": turn, "versions": records})
            for session in sessions.values():
                session.close()
            length = max(length, time.monotonic() - began)
    for server in list(Server.running):
        server.stop()
    for image in images:
        shutil.rmtree(image)
    return start


def told(start, labels, seconds):
    """A line for each start: ratios to the base, and faults per query, session by session."""
    parts = []
    for statement in sorted({turn["statement"] for turn in start["turns"]}):
        turns = [turn["versions"] for turn in start["turns"] if turn["statement"] == statement]
        for label in labels:
            faults = " ".join("%.2f" % versions[label]["faults_per_query"] for versions in turns)
            logs = " ".join("%+.1f" % (100 * results.log_ratio(versions[label], versions[labels[0]])) for versions in turns)
            parts.append("  %-9s %-9s faults/query %s%s" % (statement, label, faults, "" if label == labels[0] else "; %% %s" % logs))
    return "\n".join(["start %d, processor %s, %.0f s" % (start["start"], start["processor"], seconds)] + parts)


def main():
    arguments = arguments_given()
    if arguments.self_test:
        print("\n".join(intervals.self_test()))
        return
    if arguments.read:
        stored = json.loads(arguments.read.read_text())
        labels = list(stored["versions"])
        print(results.text(results.cells_of(stored["starts"], labels, stored["options"]["statements"]), labels[0]))
        return
    # So that nothing is left behind.
    for kind in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(kind, lambda *_: sys.exit("ended by a signal"))
    folder = tempfile.mkdtemp(prefix="second.", dir=arguments.folder)
    try:
        place = Place(folder)
        versions = []
        for number, home in enumerate(arguments.builds, 1):
            versions.append(Version(place, home, number, {version.label for version in versions}, arguments.shared_buffers))
        run = Run(arguments, versions)
        longest = 0.0
        for number in range(arguments.starts):
            if run.seconds_left() < longest / 2:
                break
            began = time.monotonic()
            start = measure_start(run, place, versions, number)
            longest = max(longest, time.monotonic() - began)
            if start["turns"]:
                run.keep(start)
                print(told(start, run.labels, time.monotonic() - began), file=sys.stderr, flush=True)
        if not run.stored["starts"]:
            sys.exit("no session was measured in %g minutes\nhint: give more --minutes" % arguments.minutes)
        print(results.text(run.stored["cells"], run.labels[0]))
    finally:
        for one in list(Session.running):
            one.close()
        for one in list(Server.running):
            one.stop()
        shutil.rmtree(folder, ignore_errors=True)


main()
