#!/usr/bin/env python3
"""Throughput and client CPU of basecase beside those of sysbench, on one server and the same tables, in turns.

Needs a running server of your own, a database on it in which the tables sbtest1 … may be dropped, and sysbench 1.0.
Prints, for each workload and number of threads, the medians over the rounds of the ratios basecase / sysbench.

usage: beside_sysbench.py BASECASE URL [WORKLOAD,…] [THREADS,…] [SECONDS] [ROUNDS]
       URL is postgres://USER:PASSWORD@HOST:PORT/DATABASE or mysql://…; HOST may be a folder or a socket, as %2Frun%2Fserver
"""
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import urllib.parse

ROWS = 100_000


def cpu_us():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e6


def sysbench_arguments(url):
    parts = urllib.parse.urlsplit(url)
    # Not `parts.hostname`, which is in small letters.
    host = urllib.parse.unquote(parts.netloc.split("@")[-1].split(":")[0])
    kind = "pgsql" if parts.scheme.startswith("postgres") else "mysql"
    named = {"user": parts.username, "password": parts.password, "db": parts.path.strip("/"), "port": parts.port}
    named["socket" if host.startswith("/") and kind == "mysql" else "host"] = host
    arguments = [f"--{kind}-{name}={urllib.parse.unquote(str(value))}" for name, value in named.items() if value]
    return [f"--db-driver={kind}", *arguments]


def sysbench(url, workload, threads, seconds):
    command = ["sysbench", *sysbench_arguments(url), f"--threads={threads}", f"--time={seconds}", f"--table-size={ROWS}"]
    command += ["--rand-type=uniform", workload, "run"]
    before = cpu_us()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    spent = cpu_us() - before
    queries = int(re.search(r"^\s+total:\s+(\d+)$", output, re.M).group(1))
    rate = float(re.search(r"queries:\s+\d+\s+\(([\d.]+) per sec", output).group(1))
    return rate, spent / queries


def basecase(program, url, workload, threads, seconds, folder):
    store = pathlib.Path(folder, "beside.sqlite")
    for file in pathlib.Path(folder).glob("beside.sqlite*"):
        file.unlink()
    command = [program, "compare", "url:" + url, "--workload", workload, "--rows", str(ROWS), "--threads", str(threads)]
    command += ["--seconds", str(seconds), "--warm-up-seconds", "0", "--settle", "off", "--pin", "off", "--keep-data", "--json"]
    command += ["--store", store, "--out", pathlib.Path(folder, "report")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    metrics = report["steps"][-1]["cells"][0]["metrics"]
    return metrics["qps"], metrics["client_cpupq"]


def main():
    program, url, *rest = sys.argv[1:]
    workloads = (rest[0] if rest else "oltp_point_select,oltp_read_only,oltp_read_write,oltp_insert").split(",")
    threads = (rest[1] if len(rest) > 1 else "1,8,40,256").split(",")
    seconds = int(rest[2]) if len(rest) > 2 else 5
    rounds = int(rest[3]) if len(rest) > 3 else 5
    print(f"{'workload':<20}{'threads':>8}  {'queries/s':>9}{'client CPU':>11}   ratios to sysbench; {rounds} rounds of {seconds} s")
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads:
            for count in threads:
                pairs = []
                for _ in range(rounds):
                    # basecase loads the tables that both then use.
                    ours = basecase(program, url, workload, count, seconds, folder)
                    pairs.append((ours, sysbench(url, workload, count, seconds)))
                rate, cpu = ([ours[part] / theirs[part] for ours, theirs in pairs] for part in (0, 1))
                low, high = min(rate), max(rate)
                figures = " ".join(f"{ours[0]:.0f}/{theirs[0]:.0f}" for ours, theirs in pairs)
                print(
                    f"{workload:<20}{count:>8}  {statistics.median(rate):>9.2f}{statistics.median(cpu):>11.2f}"
                    f"   {low:.2f} to {high:.2f}; {figures}",
                    flush=True,
                )


main()
