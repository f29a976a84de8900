#!/usr/bin/env python3
"""What looking on costs: the same step with and without it, in turns.

Prints the ratio with / without of the throughput, median and quartiles over the rounds.

usage: observing_cost.py BASECASE CANDIDATE [ROUNDS] [ARGUMENT OF compare …]
       by default: --workload oltp_point_select --rows 100000 --threads 4 --seconds 10
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def rate(program, candidate, arguments, probe, folder):
    for file in pathlib.Path(folder).glob("cost.sqlite*"):
        file.unlink()
    command = [program, "compare", candidate, "--probe", probe, *arguments, "--json", "--settle", "off"]
    command += ["--store", f"{folder}/cost.sqlite", "--out", f"{folder}/report"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    metrics = {step["step"]: step["cells"][0]["metrics"] for step in report["steps"]}
    return {name: figures["qps"] or figures["ips"] for name, figures in metrics.items()}


def main():
    program, candidate, *rest = sys.argv[1:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 7
    arguments = rest or "--workload oltp_point_select --rows 100000 --threads 4 --seconds 10".split()
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            order = ("on", "off") if number % 2 else ("off", "on")
            rates = {probe: rate(program, candidate, arguments, probe, folder) for probe in order}
            for step, value in rates["on"].items():
                ratios.setdefault(step, []).append(value / rates["off"][step])
    for step, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"{step:<24}{middle:.4f}   quartiles {low:.4f} to {high:.4f}, {len(found)} rounds")


main()
