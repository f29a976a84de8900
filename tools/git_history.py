"""Writes a git repository commit by commit, the same hashes each time: by `git fast-import`, with fixed names and dates.

fast-import keeps a blob as its difference from the one before. So what changes in many commits and is large comes as the bytes of a
commit, one version after the other, and what is small as blobs before them all.
"""
import os
import shutil
import subprocess

AUTHOR = "A Developer <developer@example.org>"
# 2020-01-01, and an hour between commits.
FIRST_S, BETWEEN_S = 1577836800, 3600
# Configuration of the machine must not reach a hash.
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(folder, *words):
    """What git prints."""
    ran = subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.PIPE, env=ENVIRONMENT)
    return ran.stdout.decode(errors="replace").strip()


class History:
    """A repository whose commits are written, in a `with`; `finish` checks out the last."""

    def __init__(self, folder):
        self.folder, self.marks, self.commits = folder, 0, []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
        self.marks_file = folder / ".git" / "marks"
        words = ["git", "-C", folder, "fast-import", "--quiet", "--done", f"--export-marks={self.marks_file}"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, env=ENVIRONMENT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def mark(self):
        self.marks += 1
        return self.marks

    def data(self, content):
        self.process.stdin.write(b"data %d\n" % len(content))
        self.process.stdin.write(content)
        self.process.stdin.write(b"\n")

    def blob(self, content):
        """The mark of a file's content, for `commit`."""
        mark = self.mark()
        self.process.stdin.write(b"blob\nmark :%d\n" % mark)
        self.data(content)
        return mark

    def commit(self, subject, files, tag=None, programs=(), links=None):
        """Adds a commit that writes these files, each by its mark or its bytes; some are programs, some symbolic links."""
        mark, send = self.mark(), self.process.stdin.write
        person = f"{AUTHOR} {FIRST_S + BETWEEN_S * len(self.commits)} +0000"
        send(f"commit refs/heads/main\nmark :{mark}\nauthor {person}\ncommitter {person}\n".encode())
        self.data(f"{subject}\n".encode())
        if self.commits:
            send(f"from :{self.commits[-1]}\n".encode())
        for path, content in files.items():
            mode = "120000" if links and path in links else "100755" if path in programs else "100644"
            place = f":{content}" if isinstance(content, int) else "inline"
            send(f"M {mode} {place} {path}\n".encode())
            if not isinstance(content, int):
                self.data(content)
        send(b"\n")
        self.commits.append(mark)
        if tag:
            send(f"reset refs/tags/{tag}\nfrom :{mark}\n\n".encode())

    def finish(self):
        """The hashes of the commits, in their order, with the last one checked out."""
        self.process.stdin.write(b"done\n")
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"git fast-import failed on {self.folder}")
        hashes = dict(line.split() for line in self.marks_file.read_text().splitlines())
        git(self.folder, "reset", "--quiet", "--hard", "main")
        return [hashes[f":{mark}"] for mark in self.commits]
