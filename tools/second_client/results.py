"""From sessions to cells: ratios to the base with intervals, costs per query, and modes of faults."""
import math

from intervals import interquartile_mean, interval, limit_between_modes, mean, share_interval, slope

ERROR = 0.05
# Faults per query between two modes, at least; and by which sessions differ, at least, before they tell a price.
LEAST_GAP = 1.0
LEAST_SPREAD = 3.0


def log_ratio(record, base, value=lambda queries, elapsed, on_processor: queries / elapsed):
    """Of queries per second, or another value of a slice: each slice against the base's slice of the same pass."""
    return interquartile_mean([math.log(value(*own) / value(*other)) for own, other in zip(record["slices"], base["slices"])])


def cpu_log_ratio(record, base):
    """Of the server's CPU time per query."""
    return log_ratio(record, base, lambda queries, elapsed, on_processor: on_processor / queries)


def nested(starts, statement, value, chosen=lambda versions: True):
    """The value of each session, by start, without starts that have none."""
    result = []
    for start in starts:
        sessions = [value(turn["versions"]) for turn in start["turns"] if turn["statement"] == statement and chosen(turn["versions"])]
        if sessions:
            result.append(sessions)
    return result


def ratio(logs, error):
    middle, half = interval(logs, error)
    if half is None:
        return {"ratio": math.exp(middle), "low": None, "high": None}
    return {"ratio": math.exp(middle), "low": math.exp(middle - half), "high": math.exp(middle + half)}


def modes(starts, statement, label, base):
    """The two modes of faults per query of a version, if it has two: how often each occurs, and how fast it is in each."""
    faults = lambda versions: versions[label]["faults_per_query"]
    values = [value for start in nested(starts, statement, faults) for value in start]
    limit = limit_between_modes(values, LEAST_GAP)
    if limit is None:
        return []
    found = []
    for is_high in (False, True):
        is_in = lambda versions: (faults(versions) > limit) == is_high
        share, low, high = share_interval(nested(starts, statement, is_in), ERROR)
        own = nested(starts, statement, faults, is_in)
        mode = {"share": share, "share_low": low, "share_high": high, "sessions": sum(map(len, own)), "starts": len(own)}
        mode["faults_per_query"] = mean([value for start in own for value in start])
        mode["server_us_per_query"] = mean(
            [value for start in nested(starts, statement, lambda versions: versions[label]["server_us_per_query"], is_in) for value in start]
        )
        if label != base:
            mode.update(ratio(nested(starts, statement, lambda versions: log_ratio(versions[label], versions[base]), is_in), ERROR))
        found.append(mode)
    return found


def price(starts, statement, label):
    """Microseconds of server CPU per fault, by sessions of one version that differ in faults."""
    cost = lambda record: interquartile_mean([on_processor / queries / 1e3 for queries, _, on_processor in record["slices"]])
    pairs = nested(starts, statement, lambda versions: (versions[label]["faults_per_query"], cost(versions[label])))
    faults = [pair[0] for start in pairs for pair in start]
    if max(faults) - min(faults) < LEAST_SPREAD:
        return None
    found = slope(pairs, ERROR)
    return found and {"us_per_fault": found[0], "low": found[0] - found[1], "high": found[0] + found[1]}


def cells_of(starts, labels, statements):
    """A cell for each statement and version. The base is the first version."""
    base, cells = labels[0], []
    compared = len(statements) * (len(labels) - 1)
    for statement in statements:
        if not nested(starts, statement, len):
            continue
        for label in labels:
            cell = {"statement": statement, "version": label}
            for key in ("queries_per_second", "faults_per_query", "user_us_per_query", "kernel_us_per_query", "server_us_per_query"):
                sessions = nested(starts, statement, lambda versions: versions[label][key])
                cell[key] = mean([mean(start) for start in sessions])
                cell["starts"], cell["sessions"] = len(sessions), sum(map(len, sessions))
            faults = [value for start in nested(starts, statement, lambda versions: versions[label]["faults_per_query"]) for value in start]
            cell["least_faults_per_query"], cell["most_faults_per_query"] = min(faults), max(faults)
            if label != base:
                logs = nested(starts, statement, lambda versions: log_ratio(versions[label], versions[base]))
                cell.update(ratio(logs, ERROR))
                simultaneous = ratio(logs, ERROR / compared)
                cell["simultaneous_low"], cell["simultaneous_high"] = simultaneous["low"], simultaneous["high"]
                cell["cpu"] = ratio(nested(starts, statement, lambda versions: cpu_log_ratio(versions[label], versions[base])), ERROR)
            cell["price"] = price(starts, statement, label)
            cell["modes"] = modes(starts, statement, label, base)
            cells.append(cell)
    return cells


def change(ratio):
    return "–" if ratio is None else "%+.1f" % (100 * (ratio - 1))


def bounds(low, high):
    return "–" if low is None else "%+.1f to %+.1f" % (100 * (low - 1), 100 * (high - 1))


def text(cells, base):
    """A table for people."""
    head = ("statement", "version", "sessions", "starts", "queries/s", "change %", "95 %", "simultaneous 95 %", "CPU change %", "95 %", "user µs", "kernel µs", "faults/query")
    rows = [head]
    for cell in cells:
        row = [cell["statement"], cell["version"], cell["sessions"], cell["starts"], "%.0f" % cell["queries_per_second"]]
        if cell["version"] == base:
            row += ["base"] + [""] * 4
        else:
            row += [change(cell["ratio"]), bounds(cell["low"], cell["high"]), bounds(cell["simultaneous_low"], cell["simultaneous_high"])]
            row += [change(cell["cpu"]["ratio"]), bounds(cell["cpu"]["low"], cell["cpu"]["high"])]
        row += ["%.1f" % cell["user_us_per_query"], "%.1f" % cell["kernel_us_per_query"]]
        row += ["%.2f (%.2f to %.2f)" % (cell["faults_per_query"], cell["least_faults_per_query"], cell["most_faults_per_query"])]
        rows.append([str(value) for value in row])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(value.ljust(width) for value, width in zip(row, widths)).rstrip() for row in rows]
    lines.append("")
    for cell in cells:
        if cell["price"]:
            told = tuple(cell["price"][key] for key in ("us_per_fault", "low", "high"))
            lines.append("%s %s: a fault costs %.2f µs (%.2f to %.2f) of server CPU" % (cell["statement"], cell["version"], *told))
        for mode in cell["modes"]:
            line = "%s %s: %.1f faults per query in %.0f %% (%.0f to %.0f) of sessions, %.1f µs of server CPU per query" % (
                cell["statement"], cell["version"], mode["faults_per_query"], 100 * mode["share"], 100 * mode["share_low"],
                100 * mode["share_high"], mode["server_us_per_query"],
            )
            if "ratio" in mode:
                line += "; queries/s against the base %s %% (%s), %d sessions of %d starts" % (
                    change(mode["ratio"]), bounds(mode["low"], mode["high"]), mode["sessions"], mode["starts"]
                )
            lines.append(line)
    return "\n".join(lines)
