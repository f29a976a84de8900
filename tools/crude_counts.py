#!/usr/bin/env python3
"""Instructions per execution of six statements on Postgres, counted by callgrind: a check of `basecase count` that shares no code with it.

The server runs under valgrind, without randomised addresses, on a data directory of its own. A client of some eighty lines prepares each
statement, binds integers, and reads all rows. The table is that of the microbenchmarks. It is read as a whole once, by a session of its
own. Then come sessions of W+N and of W+3N executions, with W half of N; their difference, divided by 2N, is the count. Reads have two such pairs in each of
two starts, in one server. For writes, each session has a start of its own from a copy of the same data directory.

usage: crude_counts.py FOLDER_OF_A_POSTGRES [FOLDER…] [--rows 20000] [--folder /var/tmp] [--list point,sum] [--executions 366] [--integers int4] [--no-asleep]
       e.g. crude_counts.py ~/.local/share/basecase/builds/postgres-17.11-pypi ~/.local/share/basecase/builds/postgres-18.6-pypi
As root, the server runs as the user basecase, or nobody where there is none.
"""
import argparse
import glob
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

LIMIT_S = 240

# Statement, executions N.
READS = {
    "range": ("SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2", 100),
    "point": ("SELECT c FROM sbtest1 WHERE id = $1", 400),
    "sum": ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN $1 AND $2", 40),
    "distinct": ("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c", 20),
}
WRITES = {
    "update": ("UPDATE sbtest1 SET c = $2 WHERE id = $1", 200),
    "insert": ("INSERT INTO sbtest1 (k, c, pad) VALUES ($1, $2, $3)", 200),
}
# Types of parameters: text as the server infers it, integers as --integers says.
INTEGER = {"int4": 23, "int8": 20}
TEXT = 1042
# Ids of a range, less one.
WIDTHS = {"range": 99, "sum": 999, "distinct": 999}


def groups(draw, count):
    return "-".join("%011d" % draw.randrange(10**11) for _ in range(count))


class Session:
    """A session of protocol 3 on a Unix socket: simple statements, and one prepared statement with text parameters
    and binary results."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(os.path.join(folder, ".s.PGSQL.5432"))
        self.input = self.socket.makefile("rb")
        start = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!i", len(start) + 4) + start)
        self.process = None
        self.until_ready()

    def until_ready(self):
        rows = 0
        while True:
            kind, length = struct.unpack("!ci", self.input.read(5))
            body = self.input.read(length - 4)
            if kind == b"E":
                raise RuntimeError(body.decode(errors="replace"))
            if kind == b"K":
                self.process = struct.unpack("!i", body[:4])[0]
            if kind == b"D":
                rows += 1
            if kind == b"Z":
                return rows

    def send(self, *messages):
        self.socket.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in messages))

    def simple(self, sql):
        self.send((b"Q", sql.encode() + b"\0"))
        return self.until_ready()

    def prepare(self, sql, types):
        parse = b"s\0" + sql.encode() + b"\0" + struct.pack("!h%di" % len(types), len(types), *types)
        self.send((b"P", parse), (b"S", b""))
        self.until_ready()

    def execute(self, values, asleep=False):
        if asleep:
            self.wait_until_asleep()
        texts = [str(value).encode() for value in values]
        bind = b"\0s\0" + struct.pack("!hh", 0, len(texts))
        bind += b"".join(struct.pack("!i", len(text)) + text for text in texts) + struct.pack("!hh", 1, 1)
        self.send((b"B", bind), (b"E", b"\0" + struct.pack("!i", 0)), (b"S", b""))
        return self.until_ready()

    def wait_until_asleep(self):
        """So that the server waits for each statement, however loaded the machine is."""
        deadline = time.monotonic() + LIMIT_S
        while open("/proc/%d/stat" % self.process).read().rpartition(")")[2].split()[0] != "S":
            if time.monotonic() > deadline:
                sys.exit("process %d does not sleep" % self.process)
            time.sleep(0.0001)

    def close(self):
        self.send((b"X", b""))
        self.input.read()
        self.socket.close()


class Server:
    """A postgres, natively or under callgrind."""

    running = None

    def __init__(self, home, work, account, counts=None):
        self.home, self.work, self.account, self.counts = home, work, account, counts
        command = [str(home / "bin/postgres"), "-D", str(work / "data"), "-k", str(work), "-c", "listen_addresses="]
        command += ["-c", "shared_buffers=128MB", "-c", "autovacuum=off", "-c", "jit=off", "-c", "fsync=off"]
        command += ["-c", "max_parallel_workers_per_gather=0", "-c", "checkpoint_timeout=1h", "-c", "max_wal_size=4GB"]
        command += ["-c", "authentication_timeout=600", "-c", "bgwriter_lru_maxpages=0"]
        if counts:
            output = "--callgrind-out-file=%s/count.%%p" % counts
            command = ["setarch", "-R", "valgrind", "--tool=callgrind", "--trace-children=yes", output] + command
        self.process = subprocess.Popen(
            command, stdout=open(work / "log", "a"), stderr=subprocess.STDOUT, user=account, group=account and account_group(account), cwd=work
        )
        Server.running = self
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                Session(str(work)).close()
                return
            except (OSError, RuntimeError, struct.error) as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.process.kill()
                    sys.exit("the server is not up: %s\n%s" % (error, (work / "log").read_text()[-2000:]))
                time.sleep(0.2)

    def stop(self):
        # setarch and valgrind take each other's place, so this is the server's own process.
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit("the server does not stop")

    def count_of(self, process):
        """The instructions of a process that has ended."""
        path = "%s/count.%d" % (self.counts, process)
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            if os.path.exists(path):
                totals = [line for line in open(path, errors="replace") if line.startswith("totals:")]
                if totals:
                    return sum(int(line.split()[1]) for line in totals)
            time.sleep(0.1)
        sys.exit("no count of process %d" % process)


def account_group(account):
    return pwd.getpwnam(account).pw_gid


def values_of(name, draw, rows):
    if name == "update":
        return [draw.randrange(1, rows + 1), groups(draw, 10)]
    if name == "insert":
        return [draw.randrange(1, rows + 1), groups(draw, 10), groups(draw, 5)]
    low = draw.randrange(1, rows + 1 - WIDTHS.get(name, 0))
    return [low, low + WIDTHS[name]] if name in WIDTHS else [low]


def count_session(server, name, sql, executions, arguments):
    """A whole session: the same values for every version, and of the longer session the first are those of the shorter."""
    draw = random.Random("values of " + name)
    session = Session(str(server.work))
    process = session.process
    integer = INTEGER[arguments.integers]
    types = {"update": [integer, TEXT], "insert": [integer, TEXT, TEXT], "point": [integer]}.get(name, [integer, integer])
    session.prepare(sql, types)
    expected = {"range": 100, "point": 1, "sum": 1}.get(name)
    for _ in range(executions):
        found = session.execute(values_of(name, draw, arguments.rows), arguments.asleep)
        assert expected is None or found == expected, (name, found)
    session.close()
    return server.count_of(process)


def warm(server):
    session = Session(str(server.work))
    session.simple("SELECT count(*), sum(length(c)), sum(length(pad)) FROM sbtest1")
    session.simple("SET enable_seqscan = off")
    session.simple("SELECT count(*) FROM sbtest1 WHERE k > 0")
    session.simple("SELECT count(c) FROM sbtest1 WHERE id > 0")
    session.close()


def load(home, work, account, rows):
    run = dict(check=True, user=account, group=account and account_group(account), cwd=work, stdout=subprocess.DEVNULL)
    initdb = [home / "bin/initdb", "-D", work / "data", "-U", "postgres", "--auth=trust", "--locale=C", "-E", "UTF8", "--data-checksums", "--no-sync"]
    subprocess.run(initdb, **run)
    server = Server(home, work, account)
    session = Session(str(work))
    session.simple(
        "CREATE TABLE sbtest1 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
        " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
    )
    draw = random.Random("rows")
    for first in range(0, rows, 1000):
        tuples = ["(%d, '%s', '%s')" % (draw.randrange(1, rows + 1), groups(draw, 10), groups(draw, 5)) for _ in range(min(1000, rows - first))]
        session.simple("INSERT INTO sbtest1 (k, c, pad) VALUES " + ", ".join(tuples))
    session.simple("CREATE INDEX k_1 ON sbtest1 (k)")
    session.simple("VACUUM (ANALYZE) sbtest1")
    session.simple("CHECKPOINT")
    session.close()
    server.stop()


def restore(work):
    shutil.rmtree(work / "data")
    subprocess.run(["cp", "-a", work / "image", work / "data"], check=True)


def count_version(home, account, arguments):
    work = pathlib.Path(tempfile.mkdtemp(prefix="crude_counts.", dir=arguments.folder))
    chosen = lambda statements: {name: (sql, arguments.executions or n) for name, (sql, n) in statements.items() if name in arguments.list}
    counts = work / "counts"
    counts.mkdir()
    if account:
        for path in (work, counts):
            shutil.chown(path, account)
    try:
        load(home, work, account, arguments.rows)
        subprocess.run(["cp", "-a", work / "data", work / "image"], check=True)
        windows = {}
        for start in range(2 if chosen(READS) else 0):
            restore(work)
            server = Server(home, work, account, counts)
            warm(server)
            for _ in range(2):
                for name, (sql, n) in chosen(READS).items():
                    short = count_session(server, name, sql, n // 2 + n, arguments)
                    long = count_session(server, name, sql, n // 2 + 3 * n, arguments)
                    windows.setdefault(name, []).append((long - short) / (2 * n))
            server.stop()
        for _ in range(2):
            for name, (sql, n) in chosen(WRITES).items():
                sessions = []
                for executions in (n // 2 + n, n // 2 + 3 * n):
                    restore(work)
                    server = Server(home, work, account, counts)
                    warm(server)
                    sessions.append(count_session(server, name, sql, executions, arguments))
                    server.stop()
                windows.setdefault(name, []).append((sessions[1] - sessions[0]) / (2 * n))
        return windows
    finally:
        if Server.running and Server.running.process.poll() is None:
            Server.running.stop()
        shutil.rmtree(work, ignore_errors=True)


def main():
    # So that a server is not left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="+", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", default="/var/tmp")
    every = list(READS) + list(WRITES)
    parser.add_argument("--list", type=lambda text: text.split(","), default=every, help="of " + ",".join(every))
    parser.add_argument("--executions", type=int, help="N, in place of that of each statement; half of a window of basecase")
    parser.add_argument("--integers", choices=INTEGER, default="int8", help="type of integer parameters; basecase declares int8")
    parser.add_argument("--asleep", action=argparse.BooleanOptionalAction, default=True, help="send a statement when the process sleeps")
    arguments = parser.parse_args()
    account = None
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        account = "basecase" if "basecase" in names else "nobody"
    results = []
    for home in arguments.homes:
        began = time.monotonic()
        results.append(count_version(home.resolve(), account, arguments))
        print("%s: %.0f s" % (home.name, time.monotonic() - began), flush=True)
        for name, windows in results[-1].items():
            print("  %-9s %s" % (name, "  ".join("%.1f" % window for window in windows)), flush=True)
    print("\nrelative to %s:" % arguments.homes[0].name)
    for name, windows in results[0].items():
        base = sum(windows) / len(windows)
        relative = [sum(other[name]) / len(other[name]) / base for other in results[1:]]
        print("  %-9s %.1f  %s" % (name, base, "  ".join("%.5f" % ratio for ratio in relative)))


main()
