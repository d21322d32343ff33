"""The tape as a graph in SVG."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

from autodiff.explanation.call_tree import Call
from autodiff.explanation.dag_layout import layered
from autodiff.explanation.text import COLOURS, costs, signature
from autodiff.explanation.totals import Row, grouped, rows_of

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

_HIGH, _STEP, _MARGIN = 40.0, 84.0, 20.0
# Ink that is on the page itself, and not on a colour of ours.
_STYLE = (
    "<style>.ink{fill:#263238}.say{fill:#b26a00}@media (prefers-color-scheme: dark)"
    "{.ink{fill:#eceff1}.say{fill:#ffb74d}}</style>"
)


class _Box:
    """A node of the drawing: one call, or repeated calls of one function from one line."""

    def __init__(self, calls: list[Call]) -> None:
        self.row: Row = rows_of(calls)[0]
        self.places = [place for call in calls for place in call.places]
        self.parents = [place for call in calls for place in call.parents]
        self.is_recorded = any(call.is_recorded for call in calls)
        self.ends = all(
            call.kind == "constant" or call.cotangent in ("none", "zero") for call in calls
        )
        self.is_reached = any(call.cotangent != "none" for call in calls)

    @property
    def name(self) -> str:
        """The name without ``numpy.`` or ``operator.``, with the number of calls."""
        short = self.row.name.removeprefix("numpy.").removeprefix("operator.")
        return f"{short} ×{self.row.count}" if self.row.count > 1 else short


def tape_as_svg(explanation: Explanation, most: int = 300, times: bool = True) -> str:
    """Return a drawing with the arguments at the top and each call below its inputs.

    Calls at which the derivative ends are dashed: constant ones, and those without a cotangent or
    with a zero.
    """
    calls = [*explanation.arguments, *(c for c in explanation.calls() if _is_drawn(c))]
    boxes = list(map(_Box, grouped(calls) if len(calls) > most else [[call] for call in calls]))
    said = "Repeated calls from one line are drawn as one." if len(boxes) < len(calls) else ""
    if len(boxes) > most:
        said = f"{said} {len(boxes) - most} more calls are not drawn.".strip()
    boxes = boxes[:most]
    owner = {place: i for i, box in enumerate(boxes) for place in box.places}
    edges = sorted({
        (owner[p], i)
        for i, box in enumerate(boxes)
        for p in box.parents
        if p in owner and owner[p] < i
    })  # fmt: skip
    widths = [max(7.4 * len(box.name), 6.4 * len(box.row.output)) + 20 for box in boxes]
    places, routes = layered(widths, edges)
    width = max((x + w / 2 for (x, _), w in zip(places, widths, strict=True)), default=0.0)
    width = max(width, 6.4 * len(said))
    height = max((layer for _, layer in places), default=0) * _STEP + _HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * _MARGIN:.0f}" '
        f'height="{height + 2 * _MARGIN + 24:.0f}" font-family="sans-serif" font-size="12">',
        _STYLE,
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#90a4ae"/></marker></defs>',
        f"<title>{escape(explanation.root.name.rpartition('.')[2])}</title>",
    ]
    for (a, b), route in zip(edges, routes, strict=True):
        ends = not boxes[b].is_recorded or not boxes[b].is_reached
        parts.append(_edge(route, ends, f"{boxes[a].row.name} to {boxes[b].row.name}"))
    for box, (x, layer), w in zip(boxes, places, widths, strict=True):
        is_output = bool(set(box.places) & set(explanation.outputs))
        about = [box.row.name, box.row.kind, signature(box.row)]
        about += [costs(box.row, explanation.has_memory)] if times else []
        about += [box.row.where, box.row.note]
        hint = "\n".join(a for a in about if a)
        parts.append(_node(box, x + _MARGIN, layer * _STEP + _MARGIN, w, is_output, hint))
    if said:
        y = height + 2 * _MARGIN + 12
        parts.append(f'<text x="{_MARGIN}" y="{y:.0f}" class="say">{said}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _is_drawn(call: Call) -> bool:
    return call.is_recorded or (call.kind == "constant" and bool(call.parents))


def _edge(route: list[tuple[float, int]], ends: bool, title: str) -> str:
    """Draw an edge as a smooth curve through its points."""
    points = [(x + _MARGIN, layer * _STEP + _MARGIN + _HIGH / 2) for x, layer in route]
    points[0] = (points[0][0], points[0][1] + _HIGH / 2)
    points[-1] = (points[-1][0], points[-1][1] - _HIGH / 2)
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    dash = ' stroke-dasharray="4 3"' if ends else ""
    return (
        f'<path d="{path}" fill="none" stroke="#90a4ae"{dash} marker-end="url(#tip)">'
        f"<title>{escape(title)}</title></path>"
    )


def _node(box: _Box, x: float, y: float, w: float, is_output: bool, hint: str) -> str:
    """Draw a node; `hint` is what a pointer that rests on it is told."""
    colour = COLOURS[box.row.kind]
    radius = _HIGH / 2 if box.row.kind == "argument" else 5
    dash = ' stroke-dasharray="4 3"' if box.ends else ""
    ink = 'class="ink"' if box.ends else 'fill="#fff"'
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<rect x="{x - w / 2:.1f}" y="{y:.1f}" width="{w:.1f}" height="{_HIGH:.0f}" '
        f'rx="{radius:.0f}" fill="{colour}" fill-opacity="{0.3 if box.ends else 1}" '
        f'stroke="{"#d84315" if is_output else colour}" '
        f'stroke-width="{3 if is_output else 1}"{dash}/>'
        f'<text x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle" {ink}>'
        f"{escape(box.name)}</text>"
        f'<text x="{x:.1f}" y="{y + 32:.1f}" text-anchor="middle" {ink} font-size="10">'
        f"{escape(box.row.output)}</text></g>"
    )
