"""The statements of a kernel as several functions, one after the other.

What numba needs for a function grows faster than its length: with a hundred nests in one, each
takes three times as long as alone, and two hundred may be too many for it. Numbers that a later
part reads are handed on in the memory.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 150
"""From how many lines on a part ends, where it can."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_TARGET = re.compile(r" *([A-Za-z_]\w*) = ")
_NUMBER = re.compile(r"[vw]\d")


class Part(NamedTuple):
    """A function of a kernel.

    Attributes
    ----------
    name : str
        What it is called.
    parameters : list of str
        What it is given, in the order in which the kernel has it.
    lines : list of str
        Its statements.
    """

    name: str
    parameters: list[str]
    lines: list[str]

    @property
    def source(self) -> str:
        """Return it as source."""
        head = f"def {self.name}({', '.join(self.parameters)}):"
        return "\n    ".join([head, *self.lines, "return 1"]) + "\n"


def in_parts(
    lines: list[str], parameters: list[str], truths: set[str], size: int
) -> tuple[list[Part], int]:
    """Return the parts of a kernel, itself the last, and how many elements the memory has then.

    Parameters
    ----------
    lines : list of str
        The statements.
    parameters : list of str
        What the kernel is given.
    truths : set of str
        The variables that are truths.
    size : int
        How many elements its memory has.
    """
    statements = _statements(lines)
    live = _live(statements)
    chunks: list[list[str]] = [[]]
    crossing: list[list[str]] = []
    for statement, after in zip(statements, live, strict=True):
        chunks[-1] += statement
        if len(chunks[-1]) >= LONGEST and all(map(_NUMBER.match, after)):
            chunks.append([])
            crossing.append(sorted(after))
    place = {name: size + k for k, name in enumerate(sorted({n for c in crossing for n in c}))}
    parts = []
    for k, chunk in enumerate(chunks):
        given = crossing[k - 1] if k else []
        handed = crossing[k] if k < len(crossing) else []
        text = [
            *[_fetched(n, place[n], truths) for n in given],
            *chunk,
            *[_held(n, place[n], truths) for n in handed if n not in given],
        ]
        used = {name for line in text for name in _NAME.findall(line)}
        parts.append(Part(f"part{k}", [p for p in parameters if p in used], text))
    if len(parts) == 1:
        return [Part("kernel", parameters, lines)], size
    calls = []
    for part in parts:
        calls.append(f"done = {part.name}({', '.join(part.parameters)})")
        calls.append("if done != 1: return done")
    return [*parts, Part("kernel", parameters, calls)], size + len(place)


def _fetched(name: str, place: int, truths: set[str]) -> str:
    return f"{name} = get(s, {place}){' != 0.0' if name in truths else ''}"


def _held(name: str, place: int, truths: set[str]) -> str:
    return f"put(s, {place}, {f'1.0 if {name} else 0.0' if name in truths else name})"


def _statements(lines: list[str]) -> list[list[str]]:
    """Return the statements, with what they hold."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _live(statements: list[list[str]]) -> list[set[str]]:
    """Return for each statement the variables that are read after it, and were written before."""
    assigned: set[str] = set()
    before: list[set[str]] = []
    for statement in statements:
        assigned.update(m[1] for line in statement if (m := _TARGET.match(line)))
        before.append(set(assigned))
    wanted: set[str] = set()
    live: list[set[str]] = []
    for statement, known in zip(reversed(statements), reversed(before), strict=True):
        live.append(wanted & known)
        read: set[str] = set()
        made: set[str] = set()
        for line in statement:
            target = _TARGET.match(line)
            names = _NAME.findall(line[target.end() :] if target else line)
            read.update(n for n in names if n not in made)
            if target:
                made.add(target[1])
        wanted = (wanted - made) | read
    live.reverse()
    return live
