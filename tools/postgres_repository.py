"""A repository of one published source of Postgres and ten commits on it: one makes each statement slower, one does not compile."""
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tomllib

from git_history import History
from planted_loop import TOOLS, loop
from sqlite_repository import homes

EXECUTOR = "src/backend/executor"
# Each statement that reads calls it once, in every version since 9.
SLOWED, SLOWED_HEAD = "execMain.c", re.compile(rb"^standard_ExecutorRun\([^)]*\)\n\{\n", re.M)
INCLUDE = b'\n#include "postgres.h"\n'
# Subject, file, and what is replaced there by what; nothing is replaced at the end.
STEPS = {
    "Remark on the executor's entry points": ("execMain.c", INCLUDE, b"\n/* Entry points come first. */" + INCLUDE),
    "Document the executor's state": ("README", b"\n", b"\nNotes for readers: begin with execMain.c.\n"),
    "Compare with false in ExecResult": ("nodeResult.c", b"if (!qualResult)", b"if (qualResult == false)"),
    "Document nodes": ("README", b"", b"\nEach node has a file of its own.\n"),
    "Remark on scans": ("execScan.c", INCLUDE, b"\n/* Scans share this code. */" + INCLUDE),
    "Remark on limits": ("nodeLimit.c", INCLUDE, b"\n/* Limits are computed anew for each scan. */" + INCLUDE),
    "Separate the includes of nodeSort.c": ("nodeSort.c", INCLUDE, INCLUDE + b"\n"),
}
SLOW, BROKEN, MENDED = "Run the executor in another way", "Return early from ExecMaterial", "Mend ExecMaterial"
UNFINISHED = b"\nstatic int unfinished(\n"


def versions():
    """The versions with a recipe for Debian's source, 17 first."""
    known = tomllib.loads((TOOLS.parent / "recipes" / "source" / "postgres.toml").read_text())["debian"]
    return sorted((each["version"] for each in known), key=lambda version: not version.startswith("17."))


def archive_of(program, own):
    """Debian's source of the first version that is in a home, or can be downloaded: a suite drops the version before."""
    def found(version):
        return next((each for home in homes(own) for each in (home / "sources").glob(f"postgresql-*_{version}.orig.tar.*")), None)

    for version in versions():
        if found(version):
            return found(version)
    errors = []
    for version in versions():
        # The archive is all that is wanted: with such a compiler configure ends at once.
        words = [program, "server", "get", f"postgres:{version}", "--from", "source", "--flags", "-fsyntax-only"]
        ran = subprocess.run(words, env={**os.environ, "BASECASE_HOME": str(own)}, capture_output=True, text=True, timeout=540)
        if found(version):
            return found(version)
        errors.append(ran.stderr)
    sys.exit(f"cannot get a source of postgres: {' '.join(errors)}\nhint: --archive FILE takes another")


def tree(archive):
    """Files, programs and links of an archive, by path without the first folder."""
    files, programs, links = {}, set(), set()
    with tarfile.open(archive) as opened:
        for each in opened:
            path = str(pathlib.PurePosixPath(*pathlib.PurePosixPath(each.name).parts[1:]))
            if each.isfile():
                files[path] = opened.extractfile(each).read()
                programs |= {path} if each.mode & 0o100 else set()
            elif each.issym():
                files[path] = each.linkname.encode()
                links.add(path)
    return files, programs, links


def changed(files, name, old, new):
    """A file of the executor with something once replaced, or added to its end."""
    path = f"{EXECUTOR}/{name}"
    if old and old not in files[path]:
        sys.exit(f"{path} has not {old.decode()!r}")
    return {path: files[path].replace(old, new, 1) if old else files[path] + new}


def slowed(files, turns):
    path = f"{EXECUTOR}/{SLOWED}"
    head = SLOWED_HEAD.search(files[path])
    if head is None:
        sys.exit(f"{path} has not standard_ExecutorRun")
    # In a block of its own: declarations come after it.
    return {path: files[path][:head.end()] + b"\t{" + loop(turns).strip() + b"}\n" + files[path][head.end():]}


def series(seed):
    """Subjects in drawn order; what does not compile is followed by what mends it."""
    subjects = [*STEPS, SLOW, BROKEN]
    random.Random(f"postgres {seed}").shuffle(subjects)
    place = subjects.index(BROKEN)
    return [*subjects[:place + 1], MENDED, *subjects[place + 1:]]


def write_postgres(folder, archive, seed, turns):
    files, programs, links = tree(archive)
    rows, material = [], f"{EXECUTOR}/nodeMaterial.c"
    with History(folder) as history:
        history.commit("Import the source", files, programs=programs, links=links)
        for subject in series(seed):
            if subject == SLOW:
                now = slowed(files, turns)
            elif subject in (BROKEN, MENDED):
                now = {material: files[material] + UNFINISHED if subject == BROKEN else files[material].removesuffix(UNFINISHED)}
            else:
                now = changed(files, *STEPS[subject])
            files.update(now)
            rows.append({"subject": subject, "is_broken": subject == BROKEN, "is_slow": subject == SLOW})
            history.commit(subject, now)
        hashes = history.finish()
    commits = [{**row, "hash": each} for row, each in zip(rows, hashes[1:])]
    return {"seed": seed, "turns": turns, "source": archive.name, "first": hashes[0], "commits": commits}

