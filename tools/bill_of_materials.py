"""What is in a program of this workspace, as CycloneDX: its crates, and the C code that is compiled into it.

Cargo says which crates are compiled for the program. C libraries are known from the sources that the crates bring, the C library
and the standard library from the compilers: `cargo cyclonedx` knows none of these three.
"""
import json
import pathlib
import re
import subprocess
import tomllib
import uuid

TARGET = "x86_64-unknown-linux-gnu"


def asked(command, folder):
    return subprocess.run(command, cwd=folder, check=True, text=True, capture_output=True).stdout


def crates(workspace, program):
    """The packages that are linked into the program, by their ids, each with the ids of those that it needs."""
    metadata = json.loads(asked(["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET], workspace))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(package["id"] for package in packages.values() if package["name"] == program)
    is_macro = lambda package: any("proc-macro" in target["kind"] for target in package["targets"])
    needed = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if one in needed:
            continue
        linked = [dependency["pkg"] for dependency in nodes[one]["deps"]
                  if any(kind["kind"] is None for kind in dependency["dep_kinds"])]
        needed[one] = [other for other in linked if not is_macro(packages[other])]
        waiting.extend(needed[one])
    return packages[root], [packages[one] for one in needed if one != root], needed


def checksums(workspace):
    """The SHA-256 of each crate of the registry, by name and version."""
    lock = tomllib.loads((workspace / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package["checksum"] for package in lock["package"] if "checksum" in package}


def folder_of(package):
    return pathlib.Path(package["manifest_path"]).parent


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def expression(package):
    """Its licence as SPDX writes it; older crates have a slash between two that one may choose from."""
    return re.sub(r"\s*/\s*", " OR ", package["license"])


def crate_component(package, hashes):
    component = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"],
                 "purl": purl(package), "licenses": [{"expression": expression(package)}]}
    if checksum := hashes.get((package["name"], package["version"])):
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return component


def found(pattern, path):
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    if not match:
        raise SystemExit(f"error: {path} does not say its version\nhint: bring {pathlib.Path(__file__).name} up to date")
    return match[1]


def foreign_components(workspace, packages):
    """What is no crate and linked in all the same, each with the name of the crate that brings it."""
    folders = {package["name"]: folder_of(package) for package in packages}
    header = folders["liblzma-sys"] / "xz/src/liblzma/api/lzma/version.h"
    xz = ".".join(found(rf"^#define LZMA_VERSION_{part} (\d+)", header) for part in ["MAJOR", "MINOR", "PATCH"])
    sqlite = found(r'^#define SQLITE_VERSION\s+"([^"]+)"', folders["libsqlite3-sys"] / "sqlite3/sqlite3.h")
    plot = found(r"uPlot.*?v(\d+\.\d+\.\d+)", workspace / "crates/report/assets/uplot/uPlot.iife.min.js")
    rust = asked(["rustc", "--version"], workspace).split()[1]
    glibc = asked(["getconf", "GNU_LIBC_VERSION"], workspace).split()[1]
    return [component(*parts) for parts in [
        ("sqlite", sqlite, "blessing", "libsqlite3-sys"),
        ("xz", xz, "0BSD", "liblzma-sys"),
        ("uPlot", plot, "MIT", "basecase-report"),
        ("rust-std", rust, "MIT OR Apache-2.0", None),
        ("glibc", glibc, "LGPL-2.1-or-later", None),
    ]]


def component(name, version, licence, brought_by):
    generic = f"pkg:generic/{name}@{version}"
    return {"type": "library", "bom-ref": generic, "name": name, "version": version, "purl": generic,
            "licenses": [{"expression": licence}]}, brought_by


def bill(workspace, program, date):
    """The bill, and the packages whose licences go with the program."""
    root, packages, needed = crates(workspace, program)
    foreign = foreign_components(workspace, packages)
    hashes = checksums(workspace)
    by_id = {package["id"]: package for package in [root, *packages]}
    needs = {purl(by_id[one]): sorted(purl(by_id[other]) for other in others) for one, others in needed.items()}
    by_name = {package["name"]: purl(package) for package in by_id.values()}
    for made, brought_by in foreign:
        needs[by_name[brought_by or program]].append(made["bom-ref"])
        needs[made["bom-ref"]] = []
    components = [crate_component(package, hashes) for package in packages] + [made for made, _ in foreign]
    subject = crate_component(root, hashes) | {"type": "application"}
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": subject},
        "components": sorted(components, key=lambda one: one["bom-ref"]),
        "dependencies": [{"ref": one, "dependsOn": needs[one]} for one in sorted(needs)],
    }
    # The same program has the same bill.
    content["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))}"
    return content, [package for package in packages if package["source"]]
