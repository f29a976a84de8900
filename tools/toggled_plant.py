#!/usr/bin/env python3
"""What a planted loop costs beyond its own time: one session whose library is told anew every 30 ms how long to spin.

The numbers of turns come in random order and back again, beside nothing else, on the last processor. Prints for each how much longer
statements take than with the first, as the library counts it and as it is found: the mean of the differences between 10 and 90 %.

usage: toggled_plant.py BASECASE FOLDER_OF_POSTGRES_PROGRAMS STEP TURNS,TURNS… [SECONDS]
       e.g. target/release/basecase ~/.local/share/basecase/builds/postgres-18.6-pypi/bin point-query 300,1000,3700 130
"""
import math
import mmap
import os
import pathlib
import pwd
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).parent.parent / "crates/server/src/instance/plant.c"
SETTLE_S, SLICE_S = 0.003, 0.03
# The client loads its table and warms up first.
LEAD_S = 8


def library(folder):
    """The planted library, with its turns in the file in which it counts."""
    text = SOURCE.read_text()
    for old, new in [
        ("    _Atomic uint64_t nanoseconds;\n", "    _Atomic uint64_t nanoseconds;\n    volatile uint64_t turns;\n"),
        ("FLOOR + (++calls_of_thread % every == 0 ? spins * every : 0)", "planted->turns"),
    ]:
        if text.count(old) != 1:
            sys.exit(f"{SOURCE} has changed: {old.strip()!r} is not there once")
        text = text.replace(old, new)
    (folder / "plant.c").write_text(text)
    subprocess.run(["cc", "-O2", "-w", "-shared", "-fPIC", "-o", folder / "plant.so", folder / "plant.c", "-ldl"], check=True)
    return folder / "plant.so"


def unprivileged(folder):
    """The user that the server runs as: it starts for any but root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def series(shared, turns, seconds):
    """Time of a statement in each pass, and what was counted after one, in ns, by turns."""
    found, counted = {each: [] for each in turns}, {each: [0, 0] for each in turns}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        order, passed = random.sample(turns, len(turns)), {each: [] for each in turns}
        for each in order + order[::-1]:
            shared[16:24] = struct.pack("Q", each)
            time.sleep(SETTLE_S)
            began, before = time.perf_counter_ns(), struct.unpack("QQ", shared[:16])
            time.sleep(SLICE_S)
            ended, after = time.perf_counter_ns(), struct.unpack("QQ", shared[:16])
            passed[each].append((ended - began) / (after[0] - before[0]))
            counted[each] = [sum(pair) for pair in zip(counted[each], (after[0] - before[0], after[1] - before[1]))]
        for each in turns:
            found[each].append(statistics.mean(passed[each]))
    return found, {each: ns / calls for each, (calls, ns) in counted.items()}


def tell(turns, found, counted):
    first = turns[0]
    statement = statistics.median(found[first])
    print(f"a statement takes {statement:.0f} ns with {first} turns; {len(found[first])} passes")
    for each in turns[1:]:
        differences = sorted(one - other for one, other in zip(found[each], found[first]))
        tenth = len(differences) // 10
        middle = differences[tenth : len(differences) - tenth]
        mean, planted = statistics.mean(middle), counted[each] - counted[first]
        # Of a trimmed mean: what is cut off was to be told from as well.
        error = 1.2 * statistics.pstdev(middle) / math.sqrt(len(differences))
        beyond = f"{100 * (mean - planted) / statement:+.3f} ± {100 * error / statement:.3f} % of it"
        print(f"{each:>7} turns: counted {planted:8.1f} ns, found {mean:8.1f} ± {error:.1f}, beyond {beyond}")


def main():
    program, programs, step, turns = sys.argv[1:5]
    program, programs = pathlib.Path(program).resolve(), pathlib.Path(programs).resolve()
    turns = [int(each) for each in turns.split(",")]
    seconds = float(sys.argv[5]) if len(sys.argv) > 5 else 130
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="toggled-") as name:
        folder = pathlib.Path(name)
        user = unprivileged(folder)
        planted = library(folder)
        file = folder / "planted"
        file.write_bytes(bytes(24))
        file.chmod(0o666)
        with file.open("r+b") as opened:
            shared = mmap.mmap(opened.fileno(), 24)
        data = folder / "data"
        subprocess.run([programs / "initdb", "-D", data, "-U", "toggled", "-A", "trust", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)
        settings = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", "shared_buffers=256MB", "autovacuum=off"]
        environment = {**os.environ, "LD_PRELOAD": str(planted), "BASECASE_PLANT_FILE": str(file)}
        with (folder / "server.log").open("w") as log:
            server = subprocess.Popen([programs / "postgres", "-D", data, *(word for setting in settings for word in ("-c", setting))],
                                      env=environment, stdout=log, stderr=log, cwd=folder, **user)
        try:
            while not (folder / f".s.PGSQL.{port}").exists():
                if server.poll() is not None:
                    sys.exit((folder / "server.log").read_text())
                time.sleep(0.1)
            time.sleep(1)
            command = [program, "compare", f"url:postgres://toggled@127.0.0.1:{port}/postgres", "--workload", "microbenchmarks", "--list", step]
            command += ["--option", "rows=20000", "--option", f"seconds={seconds + LEAD_S:.0f}", "--settle", "off", "--probe", "off", "--pin", "off"]
            client = subprocess.Popen([*command, "--store", "toggled.sqlite"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(LEAD_S)
            if client.poll() is not None:
                sys.exit(client.stderr.read().decode())
            try:
                tell(turns, *series(shared, turns, seconds))
            finally:
                client.terminate()
                client.communicate()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


main()
