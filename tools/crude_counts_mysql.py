#!/usr/bin/env python3
"""Instructions per execution of six statements on MySQL or MariaDB, counted by callgrind: a check of `basecase count` that shares no code with it.

callgrind counts only within dispatch_command. A client of some sixty lines prepares each statement, binds integers of 8 bytes and texts, and reads
all rows. The table is that of crude_counts.toml; its indexes are read as a whole once. Then come sessions of W+N and of W+3N executions, with W half
of N; their difference, divided by 2N, is the count. Reads have two such pairs in each start, after a longer session. For writes, each session has a
start of its own from a copy of the same data directory.

usage: crude_counts_mysql.py FOLDER_OF_A_SERVER [FOLDER…] [--list point,sum] [--starts 2] [--set NAME=VALUE] [--id 'INTEGER NOT NULL AUTO_INCREMENT']
       e.g. crude_counts_mysql.py ~/.local/share/basecase/builds/mysql-5.6.24-npm ~/.local/share/basecase/builds/mysql-8.0.33-maven
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from crude_mysql_client import Session

LIMIT_S = 400
ROWS = 20_000
# Statement, executions N, rows of a result; the last two write. basecase found the same N for MySQL 5.6.24 and 8.0.33.
STATEMENTS = {
    "range": ("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", 20, 100),
    "point": ("SELECT c FROM sbtest1 WHERE id = ?", 320, 1),
    "sum": ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?", 20, 1),
    "distinct": ("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c", 3, 1000),
    "update": ("UPDATE sbtest1 SET c = ? WHERE id = ?", 80, 0),
    "insert": ("INSERT INTO sbtest1 (k, c, pad) VALUES (?, ?, ?)", 20, 0),
}
WRITES = ("update", "insert")
WIDTHS = {"range": 99, "sum": 999, "distinct": 999}
# As in the config z12a of basecase, as far as it matters to a session. A version passes over what it does not know.
SETTINGS = """character_set_server=latin1 collation_server=latin1_swedish_ci performance_schema=1 query_cache_size=0 query_cache_type=0
sql_mode=no_engine_substitution,no_unsigned_subtraction log_bin=binlog server_id=1 sync_binlog=0 binlog_format=ROW innodb_flush_log_at_trx_commit=2
innodb_flush_method=O_DIRECT_NO_FSYNC innodb_flush_neighbors=0 innodb_io_capacity=10000 innodb_io_capacity_max=20000
innodb_max_dirty_pages_pct=90 innodb_max_dirty_pages_pct_lwm=80 innodb_buffer_pool_size=1536M innodb_buffer_pool_size_max=1536M
innodb_buffer_pool_instances=4 innodb_adaptive_hash_index=OFF innodb_buffer_pool_dump_at_shutdown=OFF innodb_buffer_pool_load_at_startup=OFF
innodb_log_file_size=245M innodb_redo_log_capacity=983M innodb_log_buffer_size=64M innodb_autoinc_lock_mode=2 innodb_purge_threads=4
innodb_page_cleaners=4 innodb_use_native_aio=0 thread_cache_size=0 connect_timeout=600 mysqlx=OFF""".split()


def groups(draw, count):
    return "-".join("%011d" % draw.randrange(10**11) for _ in range(count))


class Server:
    """A mysqld or mariadbd, natively or under callgrind."""

    running = None

    def __init__(self, home, work, settings, counts=None):
        self.counts = counts
        command = command_of(home, work) + ["--loose-" + setting for setting in SETTINGS + settings]
        command += ["--socket=%s/s.sock" % work, "--skip-networking", "--skip-name-resolve", "--pid-file=%s/pid" % work]
        if counts:
            tool = ["--tool=callgrind", "--toggle-collect=dispatch_command*", "--callgrind-out-file=%s/count" % counts]
            command = ["setarch", "-R", "valgrind", *tool] + command
        self.process = subprocess.Popen(command, **surroundings(home, work))
        Server.running = self
        deadline = time.monotonic() + LIMIT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                return Session(work).close()
            except (OSError, RuntimeError):
                time.sleep(0.2)
        self.process.kill()
        sys.exit("the server is not up:\n" + (work / "log").read_text(errors="replace")[-3000:])

    def stop(self):
        # setarch and valgrind take each other's place, so this is the server's own process.
        self.process.terminate()
        self.process.wait(LIMIT_S)

    def count(self):
        """What was counted since this was called last."""
        subprocess.run(["callgrind_control", "--dump", str(self.process.pid)], check=True, capture_output=True, timeout=LIMIT_S)
        newest = max(self.counts.glob("count.*"), key=lambda path: int(path.suffix[1:]))
        return sum(int(line.split()[1]) for line in open(newest, errors="replace") if line.startswith("totals:"))


def command_of(home, work):
    programs = [home / folder / name for folder in ("bin", "usr/sbin") for name in ("mariadbd", "mysqld")]
    command = [str(next(path for path in programs if path.is_file())), "--no-defaults", "--user=root", "--basedir=%s" % home]
    return command + ["--datadir=%s/data" % work, "--lc-messages-dir=%s" % share_of(home), "--tmpdir=%s" % work, "--secure-file-priv=%s" % work]


def share_of(home):
    folders = [home / prefix / "share" / name for prefix in (".", "usr") for name in ("mysql", "mariadb", ".")]
    return next(folder for folder in folders if (folder / "english").is_dir())


def surroundings(home, work):
    return dict(env=dict(os.environ, LD_LIBRARY_PATH="%s/libs:%s/.basecase-lib" % (home, home)), stdout=open(work / "log", "a"), stderr=subprocess.STDOUT)


def initialise(home, work):
    names = ["system_tables", "performance_tables", "system_tables_data", "fill_help_tables"]
    scripts = [path for name in names for dbms in ("mysql_", "mariadb_", "") if (path := share_of(home) / (dbms + name + ".sql")).exists()]
    if not any("system_tables" in path.name for path in scripts):
        subprocess.run(command_of(home, work) + ["--initialize-insecure"], check=True, **surroundings(home, work))
        return
    (work / "data/mysql").mkdir(parents=True)
    script = "set @auth_root_socket=NULL;\ncreate database if not exists mysql;\nuse mysql;\n" + "\n".join(path.read_text(errors="replace") for path in scripts)
    command = command_of(home, work) + ["--bootstrap", "--max-allowed-packet=8M"]
    subprocess.run(command, input=script.encode(), check=True, **surroundings(home, work))


def values_of(name, draw):
    if name in WRITES:
        number, c = draw.randrange(1, ROWS + 1), groups(draw, 10)
        return [c, number] if name == "update" else [number, c, groups(draw, 5)]
    low = draw.randrange(1, ROWS + 1 - WIDTHS.get(name, 0))
    return [low, low + WIDTHS[name]] if name in WIDTHS else [low]


def count_session(server, work, name, executions):
    """A whole session: the same values for every version, and of the longer session the first are those of the shorter."""
    sql, _, expected = STATEMENTS[name]
    draw = random.Random("values of " + name)
    server.count()
    session = Session(work, "ib")
    session.prepare(sql)
    for _ in range(executions):
        assert session.execute(values_of(name, draw)) == expected, name
    session.close()
    return server.count()


def load(home, work, arguments):
    initialise(home, work)
    server = Server(home, work, arguments.set)
    session = Session(work)
    create = "CREATE TABLE sbtest1 (id %s, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
    for sql in ("CREATE DATABASE ib", "USE ib", create % arguments.id + f" ENGINE={arguments.engine}"):
        session.simple(sql)
    draw = random.Random("rows")
    for _ in range(ROWS // 1000):
        tuples = ["(%d, '%s', '%s')" % tuple(values_of("insert", draw)) for _ in range(1000)]
        session.simple("INSERT INTO sbtest1 (k, c, pad) VALUES " + ", ".join(tuples))
    session.simple("CREATE INDEX k_1 ON sbtest1 (k)")
    session.simple("ANALYZE TABLE sbtest1")
    session.close()
    server.stop()


def start(home, work, arguments):
    """A server under callgrind on a copy of the loaded data, warm. Ends the one before."""
    Server.running.stop()
    shutil.rmtree(work / "data")
    subprocess.run(["cp", "-a", work / "image", work / "data"], check=True)
    server = Server(home, work, arguments.set, pathlib.Path(tempfile.mkdtemp(prefix="counts.", dir=work)))
    session = Session(work, "ib")
    for index in ["PRIMARY", "k_1"] + ["id"] * (arguments.id == "SERIAL"):
        session.simple("SELECT COUNT(*) FROM sbtest1 FORCE INDEX (`%s`)" % index)
    for table in "tables statistics columns schemata routines events triggers views partitions files".split() * arguments.open_tables:
        session.simple("SELECT COUNT(*) FROM information_schema." + table)
    session.close()
    if arguments.snapshot:
        server.reader = Session(work, "ib")
        server.reader.simple("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return server


def count_version(home, arguments):
    work = pathlib.Path(tempfile.mkdtemp(prefix="crude_counts.", dir=arguments.folder))
    reads = [name for name in arguments.list if name not in WRITES]
    windows = {name: [] for name in arguments.list}

    def window(name, server_of):
        n = STATEMENTS[name][1]
        short, long = [count_session(server_of(), work, name, n // 2 + times * n) for times in (1, 3)]
        windows[name].append((long - short) / (2 * n))

    try:
        load(home, work, arguments)
        subprocess.run(["cp", "-a", work / "data", work / "image"], check=True)
        for _ in range(arguments.starts):
            server = start(home, work, arguments) if reads else None
            for name in reads:
                count_session(server, work, name, 4 * STATEMENTS[name][1])
                window(name, lambda: server)
                window(name, lambda: server)
            for name in arguments.list:
                if name in WRITES:
                    window(name, lambda: start(home, work, arguments))
        return windows
    finally:
        if Server.running:
            Server.running.stop()
        shutil.rmtree(work, ignore_errors=True)


def main():
    # So that a server is not left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="+", type=pathlib.Path)
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--list", type=lambda text: text.split(","), default=list(STATEMENTS), help="of " + ",".join(STATEMENTS))
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], help="a setting of the server besides those of z12a, or in their place")
    parser.add_argument("--id", default="SERIAL", help="type of the id; in MySQL SERIAL is BIGINT UNSIGNED with a unique index of its own")
    parser.add_argument("--engine", default="InnoDB", help="e.g. RocksDB, with --set plugin_load_add=ha_rocksdb and the --set plugin_dir of a build")
    parser.add_argument("--open-tables", action="store_true", help="open tables of the dictionary first, so that the table cache is not small")
    parser.add_argument("--snapshot", action="store_true", help="keep a snapshot open, so that purge removes nothing meanwhile")
    arguments = parser.parse_args()
    results = []
    for home in arguments.homes:
        results.append(count_version(home.resolve(), arguments))
        print(home.name, flush=True)
        for name, windows in results[-1].items():
            print("  %-9s %s" % (name, "  ".join("%.1f" % window for window in windows)), flush=True)
    print("\nrelative to %s:" % arguments.homes[0].name)
    for name in arguments.list:
        base, *others = [sum(windows[name]) / len(windows[name]) for windows in results]
        print("  %-9s %.1f  %s" % (name, base, "  ".join("%.5f" % (other / base) for other in others)))


if __name__ == "__main__":
    main()
