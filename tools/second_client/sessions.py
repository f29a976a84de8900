"""Sessions of the second client, measured in turns of slices."""
import select
import subprocess
import sys

from servers import LIMIT_S, child

ID = "WHERE id = $1"
RANGE = "WHERE id BETWEEN $1 AND $2"

# By name: SQL, parameters, width of a range less one, rows of a reply. What steps of basecase's microbenchmarks execute:
# read-only-distinct-pure, read-only-sum-pure, range-covered-pk (101 ids), scan, point-query.
STATEMENTS = {
    "distinct": ("SELECT DISTINCT c FROM sbtest1 %s ORDER BY c" % RANGE, 2, 999, "range"),
    "sum": ("SELECT SUM(k) FROM sbtest1 %s" % RANGE, 2, 999, 1),
    "covered": ("SELECT id FROM sbtest1 %s" % RANGE, 2, 100, "range"),
    "scan": ("SELECT * from sbtest1 WHERE LENGTH(c) < 0", 0, 0, 0),
    "point": ("SELECT c FROM sbtest1 %s" % ID, 1, 0, 1),
}


class Session:
    """A process of the client, and the process of the server that serves it."""

    running = []

    def __init__(self, place, server, statement, rows, most_statements, seed, processor, describe):
        sql, parameters, width, expected = STATEMENTS[statement]
        command = [place.client, "session", server.socket, "postgres", seed, most_statements, rows, sql, parameters, width, expected]
        command += ["describe"] if describe else []
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=child(processor),
        )
        Session.running.append(self)
        words = self.answer().split()
        self.pid, self.prepared, self.deallocated = int(words[2]), int(words[4]), int(words[6])
        self.slices = []

    def answer(self):
        # Answers are single lines, so nothing waits in the buffer.
        is_there = select.select([self.process.stdout], [], [], LIMIT_S)[0]
        line = self.process.stdout.readline() if is_there else ""
        if not line and not is_there:
            sys.exit("the client has not answered for %d s" % LIMIT_S)
        if not line:
            sys.exit("the client ended: %s" % self.process.stderr.read().strip())
        return line

    def run(self, milliseconds):
        """Queries of a slice, its nanoseconds, and those which the server's process was on a processor.

        The first query finds caches that another version has filled. It is not counted.
        """
        self.execute(0)
        before = self.on_processor_ns()
        queries, elapsed = self.execute(milliseconds)
        return queries, elapsed, self.on_processor_ns() - before

    def execute(self, milliseconds):
        """Queries, at least one, and their nanoseconds."""
        self.process.stdin.write("run %d ms\n" % milliseconds)
        self.process.stdin.flush()
        words = self.answer().split()
        return int(words[1]), int(words[3])

    def on_processor_ns(self):
        """Of the server's process, exact."""
        with open("/proc/%d/schedstat" % self.pid) as file:
            return int(file.read().split()[0])

    def usage(self):
        """What the server's process has used: minor faults, and ticks in user and in kernel mode."""
        with open("/proc/%d/stat" % self.pid) as file:
            fields = file.read().rpartition(")")[2].split()
        return [int(fields[7]), int(fields[11]), int(fields[12])]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        Session.running.remove(self)


def measure(sessions, draw, passes, warm_up_passes, slice_ms):
    """Measures sessions, by version, in turns; the order is drawn anew for each pass."""
    order = list(sessions)
    for _ in range(warm_up_passes):
        draw.shuffle(order)
        for label in order:
            sessions[label].run(slice_ms)
    before = {label: session.usage() for label, session in sessions.items()}
    for _ in range(passes):
        draw.shuffle(order)
        for label in order:
            sessions[label].slices.append(sessions[label].run(slice_ms))
    records = {}
    for label, session in sessions.items():
        used = [after - first for after, first in zip(session.usage(), before[label])]
        queries, elapsed, on_processor = (sum(column) for column in zip(*session.slices))
        server_us = on_processor / queries / 1e3
        # Ticks of 10 ms are too coarse for the sum, and are all that tells the mode.
        kernel = used[2] / max(1, used[1] + used[2])
        records[label] = {
            "prepared": session.prepared,
            "deallocated": session.deallocated,
            "queries": queries,
            "queries_per_second": queries * 1e9 / elapsed,
            # Those that are not counted have faults too.
            "faults_per_query": used[0] / (queries + passes),
            "server_us_per_query": server_us,
            "user_us_per_query": server_us * (1 - kernel),
            "kernel_us_per_query": server_us * kernel,
            "slices": session.slices,
        }
    return records
