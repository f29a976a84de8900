"""Checks of the instruments themselves: that repositories are what they are said to be, and answers judged as they should be."""
import random
import subprocess
import time

from git_history import ENVIRONMENT, git
from planted_judgement import ratios, tallied
from planted_loop import SHARE, STEP, TOLERANCE, calibrated, compiled, counted, turns_of
from sqlite_repository import COMMITS, write_planted

SAMPLE = 10


class Checks:
    def __init__(self):
        self.failed = 0

    def that(self, is_true, text):
        self.failed += not is_true
        print(f"{'ok    ' if is_true else 'FAILED'} {text}", flush=True)


def version_of(repository, commit):
    """The amalgamation of a commit."""
    words = ["git", "-C", repository, "show", f"{commit}:sqlite3.c"]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, env=ENVIRONMENT).stdout


def check_writing(checks, folder, source, seed, turns):
    """The same repository twice, and what is checked out."""
    plans, hashes = [], []
    for name in ["once", "again"]:
        began = time.monotonic()
        plans.append(write_planted(folder / name, source, seed, turns))
        hashes.append(git(folder / name, "rev-parse", "HEAD"))
        size = sum(each.stat().st_size for each in (folder / name / ".git").rglob("*") if each.is_file())
        print(f"       {name}: {time.monotonic() - began:.1f} s, {size / 1e6:.0f} MB, HEAD {hashes[-1]}", flush=True)
    repository, plan = folder / "once", plans[0]
    checks.that(hashes[0] == hashes[1] and plans[0] == plans[1], "one seed makes one repository")
    checks.that(git(repository, "status", "--porcelain") == "", "the last commit is checked out")
    commits = git(repository, "rev-list", "--first-parent", "--reverse", "main").splitlines()
    checks.that(commits == plan["hashes"] and len(commits) == COMMITS + 1, f"{COMMITS} commits follow the first")
    changed = {line for line in git(repository, "log", "--format=%H", "--", "sqlite3.c").splitlines()}
    checks.that(changed == {plan["hashes"][each] for each in plan["touching"]}, f"{len(changed)} commits touch sqlite3.c, as planned")
    checks.that(len(git(repository, "tag").splitlines()) == len(plan["tags"]), f"{len(plan['tags'])} tags")
    return repository, plan


def check_compiling(checks, folder, repository, plan, seed):
    """A sample of commits compiles, and one does not; the libraries of four by name."""
    numbers, (first, last), culprit = random.Random(f"sample {seed}"), plan["stretch"], plan["places"][0]
    broken = set(plan["broken"])
    before = max(each for each in range(culprit) if each not in broken)
    named = {"first": 0, "before": before, "culprit": culprit, "last": COMMITS}
    whole = {*named.values(), numbers.choice([each for each in range(1, COMMITS) if each not in broken])}
    others = [each for each in broken if not first <= each <= last]
    sample = sorted(whole | {first, last} | set(numbers.sample(others, SAMPLE - len(whole) - 2)))
    libraries = {}
    for each in sample:
        text = version_of(repository, plan["hashes"][each])
        libraries[each] = compiled(folder / f"commit-{each}", text, repository)
        verb = "compiles" if libraries[each] else "does not compile"
        checks.that((libraries[each] is None) == (each in broken), f"commit {each} {verb}")
    return {name: libraries[number] for name, number in named.items()}


def check_judgement(checks, plan, instructions):
    """The right answer is right, and answers beside it are wrong."""
    hashes, place, broken = plan["hashes"], plan["places"][0], set(plan["broken"])
    inner = [each for each in plan["touching"] if each not in broken]
    before = max(each for each in inner if each < place)
    is_exact = not any(before < each < place for each in plan["touching"])
    right = {"before": hashes[before], "since": hashes[place], "is_exact": is_exact, "ratio": ratios(plan["turns"], instructions)[0]}

    def word(**other):
        return tallied(plan, {"changes": [{**right, **other}]}, instructions, True)[0]

    after, earlier = min(each for each in inner if each > place), max((each for each in inner if each < before), default=0)
    checks.that(word() == ("exact" if is_exact else "range"), f"the right answer is told as that: {word()}")
    wrong = [{"since": hashes[after]}, {"before": hashes[place], "since": hashes[after]}, {"is_exact": not is_exact}, {"ratio": 1.02}]
    wrong += [{"before": hashes[earlier]}] if earlier < before else []
    for each in wrong:
        checks.that(word(**each) not in ("exact", "range"), f"another is not: {word(**each)}")
    checks.that(tallied(plan, {"changes": []}, instructions, True)[0] not in ("exact", "range", "none"), "nor is none")


def check(program, folder, source, seed):
    """Prints each check; whether one failed."""
    checks, folder = Checks(), folder / "check"
    folder.mkdir(parents=True, exist_ok=True)
    base = (source / "sqlite3.c").read_bytes()
    instructions = calibrated(program, folder, "sqlite", lambda: compiled(folder / "calibration-build", base, source), STEP)
    turns = turns_of(SHARE, instructions)
    print(f"       an operation of {STEP} takes {instructions:.0f} instructions; the loop has {turns} turns", flush=True)
    repository, plan = check_writing(checks, folder, source, seed, [turns])
    check_judgement(checks, plan, instructions)
    libraries = check_compiling(checks, folder, repository, plan, seed)
    planted = ratios([turns], instructions)[0]
    counts = counted(program, folder / "sizes", list(libraries.values()), STEP)
    for name, count in zip(libraries, counts):
        ratio, true = count["instructions"] / counts[0]["instructions"], planted if name in ("culprit", "last") else 1
        checks.that(abs(ratio - true) * 100 < TOLERANCE, f"{name}: {100 * (ratio - 1):+.3f} %, planted {100 * (true - 1):+.3f} %")
    print(f"{checks.failed} failed")
    return checks.failed > 0
