"""What an answer of `bisect` is worth, when it is known where changes are planted and which commits can be built."""
from planted_loop import TOLERANCE
from planted_work import length

KEYS = {"before", "since", "is_exact", "ratio"}


def ratios(turns, instructions):
    """By how much each planted commit changes an operation."""
    levels = [1, *(1 + length(each) / instructions for each in turns)]
    return [after / before for before, after in zip(levels, levels[1:])]


def judged(plan, change, place, ratio, by_counts):
    """Whether a change is the planted one: "exact", "range", or what is wrong with it."""
    hashes, broken = plan["hashes"], set(plan["broken"])
    for end in ("before", "since"):
        if change[end] not in hashes:
            return f"{end} is {change[end]}, which is no commit of the range"
    before, since = hashes.index(change["before"]), hashes.index(change["since"])
    if not before < place <= since:
        return f"names {before}..{since}, planted at {place}"
    # Commits that touch nothing that is compiled may be left out.
    inner = [each for each in plan["touching"] if before < each < since or each == since]
    if any(each not in broken and each != since for each in inner):
        return f"names {before}..{since} for {place}, with commits between that can be built"
    if change["is_exact"] != (inner == [place]):
        return f"names {before}..{since} for {place} as {'exact' if change['is_exact'] else 'a range'}"
    if by_counts and abs(change["ratio"] - ratio) * 100 > TOLERANCE:
        return f"says {100 * (change['ratio'] - 1):+.2f} % of {place}, planted {100 * (ratio - 1):+.2f} %"
    return "exact" if change["is_exact"] else "range"


def tallied(plan, answer, instructions, by_counts):
    """What an answer is worth: a word for each change that was planted or found."""
    if "error" in answer:
        return [answer["error"]]
    if "changes" not in answer or any(not KEYS <= change.keys() for change in answer["changes"]):
        return [f"the answer has not changes with {', '.join(sorted(KEYS))}"]
    found = sorted(answer["changes"], key=lambda change: plan["hashes"].index(change["since"]) if change["since"] in plan["hashes"] else -1)
    planted = list(zip(plan["places"], ratios(plan["turns"], instructions)))
    if len(found) != len(planted):
        return [f"{len(found)} changes found, {len(planted)} planted"]
    return [judged(plan, change, *each, by_counts) for change, each in zip(found, planted)] or ["none"]
