"""The calls of a report added up: repeated calls as one row, totals by line and by function."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from autodiff.explanation.call_tree import Call
from autodiff.explanation.lines import Line

ENGINE = "(the engine)"
"""The name of what is outside of the user's lines: leaves, seeds, the loop of the sweep."""


@dataclasses.dataclass
class Row:
    """Calls of one function from one line, in one place of the tree.

    Attributes
    ----------
    name, kind, where, note : str
        The function, how it is differentiated (as in `Call`), the user's line, and why the
        derivative ends there if it does.
    inputs, output : list of str, str
        The types and shapes; ``"…"`` where they are not the same in all calls.
    count : int
        How many calls there are.
    seconds, back_seconds : float
        Their time, and that of their pullbacks, with all that is below.
    least, most : float
        The time, forward and backward, of the shortest call and of the longest.
    bytes, back_bytes : int
        Memory that the calls, and their pullbacks, leave in use.
    own_seconds, own_back_seconds : float
        The part of the time that is in none of the children: for a traced function its Python
        code and the calls that are not differentiated.
    children : list of Row
        What is called in the body.
    """

    name: str
    kind: str
    where: str
    note: str
    inputs: list[str]
    output: str
    count: int
    seconds: float
    back_seconds: float
    least: float
    most: float
    bytes: int
    back_bytes: int
    own_seconds: float
    own_back_seconds: float
    children: list[Row]

    @property
    def total(self) -> float:
        """The time, forward and backward."""
        return self.seconds + self.back_seconds


@dataclasses.dataclass
class Total:
    """The sum over a line, or over a function.

    Attributes
    ----------
    name : str
        The line, as ``file.py:12``, or the function.
    kind : str
        The function that has the line, or how the function is differentiated.
    count : int
        How often the line ran, or the function was called.
    seconds, back_seconds : float
        The time of the forward run and of the reverse sweep, without the user's functions called.
    bytes : int
        Memory that the calls leave in use, with their pullbacks.
    """

    name: str
    kind: str
    count: int = 0
    seconds: float = 0.0
    back_seconds: float = 0.0
    bytes: int = 0

    @property
    def total(self) -> float:
        """The time, forward and backward."""
        return self.seconds + self.back_seconds


def divide(root: Call, lines: Line) -> None:
    """Make the times of calls parts of the times of their lines.

    Calls were timed while they were recorded, which makes short ones longer. Where the calls of a
    line took longer than the line takes, all of them are shortened alike; where they took less,
    what is left is the line's own.
    """
    for name, own in (("seconds", "own_seconds"), ("back_seconds", "own_back_seconds")):
        found: dict[Line, float] = {}
        calls = [(call, _measured_line(call.line, name)) for call in root.measured()]
        for call, line in calls:
            found[line] = found.get(line, 0.0) + getattr(call, name)
        for line in lines.walk():
            setattr(line, own, max(getattr(line, name) - found.get(line, 0.0), 0.0))
        for call, line in calls:
            if found[line] > getattr(line, name):
                setattr(call, name, getattr(call, name) * getattr(line, name) / found[line])


def _measured_line(line: Line, name: str) -> Line:
    """Return the line if it has a time, else the nearest above: a program has no lines."""
    while not getattr(line, name) and line.parent is not None:
        line = line.parent
    return line


def grouped(calls: Iterable[Call]) -> Iterable[list[Call]]:
    """Return repeated calls together, in the order in which they were first made."""
    groups: dict[tuple, list[Call]] = {}
    for call in calls:
        key = (call.name, call.kind, call.where, *([id(call)] if call.kind == "argument" else []))
        groups.setdefault(key, []).append(call)
    return groups.values()


def rows_of(calls: Iterable[Call]) -> list[Row]:
    """Return calls as rows."""
    return list(map(_row, grouped(calls)))


def whole(root: Call, lines: Line) -> Row:
    """Return the row of the function that is differentiated."""
    row = _row([root])
    row.seconds = sum(line.seconds for line in lines.walk())
    row.back_seconds = sum(line.back_seconds for line in lines.walk())
    row.least = row.most = row.total
    row.own_seconds = max(row.seconds - sum(child.seconds for child in row.children), 0.0)
    below = sum(child.back_seconds for child in row.children)
    row.own_back_seconds = max(row.back_seconds - below, 0.0)
    return row


def _row(calls: list[Call]) -> Row:
    first = calls[0]
    children = rows_of(child for call in calls for child in call.children)
    times = [call.total("seconds") + call.total("back_seconds") for call in calls]
    if first.kind == "traced":
        lines = {call.line: None for call in calls}
        bodies = [b for line in lines for b in line.children.values() if b.function == first.name]
        own = sum(body.own_seconds for body in bodies)
        own_back = sum(body.own_back_seconds for body in bodies)
        seconds = own + sum(child.seconds for child in children)
        back_seconds = own_back + sum(child.back_seconds for child in children)
    else:
        own = seconds = sum(call.seconds for call in calls)
        own_back = back_seconds = sum(call.back_seconds for call in calls)
    return Row(
        first.name, first.kind, first.where, _remarks(calls), _inputs(calls),
        _same([call.output for call in calls]), len(calls), seconds, back_seconds, min(times),
        max(times), sum(call.total("bytes") for call in calls),
        sum(call.total("back_bytes") for call in calls), own, own_back, children,
    )  # fmt: skip


def _same(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else "…"


def _inputs(calls: list[Call]) -> list[str]:
    if len({len(call.inputs) for call in calls}) > 1:
        return ["…"]
    return [_same(list(texts)) for texts in zip(*(call.inputs for call in calls), strict=True)]


def _remarks(calls: list[Call]) -> str:
    found = Counter(remark(call) for call in calls)
    return "; ".join(
        text if n == len(calls) else f"{text} ({n} of {len(calls)})"
        for text, n in found.items()
        if text
    )


def remark(call: Call) -> str:
    """Return why the derivative ends at a call, if it does."""
    if call.kind == "constant":
        return call.note
    if call.is_recorded and call.kind != "argument":
        if call.cotangent == "none":
            return "no cotangent arrived"
        if call.cotangent == "zero":
            return "its cotangent is zero"
        if call.zeros:
            return f"zero for {', '.join(call.zeros)}"
    return ""


def by_line(root: Call, lines: Line) -> list[Total]:
    """Return the totals of the user's lines, the longest first."""
    found: dict[tuple, Total] = {}
    of: dict[Line, Total] = {}
    for line in lines.walk():
        key = (line.filename, line.number)
        if key not in found:
            found[key] = Total(line.where or ENGINE, line.function)
        total = of[line] = found[key]
        total.count += line.count
        total.seconds += line.seconds
        total.back_seconds += line.back_seconds
    for call in root.measured():
        of[call.line].bytes += call.bytes + call.back_bytes
    return _sorted(found.values())


def by_function(root: Call, lines: Line, function: str) -> list[Total]:
    """Return the totals of the functions, the longest first.

    `function` is what Python calls the function that is differentiated.
    """
    found: dict[tuple[str, str], Total] = {}

    def total(name: str, kind: str) -> Total:
        return found.setdefault((name, kind), Total(name, kind))

    for call in root.measured():
        one = total(call.name, call.kind)
        one.count += 1
        one.seconds += call.seconds
        one.back_seconds += call.back_seconds
        one.bytes += call.bytes + call.back_bytes
    for call in root.walk():
        if call.kind == "traced":
            total(call.name, "traced").count += 1
    for line in lines.walk():
        if line is lines:
            one = total(ENGINE, "")
        else:
            is_root = line.parent is lines and line.function == function
            one = total(root.name if is_root else line.function, "traced")
        one.seconds += line.own_seconds
        one.back_seconds += line.own_back_seconds
    return _sorted(found.values())


def _sorted(totals: Iterable[Total]) -> list[Total]:
    """Return the totals, the longest first; those of nothing are left out."""
    kept = [t for t in totals if t.count or t.total]
    return sorted(kept, key=lambda total: -total.total)
