#!/usr/bin/env python3
"""Writes the README's tables about the engine anew, from the files of benchmarks/results.

usage: readme_tables.py [--check]

A table is found by its first line. With --check nothing is written: exits 1, and prints what the
README should say, if it says something else.
"""

import difflib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
CONTENDERS = ["heddle", "TBB task_group", "TBB flow graph", "libgomp depend", "StarPU"]
TITLES = ["", "heddle", "oneTBB task_group", "oneTBB flow graph", "libgomp", "StarPU"]

# What a row says, the case, and the metric.
THROUGHPUT = [
    (name, name, "ns per operation")
    for name in (
        "independent",
        "chain",
        "one write, 63 reads",
        "binary",
        "binary from two threads",
        "stencil",
        "four lanes",
    )
]
CURVES = [
    *(
        (f"efficiency of two workers, operations of {time} µs", f"stencil, grain {time} us", "efficiency")
        for time in (50, 10, 5, 1)
    ),
    ("METG(50 %), ns", "METG(50 %)", "ns"),
    ("binary, 1,000 variables", "1000 variables", "ns per operation"),
    ("binary, 10^6 variables", "1000000 variables", "ns per operation"),
    ("binary, 10^4 pending, push and end", "10000 pending", "ns per push and end"),
    ("binary, 10^6 pending, push and end", "1000000 pending", "ns per push and end"),
    ("binary, one worker", "1 worker", "ns per operation"),
    ("binary, eight workers", "8 workers", "ns per operation"),
    ("push one operation and wait", "round trip", "ns per round trip"),
    ("the same after 5 ms of rest", "round trip, after 5 ms", "ns per round trip"),
]
RECORDINGS = ["independent", "chain", "one write, 63 reads", "binary", "stencil"]


class Results:
    """The medians of one file, by case, contender and metric; None where nothing was measured."""

    def __init__(self, name):
        rows = json.loads((RESULTS / name).read_text(encoding="utf-8"))["rows"]
        self._medians = {(row["case"], row["contender"], row["metric"]): row["median"] for row in rows}

    def of(self, case, contender, metric):
        return self._medians.get((case, contender, metric))

    def ratio(self, case, contender):
        """heddle's time over that of the contender."""
        return self.of(case, contender, "heddle to it")


def number(value, metric):
    if value is None:
        return "—"
    return f"{100 * value:.0f} %" if metric == "efficiency" else f"{value:,.0f}"


def plain(results, case, contender, metric):
    return number(results.of(case, contender, metric), metric)


def with_ratio(results, case, contender, metric):
    text = plain(results, case, contender, metric)
    ratio = results.ratio(case, contender)
    return text if ratio is None else f"{text} ({ratio:.2f})"


def line(cells):
    return "| " + " | ".join(cells).lstrip() + " |"


def table(titles, rows):
    return [line(titles), "|" + "---|" * len(titles), *map(line, rows)]


def by_contender(results, rows, cell):
    return table(
        TITLES,
        [
            [name, *(cell(results, case, contender, metric) for contender in CONTENDERS)]
            for name, case, metric in rows
        ],
    )


def recorded(results, case):
    ratios = ", ".join(
        f"{results.ratio(case, contender):.2f}" for contender in ("heddle, pushed again", "TBB flow graph")
    )
    return f"{plain(results, case, 'heddle', 'ns per operation')} ({ratios})"


def recordings(results):
    return table(
        ["", "two workers", "one worker"],
        [
            [name, recorded(results, f"replay: {name}"), recorded(results, f"replay by one: {name}")]
            for base in RECORDINGS
            for name in (base, f"{base}, 5 times")
        ],
    )


def replace(lines, start, new):
    """Puts `new` in the place of the next table that begins like it; returns where it ends."""
    begin = lines.index(new[0], start)
    end = begin
    while end != len(lines) and lines[end].startswith("|"):
        end += 1
    lines[begin:end] = new
    return begin + len(new)


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    engine = Results("engine.json")
    before = README.read_text(encoding="utf-8").split("\n")
    after = list(before)
    start = 0
    for new in (
        by_contender(engine, THROUGHPUT, with_ratio),
        by_contender(engine, CURVES, plain),
        recordings(Results("recordings.json")),
    ):
        start = replace(after, start, new)
    if not arguments:
        README.write_text("\n".join(after), encoding="utf-8")
    elif after != before:
        print("\n".join(difflib.unified_diff(before, after, "README.md", "measured", lineterm="", n=0)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
