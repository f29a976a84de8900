"""Postgres servers on sockets in a temporary folder: data loaded, programs copied, started and ended."""
import ctypes
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

LIMIT_S = 120
PORT = 5432
PR_SET_PDEATHSIG = 1

SETTINGS = """
listen_addresses = ''
huge_pages = off
fsync = off
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
checkpoint_timeout = 1h
max_wal_size = 4GB
"""

TABLE = [
    "CREATE TABLE sbtest1 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
    " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
]
INDEX = ["CREATE INDEX k_1 ON sbtest1 (k)", "VACUUM (ANALYZE) sbtest1", "CHECKPOINT"]
VISIBLE = "SELECT relallvisible || ' of ' || relpages FROM pg_class WHERE relname = 'sbtest1'"

# All of table and indexes, so that no measured statement reads a page for the first time.
WARM_UP = [
    "SELECT count(*), sum(length(c)), sum(length(pad)) FROM sbtest1",
    "SET enable_seqscan = off",
    "SELECT count(*) FROM sbtest1 WHERE k > 0",
    "SELECT count(id) FROM sbtest1 WHERE id > 0",
    "SELECT count(c) FROM sbtest1 WHERE id > 0",
]


def child(processor):
    """What a child does before its program: it stays on one processor, and ends with its parent."""

    def begin():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
        if processor is not None:
            os.sched_setaffinity(0, {processor})

    return begin


class Place:
    """The temporary folder, the compiled client, and the account of the servers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.account = {}
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            entry = pwd.getpwnam("basecase" if "basecase" in names else "nobody")
            self.account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self.client = self.folder / "client"
        source = pathlib.Path(__file__).with_name("second_client.c")
        subprocess.run(["gcc", "-O2", "-std=gnu11", "-o", self.client, source], check=True)

    def run(self, command, **more):
        """Runs to the end, as the account of the servers."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S,
            preexec_fn=child(None), **self.account, **more,
        )
        if done.returncode:
            sys.exit("%s failed: %s" % (command[0], (done.stderr or done.stdout)[-2000:]))
        return done.stdout

    def sql(self, socket, statements):
        return self.run([self.client, "sql", socket, "postgres", *statements]).strip()


class Version:
    """A build, and an empty cluster of it."""

    def __init__(self, place, home, number, labels, shared_buffers):
        self.place = place
        home = home.resolve()
        self.home = home.parent if home.name == "bin" else home
        if not (self.home / "bin/postgres").exists():
            sys.exit("%s has no bin/postgres\nhint: give the folder of a build" % self.home)
        self.told = place.run([self.home / "bin/postgres", "--version"]).strip()
        plain = re.search(r"\d+(\.\d+)?\S*", self.told).group()
        # So that a build can be compared with itself.
        self.label = plain if plain not in labels else "%s(%d)" % (plain, number)
        self.empty = place.folder / ("empty%d" % number)
        self.number = number
        place.run([self.home / "bin/initdb", "-D", self.empty, "-U", "postgres", "--auth=trust", "--locale=C", "-E", "UTF8",
                   "--data-checksums", "--no-sync"])
        with open(self.empty / "postgresql.conf", "a") as file:
            file.write(SETTINGS + "shared_buffers = %s\n" % shared_buffers)

    def load(self, image, rows, seed):
        """Data of its own: a new table, and statistics drawn anew."""
        folder = self.place.folder / ("image%d.%d" % (self.number, image))
        self.place.run(["cp", "-a", self.empty, folder])
        server = Server(self.place, self.home, folder, None, 0)
        try:
            self.place.sql(server.socket, TABLE)
            self.place.run([self.place.client, "rows", server.socket, "postgres", rows, seed])
            self.place.sql(server.socket, INDEX)
            visible, _, pages = self.place.sql(server.socket, [VISIBLE]).partition(" of ")
            if visible != pages:
                sys.exit("%s of %s pages of %s are visible to all\nhint: is another session of this server open?" % (visible, pages, folder))
        finally:
            server.stop()
        return folder

    def start(self, data, processor, padding):
        """A server whose program lies in other pages than that of any other start."""
        programs = self.place.folder / ("programs%d" % self.number)
        shutil.rmtree(programs, ignore_errors=True)
        (programs / "bin").mkdir(parents=True)
        for name in ("lib", "share"):
            (programs / name).symlink_to(self.home / name)
        shutil.copyfile(self.home / "bin/postgres", programs / "bin/postgres")
        os.chmod(programs / "bin/postgres", 0o755)
        server = Server(self.place, programs, data, processor, padding)
        self.place.sql(server.socket, WARM_UP)
        return server


class Server:
    """A running postgres."""

    running = []

    def __init__(self, place, home, data, processor, padding):
        self.place = place
        self.sockets = place.folder / ("s" + data.name)
        self.sockets.mkdir(exist_ok=True)
        if place.account:
            os.chown(self.sockets, place.account["user"], place.account["group"])
        self.socket = self.sockets / (".s.PGSQL.%d" % PORT)
        self.log = place.folder / (data.name + ".log")
        command = [str(home / "bin/postgres"), "-D", str(data), "-k", str(self.sockets), "-p", str(PORT)]
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "PADDING": "x" * padding}
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=place.folder, env=environment,
                start_new_session=True, preexec_fn=child(processor), **place.account,
            )
        Server.running.append(self)
        self.wait_until_up()

    def wait_until_up(self):
        deadline = time.monotonic() + LIMIT_S
        # The last line of this file tells that sessions are let in.
        pid_file = pathlib.Path(self.process.args[2], "postmaster.pid")
        while True:
            try:
                if pid_file.read_text().splitlines()[7].strip() == "ready":
                    return
            except (OSError, IndexError):
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the server is not up: %s" % self.log.read_text()[-2000:])
            time.sleep(0.02)

    def stop(self):
        """Ends it, by its own process id: fast, then at once."""
        for kind in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(kind)
                try:
                    self.process.wait(LIMIT_S / 4)
                except subprocess.TimeoutExpired:
                    continue
        if self in Server.running:
            Server.running.remove(self)
