"""The tree of calls as plain text, and as a tree of ``rich``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from autodiff.explanation.call_tree import Call
from autodiff.explanation.totals import Row, Total

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

COLOURS = {
    "argument": "#4c78a8", "rule": "#2e7d32", "elementwise": "#558b2f", "traced": "#37474f",
    "constant": "#9e9e9e", "numeric": "#e65100", "checkpoint": "#6a1b9a", "write": "#00838f",
}  # fmt: skip

DEEPEST = 50  # trees drawn by recursion are cut off at this depth


def lines_of(explanation: Explanation, most: int | None) -> Iterator[str]:
    """Yield the lines of the tree, with at most `most` rows."""
    yield heading(explanation)
    count = 0
    waiting = [("", list(explanation.tree.children))]
    while waiting:
        prefix, rows = waiting[-1]
        if not rows:
            waiting.pop()
            continue
        row = rows.pop(0)
        count += 1
        if most is not None and count > most:
            yield f"{prefix}└─ … more calls; .save('explanation.txt') has all of them"
            return
        last = not rows
        yield f"{prefix}{'└─ ' if last else '├─ '}{line(row, explanation.has_memory)}"
        waiting.append((prefix + ("   " if last else "│  "), list(row.children)))


def as_rich(explanation: Explanation) -> Any:
    """Return the tree as a tree of ``rich``."""
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    def label(row: Row) -> Any:
        text = Text(row.name, style=f"bold {COLOURS[row.kind]}")
        text.append(f" ×{row.count}" if row.count > 1 else "", style="bold")
        text.append(f"  {row.kind}", style=COLOURS[row.kind])
        text.append(f"  {signature(row)}")
        text.append(f"  {costs(row, explanation.has_memory)}", style="cyan")
        text.append(f"  {row.where}", style="dim")
        if row.note:
            text.append(f"  {row.note}", style="yellow")
        return text

    def grow(branch: Any, row: Row, depth: int = 0) -> None:
        if depth == DEEPEST and row.children:
            branch.add("…")
            return
        for child in row.children:
            grow(branch.add(label(child)), child, depth + 1)

    tree = Tree(Text(heading(explanation), style="bold"))
    grow(tree, explanation.tree)
    parts: list[Any] = [tree]
    for title, totals in (("Line", explanation.lines), ("Function", explanation.functions)):
        parts.append(Text("\n" + table(title, totals, explanation.has_memory, 10)))
    if explanation.zeros:
        parts.append(Text("\nWhere derivatives become zero:", style="bold yellow"))
        parts += [Text(f"  {reason}") for reason in explanation.zeros]
    return Group(*parts)


def heading(explanation: Explanation) -> str:
    """Return the line about the function as a whole."""
    root, (forward, backward) = explanation.root, explanation.seconds
    is_faster = explanation.ordinary < (forward + backward) / 1.5
    return (
        f"{root.name}{signature(root)}  forward {seconds_as_text(forward)}, backward "
        f"{seconds_as_text(backward)}, together {seconds_as_text(forward + backward)}; an ordinary "
        f"gradient call {seconds_as_text(explanation.ordinary)}"
        f"{' (it may run a program, which has no lines)' if is_faster else ''}, the first one "
        f"{seconds_as_text(explanation.first)}"
    )


def line(row: Row, has_memory: bool) -> str:
    """Return the line for a row of the tree."""
    parts = [
        row.name + (f" ×{row.count}" if row.count > 1 else ""),
        f"[{row.kind}]",
        signature(row),
        costs(row, has_memory),
        row.where,
        f"! {row.note}" if row.note else "",
    ]
    return "  ".join(part for part in parts if part)


def cells(totals: list[Total], has_memory: bool) -> Iterator[list[str]]:
    """Yield the cells of a table of totals, row by row."""
    whole = sum(total.total for total in totals) or 1.0
    for total in totals:
        found = [
            f"{total.name}  {total.kind}".rstrip(),
            str(total.count or ""),
            seconds_as_text(total.total),
            f"{100 * total.total / whole:.1f}",
            seconds_as_text(total.seconds),
            seconds_as_text(total.back_seconds),
        ]
        yield [*found, bytes_as_text(total.bytes)] if has_memory else found


def headings(title: str, has_memory: bool) -> list[str]:
    """Return the headings of a table of totals."""
    return [
        title,
        "count",
        "total",
        "%",
        "forward",
        "backward",
        *(["memory"] if has_memory else []),
    ]


def table(title: str, totals: list[Total], has_memory: bool, most: int) -> str:
    """Return a table of totals as plain text, with at most `most` rows."""
    rows = [headings(title, has_memory), *itertools.islice(cells(totals, has_memory), most)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    if len(totals) > most:
        lines.append(f"… {len(totals) - most} more")
    return "\n".join(lines)


def signature(call: Call | Row) -> str:
    """Return the types of the arguments and of the result."""
    return f"({', '.join(call.inputs)}) → {call.output}" if call.output else ""


def costs(row: Row, has_memory: bool) -> str:
    """Return time and memory of a row, forward and backward, and of its calls if they are many."""
    parts = []
    for seconds, size, way in (
        (row.seconds, row.bytes, "→"),
        (row.back_seconds, row.back_bytes, "←"),
    ):
        if seconds:
            memory = f" {bytes_as_text(size)}" if has_memory else ""
            parts.append(f"{way} {seconds_as_text(seconds)}{memory}")
    if row.count > 1 and row.most:
        parts.append(f"each {seconds_as_text(row.least)} to {seconds_as_text(row.most)}")
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
