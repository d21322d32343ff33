"""A long straight line of source as several functions, one after the other.

What Python's compiler needs for a function grows with its length, in memory above all: 30 MB for
15,000 lines. So each part gets the variables that it reads, and returns those that are read later.
"""

from __future__ import annotations

import re

LONGEST = 1000
"""How many lines a part has."""
PARTED = "\n\n"
"""What stands between functions that are compiled one by one."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGETS = re.compile(r"([A-Za-z_][\w, ]*) = ")


def in_chunks(
    before: list[str], lines: list[str], after: list[str], name: str
) -> tuple[list[str], list[str]]:
    """Return the sources of parts, and the lines of the function that calls them.

    Parameters
    ----------
    before, lines, after : list of str
        The lines to be shared out, and what stands before and after them.
    name : str
        That of the function.
    """
    chunks = [lines[k : k + LONGEST] for k in range(0, len(lines), LONGEST)]
    read_later = set(_NAME.findall("\n".join(after)))
    later: list[set[str]] = []
    for chunk in reversed(chunks):
        later.append(read_later)
        read_later = read_later | set(_NAME.findall("\n".join(chunk)))
    later.reverse()
    there = dict.fromkeys(n for line in before for n in _made(line) or [line])
    sources, calls = [], []
    for k, chunk in enumerate(chunks):
        text = "\n    ".join(chunk)
        read = set(_NAME.findall(text))
        given = ", ".join([n for n in there if n in read])
        made = dict.fromkeys(n for line in chunk for n in _made(line))
        there.update(made)
        handed = ", ".join([n for n in made if n in later[k]])
        part = f"{name}_{k + 1}"
        result = f"({handed},)" if handed else "None"
        sources.append(f"def {part}({given}):\n    {text}\n    return {result}\n")
        calls += [f"handed = {part}({given})", "if handed is MISMATCH: return MISMATCH"]
        if handed:
            calls.append(f"{handed}, = handed")
    return sources, calls


def _made(line: str) -> list[str]:
    """Return the variables that a line assigns."""
    found = _TARGETS.match(line)
    return _NAME.findall(found[1]) if found else []
