"""The tape as a graph in SVG."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

from autodiff.explanation.call_tree import Call
from autodiff.explanation.dag_layout import layered
from autodiff.explanation.text import COLOURS, costs, remark, signature

if TYPE_CHECKING:
    from autodiff.explanation.report import Explanation

_HIGH, _STEP, _MARGIN = 40.0, 84.0, 20.0


def tape_as_svg(explanation: Explanation, most: int = 300) -> str:
    """Return a drawing with the arguments at the top and each call below its inputs.

    Calls at which the derivative ends are dashed: constant ones, and those without a cotangent or
    with a zero.
    """
    calls = [*explanation.arguments, *(c for c in explanation.calls() if _is_drawn(c))]
    left_out = len(calls) - most
    calls = calls[:most]
    owner = {place: i for i, call in enumerate(calls) for place in call.places}
    edges = sorted({
        (owner[p], i)
        for i, call in enumerate(calls)
        for p in call.parents
        if p in owner and owner[p] < i
    })  # fmt: skip
    widths = [max(7.4 * len(_short(c)), 6.4 * len(c.output)) + 20 for c in calls]
    places, routes = layered(widths, edges)
    width = max((x + w / 2 for (x, _), w in zip(places, widths, strict=True)), default=0.0)
    height = max((layer for _, layer in places), default=0) * _STEP + _HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * _MARGIN:.0f}" '
        f'height="{height + 2 * _MARGIN + 24:.0f}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#90a4ae"/></marker></defs>',
        f"<title>{escape(explanation.root.name)}</title>",
    ]
    for (a, b), route in zip(edges, routes, strict=True):
        ends = not calls[b].is_recorded or calls[b].cotangent == "none"
        parts.append(_edge(route, ends, f"{calls[a].name} to {calls[b].name}"))
    for call, (x, layer), w in zip(calls, places, widths, strict=True):
        is_output = bool(set(call.places) & set(explanation.outputs))
        parts.append(_node(call, x + _MARGIN, layer * _STEP + _MARGIN, w, is_output, explanation))
    if left_out > 0:
        parts.append(
            f'<text x="{_MARGIN}" y="{height + 2 * _MARGIN + 12:.0f}" fill="#b26a00">'
            f"{left_out} more calls are not drawn</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def _is_drawn(call: Call) -> bool:
    return call.is_recorded or (call.kind == "constant" and bool(call.parents))


def _short(call: Call) -> str:
    """Return the name of a call without ``numpy.`` or ``operator.``."""
    return call.name.removeprefix("numpy.").removeprefix("operator.")


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


def _node(
    call: Call, x: float, y: float, w: float, is_output: bool, explanation: Explanation
) -> str:
    ends = call.kind == "constant" or call.cotangent in ("none", "zero")
    about = [call.name, call.kind, signature(call), costs(call, explanation.has_memory)]
    about += [call.where, remark(call)]
    radius = _HIGH / 2 if call.kind == "argument" else 5
    dash = ' stroke-dasharray="4 3"' if ends else ""
    ink = "#263238" if ends else "#fff"
    return (
        f"<g><title>{escape(chr(10).join(a for a in about if a))}</title>"
        f'<rect x="{x - w / 2:.1f}" y="{y:.1f}" width="{w:.1f}" height="{_HIGH:.0f}" '
        f'rx="{radius:.0f}" fill="{COLOURS[call.kind]}" fill-opacity="{0.45 if ends else 1}" '
        f'stroke="{"#d84315" if is_output else COLOURS[call.kind]}" '
        f'stroke-width="{3 if is_output else 1}"{dash}/>'
        f'<text x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle" fill="{ink}">'
        f"{escape(_short(call))}</text>"
        f'<text x="{x:.1f}" y="{y + 32:.1f}" text-anchor="middle" fill="{ink}" font-size="10">'
        f"{escape(call.output)}</text></g>"
    )
