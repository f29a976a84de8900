#!/usr/bin/env python3
"""Makes the archive of a release: a basecase that runs on any Linux on x86-64, without packages.

The C library is linked statically. Such a program has no loader of shared libraries, so its only SQLite is the one inside it; it says
so where another is asked for, and this script checks that it does. Folder gets basecase-VERSION-x86_64-linux.tar.gz, the bill of
materials that is in it too (CycloneDX), and SHA256SUMS of both. The same commit and compilers make the same files.

usage: release.py [FOLDER]      by default target/dist; needs cargo, a C compiler with its static library (libc6-dev) and git
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from bill_of_materials import TARGET, asked, bill, folder_of

WORKSPACE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "basecase"
# What the messages of the program and its README name.
FILES = ["LICENSE", "README.md", "CHANGELOG.md", "docs/**/*.md", "experiments/**/*"]
SHELLS = {"bash": "basecase.bash", "zsh": "_basecase", "fish": "basecase.fish"}
LICENCES = ["LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"]
# Those of what is no crate; Debian has that of the C library here.
OTHER_LICENCES = {"uPlot": WORKSPACE / "crates/report/assets/uplot/LICENSE", "glibc": pathlib.Path("/usr/share/common-licenses/LGPL-2.1")}


def fail(problem, hint):
    raise SystemExit(f"error: {problem}\nhint: {hint}")


def build():
    """Compiles the program in a folder of its own, since its flags would have everything else compiled anew."""
    folder = WORKSPACE / "target/static"
    cargo_home = os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")
    flags = ["-C", "target-feature=+crt-static", f"--remap-path-prefix={WORKSPACE}=.", f"--remap-path-prefix={cargo_home}=cargo"]
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(folder),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_PROFILE_RELEASE_DEBUG": "none",
        "CARGO_PROFILE_RELEASE_STRIP": "debuginfo",
    }
    # With --target, the flags are not for what runs while compiling.
    command = ["cargo", "build", "--release", "--locked", "--package", PROGRAM, "--target", TARGET]
    if subprocess.run(command, cwd=WORKSPACE, env=environment).returncode:
        fail("the program does not compile", "on Debian, `apt-get install gcc libc6-dev` brings what it is linked with")
    return folder / TARGET / "release" / PROGRAM


def said(program, *arguments, home="/nonexistent"):
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "BASECASE_HOME": str(home)}
    return subprocess.run([program, *arguments], cwd=home if os.path.isdir(home) else "/", env=environment, text=True, capture_output=True)


def check(program):
    """Whether it is what the archive promises."""
    if "INTERP" in asked(["readelf", "--program-headers", "--wide", program], WORKSPACE):
        fail(f"{program} asks for the system's loader", "see that target-feature=+crt-static reached the linker")
    with tempfile.TemporaryDirectory(prefix="bc-") as home:
        os.chmod(home, 0o755)
        refused = said(program, "compare", "sqlite:3.45.0", "sqlite", "--workload", "microbenchmarks", home=home)
        if refused.returncode != 1 or "linked statically" not in refused.stderr:
            fail(f"{program} does not refuse another SQLite:\n{refused.stderr}", "see Library::check_loader of crates/client")


def completions(program):
    """What shells complete the command by, where the program can print it."""
    printed = {name: said(program, "completions", shell) for shell, name in SHELLS.items()}
    return {f"completions/{name}": one.stdout.encode() for name, one in printed.items() if one.returncode == 0}


def content(program, materials, packages):
    """The files of the archive by their names."""
    files = {PROGRAM: program.read_bytes(), f"{PROGRAM}.cdx.json": materials, **completions(program)}
    for pattern in FILES:
        for path in filter(pathlib.Path.is_file, WORKSPACE.glob(pattern)):
            files[str(path.relative_to(WORKSPACE))] = path.read_bytes()
    # Most licences ask that their text goes with the program.
    for package in packages:
        for pattern in LICENCES:
            for path in filter(pathlib.Path.is_file, folder_of(package).glob(pattern)):
                files[f"licences/{package['name']}-{package['version']}/{path.name}"] = path.read_bytes()
    for name, path in OTHER_LICENCES.items():
        if path.is_file():
            files[f"licences/{name}/{path.name}"] = path.read_bytes()
    return files


def pack(archive, top, files, date):
    # A bare Debian has gzip, and no xz. Without the time of packing, the same files make the same archive.
    with gzip.GzipFile(archive, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime = len(data), int(date.timestamp())
            entry.mode = 0o755 if name == PROGRAM else 0o644
            tar.addfile(entry, io.BytesIO(data))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=WORKSPACE / "target/dist")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    seconds = int(asked(["git", "log", "-1", "--format=%ct"], WORKSPACE))
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    program = build()
    check(program)
    version = said(program, "--version").stdout.split()[-1]
    top = f"{PROGRAM}-{version}-x86_64-linux"
    materials, packages = bill(WORKSPACE, PROGRAM, date)
    materials = json.dumps(materials, indent=2).encode() + b"\n"
    archive, bill_file = folder / f"{top}.tar.gz", folder / f"{top}.cdx.json"
    bill_file.write_bytes(materials)
    pack(archive, top, content(program, materials, packages), date)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in [archive, bill_file]]
    (folder / "SHA256SUMS").write_text("".join(sums))
    print(f"{archive}  {archive.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    sys.exit(main())
