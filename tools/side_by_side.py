#!/usr/bin/env python3
"""Client CPU of basecase, of a plain Python loop and of pgbench, side by side in one run.

Needs a running Postgres, a database on it in which the tables pi1 and python_client may be dropped, `pip install psycopg2-binary`,
and pgbench. Prints µs of client CPU per inserted row, range query and point query, as medians over the rounds, and ratios.

usage: side_by_side.py BASECASE PGBENCH postgres://USER:PASSWORD@HOST:PORT/DATABASE [rounds]
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROWS = 200_000
SECONDS = 5


def cpu_us():
    usage = os.times()
    return (usage.children_user + usage.children_system) * 1e6


def python(url):
    script = pathlib.Path(__file__).with_name("python_client.py")
    output = subprocess.run([sys.executable, script, url, str(ROWS), str(SECONDS)], check=True, capture_output=True, text=True)
    return {line.split()[0]: float(line.split()[1]) for line in output.stdout.splitlines()}


def pgbench(program, url, folder):
    scripts = {
        "range": "\\set v random(0, 9999)\nselect productid, customerid, price from python_client where productid >= :v"
        " order by productid, customerid, price limit 10;\n",
        "point": "".join("\\set i%d random(0, %d)\n" % (number, ROWS - 1) for number in range(10))
        + "select transactionid, productid, data from python_client where transactionid in (%s);\n"
        % ", ".join(":i%d" % number for number in range(10)),
    }
    figures = {}
    for name, text in scripts.items():
        path = pathlib.Path(folder, name + ".sql")
        path.write_text(text)
        before = cpu_us()
        command = [program, "-n", "-M", "prepared", "-T", str(SECONDS), "-f", path, url]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done = next(line for line in output.splitlines() if line.startswith("number of transactions actually processed"))
        figures[name] = (cpu_us() - before) / int(done.split(":")[1].split("/")[0])
    return figures


def basecase(program, url, folder):
    store = pathlib.Path(folder, "side.sqlite")
    store.unlink(missing_ok=True)
    command = [program, "compare", "url:" + url, "--rows", str(ROWS), "--writes", "1000", "--seconds", str(SECONDS)]
    command += ["--settle", "off", "--json", "--store", store, "--out", pathlib.Path(folder, "report")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    cells = {step["step"]: step["cells"][0]["metrics"]["client_cpupq"] for step in report["steps"]}
    return {"insert": cells["l.i0"], "range": cells["qr100"], "point": cells["qp100"]}


def main():
    program, bench, url = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    figures = {"basecase": [], "python": [], "pgbench": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            figures["python"].append(python(url))
            figures["basecase"].append(basecase(program, url, folder))
            figures["pgbench"].append(pgbench(bench, url, folder))
    print("client       " + "".join("%18s" % kind for kind in ("insert µs/row", "range µs/query", "point µs/query")))
    medians = {}
    for client, runs in figures.items():
        medians[client] = {kind: statistics.median(run[kind] for run in runs) for kind in runs[0]}
        cells = ("%18.2f" % medians[client][kind] if kind in medians[client] else "%18s" % "–" for kind in ("insert", "range", "point"))
        print("%-13s" % client + "".join(cells))
    for other in ("python", "pgbench"):
        pairs = {
            kind: [run[kind] / ours[kind] for run, ours in zip(figures[other], figures["basecase"])] for kind in medians[other]
        }
        print(other + " / basecase, round by round: " + ", ".join(
            "%s %.2f (%.2f to %.2f)" % (kind, statistics.median(ratios), min(ratios), max(ratios)) for kind, ratios in pairs.items()
        ))


main()
