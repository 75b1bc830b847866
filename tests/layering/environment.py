"""Compares what is written about the environment's variables with the table that reads them.

The table is kVariables of engine/base/environment.cc. The README has a table for readers, and the
comments of include/heddle/options.h name the variable of each field.
"""

import re
from typing import NamedTuple

TABLE = "engine/base/environment.cc"
README = "README.md"
OPTIONS = "include/heddle/options.h"

ENTRY = re.compile(r'\{\s*"(HEDDLE_\w+)",\s*((?:"[^"]*"\s*)+),\s*((?:"[^"]*"\s*)+),\s*\w+', re.S)
COUNT = re.compile(r"std::array<Variable, (\d+)> kVariables")
LITERAL = re.compile(r'"([^"]*)"')
ROW = re.compile(r"\|\s*(`[A-Z_]+`[^|]*)\|([^|]*)\|([^|]*)\|\s*$")
DEFAULT = re.compile(r"`?([\w.]+)`? (?:\(default\)|by default)")
FIELD = re.compile(r"/// (HEDDLE_\w+)[^\n]*\n(?:\s*///[^\n]*\n)*\s*[\w:]+ \w+(?: = |\{)([^;]*?)\}?;")


class Variable(NamedTuple):
    values: str  # normalized, for example "0, 1"
    default: str
    reserved: bool


def normal_values(text):
    text = text.replace("`", "").replace(" or ", ", ").strip()
    return text.removeprefix("an integer from ")


def default_of(values, help_text):
    """What the text calls the default; a switch that says nothing is 0."""
    match = DEFAULT.search(help_text)
    if match:
        return match[1]
    return "0" if values == "0, 1" else ""


def variable(values, help_text):
    values = normal_values(values)
    return Variable(values, default_of(values, help_text), help_text.startswith("Reserved"))


def table(source):
    """Name to Variable, from the text of environment.cc."""
    found = {}
    for name, values, help_text in ENTRY.findall(source):
        joined = ["".join(LITERAL.findall(part)) for part in (values, help_text)]
        found[name] = variable(*joined)
    return found


def readme_rows(text):
    """(line, name, Variable) of each row of the README's table that is about a HEDDLE_ variable."""
    for number, line in enumerate(text.splitlines(), 1):
        match = ROW.match(line)
        if not match:
            continue
        for name in re.findall(r"HEDDLE_\w+", match[1]):
            yield number, name, variable(match[2], match[3].strip())


def normal_initializer(text):
    """An initial value of options.h as the environment would spell it."""
    text = text.strip()
    if text.startswith("EngineKind::k"):
        return text.removeprefix("EngineKind::k").lower()
    return {"false": "0", "true": "1", "{": "auto"}.get(text, text)


def option_fields(text):
    """(line, name, default) of each field of options.h whose comment names a variable."""
    for match in FIELD.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match[1], normal_initializer(match[2])


def readme_problems(variables, text):
    named = set()
    for number, name, row in readme_rows(text):
        if name in named:
            yield number, f"{name} has two rows"
        named.add(name)
        if name not in variables:
            yield number, f"{name} is no variable of {TABLE}"
            continue
        known = variables[name]
        if row.values not in (known.values, "see below"):
            yield number, f'{name} takes "{row.values}": {TABLE} says "{known.values}"'
        if row.default != known.default:
            yield number, f'{name} is "{row.default}" by default: {TABLE} says "{known.default}"'
        if row.reserved != known.reserved:
            yield number, f"{name} is reserved in one of README and {TABLE} only"
    for name in variables:
        if name not in named:
            yield 0, f"no row is about {name}"


def option_problems(variables, text):
    named = set()
    for number, name, default in option_fields(text):
        named.add(name)
        if name not in variables:
            yield number, f"{name} is no variable of {TABLE}"
        elif default != variables[name].default:
            yield number, f'{name} is "{default}": {TABLE} says "{variables[name].default}"'
    for name, known in variables.items():
        if name not in named and not known.reserved:
            yield 0, f"no field's comment names {name}"


def problems(root):
    """(file, line, problem) for all that differs; line 0 is the whole file."""
    text = (root / TABLE).read_text(encoding="utf-8")
    variables = table(text)
    count = COUNT.search(text)
    if not count or int(count[1]) != len(variables):
        yield TABLE, 0, f"{len(variables)} variables are understood, not all of kVariables"
        return
    for file, check in ((README, readme_problems), (OPTIONS, option_problems)):
        for line, problem in check(variables, (root / file).read_text(encoding="utf-8")):
            yield file, line, problem
