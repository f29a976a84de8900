"""Repositories of SQLite's amalgamation: one with changes planted among 300 commits, and one of the published versions.

Each commit inserts something into the amalgamation that it began with, so a version is that text and its insertions.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tomllib

from git_history import History
from planted_loop import TOOLS, loop, loop_place



COMMITS, BROKEN_SHARE, BROKEN_RANGE, TAGS = 300, 0.2, 60, 8
HEADERS = ["sqlite3.h", "sqlite3ext.h"]
# Heads of functions that no option leaves out: before one of them an error is seen.
ALWAYS_COMPILED = [
    b"SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){", b"SQLITE_API int sqlite3_reset(sqlite3_stmt *pStmt){",
    b"SQLITE_API int sqlite3_finalize(sqlite3_stmt *pStmt){", b"SQLITE_API int sqlite3_changes(sqlite3 *db){",
    b"SQLITE_API int sqlite3_column_count(sqlite3_stmt *pStmt){",
]
ERRORS = ['#error "commit {number} does not compile"\n', "int unfinished_{number}( {{\n"]
# Functions of virtual tables and JSON, which statements of the measured steps don't call.
UNRELATED = re.compile(rb"^static (?:void|int) ((?:fts3|fts5|rtree|json)(?!\w*(?:Init|Create|Register))\w*)\([^;{}]*\)\{\n", re.M)
BEFORE_COMMENT = re.compile(rb"\n\n(?=/\*\n\*\* )")
IN_COMMENT = re.compile(rb"\n\*\* [A-Z][^\n*\\]*[a-z](?=\n\*\* )")
WORDS = "page cursor cell journal cache table index statement record schema lock frame".split()


class Amalgamation:
    """One sqlite3.c and what can be inserted where."""

    def __init__(self, text):
        self.text = text
        self.functions = [(each.end(), each.group(1).decode()) for each in UNRELATED.finditer(text)]
        self.gaps = [each.end() for each in BEFORE_COMMENT.finditer(text)]
        self.lines = [each.end() for each in IN_COMMENT.finditer(text)]
        self.errors = [text.index(head) for head in ALWAYS_COMPILED if text.count(head) == 1]
        if not (self.functions and self.gaps and self.lines and self.errors):
            sys.exit("the amalgamation has not the functions and comments that commits are to change")

    def with_insertions(self, insertions):
        pieces, done = [], 0
        for place in sorted(insertions):
            pieces += [self.text[done:place], insertions[place]]
            done = place
        return b"".join([*pieces, self.text[done:]])

    def filler(self, numbers, number):
        """Subject, place and text of a harmless change."""
        word = numbers.choice(WORDS)
        kind = numbers.choice(["remark", "reword", "blank line", "space", "function"])
        if kind == "remark":
            return f"Remark on the {word}", numbers.choice(self.gaps), f"/* Remark {number}: see the {word} above. */\n"
        if kind == "reword":
            return f"Reword the comment on the {word}", numbers.choice(self.lines), f" (of the {word})"
        if kind == "blank line":
            return "Separate two functions", numbers.choice(self.gaps), "\n"
        if kind == "space":
            return "Align a comment", numbers.choice(self.lines), " "
        place, name = numbers.choice(self.functions)
        return f"Count the calls of {name}", place, "  { static volatile int nCall; nCall++; }\n"


def written_file(numbers, number):
    """Path, subject and text of a file of tests or documentation."""
    word = numbers.choice(WORDS)
    if numbers.random() < 0.5:
        return f"test/{word}{number}.test", f"Test the {word}", f"do_execsql_test {word}-{number} {{ SELECT {number} }} {{{number}}}\n"
    return f"doc/{word}{number}.md", f"Document the {word}", f"# The {word}\n\nNote {number} on the {word}.\n"


def drawn_plan(seed, culprits, in_broken_range, commits=COMMITS):
    """Which of the commits 0 to `commits` don't compile, and where so many changes are planted. The ends compile."""
    numbers = random.Random(f"plan {seed}")
    first = numbers.randrange(2, commits - BROKEN_RANGE)
    stretch = range(first, first + BROKEN_RANGE)
    others = [each for each in range(1, commits) if each not in stretch]
    broken = set(stretch) | set(numbers.sample(others, round(BROKEN_SHARE * len(others))))
    whole = [each for each in range(1, commits + 1) if each not in broken]
    places = [numbers.choice(stretch)] if in_broken_range else sorted(numbers.sample(whole, culprits))
    return {"broken": sorted(broken), "stretch": [stretch[0], stretch[-1]], "places": places}


def write_planted(folder, source, seed, turns, in_broken_range=False, commits=COMMITS):
    """A repository with the loop of `turns[i]` turns from the i-th planted commit on. Returns what is where."""
    text = (source / "sqlite3.c").read_bytes()
    amalgamation, plan = Amalgamation(text), drawn_plan(seed, len(turns), in_broken_range, commits)
    numbers, broken, (first, last) = random.Random(f"commits {seed}"), set(plan["broken"]), plan["stretch"]
    planted, halt = dict(zip(plan["places"], turns)), loop_place(text)
    tagged = set(numbers.sample([each for each in range(1, commits + 1) if each not in broken], TAGS))
    insertions, touching, before = {}, [], None
    with History(folder) as history:
        headers = {name: history.blob((source / name).read_bytes()) for name in HEADERS}
        notes = {each: written_file(numbers, each) for each in range(1, commits + 1) if numbers.random() < 0.2 and each not in planted}
        blobs = {each: history.blob(note[2].encode()) for each, note in notes.items()}
        for number in range(commits + 1):
            files, subject = {}, "Import the amalgamation"
            if number == 0:
                files.update(headers)
            elif number in planted:
                subject = "Halt statements in another way"
                insertions[halt] = loop(planted[number])
            elif number in notes:
                path, subject, _ = notes[number]
                files[path] = blobs[number]
            else:
                subject, place, added = amalgamation.filler(numbers, number)
                insertions[place] = insertions.get(place, b"") + added.encode()
            error = {}
            if number in broken:
                named = first if first <= number <= last else number
                place = amalgamation.errors[named % len(amalgamation.errors)]
                error[place] = ERRORS[named % 2].format(number=named).encode() + insertions.get(place, b"")
            now = {**insertions, **error}
            if now != before:
                files["sqlite3.c"] = amalgamation.with_insertions(now)
                touching.append(number)
            before = now
            history.commit(subject, files, tag=f"build-{number}" if number in tagged else None)
        hashes = history.finish()
    return {**plan, "seed": seed, "turns": turns, "touching": touching, "tags": sorted(tagged), "hashes": hashes}


def homes(own):
    """Folders in which archives of sources may be: basecase's home, and one's own."""
    return [pathlib.Path(os.environ.get("BASECASE_HOME", "/var/lib/basecase")), own]


def published_archive(program, own, recipe):
    """The archive of a version, downloaded if it is not there."""
    name = f"sqlite-{recipe['version']}-{recipe['provider']}.tar.gz"
    for home in homes(own):
        if (home / "sources" / name).exists():
            return home / "sources" / name
    # The archive is all that is wanted: a compiler that only checks the syntax is quick, and leaves no build.
    words = [program, "server", "get", f"sqlite:{recipe['version']}", "--from", "source", "--flags", "-fsyntax-only"]
    ran = subprocess.run(words, env={**os.environ, "BASECASE_HOME": str(own)}, capture_output=True, text=True, timeout=300)
    if not (own / "sources" / name).exists():
        sys.exit(f"cannot get the source of sqlite {recipe['version']}: {ran.stderr}")
    return own / "sources" / name


def members(archive):
    """The amalgamation's files in an archive, by name."""
    with tarfile.open(archive) as opened:
        wanted = [each for each in opened if each.isfile() and pathlib.PurePath(each.name).name in ["sqlite3.c", *HEADERS]]
        places = [pathlib.PurePath(each.name).parent for each in wanted if each.name.endswith("/sqlite3.c")]
        # Some packages have SQLCipher's amalgamation beside it.
        place = next((each for each in places if each.name == "sqlite3"), places[0])
        files = {pathlib.PurePath(each.name): each for each in wanted}
        return {path.name: opened.extractfile(each).read() for path, each in files.items() if path.parent == place}


def published():
    """The recipes of the published versions, in their order."""
    recipes = tomllib.loads((TOOLS.parent / "recipes" / "sqlite.toml").read_text())["recipe"]
    return sorted(recipes, key=lambda recipe: [int(each) for each in recipe["version"].split(".")])


def newest_source(program, own, folder):
    """A folder with the newest published amalgamation."""
    if not (folder / "sqlite3.c").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in sorted(members(published_archive(program, own, published()[-1])).items(), reverse=True):
            (folder / name).write_bytes(content)
    return folder


def write_published(folder, program, own, seed):
    """A repository of every published version there is a recipe for, in their order, with 5 to 15 filler commits between them."""
    recipes = published()
    archives = [published_archive(program, own, recipe) for recipe in recipes]
    numbers, rows = random.Random(f"published {seed}"), []
    with History(folder) as history:
        headers = [{name: history.blob(content) for name, content in members(archive).items() if name in HEADERS} for archive in archives]
        for recipe, archive, header in zip(recipes, archives, headers):
            amalgamation, insertions = Amalgamation(members(archive)["sqlite3.c"]), {}
            version = recipe["version"]
            rows.append({"version": version, "number": len(history.commits)})
            history.commit(f"Release {version}", {**header, "sqlite3.c": amalgamation.text}, tag=f"version-{version}")
            for _ in range(numbers.randint(5, 15) if recipe is not recipes[-1] else 0):
                subject, place, added = amalgamation.filler(numbers, len(history.commits))
                insertions[place] = insertions.get(place, b"") + added.encode()
                history.commit(subject, {"sqlite3.c": amalgamation.with_insertions(insertions)})
        hashes = history.finish()
    return {"seed": seed, "versions": [{**row, "hash": hashes[row["number"]]} for row in rows], "hashes": hashes}
