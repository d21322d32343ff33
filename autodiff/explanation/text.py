"""The tree of calls as plain text, and as a tree of ``rich``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from autodiff.explanation.call_tree import Call

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

COLOURS = {
    "argument": "#4c78a8", "rule": "#2e7d32", "elementwise": "#558b2f", "traced": "#37474f",
    "constant": "#9e9e9e", "numeric": "#e65100", "checkpoint": "#6a1b9a", "write": "#00838f",
}  # fmt: skip

DEEPEST = 50  # trees drawn by recursion are cut off at this depth


def lines_of(explanation: Explanation, most: int | None) -> Iterator[str]:
    """Yield the lines of the tree, with at most `most` calls."""
    yield heading(explanation)
    count = 0
    waiting = [("", list(runs(explanation.root.children)))]
    while waiting:
        prefix, calls = waiting[-1]
        if not calls:
            waiting.pop()
            continue
        call, n = calls.pop(0)
        count += 1
        if most is not None and count > most:
            yield f"{prefix}└─ … more calls; .save('explanation.txt') has all of them"
            return
        last = not calls
        yield f"{prefix}{'└─ ' if last else '├─ '}{line(call, n, explanation.has_memory)}"
        waiting.append((prefix + ("   " if last else "│  "), list(runs(call.children))))


def as_rich(explanation: Explanation) -> Any:
    """Return the tree as a tree of ``rich``."""
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    def label(call: Call, n: int) -> Any:
        text = Text(call.name, style=f"bold {COLOURS[call.kind]}")
        text.append(f" ×{n}" if n > 1 else "", style="bold")
        text.append(f"  {call.kind}", style=COLOURS[call.kind])
        text.append(f"  {signature(call)}")
        text.append(f"  {costs(call, explanation.has_memory)}", style="cyan")
        text.append(f"  {call.where}", style="dim")
        if remark(call):
            text.append(f"  {remark(call)}", style="yellow")
        return text

    def grow(branch: Any, call: Call, depth: int = 0) -> None:
        if depth == DEEPEST and call.children:
            branch.add("…")
            return
        for child, n in runs(call.children):
            grow(branch.add(label(child, n)), child, depth + 1)

    tree = Tree(Text(heading(explanation), style="bold"))
    grow(tree, explanation.root)
    if not explanation.zeros:
        return tree
    reasons = [Text(f"  {reason}") for reason in explanation.zeros]
    return Group(tree, Text("\nWhere derivatives become zero:", style="bold yellow"), *reasons)


def heading(explanation: Explanation) -> str:
    """Return the line about the function as a whole."""
    root, (forward, backward) = explanation.root, explanation.seconds
    return (
        f"{root.name}{signature(root)}  forward {seconds_as_text(forward)}, backward "
        f"{seconds_as_text(backward)}"
    )


def line(call: Call, n: int, has_memory: bool) -> str:
    """Return the line for a call."""
    parts = [
        call.name + (f" ×{n}" if n > 1 else ""),
        f"[{call.kind}]",
        signature(call),
        costs(call, has_memory),
        call.where,
        f"! {remark(call)}" if remark(call) else "",
    ]
    return "  ".join(part for part in parts if part)


def runs(calls: list[Call]) -> Iterator[tuple[Call, int]]:
    """Yield calls, equal ones in a row only once, with their number."""
    for _, group in itertools.groupby(calls, _key):
        equal = list(group)
        yield equal[0], len(equal)


def _key(call: Call) -> tuple:
    if call.children:
        return (id(call),)  # shown by itself
    return (call.name, call.kind, call.where, call.inputs, call.output, remark(call))


def signature(call: Call) -> str:
    """Return the types of the arguments and of the result."""
    return f"({', '.join(call.inputs)}) → {call.output}" if call.output else ""


def costs(call: Call, has_memory: bool) -> str:
    """Return time and memory of a call, forward and backward."""
    parts = []
    for seconds, size, way in (
        (call.total("seconds"), call.total("bytes"), "→"),
        (call.total("back_seconds"), call.total("back_bytes"), "←"),
    ):
        if seconds:
            memory = f" {bytes_as_text(size)}" if has_memory else ""
            parts.append(f"{way} {seconds_as_text(seconds)}{memory}")
    return "  ".join(parts)


def seconds_as_text(seconds: float) -> str:
    """Return a time with three digits and its unit.

    Examples
    --------
    >>> seconds_as_text(0.00123), seconds_as_text(2e-6)
    ('1.23 ms', '2 µs')
    """
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def bytes_as_text(size: int) -> str:
    """Return a size with its unit.

    Examples
    --------
    >>> bytes_as_text(800), bytes_as_text(8_000_000)
    ('800 B', '8 MB')
    """
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


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
