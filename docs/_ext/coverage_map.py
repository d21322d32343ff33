"""The directive `coverage-map`: how the functions of each module are differentiated, as a picture.

It is drawn from the first table of `docs/coverage.md`, which `make coverage` writes.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TABLE = Path(__file__).parents[1] / "coverage.md"
COLOURS = {
    "ruled": "#1f77b4",
    "traced": "#6baed6",
    "non-differentiable": "#c7c7c7",
    "error by design": "#e6a23c",
    "out of scope": "#e8e8e8",
    "missing": "#d62728",
}
NAMES, BARS, ROW, END = 230, 430, 18, 60  # pixels: widths of the columns, height of a row


def rows() -> list[tuple[str, list[int]]]:
    """Read the modules and their counts, one for each colour."""
    lines = TABLE.read_text("utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| module"))
    head = [cell.strip() for cell in lines[start].strip("|").split("|")]
    assert head[1:] == list(COLOURS), head
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("| `"):
            break
        name, *counts = [cell.strip() for cell in line.strip("|").split("|")]
        found.append((name.replace("`", ""), [int(count or 0) for count in counts]))
    return found


def svg(table: list[tuple[str, list[int]]]) -> str:
    """Draw a bar for each module, divided as its functions are."""
    height = (len(table) + 2) * ROW
    parts = [
        f'<div class="coverage-map"><svg viewBox="0 0 {NAMES + BARS + END} {height}" role="img" '
        'aria-label="For each module, the shares of functions that have a rule, are traced, are '
        'constant, or raise an error" font-size="11" fill="currentColor">'
    ]
    x = 0.0
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x:g}" y="2" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 15:g}" y="12">{name}</text>')
        x += 30 + 6.5 * len(name)
    for i, (module, counts) in enumerate(table):
        y, x, total = (i + 2) * ROW, float(NAMES), sum(counts)
        label = f'<text x="{NAMES - 8}" y="{y + 12}" text-anchor="end">{escape(module)}</text>'
        parts.append(label)
        for (name, colour), count in zip(COLOURS.items(), counts, strict=True):
            if count:
                width = BARS * count / total
                parts.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}" '
                    f'fill="{colour}"><title>{escape(module)}: {count} {name}</title></rect>'
                )
                x += width
        parts.append(f'<text x="{NAMES + BARS + 8}" y="{y + 12}">{total}</text>')
    return "".join([*parts, "</svg></div>"])


class CoverageMap(SphinxDirective):
    """The picture."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        self.env.note_dependency(str(TABLE))
        return [nodes.raw("", svg(rows()), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("coverage-map", CoverageMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
