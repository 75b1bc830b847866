"""Checks that engine/MEMORY_ORDERS.md says why each explicit memory order in engine/ is enough.

It has a section for each protocol. The file and the member of an order stand in one of them.
"""

import re

TEXT = "engine/MEMORY_ORDERS.md"
NAME_BEFORE = re.compile(r"\w+$")
ATOMIC_CALL = re.compile(r"(?:\.|->)(?:load|store|exchange|wait|fetch_\w+|compare_exchange_\w+)\(")
ORDER = re.compile(r"\bmemory_order(?:_|::)")
QUOTED_FILE = re.compile(r"[\w/]+\.(?:h|cc|cu|cuh)$")
QUOTED_MEMBER = re.compile(r"\w+_$")
# In TEXT: `what is quoted so`.
QUOTED = re.compile(r"`([^`\n]+)`")


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


def problems_of(sources, sections, exists):
    """(file, line, problem) for orders in `sources`, {file: text}, that TEXT does not explain,
    and for what it names that is not there. Its `sections` are (line, text)."""
    quoted = [(line, set(QUOTED.findall(text))) for line, text in sections]
    for file, text in sources.items():
        short = file.removeprefix("engine/")
        named = [names for _, names in quoted if short in names]
        known = set().union(*named)
        for line, member in dict.fromkeys(explicit_orders(text)):
            if not named:
                yield file, line, f"an explicit memory order: expected `{short}` in {TEXT}"
                break
            if member and member not in known:
                yield file, line, (
                    f"an explicit memory order: expected `{member}` in a section of {TEXT} that"
                    f" names `{short}`"
                )

    for line, names in quoted:
        files = sorted(name for name in names if QUOTED_FILE.match(name))
        for name in files:
            if not exists(name):
                yield TEXT, line, f"`{name}` is not there"
        here = "\n".join(sources.get(f"engine/{name}", "") for name in files)
        for name in sorted(names):
            if QUOTED_MEMBER.match(name) and not re.search(rf"\b{name}\b", here):
                yield TEXT, line, f"`{name}` is in none of the files that its section names"


def sections_of(text):
    """(first line, text) of what stands under each heading."""
    lines = text.splitlines()
    begins = [0] + [i for i, line in enumerate(lines) if line.startswith("## ")]
    for begin, end in zip(begins, begins[1:] + [len(lines)]):
        yield begin + 1, "\n".join(lines[begin:end])


def problems(root, sources):
    """(file, line, problem) for the tree; `sources` are the files of its engine, {name: text}."""
    path = root / TEXT
    text = path.read_text(encoding="utf-8") if path.exists() else ""

    def exists(name):
        return (root / "engine" / name).exists() or (root / name).exists()

    yield from problems_of(sources, list(sections_of(text)), exists)
