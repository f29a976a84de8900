#!/usr/bin/env python3
"""Queries per second of versions of MySQL or MariaDB, and their CPU time per query, by sysbench: a check of basecase that shares no code with it.

All servers run at the same time, each with its own data, and sysbench loads one after the other, in an order that turns from round to round. Prints
each round, and the medians of the ratios to the first version. Needs sysbench 1.0 on the PATH.

usage: sysbench_versions.py FOLDER_OF_A_SERVER FOLDER… [--workloads oltp_point_select,oltp_update_non_index] [--threads 40] [--rounds 5]
"""
import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

from crude_counts_mysql import Server, initialise
from crude_mysql_client import Session

TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


class Version:
    """A server with the tables of sysbench."""

    def __init__(self, home, folder, arguments):
        self.name = home.name
        self.work = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.arguments = arguments
        initialise(home, self.work)
        self.server = Server(home, self.work, arguments.set)
        session = Session(self.work)
        session.simple("CREATE DATABASE sbtest")
        # What every client library knows.
        session.simple("CREATE USER sbtest@localhost IDENTIFIED WITH mysql_native_password")
        session.simple("GRANT ALL ON sbtest.* TO sbtest@localhost")
        session.close()
        self.sysbench("oltp_point_select", "prepare")

    def sysbench(self, workload, action):
        asked = self.arguments
        options = {"db-driver": "mysql", "mysql-socket": self.work / "s.sock", "mysql-user": "sbtest", "mysql-db": "sbtest",
                   "tables": asked.tables, "table-size": asked.rows, "threads": asked.threads, "time": asked.seconds, "rand-type": "uniform"}
        command = ["sysbench", workload, *("--%s=%s" % option for option in options.items()), action]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=asked.seconds + 300)
        if done.returncode:
            sys.exit(done.stdout)
        return done.stdout

    def cpu_us(self):
        fields = pathlib.Path("/proc/%d/stat" % self.server.process.pid).read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_US

    def measure(self, workload):
        """Queries per second, and the server's CPU time per query in microseconds, connecting and preparing included."""
        before = self.cpu_us()
        told = self.sysbench(workload, "run")
        queries, rate = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", told).groups()
        return float(rate), (self.cpu_us() - before) / int(queries)


def compare(versions, workload, count):
    rounds = []
    for number in range(count):
        turn = number % len(versions)
        found = {version.name: version.measure(workload) for version in versions[turn:] + versions[:turn]}
        rounds.append([found[version.name] for version in versions])
        print(workload, "  ".join("%.0f/s %.1f us" % one for one in rounds[-1]), flush=True)
    for place, version in enumerate(versions):
        rate, cpu = (statistics.median(one[place][part] / one[0][part] for one in rounds) for part in (0, 1))
        print("  %-24s rate %.3f  CPU %.3f" % (version.name, rate, cpu), flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="+", type=pathlib.Path)
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=["oltp_point_select", "oltp_update_non_index"])
    for name, usual in (("threads", 40), ("tables", 8), ("rows", 20_000), ("seconds", 4), ("rounds", 5)):
        parser.add_argument("--" + name, type=int, default=usual)
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--set", action="append", default=[], help="a setting of the servers besides those of z12a, or in their place")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sysbench.", dir=arguments.folder) as folder:
        versions = []
        try:
            for home in arguments.homes:
                versions.append(Version(home.resolve(), folder, arguments))
            for workload in arguments.workloads:
                compare(versions, workload, arguments.rounds)
        finally:
            # The last one that was started may be none of the versions yet.
            for server in {Server.running, *(version.server for version in versions)} - {None}:
                server.stop()


if __name__ == "__main__":
    main()
