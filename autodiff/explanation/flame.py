"""The flame graph in SVG: each row of the tree as wide as the time that it takes."""

from __future__ import annotations

from html import escape

from autodiff.explanation.text import COLOURS, DEEPEST, line, seconds_as_text
from autodiff.explanation.totals import Row

_WIDTH, _HIGH, _LETTER = 960.0, 20, 6.6
_NARROWEST = 1.0  # what is narrower is left out


def flame_as_svg(tree: Row) -> str:
    """Return the flame graph of a tree, the whole at the top, forward and backward together.

    What a box has free below it is the time of the function's own Python code, and of calls that
    are not differentiated. A pointer that rests on a box is told its numbers.
    """
    boxes: list[str] = []
    deepest = 0
    waiting = [(tree, 0.0, _WIDTH, 0)]
    while waiting:
        row, x, width, depth = waiting.pop()
        deepest = max(deepest, depth)
        boxes.append(_box(row, x, width, depth))
        if row.kind != "traced" or depth == DEEPEST:
            continue
        whole = max(row.total, sum(child.total for child in row.children))
        for child in row.children:
            wide = width * child.total / whole if whole else 0.0
            if wide >= _NARROWEST:
                waiting.append((child, x, wide, depth + 1))
            x += wide
    height = (deepest + 1) * _HIGH
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" '
        f'width="{_WIDTH:.0f}" height="{height}" style="max-width:100%;height:auto" '
        'font-family="sans-serif" font-size="11" fill="#fff">\n'
        f"<title>{escape(tree.name)}: {seconds_as_text(tree.total)}</title>\n"
        + "\n".join(boxes)
        + "\n</svg>\n"
    )


def _box(row: Row, x: float, width: float, depth: int) -> str:
    y = depth * _HIGH
    name = row.name.removeprefix("numpy.").removeprefix("operator.")
    label = f"{name} ×{row.count}" if row.count > 1 else name
    fits = int((width - 6) / _LETTER)
    if len(label) > fits:
        label = label[: fits - 1] + "…" if fits > 3 else ""
    text = f'<text x="{x + 4:.1f}" y="{y + 14}">{escape(label)}</text>' if label else ""
    return (
        f"<g><title>{escape(line(row, False))}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" height="{_HIGH - 1}" '
        f'rx="2" fill="{COLOURS[row.kind]}"/>{text}</g>'
    )
