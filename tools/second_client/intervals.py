"""Intervals of means of nested draws, and groups that lie apart. `self_test` checks both on simulated data."""
import functools
import math
import random


def mean(values):
    return sum(values) / len(values)


def variance(values):
    middle = mean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def interquartile_mean(values):
    """The mean without the lowest and the highest quarter: slices in which the machine was busy elsewhere do not count."""
    cut = len(values) // 4
    return mean(sorted(values)[cut : len(values) - cut])


def incomplete_beta(a, b, x):
    """Regularised, by its continued fraction (Lentz)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a if x > 0 else 0.0
    fraction, c, d = 1.0, 1.0, 0.0
    for step in range(400):
        m = step // 2
        if step == 0:
            numerator = 1.0
        elif step % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + numerator * d)
        c = 1 + numerator / c
        fraction *= c * d
        if step > 2 and abs(c * d - 1) < 1e-12:
            break
    return front * (fraction - 1)


@functools.cache
def t_quantile(probability, freedom):
    """Of an upper tail: the value below which t lies with a probability of more than a half."""
    low, high = 0.0, 1e6
    while high - low > 1e-9 * (1 + high):
        middle = (low + high) / 2
        below = 1 - incomplete_beta(freedom / 2, 0.5, freedom / (freedom + middle * middle)) / 2
        low, high = (middle, high) if below < probability else (low, middle)
    return low


def interval(starts, error):
    """Mean and half-width of what was observed in starts, each a list of sessions. Starts are independent; sessions of one are
    not, so each start counts by its mean. No half-width of fewer than two."""
    means = [mean(sessions) for sessions in starts]
    if len(means) < 2:
        return mean(means), None
    width = t_quantile(1 - error / 2, len(means) - 1) * math.sqrt(variance(means) / len(means))
    return mean(means), width


def share_interval(starts, error):
    """Share of true values, and Wilson's interval, with as many sessions as the likeness within starts leaves."""
    sessions = [value for start in starts for value in start]
    count, share = len(sessions), mean(sessions)
    effective = count
    if len(starts) > 1 and 0 < share < 1:
        expected = share * (1 - share) * mean([1 / len(start) for start in starts])
        effective = count / max(1.0, variance([mean(start) for start in starts]) / expected)
    z = t_quantile(1 - error / 2, 1e6)
    middle = (share + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * math.sqrt(share * (1 - share) / effective + z * z / (4 * effective**2))
    return share, max(0.0, middle - half), min(1.0, middle + half)


def limit_between_modes(values, least_gap, least_values=8):
    """Where values fall into two groups with a gap between them, the middle of the gap. A tenth of the values at least is on either
    side. The gap is a larger part of the whole spread than an even spread would leave anywhere, but in some of a hundred cases: of
    n spacings the largest is (ln n + x) / n of the whole, x beyond 4 in 2 %."""
    values, count = sorted(values), len(values)
    members = max(2, count // 10)
    if count < least_values:
        return None
    gap, cut = max((values[cut] - values[cut - 1], cut) for cut in range(members, count - members + 1))
    if gap < least_gap or gap < (math.log(count) + 4) / count * (values[-1] - values[0]):
        return None
    return (values[cut - 1] + values[cut]) / 2


def slope(starts, error):
    """Of y on x, pairs in lists of sessions by start, within starts; with its half-width. None where x does not vary."""
    pairs = []
    for sessions in starts:
        middle_x, middle_y = (mean([pair[axis] for pair in sessions]) for axis in (0, 1))
        pairs += [(x - middle_x, y - middle_y) for x, y in sessions]
    square, freedom = sum(x * x for x, _ in pairs), len(pairs) - len(starts) - 1
    if freedom < 4 or square <= 0:
        return None
    steepness = sum(x * y for x, y in pairs) / square
    rest = sum((y - steepness * x) ** 2 for x, y in pairs) / freedom
    return steepness, t_quantile(1 - error / 2, freedom) * math.sqrt(rest / square)


# ---- self-test ----


def simulated(draw, starts, sessions, truth, start_sd, session_sd):
    result = []
    for _ in range(starts):
        middle = truth + draw.gauss(0, start_sd)
        result.append([middle + draw.gauss(0, session_sd) for _ in range(sessions)])
    return result


def self_test(trials=4000, seed=1):
    """Returns lines that tell what was checked; raises AssertionError if something is wrong."""
    draw, lines = random.Random(seed), []
    for freedom, probability, value in [(1, 0.975, 12.7062), (4, 0.975, 2.7764), (11, 0.975, 2.2010), (30, 0.9995, 3.6460), (1e6, 0.975, 1.95997)]:
        found = t_quantile(probability, freedom)
        assert abs(found - value) < 2e-4 * value, (freedom, probability, found)
    lines.append("t: five quantiles as in tables")
    assert interquartile_mean([1, 100, 2, 3, -50, 4, 5, 6]) == 3.5
    for error in (0.05, 0.0025):
        for start_sd, session_sd in [(0.02, 0.03), (0.0, 0.03), (0.03, 0.0)]:
            covered = 0
            for _ in range(trials):
                middle, half = interval(simulated(draw, 6, 3, 0.01, start_sd, session_sd), error)
                covered += abs(middle - 0.01) <= half
            share, sd = covered / trials, math.sqrt(error * (1 - error) / trials)
            assert abs(share - (1 - error)) < 4 * sd, (error, start_sd, session_sd, share)
            lines.append("interval of %g %%, sd of starts %g, of sessions %g: holds the truth in %.2f %%" % (100 * (1 - error), start_sd, session_sd, 100 * share))
    # Had sessions been taken as independent, an interval would be too narrow where starts differ.
    covered = 0
    for _ in range(trials):
        sessions = [[value] for start in simulated(draw, 6, 3, 0.01, 0.02, 0.01) for value in start]
        middle, half = interval(sessions, 0.05)
        covered += abs(middle - 0.01) <= half
    assert covered / trials < 0.85, covered
    lines.append("sessions taken as independent: %.2f %%, so starts matter" % (100 * covered / trials))
    for name, alike in [("sessions", False), ("starts", True)]:
        covered = 0
        for _ in range(trials):
            rule = lambda: draw.random() < 0.3
            starts = [[first if alike else rule() for _ in range(2)] for first in (rule() for _ in range(20))]
            _, low, high = share_interval(starts, 0.05)
            covered += low <= 0.3 <= high
        assert covered / trials > 0.92, (name, covered)
        lines.append("share of a mode that %s decide: held in %.2f %%" % (name, 100 * covered / trials))
    for count in (10, 20, 48):
        false = sum(limit_between_modes([draw.gauss(11, 2) for _ in range(count)], 1) is not None for _ in range(trials))
        even = sum(limit_between_modes([draw.uniform(8, 14) for _ in range(count)], 1) is not None for _ in range(trials))
        found = 0
        for _ in range(trials):
            values = [draw.gauss(1.2, 0.2) if number < count / 3 else draw.gauss(20.5, 0.8) for number in range(count)]
            found += 3 < (limit_between_modes(values, 1) or 0) < 18
        assert false < 0.02 * trials and even < 0.03 * trials and found > 0.99 * trials, (count, false, even, found)
        lines.append("two modes, %d sessions: seen in %.2f %% where there are two, in %.2f (normal) and %.2f %% (even) where there is one" % (count, 100 * found / trials, 100 * false / trials, 100 * even / trials))
    covered = 0
    for _ in range(trials):
        starts = [[(x, 400 + middle + 1.5 * x + draw.gauss(0, 5)) for x in (draw.uniform(0, 20) for _ in range(3))] for middle in (draw.gauss(0, 20) for _ in range(6))]
        steepness, half = slope(starts, 0.05)
        covered += abs(steepness - 1.5) <= half
    assert abs(covered / trials - 0.95) < 4 * math.sqrt(0.05 * 0.95 / trials), covered
    lines.append("price of a fault: interval of 95 %% holds the truth in %.2f %%" % (100 * covered / trials))
    return lines
