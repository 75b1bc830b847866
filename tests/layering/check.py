#!/usr/bin/env python3
"""Checks the rules that keep the layers of this tree apart and its files short, and that what is
written about the environment's variables and about memory orders is what the code does.

usage: check.py ROOT

Prints one line per broken rule, "file:line: what is wrong", and exits 1 if there is any.
"""

import re
import sys
from pathlib import Path

import environment
import memory_orders

# What the files of a layer may include, itself apart.
MAY_INCLUDE = {
    "engine": set(),
    "ndarray": {"engine"},
    "ops": {"engine", "ndarray"},
    "kvstore": {"engine", "ndarray", "ops"},
    "io": {"engine", "ndarray"},
}

# The layer that a public header speaks for. The umbrella header belongs to no layer.
PUBLIC_HEADERS = {
    "cancel": "engine",
    "cuda": "engine",
    "device": "engine",
    "engine": "engine",
    "error": "engine",
    "memory": "engine",
    "operation": "engine",
    "options": "engine",
    "recording": "engine",
    "trace": "engine",
    "unique_function": "engine",
    "var": "engine",
    "dtype": "ndarray",
    "ndarray": "ndarray",
    "scalar": "ndarray",
    "shape": "ndarray",
    "ops": "ops",
    "random": "ops",
    "kvstore": "kvstore",
    "io": "io",
    "sample": "io",
}
UMBRELLA = "include/heddle/heddle.h"

FOLDERS = ["include", *MAY_INCLUDE, "tests", "benchmarks", "examples"]
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
# Lines that are not blank.
MAX_LINES = {".h": 200, ".cuh": 200, ".cc": 400, ".cu": 400}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD_HEADER = re.compile(r"[a-z_0-9]+$")
CUDA_HEADER = re.compile(r"(cuda|cublas|curand|cudnn|nccl|nvrtc|nvtx|cub/|thrust/|cooperative_g)")
GETENV = re.compile(r"\bgetenv\b|\bsecure_getenv\b|\benviron\b")
# ThreadSanitizer does not follow fences, and what it says is to be mended.
FENCE = re.compile(r"\batomic_(thread|signal)_fence\b|\b__sync_synchronize\b|\bmfence\b")
SUPPRESSION = re.compile(r"\bno_sanitize|\bdisable_sanitizer_|_default_suppressions\b")


def layer_of_header(path):
    """The layer of an included path, or None if it is no header of the library."""
    folder, _, name = path.partition("/")
    if folder == "heddle":
        return PUBLIC_HEADERS.get(name.removesuffix(".h"))
    return folder if folder in MAY_INCLUDE else None


def layer_of_file(path):
    return layer_of_header(path.removeprefix("include/"))


def include_problems(file, quote, path):
    """What is wrong with `file` (relative to the root) including `path`."""
    suffix = Path(file).suffix
    if path.startswith("../") or "/../" in path:
        yield f'"{path}" climbs: expected a path from the root'
    if CUDA_HEADER.match(path) and suffix not in {".cu", ".cuh"} and "cuda" not in Path(file).name:
        yield f"<{path}> belongs in *.cu files and in files named *cuda*"
    if path.startswith("dmlc/") and not (file.startswith("io/") and suffix == ".cc"):
        yield f"<{path}> belongs in the .cc files of io/"
    if file.startswith("include/") and quote == "<" and not STANDARD_HEADER.match(path):
        yield f"<{path}> in a public header: expected the standard library or heddle/ only"
    if file.startswith(("include/", "examples/")) and path.partition("/")[0] in MAY_INCLUDE:
        yield f'"{path}" is private: expected heddle/ only'

    mine, theirs = layer_of_file(file), layer_of_header(path)
    if mine and theirs and theirs != mine and theirs not in MAY_INCLUDE[mine]:
        allowed = ", ".join(sorted(MAY_INCLUDE[mine])) or "no other layer"
        yield f'"{path}" is of layer {theirs}: {mine} may include {allowed}'


def file_problems(file, text):
    """(line, problem) for all that is wrong with one file; line 0 is the whole file."""
    lines = text.splitlines()
    limit = MAX_LINES[Path(file).suffix]
    length = sum(1 for line in lines if line.strip())
    if length > limit:
        yield 0, f"{length} lines that are not blank: expected at most {limit}"
    if file.startswith("include/") and file != UMBRELLA and layer_of_file(file) is None:
        yield 0, "a public header without a layer: expected a row in PUBLIC_HEADERS of check.py"

    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            for problem in include_problems(file, match[1], match[2]):
                yield number, problem
        in_library = file.partition("/")[0] in {"include", *MAY_INCLUDE}
        if GETENV.search(line) and in_library and file != environment.TABLE:
            yield number, f"the environment is read in {environment.TABLE} only"
        if FENCE.search(line):
            yield number, "a fence that stands alone: expected an order of the operations beside it"
        if SUPPRESSION.search(line):
            yield number, "what a sanitizer says is suppressed: expected the cause to be mended"


def tree_problems(root):
    files = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*")))
    engine = {}
    for path in files:
        if path.suffix in SUFFIXES:
            file = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            for line, problem in file_problems(file, text):
                yield f"{file}:{line}: {problem}"
            if file.startswith("engine/"):
                engine[file] = text
    for file, line, problem in memory_orders.problems(root, engine):
        yield f"{file}:{line}: {problem}"
    for file, line, problem in environment.problems(root):
        yield f"{file}:{line}: {problem}"


def main(arguments):
    if len(arguments) != 1 or not (Path(arguments[0]) / "include").is_dir():
        sys.exit(f"[check.py] {arguments}: expected the root of the tree")
    problems = list(tree_problems(Path(arguments[0])))
    print("\n".join(problems) or "every file keeps the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
