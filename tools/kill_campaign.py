#!/usr/bin/env python3
"""Kills runs at random moments, continues them, and counts what is lost, stored twice or left behind.

Each run is a small experiment on one dbms, classic or in rounds. It is killed by SIGKILL, ten times by default; after each kill the
store is verified, its complete trials are compared with those before, and processes and temporary files are searched for. Then the same
command runs to its end. A classic run that ends before its last kill goes on with another seed in the same store.

usage: kill_campaign.py BASECASE [--runs 30] [--kills 10] [--seed 1] [--only WORD] [--home FOLDER]
       e.g. tools/kill_campaign.py target/release/basecase --runs 8
Exit code 1 when anything was lost, stored twice or left, or a run could not be continued.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

# How long a killed run's servers may take to end, and a whole command to run.
SERVERS_END_S, COMMAND_S = 60, 600
# How many problems of a run are printed: one that could not be finished leaves hundreds of files.
PROBLEMS_SHOWN = 10

INSERT_BENCHMARK = ["--rows", "20000", "--writes", "5000", "--seconds", "1"]
# Each call of a run in rounds that comes to its end adds a round.
CHAINS = ["--rows", "2000", "--writes", "2000", "--seconds", "1", "--budget", "1s"]
STEPS = ["--workload", "microbenchmarks", "--list", "point-query,insert", "--option", "rows=20000"]
CLASSIC, ROUNDS = STEPS + ["--seconds", "1"], STEPS + ["--budget", "1s"]
POSTGRES = ["postgres:17.11", "postgres:18.6"]
MYSQL = ["mysql:8.0.33", "mysql:8.0.33@z12a_b0f0w0"]
MARIADB = ["mariadb:10.11.18", "mariadb:10.11.18#rocksdb"]
SQLITE = ["sqlite@wal_normal", "sqlite@rollback_full"]

# What is run, and within how many seconds of its start it is killed.
KINDS = [
    ("postgres insert-benchmark", POSTGRES[:1] + INSERT_BENCHMARK, 14),
    ("sqlite rounds", SQLITE + ROUNDS, 12),
    ("mysql insert-benchmark", MYSQL[:1] + INSERT_BENCHMARK, 20),
    ("postgres rounds", POSTGRES + ROUNDS, 16),
    ("mariadb insert-benchmark", MARIADB[1:] + INSERT_BENCHMARK, 16),
    ("sqlite insert-benchmark", SQLITE + INSERT_BENCHMARK, 8),
    ("mysql rounds", MYSQL + ROUNDS, 24),
    ("postgres microbenchmarks", POSTGRES + CLASSIC, 8),
    ("mariadb rounds", MARIADB + ROUNDS, 16),
    ("sqlite chains", SQLITE + CHAINS, 14),
]


class Sandbox:
    """A folder with a store, servers' data and temporary files of its own."""

    def __init__(self, program, home):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kc-"))
        self.folder.chmod(0o755)
        self.program = program
        self.process = None
        (self.folder / "tmp").mkdir(mode=0o777)
        (self.folder / "tmp").chmod(0o1777)
        self.environment = dict(os.environ, TMPDIR=str(self.folder / "tmp"), NO_COLOR="1")
        if home:
            self.environment["BASECASE_HOME"] = home

    def start(self, words):
        with open(self.folder / "messages.txt", "wb") as messages:
            self.process = subprocess.Popen(
                [self.program, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=messages,
            )
        return self.process

    def end(self):
        """Ends what still runs, also when the campaign is broken off."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def messages(self):
        return (self.folder / "messages.txt").read_text(errors="replace")

    def processes(self):
        """Processes that name the folder or work in it."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                place = os.readlink(entry / "cwd")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if state != "Z" and (str(self.folder) in words or place.startswith(str(self.folder))):
                found.append(f"pid {entry.name} ({state}): {words[:120]}")
        return found

    def left(self):
        """What is left of a run that is gone: processes after a while, and temporary files."""
        until = time.monotonic() + SERVERS_END_S
        while self.processes() and time.monotonic() < until:
            time.sleep(0.05)
        return self.processes() + [f"file {path}" for path in (self.folder / "tmp").iterdir()]

    def complete_trials(self):
        """Digest, warnings and key of each complete trial, by id. A warning may be added: one of data that was loaded again is."""
        if not (self.folder / "s.sqlite").exists():
            return {}
        connection = sqlite3.connect(self.folder / "s.sqlite")
        if not connection.execute("select 1 from sqlite_master where name = 'trial'").fetchone():
            return {}
        trials = {}
        connection.row_factory = sqlite3.Row
        for row in connection.execute("select * from trial where status = 'complete' order by id").fetchall():
            fields = dict(row)
            trial, warnings = fields["id"], set(json.loads(fields.pop("warnings")))
            digest = hashlib.sha256(repr(fields).encode())
            for table in ["role", "measures", "table_state", "comparison", "slices"]:
                rows = connection.execute(f"select * from {table} where trial = ? order by 1, 2", (trial,))
                digest.update(repr([tuple(row) for row in rows]).encode())
            key = tuple(fields[name] for name in ["experiment", "cell", "round", "observation"])
            trials[trial] = (digest.hexdigest(), warnings, key)
        connection.close()
        return trials


class Run:
    """One experiment that is killed again and again."""

    def __init__(self, sandbox, words, within_s, random_numbers):
        self.sandbox, self.words, self.within_s, self.random = sandbox, words, within_s, random_numbers
        self.seed = 1
        self.known = {}
        self.counts = collections.Counter()
        self.problems = []

    def command(self):
        return ["compare", *self.words, "--seed", str(self.seed), "--store", "s.sqlite", "--data", "data"]

    def problem(self, kind, text):
        self.counts[kind] += 1
        self.problems.append(f"{kind}: {text}")

    def check(self):
        """What must be true whenever the run is gone."""
        for left in self.sandbox.left():
            self.problem("left", left)
        if (self.sandbox.folder / "s.sqlite").exists():
            verified = subprocess.run(
                [self.sandbox.program, "store", "verify", "s.sqlite"], cwd=self.sandbox.folder, env=self.sandbox.environment,
                capture_output=True, text=True, timeout=COMMAND_S)
            if verified.returncode != 0:
                self.problem("not whole", verified.stdout + verified.stderr)
        now = self.sandbox.complete_trials()
        for trial, (digest, warnings, key) in self.known.items():
            if trial not in now or now[trial][0] != digest or not warnings <= now[trial][1]:
                self.problem("lost", f"trial {trial} of {key}")
        for key, count in collections.Counter(key for _, _, key in now.values()).items():
            if count > 1:
                self.problem("twice", f"{count} complete trials of {key}")
        self.known = now

    def kill_once(self):
        """Kills the command within its time; false when it came to its end before."""
        process = self.sandbox.start(self.command())
        try:
            code = process.wait(timeout=self.random.uniform(0.02, self.within_s))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.counts["kills"] += 1
            return True
        if code != 0:
            self.problem("failed", self.sandbox.messages()[-2000:])
        return False

    def kill(self, kills):
        ends = 0
        while self.counts["kills"] < kills and ends < 3 * kills and not self.counts["failed"]:
            if not self.kill_once():
                self.counts["ends"] += 1
                ends += 1
                if "--budget" not in self.words:
                    self.seed += 1
            self.check()

    def finish(self):
        process = self.sandbox.start(self.command())
        try:
            code = process.wait(timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = f"none within {COMMAND_S} s"
        if code != 0:
            self.problem("failed", f"exit code {code}: {self.sandbox.messages()[-2000:]}")
        self.check()
        data = self.sandbox.folder / "data"
        for path in sorted(data.rglob("*")) if data.exists() else []:
            # The folder of each experiment that was begun stays, and is empty.
            if path.parent != data:
                self.problem("left", f"file {path}")
        self.counts["trials"] = len(self.known)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("basecase", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--only", default="", help="kinds of runs with this word")
    parser.add_argument("--home", help="BASECASE_HOME, with the builds")
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if arguments.only in kind[0]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    total = collections.Counter()
    for number in range(arguments.first, arguments.first + arguments.runs):
        name, words, within_s = kinds[number % len(kinds)]
        sandbox = Sandbox(arguments.basecase.resolve(), arguments.home)
        run = Run(sandbox, words, within_s, random.Random(f"{arguments.seed} {number}"))
        began = time.monotonic()
        try:
            run.kill(arguments.kills)
            run.finish()
        finally:
            sandbox.end()
        counts = ", ".join(f"{count} {what}" for what, count in sorted(run.counts.items()))
        print(f"run {number}, {name}: {counts}; {time.monotonic() - began:.0f} s", flush=True)
        for problem in run.problems[:PROBLEMS_SHOWN]:
            print(f"  {problem}", flush=True)
        if len(run.problems) > PROBLEMS_SHOWN:
            print(f"  and {len(run.problems) - PROBLEMS_SHOWN} more", flush=True)
        total.update(run.counts)
        if run.problems:
            print(f"  kept: {sandbox.folder}", flush=True)
        else:
            shutil.rmtree(sandbox.folder)
    bad = {what: total[what] for what in ["lost", "twice", "left", "not whole", "failed"]}
    print(f"{arguments.runs} runs, {total['kills']} kills: " + ", ".join(f"{count} {what}" for what, count in bad.items()))
    sys.exit(any(bad.values()))


if __name__ == "__main__":
    main()
