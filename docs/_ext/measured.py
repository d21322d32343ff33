"""The directive `measured`: what the rules of `docs/rule_author/with_rules.py` save, in time.

It measures while the pages are built, so the numbers are those of this version and this machine.
"""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import autodiff

SOURCE = Path(__file__).parents[1] / "rule_author" / "with_rules.py"


def load() -> ModuleType:
    """Import the functions and their rules."""
    spec = importlib.util.spec_from_file_location("with_rules", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def microseconds(f: Callable, arguments: tuple, rounds: int = 7) -> float:
    """Measure one gradient of `f`: the shortest of some rounds, after a warm-up.

    The warm-up is long enough for the automatic compiler, which waits for calls of 40 ms in all.
    """
    start = time.perf_counter()
    while time.perf_counter() < start + 0.3:
        autodiff.gradient(f, *arguments)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(20):
            autodiff.gradient(f, *arguments)
        best = min(best, (time.perf_counter() - start) / 20)
    return 1e6 * best


def table() -> list[list[str]]:
    """Measure each function traced, as it is called by users, and with its rule."""
    rows = [["function", "traced", "compiled automatically", "with a rule"]]
    before = autodiff.automatic_compile(False)
    try:
        for f, (with_rule, arguments) in load().POINTS.items():
            autodiff.automatic_compile(False)
            traced, ruled = microseconds(f, arguments), microseconds(with_rule, arguments)
            autodiff.automatic_compile(True)
            times = [traced, microseconds(f, arguments), ruled]
            rows.append([f.__name__, *(f"{t:,.1f} µs" for t in times)])
    finally:
        autodiff.automatic_compile(before)
    return rows


class Measured(SphinxDirective):
    """A table of the times."""

    def run(self) -> list[nodes.Node]:
        """Measure, and make the table."""
        self.env.note_dependency(str(SOURCE))
        head, *rows = table()
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        group += nodes.thead("", _row(head))
        group += nodes.tbody("", *map(_row, rows))
        return [nodes.table("", group)]


def _row(cells: list[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
