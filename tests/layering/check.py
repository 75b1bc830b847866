#!/usr/bin/env python3
"""Checks the rules that keep the layers of this tree apart, its files short, and the orders of its
atomic operations explained.

usage: check.py ROOT

Prints one line per broken rule, "file:line: what is wrong", and exits 1 if there is any.
"""

import re
import sys
from pathlib import Path

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
ENVIRONMENT = "engine/base/environment.cc"
# Lines that are not blank.
MAX_LINES = {".h": 200, ".cuh": 200, ".cc": 400, ".cu": 400}

# What says of each explicit memory order in engine/ why it is the right one.
ORDERS = "engine/MEMORY_ORDERS.md"

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD_HEADER = re.compile(r"[a-z_0-9]+$")
CUDA_HEADER = re.compile(r"(cuda|cublas|curand|cudnn|nccl|nvrtc|nvtx|cub/|thrust/|cooperative_g)")
GETENV = re.compile(r"\bgetenv\b|\bsecure_getenv\b|\benviron\b")
ORDER = re.compile(r"\bmemory_order(?:_|::)")
ATOMIC_CALL = re.compile(r"(?:\.|->)(?:load|store|exchange|wait|fetch_\w+|compare_exchange_\w+)\(")
NAME_BEFORE = re.compile(r"\w+$")
# In ORDERS: `what is quoted so`.
QUOTED = re.compile(r"`([^`\n]+)`")
QUOTED_FILE = re.compile(r"[\w/]+\.(?:h|cc|cu|cuh)$")
QUOTED_MEMBER = re.compile(r"\w+_$")


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
        if GETENV.search(line) and in_library and file != ENVIRONMENT:
            yield number, f"the environment is read in {ENVIRONMENT} only"


def closing(text, begin):
    """Where the parenthesis that opens at `begin` is closed."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def member_before(text, end):
    """The atomic whose member is called at `end`: x of x.load(), x[i].load(), x.at(i).load()."""
    while end > 0 and text[end - 1] in "])":
        depth = 0
        while end > 0:
            end -= 1
            depth += {"]": 1, ")": 1, "[": -1, "(": -1}.get(text[end], 0)
            if depth == 0:
                break
        if text.endswith(".at", 0, end):
            end -= len(".at")
    match = NAME_BEFORE.search(text, 0, end)
    return match[0] if match else ""


def explicit_orders(text):
    """(line, name of the atomic) for each call that is given a memory order; "" for other uses."""
    calls = []
    for match in ATOMIC_CALL.finditer(text):
        end = closing(text, match.end() - 1)
        calls.append((match.end(), end, match.start()))
    for order in ORDER.finditer(text):
        inner = max((call for call in calls if call[0] <= order.start() < call[1]), default=None)
        member = member_before(text, inner[2]) if inner else ""
        yield text.count("\n", 0, order.start()) + 1, member


def order_problems(sources, sections, exists):
    """(file, line, problem) for orders in `sources`, {file: text}, that ORDERS does not explain,
    and for what it names that is not there. Its `sections` are (line, text)."""
    quoted = [(line, set(QUOTED.findall(text))) for line, text in sections]
    for file, text in sources.items():
        short = file.removeprefix("engine/")
        named = [names for _, names in quoted if short in names]
        known = set().union(*named)
        for line, member in dict.fromkeys(explicit_orders(text)):
            if not named:
                yield file, line, f"an explicit memory order: expected `{short}` in {ORDERS}"
                break
            if member and member not in known:
                yield file, line, (
                    f"an explicit memory order: expected `{member}` in a section of {ORDERS} that"
                    f" names `{short}`"
                )

    for line, names in quoted:
        files = sorted(name for name in names if QUOTED_FILE.match(name))
        for name in files:
            if not exists(name):
                yield ORDERS, line, f"`{name}` is not there"
        here = "\n".join(sources.get(f"engine/{name}", "") for name in files)
        for name in sorted(names):
            if QUOTED_MEMBER.match(name) and not re.search(rf"\b{name}\b", here):
                yield ORDERS, line, f"`{name}` is in none of the files that its section names"


def sections_of(text):
    """(first line, text) of what stands under each heading."""
    lines = text.splitlines()
    begins = [0] + [i for i, line in enumerate(lines) if line.startswith("## ")]
    for begin, end in zip(begins, begins[1:] + [len(lines)]):
        yield begin + 1, "\n".join(lines[begin:end])


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
    orders = (root / ORDERS).read_text(encoding="utf-8") if (root / ORDERS).exists() else ""

    def exists(name):
        return (root / "engine" / name).exists() or (root / name).exists()

    for file, line, problem in order_problems(engine, list(sections_of(orders)), exists):
        yield f"{file}:{line}: {problem}"


def main(arguments):
    if len(arguments) != 1 or not (Path(arguments[0]) / "include").is_dir():
        sys.exit(f"[check.py] {arguments}: expected the root of the tree")
    problems = list(tree_problems(Path(arguments[0])))
    print("\n".join(problems) or "every file keeps the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
