#!/usr/bin/env python3
"""Lets one preset's compiler parse the sources that another preset does not build, for its warnings.

usage: parse_others.py PRESET BUILT

Both presets are configured. Each C++ source of PRESET that BUILT does not have is parsed as PRESET
would compile it, on all CPUs. Prints what the compiler says and how many sources there were, and
exits 1 if it refuses one.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commands(preset):
    """{source: (folder, command)}; of a source that is compiled twice the last one."""
    path = ROOT / "build" / preset / "compile_commands.json"
    if not path.exists():
        sys.exit(f"parse_others.py: {path.relative_to(ROOT)} is not there: cmake --preset {preset}")
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {entry["file"]: (entry["directory"], entry["command"]) for entry in entries}


def parse(folder, command):
    words = shlex.split(command)
    output = words.index("-o")
    del words[output : output + 2]
    result = subprocess.run(
        [*words, "-fsyntax-only"],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    print(result.stdout, end="", flush=True)
    return result.returncode == 0


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__.partition("\n\n")[2])
    all_of, built = map(commands, arguments)
    others = [
        command
        for source, command in all_of.items()
        if source not in built and source.endswith((".cc", ".cpp"))
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        refused = list(threads.map(lambda command: parse(*command), others)).count(False)
    print(f"{len(others)} sources, {refused} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
